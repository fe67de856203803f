"""A CSV or Parquet file: a label in each row, and an image's path, columns of features or a column of embeddings.

Options name columns: `label` (else label, target, class or y); `image`, a path from the file's folder or --root, or the
image itself; `id` and `split` (train, val or test), else the columns of these names, in capitals too; `features`, else
all others; `words`, texts that are learned from by the words in them; `ignore`, those that are not looked at; `clean`,
true labels for measuring only; `trusted`, marks (true or false) of labels that are known to be right. Instead of one
label: `soft`, a column of shares for each class; `votes`, a column of counts for each class; `annotators`, a column for
each person's label.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pencil.data import labels, tables
from pencil.data.arrays import describe_inputs
from pencil.data.dataset import UNLABELLED, ArrayInputs, DataFacts, Dataset, Examples, Inputs, Preparation
from pencil.data.identity import content_ids, given_ids
from pencil.data.images import held_images, image_files
from pencil.data.request import Request
from pencil.data.tables import trained_features
from pencil.data.tables.columns import is_text
from pencil.data.tables.learnable import beside, learnable
from pencil.data.tables.uses import SETS, image_column, label_column, said_by_a_run, split_column, usual_column
from pencil.data.tables.words import MARK
from pencil.errors import PencilError

_LABELS = ("label", "clean", "trusted", "soft", "votes", "annotators")
OPTIONS = (*_LABELS, "image", "id", "split", "features", "words", "ignore", *image_files.OPTIONS)


def read(request: Request) -> Dataset:
    """Read a table; errors name the row, counted from 1 after the header."""
    request.check_options("table", OPTIONS)
    return read_from(request.existing("table"), request)


def read_from(path: tables.Place, request: Request) -> Dataset:
    """Read a table wherever it is."""
    try:
        return _read(path, request)
    except PencilError as error:
        raise PencilError(str(error) if str(path) in str(error) else f"{path}: {error}") from error


def original_files(request: Request) -> dict[str, Path]:
    """Return the image of each row by its id; nothing where rows are no images."""
    path = request.existing("table")
    table = _table(path, request.looked_at(tables.column_names(path)), "", (), request)
    image = image_column(table, request)
    if not image or held_images.holds_images(table, image):
        return {}
    files, ids = _files(table, image, path, request)
    return dict(zip(ids.tolist(), files, strict=True))


def _read(path: tables.Place, request: Request) -> Dataset:
    header = request.looked_at(tables.column_names(path))
    run = trained_features.columns_of(request.trained_features, header)
    label = label_column(path, header, [name for name, _ in run], request)
    table = _table(path, header, label, run, request)
    values, names = _labels(table, label, request)
    truth = _values(table, _clean_column(table, request)) if _clean_column(table, request) else None
    classes = names or labels.class_names_of(*(part for part in (values, truth) if part is not None))
    encoded = labels.encode(values, classes)
    known = None if truth is None else labels.encode(truth, classes, what="clean label").given
    seen = _inputs(table, path, label, request)
    marks = _trusted(table, request)
    everything = Examples(seen.inputs, seen.ids, encoded.given, encoded.distribution, marks, known, seen.texts)
    split = split_column(table, request)
    sets = _split(everything, table, split, train_needed=request.labels_needed)
    return Dataset(
        path.stem, classes, sets["train"], seen.preparation, held_out=sets.get("held_out"), test=sets.get("test"),
        default_backbone=seen.backbone, facts={**seen.facts, "label_column": label, "split_column": split},
        terms=_terms(table, label, classes) if classes else None,
    )  # fmt: skip


def _table(
    path: tables.Place, header: Sequence[str], label: str, run: Sequence[tuple[str, str]], request: Request
) -> Any:
    """Read labels, ids and paths as they are spelled, and features too where they are texts to a run."""
    answers = {label, request.text("clean"), *request.texts("annotators")} - {""}
    words = {usual_column(header, request, "id"), usual_column(header, request, "split"), request.text("image")} - {""}
    least = "two examples" if request.labels_needed else "one row"
    if not run:
        features = set(request.texts("features"))
        columns = header if request.texts("ignore") else None
        spelled = (words - features) | set(request.texts("words"))
        return tables.read_table(path, columns, spelled=spelled, labels=answers - features, least=least)
    texts = {name for name, rest in run if rest.startswith(("=", MARK))}
    features = {name for name, _ in run}
    wanted = {*answers, *words, *features, *request.texts("soft"), *request.texts("votes")}
    spelled = words - features | texts
    return tables.read_table(path, wanted, spelled=spelled, labels=answers - features, least=least)


def _labels(table: Any, label: str, request: Request) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Return the label values and, where columns name them, the classes."""
    if not request.labels_needed and _lacks_labels(table, label, request):
        return np.full(table.num_rows, UNLABELLED), ()
    if label:
        return _values(table, label), ()
    if columns := request.texts("soft"):
        return tables.numbers(table, columns), columns
    if columns := request.texts("votes"):
        return _whole_numbers(np.nan_to_num(tables.numbers(table, columns)), columns), columns
    answers = [_values(table, name) for name in request.texts("annotators")]
    classes = labels.class_names_of(*answers)
    if not classes:
        return np.full(table.num_rows, UNLABELLED), ()
    counts = np.zeros((table.num_rows, len(classes)), dtype=np.int64)
    for answer in answers:
        given = labels.encode(answer, classes).given
        rows = np.flatnonzero(given >= 0)
        counts[rows, given[rows]] += 1
    return counts, classes


def _terms(table: Any, label: str, classes: Sequence[str]) -> NDArray[Any]:
    """Return what the column of labels calls each class."""
    kind = tables.column(table, label).type if label in table.column_names else pa.null()
    if is_text(kind):
        return np.array(classes)
    truths = labels.truths_in(classes) if pa.types.is_boolean(kind) else None
    return labels.terms_in(classes) if truths is None else truths


def _lacks_labels(table: Any, label: str, request: Request) -> bool:
    named = [label] if label else [name for way in ("soft", "votes", "annotators") for name in request.texts(way)]
    return not named or any(name not in table.column_names for name in named)


def _clean_column(table: Any, request: Request) -> str:
    """Return the column of true labels; where none are needed it may be missing."""
    name = request.text("clean")
    return name if request.labels_needed or name in table.column_names else ""


def _trusted(table: Any, request: Request) -> NDArray[np.bool_] | None:
    """Return the marks of labels that are known to be right; of no use where labels are not learned from."""
    name = request.text("trusted")
    if not name or not request.labels_needed:
        return None
    return labels.as_marks(tables.column(table, name).to_pylist())


def _values(table: Any, name: str) -> NDArray[Any]:
    return labels.as_names(tables.column(table, name).to_pylist())


def _whole_numbers(values: NDArray[np.float64], columns: Sequence[str]) -> NDArray[np.int64]:
    wrong = np.argwhere(values != np.round(values))
    if len(wrong):
        row, place = wrong[0]
        raise PencilError(
            f'row {row + 1}, column "{columns[place]}" is {values[row, place]:g}; votes are whole numbers.'
        )
    return values.astype(np.int64)


class _Seen(NamedTuple):
    """What there is to see of the rows."""

    inputs: Inputs
    ids: NDArray[np.str_]
    preparation: Preparation
    backbone: str
    facts: DataFacts
    texts: dict[str, NDArray[np.object_]] | None = None


def _inputs(table: Any, path: tables.Place, label: str, request: Request) -> _Seen:
    """Return images where a column names or holds them, else rows of features."""
    keys = usual_column(table.column_names, request, "id")
    if image := image_column(table, request):
        if held_images.holds_images(table, image):
            return _held_images(table, image, keys, path, request)
        return _named_images(table, image, path, request)
    request.refuse_root("the table names no images")
    request.refuse_idle(image_files.OPTIONS, "the table has no images")
    rows, facts, texts = _features(table, path, {label, keys}, request)
    ids = given_ids(tables.texts(table, keys), len(rows)) if keys else content_ids(rows)
    preparation, backbone, _ = describe_inputs(rows)
    return _Seen(ArrayInputs(rows), ids, preparation, backbone, facts, texts)


def _held_images(table: Any, image: str, keys: str, path: tables.Place, request: Request) -> _Seen:
    request.refuse_root("the table holds its images itself")
    ids, content = held_images.image_ids(table, image)
    encoded: Any = held_images.images(table, image, str(path))
    key = f"{content}-{request.integer('size', 0)}"
    inputs, preparation, backbone, facts = image_files.read_images(encoded, (), request, key=key)
    names = given_ids(tables.texts(table, keys), len(ids)) if keys else ids
    return _Seen(inputs, names, preparation, backbone, facts)


def _named_images(table: Any, image: str, path: tables.Place, request: Request) -> _Seen:
    files, ids = _files(table, image, path, request)
    if not files[0].exists():
        raise PencilError(
            f'the column "{image}" names images, but {files[0]} does not exist; give the folder that they lie in'
            " (--root DIR), or the columns to learn from instead (--set data.options.features=…)."
        )
    inputs, preparation, backbone, facts = image_files.read_images(files, tables.texts(table, image), request)
    return _Seen(inputs, ids, preparation, backbone, facts)


def _files(table: Any, image: str, path: tables.Place, request: Request) -> tuple[list[Path], NDArray[np.str_]]:
    """Return the image of each row and its id, which is the path where no column gives another."""
    keys, names = usual_column(table.column_names, request, "id"), tables.texts(table, image)
    ids = given_ids(tables.texts(table, keys) if keys else names, table.num_rows)
    return [(request.root or path.parent) / name for name in names], ids


def _features(
    table: Any, path: tables.Place, used: set[str], request: Request
) -> tuple[NDArray[np.float32], DataFacts, dict[str, NDArray[np.object_]] | None]:
    """Return the features a run has, else those that are named, else all columns of no other use.

    With them comes what is known of them, and the texts beside them that are none.
    """
    if request.trained_features:
        return *trained_features.as_trained(table, request.trained_features), None
    used = {*used, split_column(table, request), request.text("clean"), request.text("trusted")}
    used.update(column for name in ("soft", "votes", "annotators") for column in request.texts(name))
    used.update(said_by_a_run(table.column_names, used))
    columns = request.texts("features") or [name for name in table.column_names if name not in used - {""}]
    chosen = bool(request.texts("features"))
    found = learnable(table, columns, path, chosen=chosen, words=request.texts("words"))
    rows, facts = tables.features(table, found.columns, found.words)
    texts = beside(table, {*used, *found.columns})
    return rows, facts | ({"left_out": found.line} if found.line else {}), texts or None


def _split(everything: Examples, table: Any, name: str, *, train_needed: bool) -> dict[str, Examples]:
    if not name:
        return {"train": everything}
    words = np.array([word.strip().lower() for word in tables.texts(table, name)])
    for row, word in enumerate(words.tolist()):
        if word not in SETS:
            raise PencilError(f'row {row + 1}, column "{name}" is "{word}"; give train, val or test.')
    kinds = np.array([SETS[word] for word in words.tolist()])
    if train_needed and "train" not in kinds:
        raise PencilError(f'the column "{name}" marks no row as train; give some to train on.')
    return {kind: everything.take(np.flatnonzero(kinds == kind)) for kind in sorted({"train", *kinds.tolist()})}
