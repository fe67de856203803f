"""preprocessing.json, read back: a run folder may be a stranger's, so every value is checked."""

import math
from dataclasses import replace
from typing import Any

from pencil.data import Dataset, Preparation
from pencil.results.documents import damaged, read_object
from pencil.results.folder import RunFolder

OF_TABLES = ("features", "label_column", "split_column")
"""What is kept of a table beside its preparation: its columns are found again by their names."""
MOST_VALUES = 2**31
"""Of one input; more is no input but an attempt to fill the memory."""


def read_preparation(folder: RunFolder) -> Preparation:
    """Read how the run's inputs are prepared."""
    fields = read_object(folder.preprocessing)
    for name in OF_TABLES:
        fields.pop(name, None)
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()}
    try:
        preparation = Preparation(**values)
    except TypeError:
        raise damaged(folder.preprocessing, "it has unknown fields") from None
    if wrong := _wrong(preparation):
        raise damaged(folder.preprocessing, f"its {wrong} cannot be that")
    return preparation


def normalised_as_by(folder: RunFolder, dataset: Dataset) -> Dataset:
    """Return a dataset that a run's network sees on the scale it learned, whatever its own statistics are.

    Those of other data differ, and another version may have measured the same data in another way.
    """
    here = dataset.preparation
    before = read_preparation(folder) if folder.preprocessing.exists() else here
    if (before.kind, before.raw_shape) != (here.kind, here.raw_shape):
        return dataset
    as_before = replace(here, mean=before.mean, std=before.std, least=before.least, reach=before.reach)
    return replace(dataset, preparation=as_before)


def _wrong(found: Preparation) -> str:
    """Name a field whose value no run writes; nothing where all are sound."""
    if found.kind not in ("images", "rows", "tensors"):
        return "kind"
    sides = {"images": 3, "rows": 1}.get(found.kind)
    shape = found.raw_shape
    if not _all(int, shape) or not shape or len(shape) != (sides or len(shape)):
        return "raw_shape"
    if min(shape) < 1 or math.prod(shape) > MOST_VALUES:
        return "raw_shape"
    for name in ("mean", "std", "least", "reach"):
        values = getattr(found, name)
        if not _all((int, float), values) or len(values) not in (0, shape[-1]) or not all(map(math.isfinite, values)):
            return name
    for name in ("crop", "pad"):
        if type(getattr(found, name)) is not int or not 0 <= getattr(found, name) <= 4 * max(shape):
            return name
    return next((name for name in ("flip", "whole") if not isinstance(getattr(found, name), bool)), "")


def _all(kind: Any, values: Any) -> bool:
    return isinstance(values, tuple) and all(isinstance(v, kind) and not isinstance(v, bool) for v in values)
