"""Datasets from Hugging Face's `datasets`: a loaded Dataset, or a DatasetDict with a train split."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pencil.data import labels, tables
from pencil.data.arrays import as_inputs, describe_inputs
from pencil.data.dataset import UNLABELLED, ArrayInputs, DataFacts, Dataset, Examples, Inputs, Preparation, select
from pencil.data.identity import given_ids
from pencil.data.images import image_files
from pencil.data.images.encoded import EncodedImages
from pencil.data.request import Request
from pencil.data.tables import trained_features
from pencil.data.tables.class_columns import spelled_out
from pencil.data.tables.learnable import beside, learnable
from pencil.data.tables.uses import CORRECTED
from pencil.data.tables.words import MARK
from pencil.errors import PencilError, did_you_mean

OPTIONS = ("config", "split", "label", "image", "features", "words", "ignore", "id", "clean", *image_files.OPTIONS)
_LABEL_NAMES = ("label", "labels", "target", "class", "y", "fine_label")
_TEXTS = ("string", "large_string")
_SETS = {"validation": "held_out", "valid": "held_out", "val": "held_out", "test": "test"}


class Part(NamedTuple):
    """A split and its name; a dataset without splits has the name ""."""

    name: str
    rows: Any

    def without(self, names: Sequence[str]) -> Part:
        """Leave columns out, as far as they are there."""
        return Part(self.name, self.rows.remove_columns([name for name in names if name in self.rows.column_names]))

    def column(self, name: str) -> list[Any]:
        """Return a column's values; it must be there."""
        if name not in self.rows.column_names:
            raise self.lacks(name)
        return list(self.rows[name][:])

    def lacks(self, name: str) -> PencilError:
        """Return the error that a column is not there."""
        where = f"the split {self.name} has" if self.name else "there is"
        return PencilError(f'{where} no column "{name}".{did_you_mean(name, self.rows.column_names)}')

    def ids(self, column: str) -> NDArray[np.str_]:
        """Name the rows by a column, else by their place: "17", or "train/17" where there are splits."""
        if column:
            return given_ids(self.column(column), len(self.rows))
        places = [f"{self.name}/{place}" if self.name else str(place) for place in range(len(self.rows))]
        return np.array(places, dtype=np.str_)

    def values(self, label: str, classes: Sequence[str] | None, *, needed: bool) -> NDArray[Any]:
        """Return the labels as they are, or by name where the numbers of a column count others than these classes."""
        if not needed and label not in self.rows.column_names:
            return np.full(len(self.rows), UNLABELLED)
        if getattr(getattr(self.rows.features.get(label), "feature", None), "names", None):
            raise PencilError(f'the column "{label}" holds several classes for each example; give a column of one.')
        values, own = labels.as_values(self.column(label)), class_names(self.rows, label)
        if own is None or own == classes:
            return values
        return np.array([None if number == UNLABELLED else own[number] for number in values], dtype=object)


def class_names(rows: Any, label: str) -> tuple[str, ...] | None:
    """Return what the classes of a column are called, if it knows."""
    names = getattr(rows.features.get(label), "names", None)
    return None if names is None else tuple(names)


def is_hugging_face(source: Any) -> bool:
    """Say whether something is of the package `datasets`, without importing it."""
    return type(source).__module__.partition(".")[0] == "datasets"


def refuse_streaming(source: Any) -> None:
    """Refuse a dataset whose rows cannot be counted."""
    if type(source).__name__.startswith("Iterable"):
        raise PencilError(
            "this is a streaming dataset, but labels are kept for each example by its place, which a stream has not;"
            " load it without streaming=True."
        )


def from_hugging_face(source: Any, request: Request | None = None, *, name: str = "hugging_face") -> Dataset:
    """Make a dataset of a loaded one: images, vectors or plain columns, and a label; streaming is refused."""
    request = request or Request()
    request.check_options("hf", OPTIONS)
    parts = splits(source, request.text("split"))
    request.looked_at(parts["train"].rows.column_names)
    parts = {kind: part.without(request.texts("ignore")) for kind, part in parts.items()}
    train, label = parts["train"], label_column(parts["train"].rows, request)
    request.refuse_leaks(label)
    request.refuse_two_inputs()
    named = class_names(train.rows, label)
    by_name = named is None
    values = {kind: part.values(label, named, needed=request.labels_needed) for kind, part in parts.items()}
    clean = request.text("clean")
    if clean not in train.rows.column_names and not request.labels_needed:
        clean = ""
    truth = train.values(clean, named, needed=True) if clean else None
    found = labels.class_names_of(*values.values(), *(() if truth is None else (truth,)))
    classes = found if named is None else named
    inputs, preparation, backbone, facts = _inputs(parts, label, request, name)
    texts = _texts(parts, label, request, facts) if preparation.kind == "rows" else {}
    sets, start = {}, 0
    for kind, part in parts.items():
        encoded = labels.encode(values[kind], classes, by_name=by_name)
        known = None
        if kind == "train" and truth is not None:
            known = labels.encode(truth, classes, by_name=by_name, what="clean label").given
        own = select(inputs, np.arange(start, start + len(part.rows)))
        said = {column: text[start : start + len(part.rows)] for column, text in texts.items()} or None
        ids = part.ids(request.text("id"))
        sets[kind] = Examples(own, ids, encoded.given, encoded.distribution, clean=known, texts=said)
        start += len(part.rows)
    return Dataset(
        name, classes, sets["train"], preparation, held_out=sets.get("held_out"), test=sets.get("test"),
        default_backbone=backbone, facts=facts | DataFacts(by_place=not request.text("id")),
        terms=labels.terms_of(values["train"], classes) if by_name else None,
    )  # fmt: skip


def splits(source: Any, train: str = "") -> dict[str, Part]:
    """Return the sets by their use; `train` names the split to train on."""
    refuse_streaming(source)
    if not isinstance(source, Mapping):
        return {"train": Part("", source.with_format(None))}
    wanted = train or "train"
    if wanted not in source:
        remedy = did_you_mean(wanted, source) if train else " Name the one to train on: --set data.options.split=NAME."
        raise PencilError(f'there is no split "{wanted}", only {", ".join(source)}.{remedy}')
    found = {"train": Part(wanted, source[wanted].with_format(None))}
    for name, rows in source.items():
        kind = _SETS.get(name, "")
        if kind and name != wanted and kind not in found:
            found[kind] = Part(name, rows.with_format(None))
    return found


def label_column(rows: Any, request: Request) -> str:
    """Return the label's column: the one an option names, one with a usual name, or the only one of classes."""
    if not len(rows):
        raise PencilError("the dataset is empty; give at least two examples.")
    if request.text("label"):
        return request.text("label")
    kinds = [name for name, feature in rows.features.items() if type(feature).__name__ == "ClassLabel"]
    by_name = {name.lower(): name for name in rows.column_names}
    usual = [by_name[name] for name in _LABEL_NAMES if name in by_name]
    found = [name for name in usual if name in kinds] or usual or (kinds if len(kinds) == 1 else [])
    if not found and request.labels_needed:
        known = ", ".join(rows.column_names)
        raise PencilError(
            f"it is not clear which column holds the labels (of {known}); name it by --set data.options.label=NAME."
        )
    return str(found[0]) if found else ""


def _inputs(
    parts: Mapping[str, Part], label: str, request: Request, name: str
) -> tuple[Inputs, Preparation, str, DataFacts]:
    """Return the inputs of all sets one after the other: images where a column holds them, else rows of features."""
    if request.trained_features:
        return _as_trained(parts, request.trained_features)
    kinds = {column: type(feature).__name__ for column, feature in parts["train"].rows.features.items()}
    image = request.text("image") or next((column for column, kind in kinds.items() if kind == "Image"), "")
    if image and not (request.texts("features") or request.texts("words")):
        whole = _joined(parts, [image])
        if kinds[image] == "Image":
            return _images(whole, image, parts, request, name)
        request.refuse_idle(image_files.OPTIONS, f'the images in the column "{image}" are no files')
        pixels = as_inputs(np.array(whole.with_format("numpy")[:][image]))
        return ArrayInputs(pixels), *describe_inputs(pixels)
    request.refuse_idle(image_files.OPTIONS, "the dataset is learned from by its columns, not by images")
    used = {label, request.text("id"), request.text("clean"), *_said_by_a_run(parts["train"].rows)}
    columns = list(request.texts("features")) or [column for column in kinds if column not in used]
    table = _table(parts, columns)
    chosen, words = bool(request.texts("features")), request.texts("words")
    found = learnable(table, columns, name, chosen=chosen, words=words)
    rows, facts = tables.features(table, found.columns, found.words)
    if found.line:
        facts["left_out"] = found.line
    preparation, backbone, _ = describe_inputs(rows)
    return ArrayInputs(rows), preparation, backbone, facts


def _as_trained(parts: Mapping[str, Part], titles: Sequence[str]) -> tuple[Inputs, Preparation, str, DataFacts]:
    """Return the features that a run has, whatever these rows alone would make of their columns."""
    columns = dict(trained_features.columns_of(titles, parts["train"].rows.column_names))
    rows, facts = trained_features.as_trained(_table(parts, list(columns)), titles)
    preparation, backbone, _ = describe_inputs(rows)
    return ArrayInputs(rows), preparation, backbone, facts


def _said_by_a_run(rows: Any) -> set[str]:
    """Return what an export of a run says of labels, and the labels it was given: nothing to learn labels from."""
    if CORRECTED[0] not in rows.column_names:
        return set()
    names = class_names(rows, CORRECTED[0])
    given = {column for column in rows.column_names if names and class_names(rows, column) == names}
    return {*CORRECTED, *given, label_column(rows, Request(labels_needed=False))}


def _texts(parts: Mapping[str, Part], label: str, request: Request, facts: DataFacts) -> dict[str, NDArray[np.object_]]:
    """Return the texts of all sets that are no features and of no other use."""
    kinds = parts["train"].rows.features
    features = trained_features.columns_of(facts["features"], kinds)
    used = {label, request.text("id"), request.text("clean"), *(name for name, rest in features if rest[:1] != MARK)}
    shared = set.intersection(*(set(part.rows.column_names) for part in parts.values()))
    columns = [name for name in kinds if name in shared - used and getattr(kinds[name], "dtype", "") in _TEXTS]
    return beside(_table(parts, columns), ()) if columns else {}


def _table(parts: Mapping[str, Part], columns: list[str]) -> Any:
    """Return some columns of all sets as a table, in which classes are texts as in a file of the same."""
    return spelled_out(_joined(parts, columns).with_format("arrow")[:])


def _joined(parts: Mapping[str, Part], columns: list[str]) -> Any:
    """Put some columns of all sets one after the other."""
    from datasets import concatenate_datasets

    for part in parts.values():
        for column in columns:
            if column not in part.rows.column_names:
                raise part.lacks(column)
    try:
        return concatenate_datasets([part.rows.select_columns(columns) for part in parts.values()])
    except ValueError as error:
        reason = str(error).splitlines()[0]
        raise PencilError(f"the splits have columns of different kinds ({reason}); make them alike.") from error


def _images(
    whole: Any, column: str, parts: Mapping[str, Part], request: Request, name: str
) -> tuple[Inputs, Preparation, str, DataFacts]:
    """Decode the images into the cache, under a key that changes with the dataset's content."""
    from datasets import Image

    raw = whole.cast_column(column, Image(decode=False))
    images: Any = EncodedImages(len(raw), lambda place: raw[place][column], name)
    marks = [part.rows._fingerprint for part in parts.values()] + list(_outside(raw.data.column(column)))
    key = blake2b(f"hf {marks} {column} {request.integer('size', 0)}".encode(), digest_size=16).hexdigest()
    return image_files.read_images(images, (), request, key=key)


def _outside(images: Any) -> Iterator[str]:
    """Yield the size and the time of each image that lies in a file of its own: such a file may change."""
    for chunk in images.chunks:
        for path in chunk.field("path").filter(chunk.field("bytes").is_null()).to_pylist():
            with suppress(OSError, TypeError, ValueError):  # Whoever reads it says what is wrong with it.
                status = os.stat(path)
                yield f"{status.st_size} {status.st_mtime_ns}"
