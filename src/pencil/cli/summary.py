"""What a run came to, in a few lines, and what to do next."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer


def print_summary(result: Mapping[str, Any], folder: Path, source: str) -> None:
    """Print the figures of result.json and where everything is."""
    rows = [*figures(result), ("run folder", str(folder)), ("labels", str(folder / "labels.parquet"))]
    if (folder / "report.html").exists():
        rows.append(("look at", str(folder / "report.html")))
    rows.append(("next", f"pencil review {folder}, or: pencil predict {folder} {source}"))
    width = max(len(name) for name, _ in rows)
    for name, text in rows:
        typer.echo(f"{name:<{width}}  {text}")


def figures(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Name and text of each figure a run has."""
    rows = []
    if test := result.get("test_accuracy"):
        rows.append(
            ("test accuracy", f"{test['last']:.1f}% at the end, {test['best']:.1f}% at the best held-out epoch")
        )
    if labels := result.get("label_accuracy"):
        rows.append(("correct labels", f"{labels['given']:.1f}% given → {labels['corrected']:.1f}% corrected"))
    rows.append(("labels changed", f"{result['num_changed']:,}"))
    rows.append(("suspects", f"{result['num_suspect']:,} to look at"))
    rows.append(("estimated noise", f"{result['estimated_noise_rate']:.1f}%"))
    rows.append(("time", f"{result['seconds']:.0f} s, {result['images_per_second']:,.0f} images/s"))
    return rows
