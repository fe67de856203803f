"""What a run came to, in a few lines, and what to do next."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from pencil.config import read_toml
from pencil.config.own_code import named_again
from pencil.results.summary import in_words


def print_summary(result: Mapping[str, Any], folder: Path, source: str) -> None:
    """Print the figures of result.json and where everything is."""
    rows = [*in_words(result), ("run folder", str(folder)), ("labels", str(folder / "labels.parquet"))]
    if (folder / "report.html").exists():
        rows.append(("look at", str(folder / "report.html")))
    if pictures := sorted(file.name for file in (folder / "pictures").glob("*.png")):
        rows.append(("pictures", f"{folder / 'pictures'}: {', '.join(pictures)}"))
    run = shlex.quote(str(folder))
    settings = read_toml(folder / "config.toml")
    review = f"pencil review {run}{named_again(settings, source='--source ')}"
    predict = f"pencil predict {run} {shlex.quote(source)}{named_again(settings, backbone='--backbone ')}"
    rows.append(("next", f"{review}, or: {predict}"))
    width = max(len(name) for name, _ in rows)
    for name, text in rows:
        typer.echo(f"{name:<{width}}  {text}")
