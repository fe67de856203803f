"""What the columns of a table are used for: what options say, else what the columns are called and hold."""

import re
from collections.abc import Sequence
from itertools import chain
from typing import Any

from pencil.data.images import held_images
from pencil.data.images.decode import is_image_name
from pencil.data.request import Request
from pencil.data.tables import trained_features
from pencil.data.tables.columns import column, is_text
from pencil.data.tables.files import Place
from pencil.data.tables.frames import Frame
from pencil.data.tables.label_cells import NUMBER
from pencil.errors import PencilError
from pencil.spelling import columns_named

CORRECTED = ("corrected_label", "label_source", "label_quality")
"""Columns that an export of a run adds."""
_LABEL_NAMES = ("label", "target", "class", "y")
_IMAGE_NAMES = ("image", "path", "file", "filename")
_IMAGE_ALIKE = re.compile("(image|img|file)[ _-]?(file)?[ _-]?(path|name)?")
"""Such as image_path, img or file_name: a column of images where all its texts end as names of image files do."""
_NUMBER = re.compile(NUMBER)
SETS = {"train": "train", "test": "test"} | dict.fromkeys(("val", "valid", "validation", "held-out"), "held_out")


def label_column(place: Place, header: Sequence[str], features: Sequence[str], request: Request) -> str:
    """Return the label's column, or nothing where labels come in several columns."""
    request.refuse_leaks(request.text("label"))
    request.refuse_two_inputs()
    ways = [name for name in ("soft", "votes", "annotators") if request.texts(name)]
    if request.text("label") or ways:
        if len(ways) + bool(request.text("label")) > 1:
            raise PencilError(f"labels are named in several ways ({', '.join(ways)}, label); give one.")
        if ways:
            _refuse_leaks(header, ways[0], features, request)
        return request.text("label")
    own = request.trained_columns.get("label", "")
    if own and own in header and own not in features:
        return own
    found = _alike(header, features, request)
    if len(found) > 1:
        raise PencilError(
            f"{' and '.join(found)} may each be the label; name it ({columns_named('label', found[:1])}), or, to leave"
            f" one out, the others ({columns_named('ignore', found[1:])})."
        )
    if found or not request.labels_needed:
        return "".join(found)
    raise PencilError(_no_label(place, header, request))


def _no_label(place: Place, header: Sequence[str], request: Request) -> str:
    """Say that no column is known to hold the labels, and how to name the one that does."""
    used = ((name, use) for name in header if _bare(name) in _LABEL_NAMES for use in request.uses_of(name))
    name, use = next(used, ("", ""))
    none = "there is no column called label, target, class or y"
    if name:
        none = f'the column "{name}" is named by the option {use}, and no other is called label, target, class or y'
    way = 'pencil.fit(frame, "NAME")'
    if not isinstance(place, Frame):
        way = "--set data.options.label=NAME"
    numbers = [name for name in header if _NUMBER.fullmatch(name)]
    headless = ""
    if 2 * len(numbers) >= len(header) and numbers != [str(number) for number in range(len(numbers))]:
        shown = ", ".join(numbers[:3])
        headless = (
            f" The first row, which names the columns, has numbers ({shown}); if it is one of data, put a row of names"
            " above it."
        )
    return f"{none}; name the one of the labels (of {', '.join(header)}) by {way}.{headless}"


def _alike(header: Sequence[str], features: Sequence[str], request: Request) -> list[str]:
    """Return the columns that are called as labels are, and are named as nothing else."""
    named = (request.text(name) for name in ("id", "split", "clean", "trusted", "image"))
    other = {*features, *request.texts("features"), *request.texts("words"), *named}
    return [name for name in header if _bare(name) in _LABEL_NAMES and name not in other]


def _bare(name: str) -> str:
    """Return what a column is called but for capitals and for blanks around commas."""
    return name.strip().lower()


def _refuse_leaks(header: Sequence[str], way: str, features: Sequence[str], request: Request) -> None:
    """Refuse to learn, beside labels that come in several columns, from one that is called as a label is."""
    alike = [name for name in _alike(header, features, request) if name not in request.texts(way)]
    if alike and not (features or request.texts("features")):
        raise PencilError(
            f"{' and '.join(alike)} may be the label that {way} gives, and would be learned from; name the columns to"
            " learn from (--set data.options.features=…)."
        )


def said_by_a_run(header: Sequence[str], used: set[str]) -> set[str]:
    """Return what an export of a run says of labels and, where that is the label, the one it was given."""
    if CORRECTED[0] not in header:
        return set()
    given = [name for usual in _LABEL_NAMES for name in header if _bare(name) == usual]
    return {*CORRECTED, *(given[:1] if CORRECTED[0] in used else ())}


def usual_column(header: Sequence[str], request: Request, name: str) -> str:
    """Return the column an option names, else the one that is called like the option, if there is one.

    In capitals or with blanks around it is called so too, unless it is a feature.
    """
    if request.text(name) or name in header:
        return request.text(name) or name
    run = trained_features.columns_of(request.trained_features, header)
    features = {*request.texts("features"), *request.texts("words"), *(column for column, _ in run)}
    return next((column for column in header if _bare(column) == name and column not in features), "")


def split_column(table: Any, request: Request) -> str:
    """Return the column that names sets; one that is only called so is none to a run that was trained without."""
    name = usual_column(table.column_names, request, "split")
    if request.text("split") or not name or request.trained_columns.get("split") != "":
        return name
    words = {str(word).strip().lower() for word in column(table, name).to_pylist()}
    return name if words <= set(SETS) else ""


def image_column(table: Any, request: Request) -> str:
    if request.text("image") or request.texts("features") or request.texts("words") or request.trained_features:
        return request.text("image")
    if held := held_images.column_of_images(table):
        return held
    usual = (name for name in table.column_names if _bare(name) in _IMAGE_NAMES and is_text(column(table, name).type))
    alike = (name for name in table.column_names if _IMAGE_ALIKE.fullmatch(_bare(name)) and _names_images(table, name))
    return next(chain(usual, alike), "")


def _names_images(table: Any, name: str) -> bool:
    cells = [cell for cell in column(table, name).to_pylist() if cell not in (None, "")]
    return bool(cells) and all(isinstance(cell, str) and is_image_name(cell) for cell in cells)
