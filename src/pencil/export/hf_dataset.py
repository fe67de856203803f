"""A Hugging Face dataset with the final labels as a column beside the given ones, as `save_to_disk` writes it.

`datasets.load_from_disk(FOLDER).push_to_hub(NAME)` publishes it. It adds `corrected_label` (classes), `label_source`
(reviewed, relabelled, given or undecided) and `label_quality`; they are empty in rows that the run did not have.
"""

import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pencil.data import labels as label_values
from pencil.data.dataset import DataFacts
from pencil.data.hugging_face import Part, class_names, is_hugging_face, label_column, refuse_streaming
from pencil.data.located import Located, read_dataset, relocated
from pencil.data.request import Request
from pencil.data.shown import encode
from pencil.data.sources.hf import open_dataset
from pencil.data.tables.as_columns import as_columns
from pencil.data.tables.uses import CORRECTED
from pencil.errors import PencilError
from pencil.export.labels import Labels, read_labels

FOLDER = True
_PREFIX = "hf:"


def write(labels: Labels, out: Path, wanted: Any) -> int:
    """Load the run's dataset again, or make one of its data, and save it with the labels."""
    datasets = _library()
    settings = relocated(labels.settings.data, wanted.source, wanted.root)
    with _no_bars(datasets):
        if settings.source.startswith(_PREFIX):
            location = Path(settings.source.removeprefix(_PREFIX))
            source = open_dataset(Request(location=location, options=dict(settings.options)))
            whole = _labelled(source, labels)
        else:
            whole = _made(labels, wanted, datasets)
        whole.save_to_disk(str(out))
    return len(labels.ids)


def add_corrected_labels(dataset: Any, run: str | Path) -> Any:
    """Return a loaded dataset, the one that a run was trained on, with the run's final labels as columns."""
    if not is_hugging_face(dataset):
        raise PencilError(f"this is a {type(dataset).__name__}; give a datasets.Dataset or DatasetDict.")
    refuse_streaming(dataset)
    with _no_bars(_library()):
        return _labelled(dataset, read_labels(run))


def _labelled(source: Any, labels: Labels) -> Any:
    rows = {name: row for row, name in enumerate(labels.ids)}
    column = str(labels.settings.data.options.get("id", ""))
    if not isinstance(source, Mapping):
        return _with_columns(Part("", source), column, rows, labels)
    kind: Any = type(source)
    return kind({name: _with_columns(Part(name, part), column, rows, labels) for name, part in source.items()})


def _with_columns(part: Part, column: str, rows: Mapping[str, int], labels: Labels) -> Any:
    taken = [name for name in CORRECTED if name in part.rows.column_names]
    if taken:
        raise PencilError(f'the dataset has a column "{taken[0]}" already; rename it.')
    # A split that lacks the run's own column of ids was not in the run.
    named = not column or column in part.rows.column_names
    places = [rows.get(name, -1) for name in part.ids(column).tolist()] if named else [-1] * len(part.rows)
    if part.name in ("", labels.settings.data.options.get("split") or "train") and max(places, default=-1) < 0:
        raise PencilError("no example of this dataset was in the run; give the one it was trained on.")
    if not column and max(places, default=-1) >= 0:
        _refuse_other_rows(part, places, labels)
    features, found = _features(labels), _values(labels)
    whole = part.rows
    for name in CORRECTED:
        values = [None if place < 0 else found[name][place] for place in places]
        whole = whole.add_column(name, values).cast_column(name, features[name])
    return whole


def _refuse_other_rows(part: Part, places: list[int], labels: Labels) -> None:
    """Refuse rows that are known by their place alone, where they cannot be those of the run."""
    remedy = "give the dataset as it was trained on, or name its rows by option id when you train"
    before = labels.ids if not part.name else [name for name in labels.ids if name.startswith(f"{part.name}/")]
    if len(part.rows) != len(before):
        raise PencilError(f"this dataset has {len(part.rows):,} rows, the run had {len(before):,}; {remedy}.")
    settings = labels.settings.data
    name = label_column(part.rows, Request(options=dict(settings.options), labels_needed=False))
    if settings.noise or settings.labels or name not in part.rows.column_names:
        return  # The labels that the run was given are not the dataset's own.
    by_name = class_names(part.rows, name) is None
    values = Part(part.name, part.rows.with_format(None)).values(name, labels.classes, needed=True)
    own = label_values.encode(values, labels.classes, by_name=by_name).given
    if len(other := np.flatnonzero(own != labels.whole("given")[places])):
        raise PencilError(
            f"the label of row {other[0] + 1} is not what the run was given: the rows of this dataset are others or in"
            f" another order; {remedy}."
        )


def _made(labels: Labels, wanted: Any, datasets: Any) -> Any:
    """Make a dataset of a run whose data was none."""
    features: dict[str, Any] = {"id": datasets.Value("string")}
    columns: dict[str, Any] = {"id": labels.ids}
    if labels.kind == "images":
        images = wanted.images(labels)
        features["image"] = datasets.Image()
        columns["image"] = [_picture(images, row) for row in range(len(labels.ids))]
    else:
        source = read_dataset(labels.settings.data, source=wanted.source, root=wanted.root)
        located = Located(source, labels.ids, whole=True)
        rows = np.stack([located.read(row) for row in range(len(located))])
        rows = rows.reshape(len(rows), -1).astype(np.int64 if source.preparation.whole else np.float32)
        parts = _columns(rows, source.facts, located)
        if taken := [name for name in ("id", "label", *CORRECTED) if name in parts]:
            raise PencilError(
                f'the run has a feature "{taken[0]}", and the dataset a column of that name; use --to csv or parquet.'
            )
        for name, values in parts.items():
            number = datasets.Value("string" if values.dtype == np.object_ else str(values.dtype))
            features[name] = number if values.ndim == 1 else datasets.Sequence(number, length=values.shape[1])
            columns[name] = values
    features["label"] = datasets.ClassLabel(names=list(labels.classes))
    columns["label"] = _or_none(labels.whole("given"))
    return datasets.Dataset.from_dict(
        columns | _values(labels), datasets.Features(features | _features(labels)), split="train"
    )


def _columns(rows: NDArray[Any], facts: DataFacts, located: Located) -> dict[str, NDArray[Any]]:
    if "columns" not in facts:
        return {"features": rows}
    return as_columns(rows, facts["features"], facts["columns"], facts["levels"], _texts(located))


def _texts(located: Located) -> dict[str, list[str]]:
    """Return what people see beside the features, but for what the export has columns for."""
    seen = [dict(located.texts(row)) for row in range(len(located))]
    return {name: [texts[name] for texts in seen] for name in seen[0] if name not in ("id", "label", *CORRECTED)}


def _picture(images: Any, row: int) -> Any:
    return str(images.files[row]) if images.files else {"bytes": encode(images.arrays.read(row)), "path": None}


def _features(labels: Labels) -> dict[str, Any]:
    datasets = _library()
    kinds = datasets.ClassLabel(names=list(labels.classes)), datasets.Value("string"), datasets.Value("float32")
    return dict(zip(CORRECTED, kinds, strict=True))


def _values(labels: Labels) -> dict[str, list[Any]]:
    final, quality = _or_none(labels.whole("final")), labels.table["quality"].to_pylist()
    return dict(zip(CORRECTED, (final, labels.final["source"].to_pylist(), quality), strict=True))


def _or_none(numbers: Any) -> list[int | None]:
    return [None if number < 0 else number for number in numbers.tolist()]


@contextmanager
def _no_bars(datasets: Any) -> Iterator[None]:
    """Show no progress bars: each column would have its own."""
    disabled = datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        if not disabled:
            datasets.enable_progress_bars()


def _library() -> Any:
    try:
        return importlib.import_module("datasets")
    except ImportError as error:
        raise PencilError("--to hf_dataset needs Hugging Face's datasets: pip install pencil-labels[hf]") from error
