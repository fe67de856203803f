"""`pencil predict`: a finished run's network on other data."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pencil.cli.asked import data_settings
from pencil.cli.failure import guarded, one_line
from pencil.cli.options import DataAssignments, Device, FinishedRun, OwnBackbone, Root, TableAsJson, TableOut
from pencil.cli.table_file import check_out, write_table

if TYPE_CHECKING:
    from pencil.run import Predictions

Option = typer.Option


@guarded
def predict(
    run: FinishedRun,
    source: Annotated[str, typer.Argument(help="Data of the same kind as the run's.")],
    out: TableOut = None,
    as_json: TableAsJson = False,
    root: Root = None,
    split: Annotated[str | None, Option(help="train, held-out or test (test, where there is one).")] = None,
    device: Device = "auto",
    backbone: OwnBackbone = "",
    assign: DataAssignments = None,
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
        data_settings=data_settings(root, assign or []),
        split=split or "",
        device=device,
        backbone=backbone,
    )
    write_table(_rows(predictions), out, as_json=as_json)
    for note in predictions.notes:
        one_line(note)
    if predictions.accuracy is not None:
        typer.echo(f"accuracy on the labels at hand: {predictions.accuracy:.2f}%{_but(predictions)}", err=True)


def _but(predictions: "Predictions") -> str:
    """Say how many labels the accuracy leaves out, since the run has no such class."""
    labelled = [name for name in predictions.given_names if name]
    strays = len(labelled) - int((predictions.given >= 0).sum())
    return f", but for {strays:,} of {len(labelled):,} that are no class of the run" if strays else ""


def _rows(predictions: "Predictions") -> dict[str, list[Any]]:
    best = predictions.probabilities.argmax(axis=1)
    return {
        "id": [str(name) for name in predictions.ids],
        "predicted": [predictions.class_names[label] for label in best],
        "confidence": [round(float(value), 6) for value in predictions.probabilities.max(axis=1)],
    }
