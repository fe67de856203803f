"""Datasets from any map-style dataset of (input, label), such as PyTorch's own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pencil.data import labels
from pencil.data.arrays import as_rows, blurred, channels_last, describe_inputs
from pencil.data.as_given import as_tensor, describe_tensors
from pencil.data.dataset import DataFacts, Dataset, Examples
from pencil.data.identity import given_ids
from pencil.data.tensors import plain
from pencil.errors import PencilError

_LOOKED_AT = 16
"""Examples by which is decided whether floats reach to 1 or to 255."""
_COMPARED = 1000
"""Rows by which is decided whether 32 bits tell them apart."""
_SINGLE = float(np.finfo(np.float32).max)


@dataclass(frozen=True, eq=False)
class CalledInputs:
    """Inputs that can only be read by calling a dataset."""

    dataset: Any
    shape: tuple[int, ...]
    """Of one example as it is given on: [H, W, C] or [d]."""
    scale: float = 1.0
    """What brings its pixels to 0 to 255."""
    raw: np.dtype[Any] | None = None
    """The type of inputs that are taken as they are; None for rows and images."""

    def __len__(self) -> int:
        return len(self.dataset)

    @property
    def array(self) -> None:
        return None

    def read(self, index: NDArray[np.int64]) -> NDArray[Any]:
        kind = self.raw or np.dtype(np.float32 if len(self.shape) == 1 else np.uint8)
        return np.stack([self._one(int(place)) for place in index]) if len(index) else np.empty((0, *self.shape), kind)

    def _one(self, place: int) -> NDArray[Any]:
        raw = _raw_input(self.dataset, place, any_shape=self.raw is not None)
        if self.raw is not None:
            one = self._as_given(raw, place)
        elif raw.ndim == 1:
            one = _row(raw, place)
        else:
            one = _pixels(raw, self.scale, place)
        if one.shape != self.shape:
            raise PencilError(
                f"example {place} has shape {one.shape}, the first {self.shape}; give all the same shape."
            )
        return one

    def _as_given(self, raw: NDArray[Any], place: int) -> NDArray[Any]:
        assert self.raw is not None
        one = as_tensor(raw, place)
        if one.dtype.kind != self.raw.kind:
            found, first = ("floats", "whole numbers") if one.dtype.kind == "f" else ("whole numbers", "floats")
            raise PencilError(f"example {place} holds {found}, the first {first}; give all the same.")
        return one.astype(self.raw)


def from_torch(
    dataset: Any,
    *,
    test: Any | None = None,
    class_names: Sequence[str] | None = None,
    ids: Sequence[Any] | NDArray[Any] | None = None,
    clean: Any | None = None,
    trusted: Any | None = None,
    raw: bool = False,
    name: str = "torch",
) -> Dataset:
    """Make a dataset that reads its inputs by calling another; labels are read once, now.

    Its transforms should give uint8 images or floats from 0 to 1, neither normalised nor augmented: both are
    done in training. Raw inputs are neither rows nor images: numbers of any shape, which a network gets as they are
    (floats as 32 bits, whole numbers as integers). Ids are the positions unless given; give your own where the order
    may change.
    """
    inputs = _inputs(dataset, raw)
    values, truth = _label_values(dataset), None if clean is None else labels.as_values(clean)
    test_values = None if test is None else _label_values(test)
    own = getattr(dataset, "classes", None)
    # A dataset may call its number of classes so.
    names = class_names if class_names is not None else own if isinstance(own, Iterable) else None
    by_name = names is None
    found = labels.class_names_of(*(part for part in (values, truth, test_values) if part is not None))
    classes = found if names is None else tuple(str(one) for one in names)
    train = _examples(inputs, values, classes, by_name, ids)
    marks = None if trusted is None else labels.as_marks(trusted)
    for extra, what in ((truth, "clean labels"), (marks, "trusted marks")):
        if extra is not None and len(extra) != len(train):
            raise PencilError(f"there are {len(extra)} {what} for {len(train)} examples; give one each.")
    known = None if truth is None else labels.encode(truth, classes, by_name=by_name, what="clean label").given
    train = Examples(inputs, train.ids, train.given, train.distribution, marks, known)
    held_for_test = None
    if test_values is not None:
        held_for_test = _examples(_inputs_like(test, inputs), test_values, classes, by_name, None)
    first = inputs.read(np.zeros(1, dtype=np.int64))
    preparation, backbone, facts = (describe_tensors(first), "", DataFacts()) if raw else describe_inputs(first)
    if not raw and first.ndim == 2:
        facts |= _blurred(dataset)
    # With names of classes, numbers count these, but texts are names.
    terms = labels.terms_of(values, classes) if by_name or values.dtype.kind not in "iuf" else None
    return Dataset(
        name, classes, train, preparation, test=held_for_test, default_backbone=backbone,
        facts=facts | DataFacts(by_place=ids is None), terms=terms,
    )  # fmt: skip


def _examples(
    inputs: CalledInputs, values: NDArray[Any], classes: tuple[str, ...], by_name: bool, ids: Any
) -> Examples:
    encoded = labels.encode(values, classes, by_name=by_name)
    keys = given_ids(range(len(inputs)) if ids is None else ids, len(inputs))
    return Examples(inputs, keys, encoded.given, encoded.distribution)


def _inputs(dataset: Any, raw: bool) -> CalledInputs:
    if not hasattr(dataset, "__len__") or not len(dataset):
        raise PencilError("the dataset is empty or has no length; give a map-style dataset of (input, label).")
    try:
        first = _raw_input(dataset, 0, any_shape=raw)
    except NotImplementedError as error:  # An iterable dataset may have a length too.
        raise PencilError("the dataset cannot be asked for one example; give a map-style dataset.") from error
    if raw:
        kind = as_tensor(first, 0).dtype.kind
        return CalledInputs(dataset, first.shape, raw=np.dtype(np.float32 if kind == "f" else np.int64))
    if first.ndim == 1:
        return CalledInputs(dataset, first.shape)
    places = np.linspace(0, len(dataset) - 1, min(_LOOKED_AT, len(dataset))).astype(int)
    floats = first.dtype.kind == "f"
    highest = max(float(_raw_input(dataset, int(place)).max()) for place in places) if floats else 255.0
    scale = 255.0 if first.dtype.kind == "b" or (floats and highest <= 1) else 1.0
    return CalledInputs(dataset, _pixels(first, scale, 0).shape, scale)


def _inputs_like(dataset: Any, like: CalledInputs) -> CalledInputs:
    """Return the inputs of a test set, which must be of the shape and kind of those of training."""
    inputs = _inputs(dataset, like.raw is not None)
    if inputs.raw != like.raw:
        raise PencilError("training and test inputs are whole numbers and floats; give both as the same.")
    if inputs.shape != like.shape:
        raise PencilError(f"test inputs are {inputs.shape}, training inputs {like.shape}; give the same shape.")
    return inputs


def _raw_input(dataset: Any, place: int, *, any_shape: bool = False) -> NDArray[Any]:
    item = dataset[place]
    if not isinstance(item, (tuple, list)) or len(item) < 2:
        raise PencilError(f"example {place} is a {type(item).__name__}; the dataset must give (input, label).")
    array = np.asarray(_in_colours(plain(item[0])))
    if any_shape:
        return array
    if array.dtype.kind not in "biuf" or array.ndim not in (1, 2, 3):
        raise PencilError(
            f"the input of example {place} is {array.dtype} of shape {array.shape}; give a row or an image, or"
            " take it as it is (raw=True)."
        )
    return array


def _in_colours(image: Any) -> Any:
    """Return a Pillow image that has a palette in colours: its own numbers are places in the palette."""
    return image.convert("RGB") if getattr(image, "mode", None) == "P" else image


def _row(raw: NDArray[Any], place: int) -> NDArray[np.float32]:
    row: NDArray[np.float32] = as_rows(raw[None])[0]
    # All would have to be called to tell how many are missing, and where.
    if np.isnan(row).any():
        raise PencilError(
            f"example {place} holds NaN; fill in what is missing in the dataset, or give its rows as an array, where"
            " NaN stands for a missing value."
        )
    return row


def _blurred(dataset: Any) -> DataFacts:
    """Look at some rows for columns that 32 bits do not hold."""
    if _raw_input(dataset, 0).dtype.itemsize <= 4:
        return {}
    places = np.linspace(0, len(dataset) - 1, min(_COMPARED, len(dataset))).astype(int)
    rows = [_raw_input(dataset, int(place)) for place in places]
    # What cannot be learned from at all is told of, with its place, where it is read.
    exact = np.stack([row for row in rows if row.shape == rows[0].shape and abs(row).max(initial=0) < _SINGLE])
    return blurred(exact, as_rows(exact))


def _pixels(raw: NDArray[Any], scale: float, place: int) -> NDArray[np.uint8]:
    image = raw[..., None] if raw.ndim == 2 else channels_last(raw[None])[0]
    if image.dtype == np.uint8:
        return np.ascontiguousarray(image)
    scaled = image.astype(np.float64) * scale
    if not (scaled.min() >= -0.5 and scaled.max() <= 255.5):
        raise PencilError(
            f"the image of example {place} reaches from {image.min():g} to {image.max():g};"
            " give 0 to 255 or 0 to 1: leave normalising out of the dataset's transforms."
        )
    return np.ascontiguousarray(np.round(scaled).clip(0, 255).astype(np.uint8))


def _label_values(dataset: Any) -> NDArray[Any]:
    """Take labels from `targets` where the dataset keeps them so, else from each example."""
    targets = getattr(dataset, "targets", None)
    changed = getattr(dataset, "target_transform", None) is not None
    if targets is not None and not changed and len(targets) == len(dataset):
        return labels.as_values(targets)
    found = [dataset[place][1] for place in range(len(dataset))]
    return labels.as_values([plain(one) for one in found])
