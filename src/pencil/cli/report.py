"""`pencil report`: a run as one page to read, print and pass on."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pencil.cli.failure import Terminated, guarded, one_line
from pencil.cli.options import FinishedRun, MovedRoot, MovedSource
from pencil.errors import PencilError
from pencil.results.new_place import refuse_taken

if TYPE_CHECKING:
    from pencil.data.shown import Sight

Option = typer.Option
PICTURE = 112
"""Longest side of a picture, in pixels."""


@guarded
def report(
    run: FinishedRun,
    out: Annotated[Path | None, Option(help="File to write (report.html in the run folder).")] = None,
    source: MovedSource = "",
    root: MovedRoot = "",
) -> None:
    """Make the run's page: what was learned, which labels look wrong, and what to do next.

    \b
      pencil report run
      pencil report run --root /new/place/of/photos --out report.html

    The page needs no network and no other file. `pencil train` makes it too, and beside it pictures: the curves over
    the epochs, which class is taken for which (up to 30 classes), and the most suspect images.
    """
    written, missing = write_report(run, out, source=source, root=root, strict=bool(source or root))
    if missing:
        one_line(f"the report shows no examples: {missing}")
    typer.echo(f"written to {written}")


def add_report(run: Path, *, source: str = "", root: str = "") -> None:
    """Make the page of a run that has just finished; whatever goes wrong costs one line, never the run.

    `source` and `root` say where its data lies now, if it has moved.
    """
    from pencil.config import read_toml
    from pencil.config.own_code import code_in, named_again

    command = f"pencil report {shlex.quote(str(run))}"
    try:
        settings = read_toml(run / "config.toml")
        moved = {"--source": source, "--root": root}
        command += named_again(settings, source="--source ")
        command += "".join(f" {option} {shlex.quote(value)}" for option, value in moved.items() if value)
        # Code of the run's own has just been run at the user's word.
        write_report(run, source=source or code_in(settings).get("source", ""), root=root)
    except (KeyboardInterrupt, Terminated) as stopped:
        raise type(stopped)(f"the run is finished, only its report is missing; make it with: {command}") from None
    except Exception as error:
        reason = str(error) or type(error).__name__
        one_line(f"the run is finished, but its report could not be made ({reason}); try again with: {command}")


def _write_pictures(folder: Path, pictures: dict[str, bytes]) -> None:
    from pencil.results.atomic import write_atomic

    folder.mkdir(exist_ok=True)
    for name, picture in pictures.items():
        write_atomic(folder / f"{name}.png", picture)


def _check_place(path: Path, own: Path) -> None:
    """Refuse a place that is taken; only the run's own report is ever replaced."""
    if path.is_dir():
        raise PencilError(f"{path} is a folder; name the file to write, e.g. {path / 'report.html'}.")
    if path != own:
        refuse_taken(path)


def _shows_examples(page: Path) -> bool:
    from pencil.report import shows_examples

    return page.exists() and shows_examples(page.read_text(encoding="utf-8", errors="replace"))


def write_report(
    run: Path, out: Path | None = None, *, source: str = "", root: str = "", strict: bool = False
) -> tuple[Path, str]:
    """Write the page, and where it lies in the run folder the pictures; return where, and why no examples are shown."""
    from pencil.report import make_report
    from pencil.results.atomic import write_atomic
    from pencil.results.read import read_run

    opened = read_run(run)
    own = opened.folder.report
    path = own if out is None or out.resolve() == own.resolve() else out
    _check_place(path, own)

    def look(ids: Sequence[str]) -> "list[Sight]":
        from pencil.config import from_document, read_toml
        from pencil.data.located import from_home, read_dataset
        from pencil.data.shown import show

        settings = from_document(read_toml(opened.folder.config))
        data = from_home(settings.data, opened.folder.homes())
        return show(read_dataset(data, source=source, root=root), ids, longest=PICTURE)

    made = make_report(opened, look)
    if made.missing and strict:
        raise PencilError(made.missing)
    if made.missing and path == own and _shows_examples(own):
        raise PencilError(f"{own} shows examples and is kept; a new one could not: {made.missing}")
    write_atomic(path, made.html.encode())
    if path == own:
        _write_pictures(opened.folder.pictures, made.pictures())
    return path, made.missing
