"""A CSV or Parquet file: a label in each row, and an image's path, columns of features or a column of embeddings.

Options name columns: `label` (else label, target, class or y); `image`, a path from the file's folder or --root, or
the image itself;
`id` and `split` (train, val or test), else the columns of these names, in capitals too; `features`, else all others;
`clean`, true labels for measuring only; `trusted`, marks (true or false) of labels that are known to be right. Instead
of one label: `soft`, a column of shares for each class; `votes`, a column of counts for each class; `annotators`, a
column for each person's label.
"""

import re
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pencil.data import image_column, image_files, labels, tables, text_columns, trained_features
from pencil.data.arrays import describe_inputs
from pencil.data.dataset import UNLABELLED, ArrayInputs, DataFacts, Dataset, Examples, Inputs, Preparation
from pencil.data.hugging_face import CORRECTED
from pencil.data.identity import content_ids, given_ids
from pencil.data.images import is_image_name
from pencil.data.request import Request
from pencil.errors import PencilError

_LABEL_NAMES = ("label", "target", "class", "y")
_IMAGE_NAMES = ("image", "path", "file", "filename")
_IMAGE_ALIKE = re.compile("(image|img|file)[ _-]?(file)?[ _-]?(path|name)?")
"""Such as image_path, img or file_name: a column of images where all its texts end as names of image files do."""
_SETS = {"train": "train", "test": "test"} | dict.fromkeys(("val", "valid", "validation", "held-out"), "held_out")
_OPTIONS = ("label", "image", "id", "split", "clean", "trusted", "features", "soft", "votes", "annotators")


def read(request: Request) -> Dataset:
    """Read a table; errors name the row, counted from 1 after the header."""
    request.check_options("table", (*_OPTIONS, *image_files.OPTIONS))
    path = request.existing("table")
    try:
        return _read(path, request)
    except PencilError as error:
        raise PencilError(str(error) if str(path) in str(error) else f"{path}: {error}") from error


def original_files(request: Request) -> dict[str, Path]:
    """Return the image of each row by its id; nothing where rows are no images."""
    path = request.existing("table")
    table = _table(path, "", (), request)
    image = _image_column(table, request)
    if not image or image_column.holds_images(table, image):
        return {}
    files, ids = _files(table, path, request)
    return dict(zip(ids.tolist(), files, strict=True))


def _read(path: Path, request: Request) -> Dataset:
    header = tables.column_names(path)
    run = trained_features.columns_of(request.trained_features, header)
    label = _label_column(header, [name for name, _ in run], request)
    table = _table(path, label, run, request)
    values, names = _labels(table, label, request)
    truth = _values(table, _clean_column(table, request)) if _clean_column(table, request) else None
    classes = names or labels.class_names_of(*(part for part in (values, truth) if part is not None))
    encoded = labels.encode(values, classes)
    known = None if truth is None else labels.encode(truth, classes, what="clean label").given
    seen = _inputs(table, path, label, request)
    marks = _trusted(table, request)
    everything = Examples(seen.inputs, seen.ids, encoded.given, encoded.distribution, marks, known, seen.texts)
    split = _split_column(table, request)
    sets = _split(everything, table, split)
    return Dataset(
        path.stem, classes, sets["train"], seen.preparation, held_out=sets.get("held_out"), test=sets.get("test"),
        default_backbone=seen.backbone, facts={**seen.facts, "label_column": label, "split_column": split},
        terms=labels.terms_in(classes) if classes else None,
    )  # fmt: skip


def _label_column(header: Sequence[str], features: Sequence[str], request: Request) -> str:
    """Return the label's column, or nothing where labels come in several columns."""
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
            f"{' and '.join(found)} may each be the label; name it (--set data.options.label={found[0]}), and, to leave"
            " others out, the columns to learn from (--set data.options.features=…)."
        )
    if found or not request.labels_needed:
        return "".join(found)
    known = ", ".join(header)
    raise PencilError(f"there is no column called label, target, class or y; name it by option label (of {known}).")


def _alike(header: Sequence[str], features: Sequence[str], request: Request) -> list[str]:
    """Return the columns that are called as labels are, and are named as nothing else."""
    named = (request.text(name) for name in ("id", "split", "clean", "trusted", "image"))
    other = {*features, *request.texts("features"), *named}
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


def _table(path: Path, label: str, run: Sequence[tuple[str, str]], request: Request) -> Any:
    """Read labels, ids and paths as they are spelled, and features too where they are texts to a run."""
    answers = {label, request.text("clean"), *request.texts("annotators")} - {""}
    header = tables.column_names(path)
    words = {_usual(header, request, "id"), _usual(header, request, "split"), request.text("image")} - {""}
    least = "two examples" if request.labels_needed else "one row"
    if not run:
        features = set(request.texts("features"))
        return tables.read_table(path, spelled=words - features, labels=answers - features, least=least)
    texts = {name for name, rest in run if rest.startswith("=")}
    features = {name for name, _ in run}
    columns = {*answers, *words, *features, *request.texts("soft"), *request.texts("votes")}
    spelled = words - features | texts
    return tables.read_table(path, columns, spelled=spelled, labels=answers - features, least=least)


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
    counts = np.zeros((table.num_rows, len(classes)), dtype=np.int64)
    for answer in answers:
        given = labels.encode(answer, classes).given
        rows = np.flatnonzero(given >= 0)
        counts[rows, given[rows]] += 1
    return counts, classes


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


def _inputs(table: Any, path: Path, label: str, request: Request) -> _Seen:
    """Return images where a column names or holds them, else rows of features."""
    image, keys = _image_column(table, request), _usual(table.column_names, request, "id")
    if image and image_column.holds_images(table, image):
        ids, content = image_column.image_ids(table, image)
        key = f"{content}-{request.integer('size', 0)}"
        encoded: Any = image_column.images(table, image, str(path))
        seen = image_files.read_images(encoded, (), request, key=key)
        return _Seen(seen[0], given_ids(tables.texts(table, keys), len(ids)) if keys else ids, *seen[1:])
    if image:
        files, ids = _files(table, path, request)
        if not files[0].exists():
            raise PencilError(
                f'the column "{image}" names images, but {files[0]} does not exist; give the folder that they lie in'
                " (--root DIR), or the columns to learn from instead (--set data.options.features=…)."
            )
        names = tables.texts(table, image)
        inputs, preparation, backbone, facts = image_files.read_images(files, names, request)
        return _Seen(inputs, ids, preparation, backbone, facts)
    rows, facts, texts = _features(table, path, {label, keys}, request)
    ids = given_ids(tables.texts(table, keys), len(rows)) if keys else content_ids(rows)
    preparation, backbone, _ = describe_inputs(rows)
    return _Seen(ArrayInputs(rows), ids, preparation, backbone, facts, texts)


def _files(table: Any, path: Path, request: Request) -> tuple[list[Path], NDArray[np.str_]]:
    """Return the image of each row and its id, which is the path where no column gives another."""
    keys, names = _usual(table.column_names, request, "id"), tables.texts(table, _image_column(table, request))
    ids = given_ids(tables.texts(table, keys) if keys else names, table.num_rows)
    return [(request.root or path.parent) / name for name in names], ids


def _features(
    table: Any, path: Path, used: set[str], request: Request
) -> tuple[NDArray[np.float32], DataFacts, dict[str, NDArray[np.object_]] | None]:
    """Return the features a run has, else those that are named, else all columns of no other use.

    With them comes what is known of them, and the texts beside them that are none.
    """
    if request.trained_features:
        titles = list(request.trained_features)
        rows = trained_features.read_features(table, titles)
        facts: DataFacts = {"features": titles, "unseen": trained_features.unseen_texts(table, titles)}
        return rows, facts | tables.missing(rows, titles), None
    used = {*used, _split_column(table, request), request.text("clean"), request.text("trusted")}
    used.update(column for name in ("soft", "votes", "annotators") for column in request.texts(name))
    used.update(_said_by_a_run(table.column_names, used))
    columns = request.texts("features") or [name for name in table.column_names if name not in used]
    columns, left_out = text_columns.learnable(table, columns, path, chosen=bool(request.texts("features")))
    rows, facts = tables.features(table, columns)
    texts = text_columns.beside(table, {*used, *columns})
    return rows, facts | ({"left_out": left_out} if left_out else {}), texts or None


def _said_by_a_run(header: Sequence[str], used: set[str]) -> set[str]:
    """Return what an export of a run says of labels and, where that is the label, the one it was given."""
    if CORRECTED[0] not in header:
        return set()
    given = [name for usual in _LABEL_NAMES for name in header if _bare(name) == usual]
    return {*CORRECTED, *(given[:1] if CORRECTED[0] in used else ())}


def _usual(header: Sequence[str], request: Request, name: str) -> str:
    """Return the column an option names, else the one that is called like the option, if there is one.

    In capitals or with blanks around it is called so too, unless it is a feature.
    """
    if request.text(name) or name in header:
        return request.text(name) or name
    run = trained_features.columns_of(request.trained_features, header)
    features = {*request.texts("features"), *(column for column, _ in run)}
    return next((column for column in header if _bare(column) == name and column not in features), "")


def _split_column(table: Any, request: Request) -> str:
    """Return the column that names sets; one that is only called so is none to a run that was trained without."""
    name = _usual(table.column_names, request, "split")
    if request.text("split") or not name or request.trained_columns.get("split") != "":
        return name
    words = {str(word).strip().lower() for word in tables.column(table, name).to_pylist()}
    return name if words <= set(_SETS) else ""


def _image_column(table: Any, request: Request) -> str:
    if request.text("image") or request.texts("features") or request.trained_features:
        return request.text("image")
    if held := image_column.image_column(table):
        return held
    usual = (name for name in table.column_names if _bare(name) in _IMAGE_NAMES and _is_text(table, name))
    alike = (name for name in table.column_names if _IMAGE_ALIKE.fullmatch(_bare(name)) and _names_images(table, name))
    return next(chain(usual, alike), "")


def _names_images(table: Any, name: str) -> bool:
    cells = [cell for cell in tables.column(table, name).to_pylist() if cell not in (None, "")]
    return bool(cells) and all(isinstance(cell, str) and is_image_name(cell) for cell in cells)


def _is_text(table: Any, name: str) -> bool:
    return bool(isinstance(tables.column(table, name)[0].as_py(), str))


def _split(everything: Examples, table: Any, name: str) -> dict[str, Examples]:
    if not name:
        return {"train": everything}
    words = np.array([word.strip().lower() for word in tables.texts(table, name)])
    for row, word in enumerate(words.tolist()):
        if word not in _SETS:
            raise PencilError(f'row {row + 1}, column "{name}" is "{word}"; give train, val or test.')
    kinds = np.array([_SETS[word] for word in words.tolist()])
    if "train" not in kinds:
        raise PencilError(f'the column "{name}" marks no row as train; give some to train on.')
    return {kind: everything.take(np.flatnonzero(kinds == kind)) for kind in sorted(set(kinds.tolist()))}
