"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Option = typer.Option

FinishedRun = Annotated[Path, typer.Argument(help="The folder of a finished run.")]
"""The run that a command works with."""
MovedSource = Annotated[str, Option(help="The run's data, where it has moved or is code of its own.")]
MovedRoot = Annotated[str, Option(help="The folder that the run's data lies in now.")]
"""Where the run's own data is now."""

Root = Annotated[str | None, Option(help="Folder of a named source's files.")]
DataAssignments = Annotated[
    list[str] | None, Option("--set", metavar="KEY=VALUE", help="How to read the data: data.options.label=kind")
]
"""How to read other data."""
Device = Annotated[str, Option(help="auto, cpu, cuda, cuda:1, mps.")]
OwnBackbone = Annotated[str, Option(help="The run's own network again, where it is file.py:factory.")]
"""How to run the network on it."""
TableOut = Annotated[Path | None, Option(help="File to write, .csv or .parquet; without it CSV goes to stdout.")]
TableAsJson = Annotated[bool, Option("--json", help="Write a JSON list to stdout.")]
"""Where the table goes that comes out."""
