"""`pencil predict`: a finished run's network on other data."""

import csv
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pencil.cli.failure import guarded
from pencil.errors import PencilError

if TYPE_CHECKING:
    from pencil.run import Predictions

Option = typer.Option
SUFFIXES = (".csv", ".parquet")


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
    _check_out(out)
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


def _check_out(out: Path | None) -> None:
    if out is None:
        return
    if out.suffix.lower() not in SUFFIXES:
        raise PencilError(f"--out is {out}; give a file that ends in .csv or .parquet.")
    if out.exists():
        raise PencilError(f"{out} already exists; choose another --out.")
    if not out.parent.is_dir():
        raise PencilError(f"{out.parent} does not exist; make it first, or choose another --out.")


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
    rows = list(zip(*columns.values(), strict=True))
    if out is not None:
        _write_file(columns, rows, out)
    elif not as_json:
        _write_csv(columns, rows, sys.stdout)
    if as_json:
        typer.echo(json.dumps([dict(zip(columns, row, strict=True)) for row in rows], indent=1, ensure_ascii=False))


def _write_file(columns: dict[str, list[Any]], rows: list[tuple[Any, ...]], out: Path) -> None:
    import io

    from pencil.results.atomic import write_atomic

    if out.suffix.lower() == ".csv":
        text = io.StringIO(newline="")
        _write_csv(columns, rows, text)
        write_atomic(out, text.getvalue().encode())
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    write_atomic(out, lambda path: pq.write_table(pa.table(columns), path))


def _write_csv(columns: dict[str, list[Any]], rows: list[tuple[Any, ...]], stream: Any) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
