"""The command `pencil`. Torch and the like are imported inside the commands, so that help comes at once."""

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from io import TextIOWrapper

import typer

from pencil.cli.audit import audit
from pencil.cli.bench import bench
from pencil.cli.demo import demo
from pencil.cli.export import export
from pencil.cli.failure import UNREAD, explain, give_up_unwritten, one_line
from pencil.cli.help import RESUMABLE, SOME_FAILED, STOPPED, description, exit_codes
from pencil.cli.labels import labels
from pencil.cli.listing import list_names
from pencil.cli.predict import predict
from pencil.cli.report import report
from pencil.cli.reproduce import reproduce
from pencil.cli.review import review
from pencil.cli.runs import runs
from pencil.cli.sweep import sweep
from pencil.cli.train import train
from pencil.spelling import shell

HELP = """Train a network on data whose labels are partly wrong.

You get a network that was not fooled, and the labels it believes.

\b
  pencil demo                               see it work, in about a minute
  pencil train photos/ --out run            learn from a folder of images
  pencil review run                         look at the doubtful labels
  pencil predict run new-photos/ > new.csv  use what was learned

A run is a folder; its labels.parquet has each example's label, given and believed.
"""

app = typer.Typer(
    name="pencil",
    help=HELP,
    epilog="pencil COMMAND --help says more of each. pencil --install-completion teaches the shell to complete names.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _add(command: Callable[..., None], panel: str, name: str | None = None, ends: str = STOPPED) -> None:
    app.command(name, help=description(command), rich_help_panel=panel, epilog=exit_codes(ends))(command)


_add(demo, "Start here")
_add(train, "Start here", ends=RESUMABLE)
_add(report, "Use a run")
_add(review, "Use a run", ends="Ctrl-C ends it in order, with 0")
_add(labels, "Use a run")
_add(export, "Use a run")
_add(predict, "Use a run")
_add(audit, "Use a run")
_add(sweep, "Many runs", ends=SOME_FAILED)
_add(reproduce, "Many runs", ends=SOME_FAILED)
_add(runs, "Look up")
_add(list_names, "Look up", name="list")
_add(bench, "Look up")


def _version(asked: bool) -> None:
    if asked:
        from pencil import __version__

        typer.echo(f"pencil {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    """Options before any command."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its exit code."""
    _open_what_is_closed()
    _write_any_sign()
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def _open_what_is_closed() -> None:
    """Let what is written to a closed stream go nowhere: a service may start a command with none."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))


def _write_any_sign() -> None:
    """Let no name of a class or a file end a command: files and pipes get UTF-8, a terminal what it can show."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            encoding = stream.encoding if stream.isatty() else "utf-8"
            with suppress(OSError):  # One whose file was exchanged for a pipe stays as it is.
                stream.reconfigure(encoding=encoding, errors="backslashreplace")


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code; a wrong option gets one line like any other bad input."""
    try:
        with shell():
            code = app(args=list(arguments), prog_name="pencil", standalone_mode=False)
    except SystemExit as ended:  # Where nobody reads the help any more.
        if not isinstance(ended.__context__, BrokenPipeError):
            raise
        return UNREAD
    except OSError as error:  # Where the help cannot be written.
        code = explain(error)
        give_up_unwritten()
    except Exception as error:
        usage = getattr(error, "format_message", None)
        if usage is None:
            raise
        if type(error).__name__ == "NoArgsIsHelpError":
            typer.echo(usage())
        else:
            one_line(usage())
        return int(getattr(error, "exit_code", 2))
    return code if isinstance(code, int) else 0
