"""Figures 2 and 3: correct labels over the epochs of label learning, from the records of their cells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pencil.recipes.paper import CIFAR_EPOCHS
from pencil.reproduce.paper import paper_curves
from pencil.reproduce.record import Record
from pencil.reproduce.trial import Trial
from pencil.results.atomic import write_atomic

PHASE = "labels"
PAPERS = ("cifar10", 45_000)
"""Of which data, and of how many labels, the paper's counts are."""


@dataclass(frozen=True)
class LabelFigure:
    """One figure of the paper: PENCIL in one cell of a study."""

    study: str
    cell: str
    title: str
    marks: Mapping[str, int]
    """Correct labels of CIFAR-10's 45,000 that the paper's text describes, by where on the curve."""
    system: str = "pencil"


FIGURES = {
    "figure2": LabelFigure(
        "table3",
        "symmetric-70",
        "Figure 2: correct labels, 70% symmetric noise",
        {"at the start": 16_000, "at the end": 39_000},
    ),
    "figure3": LabelFigure("table4", "asymmetric-30", "Figure 3: correct labels, 30% asymmetric noise", {}),
}
DESCRIBED = {
    "figure2": "The paper's text: about 16,000 of 45,000 labels are correct at the start, about 39,000 at the end.",
    "figure3": "The paper's text gives no numbers for this figure.",
}


def described(name: str) -> str:
    """Say what the paper has for a figure: in words, and in the drawing."""
    curve = paper_curves()[name]
    ends = f"{curve.correct[0]:,} at the start, {curve.correct[-1]:,} after {curve.epochs[-1]} epochs of label learning"
    return f"{DESCRIBED[name]} The drawing in the authors' repository: {ends}."


def needs_series(trial: Trial) -> bool:
    """Say whether a figure is drawn from this trial."""
    place = trial.study.name, trial.cell.name, trial.system.name
    return any(place == (figure.study, figure.cell, figure.system) for figure in FIGURES.values())


def records_of(figure: LabelFigure, records: Sequence[Record]) -> list[Record]:
    """Return the records that a figure is drawn from."""
    return [
        record
        for record in records
        if (record["cell"], record["system"]) == (figure.cell, figure.system) and "series" in record
    ]


def correct_labels(record: Record) -> list[float]:
    """Return how many labels are correct before and after each epoch of label learning."""
    names = list(record["phases"])
    start = sum(record["phases"][name] for name in names[: names.index(PHASE)])
    shares = record["series"]["label_accuracy"][start : start + record["phases"][PHASE]]
    return [round(share * record["num_examples"] / 100) for share in (record["label_accuracy"]["given"], *shares)]


def draw(name: str, records: Sequence[Record]) -> Any:
    """Draw one curve a trial; what the paper has stands beside it where the data is the paper's."""
    from matplotlib.figure import Figure

    from pencil.figures.style import COLOURS, look

    figure = FIGURES[name]
    with look():
        drawn = Figure(figsize=(5.2, 3.4), layout="constrained")
        axes = drawn.add_subplot()
        for number, record in enumerate(records):
            counts = correct_labels(record)
            axes.plot(range(len(counts)), counts, color=COLOURS[1], alpha=1 / (1 + 0.4 * number), linewidth=1.8)
        if all((record["dataset"], record["num_examples"]) == PAPERS for record in records):
            _compare(axes, name)
        total = records[0]["num_examples"]
        axes.set_title(f"{figure.title} ({records[0]['dataset']})", fontsize=10)
        axes.set_xlabel("epoch of label learning")
        axes.set_ylabel(f"correct labels of {total:,}")
        axes.set_ylim(0, total)
        return drawn


def _compare(axes: Any, name: str) -> None:
    """Draw the authors' curve, and mark what their text describes."""
    from pencil.figures.style import COLOURS, MUTED

    curve = paper_curves()[name]
    axes.lines[0].set_label("ours")
    axes.plot(curve.epochs, curve.correct, color=COLOURS[0], linewidth=1.2, linestyle=(0, (4, 2)), label="the authors'")
    axes.legend(loc="lower right", bbox_to_anchor=(1, 0.05), fontsize=8)
    ends = {"at the start": 0, "at the end": CIFAR_EPOCHS[1]}
    for where, count in FIGURES[name].marks.items():
        axes.axhline(count, color=MUTED, linewidth=0.8, linestyle="--")
        axes.plot([ends[where]], [count], "o", color=COLOURS[0])
        # Curves run close below the end's line.
        below = {"at the start": 2, "at the end": -20}[where]
        axes.annotate(
            f"paper: about {count:,} {where}", (0.5, count), (0, below), xycoords=("axes fraction", "data"),
            textcoords="offset points", va="bottom", ha="center", fontsize=8, color=MUTED,
        )  # fmt: skip


def write_figure(name: str, records: Sequence[Record], folder: Path) -> list[Path]:
    """Write a figure as SVG and PNG where there are records for it; return the files."""
    from pencil.figures.style import render

    chosen = records_of(FIGURES[name], records)
    if not chosen:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    drawn = draw(name, chosen)
    paths = [folder / f"{name}.{kind}" for kind in ("svg", "png")]
    for path in paths:
        write_atomic(path, render(drawn, path.suffix[1:]))
    return paths
