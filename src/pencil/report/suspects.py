"""The most suspect examples: what they look like, what was written on them, what is believed, and since when."""

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pencil.errors import PencilError
from pencil.quality.score import most_suspect_first
from pencil.report.material import Material

Sight = bytes | list[tuple[str, str]]
"""A PNG, or the names and values of a row."""
Look = Callable[[Sequence[str]], list[Sight]]
"""Returns what there is to see of the examples with these ids."""

MOST = 24
COARSE = 48
"""Pixels a side up to which an image is shown pixel by pixel."""
MOST_VALUES = 8
"""Values of a row that fit on a card."""
MOST_LETTERS = 600
"""Letters of a value; a card shows fewer, and a page of whole articles would be too large to send."""


@dataclass(frozen=True)
class Suspect:
    """One card of the gallery."""

    id: str
    given: str
    corrected: str
    network: str
    clean: str
    """The true label where it is known, else nothing."""
    right: bool
    """Whether the corrected label is the true one."""
    confidence: float
    quality: float | None
    decision: str
    held_out: bool
    history: str
    changed_at: int
    """Epoch of the last change counted from 1; 0 where the label never changed."""
    picture: str = ""
    """The image as a data address."""
    coarse: bool = False
    """Whether its pixels are so few that they should be seen as such."""
    values: tuple[tuple[str, str], ...] = ()
    more: int = 0
    """Values of the row that are not shown."""


@dataclass(frozen=True)
class Gallery:
    """The cards, and why they have no pictures where that is so."""

    suspects: tuple[Suspect, ...]
    missing: str = ""


def choose(material: Material, look: Look | None, most: int = MOST) -> Gallery:
    """Pick the most suspect examples, and look at them where the data can be read."""
    rows = _rows(material)[:most]
    ids = material.table["id"].take(rows).to_pylist() if rows else []
    cards = [_describe(material, row, str(name)) for row, name in zip(rows, ids, strict=True)]
    if look is None or not cards:
        return Gallery(tuple(cards))
    try:
        sights = look([card.id for card in cards])
    except PencilError as error:
        return Gallery(tuple(cards), str(error))
    return Gallery(tuple(_seen(card, sight) for card, sight in zip(cards, sights, strict=True)))


def _rows(material: Material) -> list[int]:
    """Return the suspects, the most suspect first, those that were trained on before those that were held out."""
    # The network alone speaks on held-out examples, and it is always surer than learned labels are.
    order = most_suspect_first(material.quality, material.num_changes)
    suspects = order[material.suspect[order]]
    apart = material.split[suspects] != "train"
    return [int(row) for row in (*suspects[~apart], *suspects[apart])]


def _describe(material: Material, row: int, name: str) -> Suspect:
    clean, quality = int(material.clean[row]), float(material.quality[row])
    return Suspect(
        id=name,
        given=material.name(int(material.given[row])),
        corrected=material.name(int(material.corrected[row])),
        network=material.name(int(material.network[row])),
        clean=material.name(clean) if clean >= 0 else "",
        right=clean == int(material.corrected[row]),
        confidence=float(material.confidence[row]),
        quality=None if np.isnan(quality) else quality,
        decision=str(material.decision[row]),
        held_out=str(material.split[row]) != "train",
        history=_history(material, row),
        changed_at=int(material.changed_at[row]) + 1,
    )


def _history(material: Material, row: int) -> str:
    """Say when and how often a label changed."""
    if str(material.split[row]) != "train":
        return "held out: the network’s own view"
    times, epoch = int(material.num_changes[row]), int(material.changed_at[row]) + 1
    if times <= 0 or epoch <= 0:
        return "never changed"
    if times == 1:
        return f"changed in epoch {epoch}"
    return f"changed {times} times, last in epoch {epoch}"


def _seen(card: Suspect, sight: Sight) -> Suspect:
    fields = vars(card)
    if isinstance(sight, bytes):
        address = f"data:image/png;base64,{base64.b64encode(sight).decode()}"
        return Suspect(**fields | {"picture": address, "coarse": _width(sight) <= COARSE})
    shown = tuple((name, _short(value)) for name, value in sight[:MOST_VALUES])
    return Suspect(**fields | {"values": shown, "more": len(sight) - len(shown)})


def _short(value: str) -> str:
    return value if len(value) <= MOST_LETTERS else f"{value[:MOST_LETTERS]}…"


def _width(png: bytes) -> int:
    # A PNG begins with 16 bytes of signature and header, then its width.
    return int.from_bytes(png[16:20], "big")
