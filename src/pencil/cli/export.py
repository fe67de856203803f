"""`pencil export`: a run's final labels for other tools."""

from pathlib import Path
from typing import Annotated

import typer

from pencil.cli.failure import guarded

Option = typer.Option


@guarded
def export(
    run: Annotated[Path, typer.Argument(help="The folder of a finished run.")],
    to: Annotated[str, Option(help="csv, parquet, image_folder, cleanlab, label_studio or fiftyone.")],
    out: Annotated[Path, Option(help="The file or folder to write; it must be new.")],
    copy: Annotated[bool, Option("--copy", help="Copy image files; without it links to them are made.")] = False,
    source: Annotated[str, Option(help="The run's data, where it has moved or is code of its own.")] = "",
    root: Annotated[str, Option(help="The folder that the run's data lies in now.")] = "",
) -> None:
    """Write the final labels in a form that other tools read.

    \b
      pencil export run --to csv --out labels.csv
      pencil export run --to image_folder --out sorted --copy
      pencil export run --to label_studio --out tasks

    What a person decided in `pencil review` stands; otherwise the run's own decision does.
    """
    from pencil.export.write import export_run

    count = export_run(run, to, out, source=source, root=root, copy=copy)
    typer.echo(f"{count:,} labels written to {out}")
