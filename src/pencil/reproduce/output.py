"""Writes what a study has come to: the table as Markdown, CSV and HTML, and its figures."""

from collections.abc import Sequence
from pathlib import Path

from pencil.reproduce.figures import FIGURES, described, write_figure
from pencil.reproduce.page import Heading, Part, Picture, html, markdown
from pencil.reproduce.record import Record
from pencil.reproduce.study import Study
from pencil.reproduce.tables import COLUMNS, comparison, csv_text, other_dataset, runs
from pencil.results.atomic import write_atomic


def write_study(study: Study, records: Sequence[Record], out: Path) -> list[Path]:
    """Write the files of a study from its records; return them, the Markdown page first."""
    out.mkdir(parents=True, exist_ok=True)
    drawn = {name: write_figure(name, records, out) for name, figure in FIGURES.items() if figure.study == study.name}
    parts = study_page(study, records)
    parts += [part for name, files in drawn.items() if files for part in _figure(name, files[0])]
    texts = {
        "md": markdown(parts, out),
        "csv": csv_text(study, records),
        "html": html(study.title, parts),
    }
    for kind, text in texts.items():
        write_atomic(out / f"{study.name}.{kind}", text.encode())
    return [*(out / f"{study.name}.{kind}" for kind in texts), *(path for files in drawn.values() for path in files)]


def study_page(study: Study, records: Sequence[Record]) -> list[Part]:
    """Return a study's page: heading, notes, the table, the runs."""
    dataset = other_dataset(study, records)
    listed = runs(records)
    said = [f"Each line is one run; {COLUMNS}"] if listed else []
    return [Heading(study.title, 1), *comparison(study, records, dataset=dataset), *listed, *said]


def _figure(name: str, file: Path) -> list[Part]:
    return [Heading(FIGURES[name].title), described(name), Picture(file, FIGURES[name].title)]
