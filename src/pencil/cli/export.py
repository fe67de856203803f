"""`pencil export`: a run's final labels or its network, for other tools."""

from pathlib import Path
from typing import Annotated

import typer

from pencil.cli.failure import guarded, one_line
from pencil.cli.options import FinishedRun
from pencil.errors import PencilError

Option = typer.Option
LABELS, NETWORK = "The labels", "The network"


@guarded
def export(
    run: FinishedRun,
    out: Annotated[Path, Option(help="The file or folder to write; it must be new.")],
    to: Annotated[
        str,
        Option(
            help="csv, parquet, image_folder, hf_dataset, cleanlab, label_studio or fiftyone.", rich_help_panel=LABELS
        ),
    ] = "",
    copy: Annotated[
        bool, Option("--copy", help="Copy image files; without it links to them are made.", rich_help_panel=LABELS)
    ] = False,
    source: Annotated[
        str, Option(help="The run's data, where it has moved or is code of its own.", rich_help_panel=LABELS)
    ] = "",
    root: Annotated[str, Option(help="The folder that the run's data lies in now.", rich_help_panel=LABELS)] = "",
    onnx: Annotated[bool, Option("--onnx", help="The network as an ONNX file.", rich_help_panel=NETWORK)] = False,
    torch_export: Annotated[
        bool, Option("--torch-export", help="The network as torch's exported program.", rich_help_panel=NETWORK)
    ] = False,
    backbone: Annotated[
        str, Option(help="The run's network, where it is code of its own.", rich_help_panel=NETWORK)
    ] = "",
) -> None:
    """Write the final labels, or the network, in a form that other tools read.

    \b
      pencil export run --to csv --out labels.csv
      pencil export run --to image_folder --out sorted --copy
      pencil export run --onnx --out network.onnx

    What a person decided in `pencil review` stands; otherwise the run's own decision does. An exported network takes
    raw inputs (pixels from 0 to 255, or a table's numbers) and gives logits and probabilities; labels are not in it.
    """
    if bool(to) + onnx + torch_export != 1:
        raise PencilError(
            "say what to export, one thing at a time: labels by --to csv (or another form), or the network by --onnx "
            "or --torch-export."
        )
    if to:
        from pencil.export.names import renamed
        from pencil.export.write import export_run
        from pencil.results.documents import read_classes
        from pencil.results.folder import RunFolder

        count = export_run(run, to, out, source=source, root=root, copy=copy)
        typer.echo(f"{count:,} labels written to {out}")
        if to == "image_folder" and (line := renamed(read_classes(RunFolder.open(run).classes))):
            one_line(line)
        return
    from pencil.export.network import export_network

    difference = export_network(run, "onnx" if onnx else "torch_export", out, backbone=backbone)
    checked = "not tried out: onnxruntime is not installed"
    if difference is not None:
        checked = f"its probabilities differ from the run's by at most {difference:.1g}"
    typer.echo(f"network written to {out}; {checked}")
