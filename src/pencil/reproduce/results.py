"""docs/results.md: every table and figure, made of the records alone, the same for the same records."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pencil.errors import PencilError
from pencil.reproduce.compare import compare
from pencil.reproduce.distance import distance
from pencil.reproduce.estimate import read_benchmarks
from pencil.reproduce.figures import FIGURES, correct_labels, described, records_of, write_figure
from pencil.reproduce.page import Grid, Heading, Part, Picture, markdown
from pencil.reproduce.record import Record, read_records, version_of
from pencil.reproduce.speed import speed
from pencil.reproduce.studies import STUDIES
from pencil.reproduce.study import Study
from pencil.reproduce.tables import COLUMNS, comparison, other_dataset, runs
from pencil.results.atomic import write_atomic

INTRODUCTION = (
    "Made from the records under `reference/` by `pencil reproduce results`; do not edit. Each record is one run, with "
    "its settings, hardware, time and versions (`reference/README.md`); "
    f"{COLUMNS} What was not run is missing and is never filled in. `pencil "
    "reproduce table3 --root DATA` and the like run what is missing."
)
NOTHING = (
    "No run is recorded yet: every cell below is missing. The runs on a GPU, and with them all test and label "
    "accuracies, are pending."
)


def write_results(page: Path, reference: Path) -> list[Path]:
    """Write the page and the figures it shows; return the files."""
    records = {name: read_records(reference, name) for name in STUDIES}
    outdated = {name: read_records(reference, name, outdated=True) for name in STUDIES}
    benchmarks = read_benchmarks(reference)
    if not any([*records.values(), *outdated.values(), benchmarks]):
        raise PencilError(
            f"there are no records in {reference}, so there is nothing to show; give their folder with --reference."
        )
    images = page.parent / "images"
    page.parent.mkdir(parents=True, exist_ok=True)
    drawn = [path for name, figure in FIGURES.items() for path in write_figure(name, records[figure.study], images)]
    write_atomic(page, results_text(records, page.parent, benchmarks, outdated).encode())
    return [page, *drawn]


def results_text(
    records: Mapping[str, Sequence[Record]],
    base: Path,
    benchmarks: Sequence[Mapping[str, Any]] = (),
    outdated: Mapping[str, Sequence[Record]] | None = None,
) -> str:
    """Return the page's Markdown, for a place in the folder `base`; outdated records are listed and count nowhere."""
    parts: list[Part] = [Heading("Results", 1), INTRODUCTION]
    if not any(records.values()):
        parts.append(NOTHING)
    parts += [_overview(records), *distance(records, base)]
    for name, study in STUDIES.items():
        table = comparison(study, records[name], dataset=other_dataset(study, records[name]))
        parts += [Heading(study.title), *table, *runs(records[name])]
        for version, old in _by_version((outdated or {}).get(name, ())):
            parts += runs(old, f"Runs with version {version} of the recipe, which count nowhere")
        for number, figure in FIGURES.items():
            if figure.study == name:
                parts += _figure(number, records[name], base)
    return markdown([*parts, *speed(benchmarks)], base)


def _by_version(records: Sequence[Record]) -> list[tuple[int, list[Record]]]:
    versions = sorted({version_of(record) for record in records}, reverse=True)
    return [(version, [record for record in records if version_of(record) == version]) for version in versions]


def _overview(records: Mapping[str, Sequence[Record]]) -> Grid:
    rows = tuple(_counts(study, records[name]) for name, study in STUDIES.items())
    return Grid(("study", "cells", "with a run", "missing", "runs"), rows)


def _counts(study: Study, records: Sequence[Record]) -> tuple[str, ...]:
    entries = [entry for line in compare(study, records) for entry in line.of("last") if entry.wanted]
    done = sum(bool(entry.ours) for entry in entries)
    return study.title, str(len(entries)), str(done), str(len(entries) - done), str(len(records))


def _figure(name: str, records: Sequence[Record], base: Path) -> list[Part]:
    figure = FIGURES[name]
    chosen = records_of(figure, records)
    parts: list[Part] = [Heading(figure.title, 3), described(name)]
    if not chosen:
        return [*parts, "Ours: missing."]
    counts = [(record, correct_labels(record)) for record in chosen]
    told = "; ".join(
        f"seed {record['seed']}: {found[0]:,} at the start, {found[-1]:,} at the end of {record['num_examples']:,}"
        for record, found in counts
    )
    return [*parts, f"Ours: {told}.", Picture(base / "images" / f"{name}.svg", figure.title)]
