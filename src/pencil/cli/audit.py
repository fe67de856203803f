"""`pencil audit`: a finished run's opinion of newly labelled data."""

from typing import Annotated

import typer

from pencil.cli.asked import data_settings
from pencil.cli.failure import guarded, one_line
from pencil.cli.options import DataAssignments, Device, FinishedRun, OwnBackbone, Root, TableAsJson, TableOut
from pencil.cli.table_file import check_out, write_table

Option = typer.Option


@guarded
def audit(
    run: FinishedRun,
    source: Annotated[str, typer.Argument(help="Labelled data of the same kind as the run's.")],
    out: TableOut = None,
    as_json: TableAsJson = False,
    keep_quality: Annotated[float, Option(help="Least quality of a label that is kept unseen.")] = 0.5,
    relabel_confidence: Annotated[
        float, Option(help="Least confidence of a label that replaces the given one unseen.")
    ] = 0.7,
    root: Root = None,
    split: Annotated[str, Option(help="train (all that has no split of its own), held-out or test.")] = "train",
    device: Device = "auto",
    backbone: OwnBackbone = "",
    assign: DataAssignments = None,
) -> None:
    """Score the labels of a new batch without training: quality, suggested label, decision.

    \b
      pencil audit run new-photos/ > audit.csv
      pencil audit run batch.csv --out audit.parquet
      pencil audit run batch.csv --relabel-confidence 0.9 --out audit.csv

    Quality runs from 0 (the network is sure of another class) to 1 (sure of this one). The decision is keep, relabel
    (the suggested label can replace it unseen) or review. A label that is no class of the run has quality 0.
    """
    check_out(out)
    from pencil.audit import audit_run
    from pencil.quality.decide import Thresholds

    thresholds = Thresholds(keep_quality=keep_quality, relabel_confidence=relabel_confidence)
    reading = dict(data_settings=data_settings(root, assign or []), split=split, device=device, backbone=backbone)
    audited = audit_run(run, source, thresholds=thresholds, **reading)
    write_table(audited.columns(), out, as_json=as_json)
    for note in audited.predictions.notes:
        one_line(note)
    if strays := audited.unknown:
        names = ", ".join(f'"{name}" ({times:,})' for name, times in list(strays.items())[:5])
        one_line(f"{sum(strays.values()):,} labels are no class of the run: {names}{', …' if len(strays) > 5 else ''}")
    counts = ", ".join(f"{number:,} {word}" for word, number in audited.counts.items())
    without = f" ({audited.unlabelled:,} without a label)" if audited.unlabelled else ""
    typer.echo(f"{len(audited.decision):,} examples{without}: {counts}", err=True)
