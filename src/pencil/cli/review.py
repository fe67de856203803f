"""`pencil review`: go through a run's doubtful labels in the browser."""

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from pencil.cli.failure import guarded
from pencil.cli.options import FinishedRun, MovedRoot, MovedSource

if TYPE_CHECKING:
    from pencil.review.serve import Served

Option = typer.Option


@guarded
def review(
    run: FinishedRun,
    port: Annotated[int | None, Option(help="Port to listen on (8571, or a free one).", min=0, max=65535)] = None,
    host: Annotated[str, Option(help="Address to listen on; other machines can reach one that is not local.")] = (
        "127.0.0.1"
    ),
    no_open: Annotated[bool, Option("--no-open", help="Open no browser, only print the address.")] = False,
    source: MovedSource = "",
    root: MovedRoot = "",
) -> None:
    """Look at the doubtful labels and decide: accept, keep, choose another.

    \b
      pencil review run
      pencil review run --root /new/place/of/photos

    Every decision is on disk (decisions.sqlite in the run folder) as soon as the page shows it as saved.
    End with Ctrl-C; then `pencil labels RUN --apply` writes the final labels.
    """
    from pencil.results.folder import RunFolder
    from pencil.review.desk import open_desk
    from pencil.review.serve import serve

    with RunFolder.open(run).lock():
        desk = open_desk(run, source=source, root=root)
        try:
            serve(desk, host=host, port=port, browser=not no_open, ready=_tell)
        except KeyboardInterrupt:
            pass
        finally:
            counts = desk.progress()
            desk.close()
    command = f"pencil labels {shlex.quote(str(run))} --apply"
    typer.echo(f"\n{counts['decided']:,} labels decided. Write the final labels with: {command}")


def _tell(served: "Served") -> None:
    typer.echo(f"review: {served.address}")
    if not served.local:
        typer.echo(
            "pencil: other machines can reach this server; whoever sees the address or the traffic (plain HTTP) sees"
            " the data. An SSH tunnel to a local one is safer.",
            err=True,
        )
    typer.echo("End with Ctrl-C.")
