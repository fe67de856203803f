"""Turns a run into report.html."""

from dataclasses import dataclass, field
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pencil.quality.decide import Thresholds
from pencil.report import about, headline, tables
from pencil.report.drawings import MOST_CLASSES, draw
from pencil.report.material import Material, gather
from pencil.report.pictures import draw_pictures
from pencil.report.suspects import Gallery, Look, choose
from pencil.results.read import Run
from pencil.results.summary import method_of

SHOWN = ('alt="The example ', '<dl class="values">')
"""What stands in a page for the picture of an example, and for its values."""


@dataclass(frozen=True)
class Report:
    """A finished page."""

    html: str
    material: Material = field(repr=False)
    gallery: Gallery = field(repr=False)

    @property
    def missing(self) -> str:
        """Why the examples could not be shown, where that is so."""
        return self.gallery.missing

    def pictures(self) -> dict[str, bytes]:
        """Draw the run's pictures: PNGs by name."""
        return draw_pictures(self.material, self.gallery)


def make_report(run: Run, look: Look | None = None) -> Report:
    """Make the page of a finished run; `look` shows its examples, which need the run's data."""
    material = gather(run)
    gallery = choose(material, look)
    page = _environment().get_template("report.html.j2").render(**_content(material), gallery=gallery)
    return Report(page, material, gallery)


def shows_examples(html: str) -> bool:
    """Say whether a page that was made before shows its suspects, not their names alone."""
    return any(mark in html for mark in SHOWN)


def _content(material: Material) -> dict[str, Any]:
    many = len(material.classes) > MOST_CLASSES
    total = max((phase.last for phase in material.phases), default=1)
    return {
        "result": material.result,
        "method": method_of(material.result),
        "run": material.folder.path.resolve().name,
        "lead": headline.lead(material),
        "warnings": headline.warnings(material),
        "tiles": headline.tiles(material),
        "short": about.in_short(material),
        "steps": about.next_steps(material),
        "phases": material.phases,
        "total": total,
        "drawings": draw(material),
        "many": many,
        "most_classes": MOST_CLASSES,
        "balance": tables.balance(material, MOST_CLASSES),
        "pairs": tables.pairs(material, tables.MANY if many else tables.FEW),
        "choices": tables.choices(material),
        "thresholds": Thresholds(),
        "detection": tables.detection(material),
        "settings": about.settings_groups(material),
        "environment": about.environment_rows(material),
    }


@cache
def _environment() -> Environment:
    # Names of classes and files come from data of unknown origin: everything is escaped unless marked as safe here.
    environment = Environment(
        loader=PackageLoader("pencil.report", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    loader = environment.loader
    assert loader is not None
    environment.globals["style"] = Markup(loader.get_source(environment, "report.css")[0])
    return environment
