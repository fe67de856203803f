"""`pencil predict`: a finished run's network on other data."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pencil.cli.failure import guarded
from pencil.cli.table_file import check_out
from pencil.errors import PencilError
from pencil.results.columns_file import write_columns, write_csv

if TYPE_CHECKING:
    from pencil.run import Predictions

Option = typer.Option


@guarded
def predict(
    run: Annotated[Path, typer.Argument(help="The folder of a finished run.")],
    source: Annotated[str, typer.Argument(help="Data of the same kind as the run's.")],
    out: Annotated[Path | None, Option(help="File to write, .csv or .parquet; without it CSV goes to stdout.")] = None,
    as_json: Annotated[bool, Option("--json", help="Write a JSON list to stdout.")] = False,
    root: Annotated[str | None, Option(help="Folder of a named source's files.")] = None,
    split: Annotated[str | None, Option(help="train, held-out or test (test, where there is one).")] = None,
    device: Annotated[str, Option(help="auto, cpu, cuda, cuda:1, mps.")] = "auto",
    backbone: Annotated[str, Option(help="The run's own network again, where it is file.py:factory.")] = "",
    assign: Annotated[
        list[str] | None, Option("--set", metavar="KEY=VALUE", help="How to read the data: data.options.label=kind")
    ] = None,
) -> None:
    """Predict the class of each example: id, class, confidence.

    \b
      pencil predict run new-photos/ > new.csv
      pencil predict run table.csv --out new.parquet
    """
    check_out(out)
    from pencil.run import predict_run

    predictions = predict_run(
        run,
        source,
        data_settings=_data_settings(root, assign or []),
        split=split or "",
        device=device,
        backbone=backbone,
    )
    _write(_rows(predictions), out, as_json=as_json)
    if predictions.accuracy is not None:
        typer.echo(f"accuracy on the labels at hand: {predictions.accuracy:.2f}%", err=True)


def _data_settings(root: str | None, assignments: list[str]) -> dict[str, Any]:
    from pencil.config import merge, override

    document = merge({"data": {"root": root} if root else {}}, *(override(text) for text in assignments))
    if set(document) != {"data"}:
        raise PencilError("--set takes settings of the data here: data.NAME=value.")
    return dict(document["data"])


def _rows(predictions: "Predictions") -> dict[str, list[Any]]:
    best = predictions.probabilities.argmax(axis=1)
    return {
        "id": [str(name) for name in predictions.ids],
        "predicted": [predictions.class_names[label] for label in best],
        "confidence": [round(float(value), 6) for value in predictions.probabilities.max(axis=1)],
    }


def _write(columns: dict[str, list[Any]], out: Path | None, *, as_json: bool) -> None:
    if out is not None:
        write_columns(columns, out)
    elif not as_json:
        write_csv(columns, sys.stdout)
    if as_json:
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        typer.echo(json.dumps(rows, indent=1, ensure_ascii=False))
