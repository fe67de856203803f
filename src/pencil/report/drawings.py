"""The figures of a report, drawn by matplotlib where it can be imported."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from pencil.quality.decide import DECISIONS, Thresholds
from pencil.report.inline import inline
from pencil.report.material import Material
from pencil.report.settling import settling
from pencil.report.tables import balance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_CLASSES = 30
"""More classes than this are not drawn one by one."""


@dataclass(frozen=True)
class Drawing:
    """One figure with its caption."""

    title: str
    svg: Markup
    wide: bool = False
    """Whether it needs room to be read, and may be scrolled on a narrow screen."""
    note: str = ""
    """What to know when reading it, where there is such a thing."""


@dataclass(frozen=True)
class Drawings:
    """The figures by name; without matplotlib there are none, and a reason."""

    training: tuple[Drawing, ...] = ()
    transition: Drawing | None = None
    balance: Drawing | None = None
    quality: tuple[Drawing, ...] = ()
    missing: str = ""


def draw(material: Material) -> Drawings:
    """Draw all figures of a run."""
    with quietly():
        try:
            import matplotlib.figure  # noqa: F401
        except Exception as error:  # A broken installation fails in more ways than ImportError.
            return Drawings(missing=" ".join(f"{type(error).__name__}: {error}".split()))
        return Drawings(_training(material), _transition(material), _balance(material), _quality(material))


def _training(material: Material) -> tuple[Drawing, ...]:
    from pencil.figures.epochs import draw_epochs
    from pencil.figures.panels import panels, stretches

    phases = stretches(material.history)
    drawn = []
    for number, panel in enumerate(panels(material.history, material.result), start=1):
        figure = draw_epochs(panel.lines, phases, unit=panel.unit, broken=panel.broken)
        svg = _inlined(f"epochs-{number}", panel.description, figure)
        drawn.append(Drawing(panel.title, svg, note=settling(material) if panel.learned else ""))
    return tuple(drawn)


def _transition(material: Material) -> Drawing | None:
    from pencil.figures.transition import draw_transition

    count = len(material.classes)
    if count > MOST_CLASSES:
        return None
    words = "no class is labelled as another"
    for pair in material.noise.most_confused(1):
        believed, given = material.name(pair.corrected), material.name(pair.given)
        words = f"the most frequent confusion is {believed} labelled as {given}, {pair.share:.1f}% of the class"
    described = f"Matrix of {count} by {count} classes: percent of each believed class by its given label; {words}."
    figure = draw_transition(material.noise.transition, material.classes)
    title = "Given label by believed class, percent of each row"
    return Drawing(title, _inlined("transition", described, figure), wide=count > 12)


def _balance(material: Material) -> Drawing:
    from pencil.figures.balance import draw_balance

    counts = balance(material, MOST_CLASSES)
    figure = draw_balance([c.name for c in counts], [c.given for c in counts], [c.corrected for c in counts])
    largest = max(counts, key=lambda count: abs(count.change))
    described = (
        f"Examples of each class by given and by corrected label; the largest change is {largest.name}, "
        f"from {largest.given:,} to {largest.corrected:,}."
    )
    return Drawing("Examples by given and by corrected label", _inlined("balance", described, figure))


def _quality(material: Material) -> tuple[Drawing, ...]:
    from pencil.figures.histogram import draw_histogram

    limits = Thresholds()
    keep, relabel = limits.keep_quality, limits.relabel_confidence
    rows = {name: material.decision == name for name in DECISIONS}
    counts = ", ".join(f"{name} {int(chosen.sum()):,}" for name, chosen in rows.items())
    quality = draw_histogram(
        {name: material.quality[chosen] for name, chosen in rows.items()},
        label="quality: 0 suspect, 1 fine", threshold=keep, sides=("doubted", "kept"),
    )  # fmt: skip
    other = material.corrected != material.given
    confidence = draw_histogram(
        {name: material.confidence[chosen & other] for name, chosen in rows.items()},
        label="confidence in the corrected label", threshold=relabel, sides=("looked at", "relabelled"),
    )  # fmt: skip
    words = (
        f"Histogram of quality by decision ({counts}); labels are kept from {keep:g} up.",
        f"Histogram of confidence where the corrected label differs; relabelled from {relabel:g} up.",
    )
    return (
        Drawing("Quality of the given labels", _inlined("quality", words[0], quality)),
        Drawing("Confidence in the changed labels", _inlined("confidence", words[1], confidence)),
    )


def _inlined(name: str, description: str, figure: "Figure") -> Markup:
    from pencil.figures import style

    variables: dict[str, str] = {
        style.INK: "var(--ink)", style.MUTED: "var(--soft)", style.GRID: "var(--line)", style.SHADES[1]: "var(--shade)",
        style.GIVEN: "var(--given)", style.CORRECTED: "var(--corrected)", style.ACCENT: "var(--accent)",
        style.DOUBT: "var(--doubt)",
    }  # fmt: skip
    return inline(style.render(figure, "svg", trim=False), name=name, description=description, variables=variables)


@contextmanager
def quietly() -> Iterator[None]:
    """Keep matplotlib's remarks on fonts and folders away from a person who only trains."""
    logger: Any = logging.getLogger("matplotlib")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)
