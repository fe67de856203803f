"""Datasets from arrays in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pencil.data import labels
from pencil.data.as_given import as_tensors, describe_tensors
from pencil.data.dataset import ArrayInputs, DataFacts, Dataset, Examples, Preparation
from pencil.data.identity import content_ids, given_ids, listed
from pencil.data.tensors import as_array, plain
from pencil.errors import PencilError

SMALL_SIDE = 64
"""Images up to this many pixels a side are kept as they are and get a small network."""
_CHANNELS = (1, 3, 4)
LOOKED_AT = 100_000
"""Rows that are enough to tell how much a feature varies."""
MOST_LOST = 0.25
"""Of what a feature varies by, the share that may be lost where numbers are rounded to 32 bits."""
MOST_MERGED = 15
"""The highest pixel of images that are told to have lost shades."""


def from_arrays(
    x: Any,
    y: Any,
    *,
    test: tuple[Any, Any] | None = None,
    class_names: Sequence[str] | None = None,
    ids: Sequence[Any] | NDArray[Any] | None = None,
    clean: Any | None = None,
    trusted: Any | None = None,
    texts: Sequence[str] | NDArray[Any] | None = None,
    raw: bool = False,
    name: str = "arrays",
) -> Dataset:
    """Make a dataset of arrays or tensors: x as `as_inputs` reads them, y as `pencil.data.labels` reads them.

    Raw inputs are neither rows nor images: numbers [n, …] of any shape, which a network gets as they are (floats as
    32 bits, whole numbers as integers). Without class_names the distinct label values are the classes, in sorted
    order. `clean` holds the true labels where known (−1 elsewhere), for measuring only; `trusted` marks labels that
    must not be moved; `texts` are what people see of rows and raw inputs in review, and no network learns from.
    """
    inputs = as_tensors(x) if raw else as_inputs(x)
    sets = [labels.as_values(values) for values in (y, clean, test[1] if test else None) if values is not None]
    named = None if class_names is None else tuple(listed(class_names, "class name"))
    names = labels.class_names_of(*sets) if named is None else named
    by_name = class_names is None
    train = _examples(inputs, y, names, by_name, ids=ids, clean=clean, trusted=trusted)
    if texts is not None:
        said = np.array(listed(texts, "text"), dtype=np.object_)
        train = replace(train, texts={"text": _counted(said, len(train), "texts")})
    held_for_test = None if test is None else _test_examples(test, inputs, names, by_name, raw)
    preparation, backbone, facts = (describe_tensors(inputs), "", DataFacts()) if raw else describe_inputs(inputs)
    if not raw:
        facts |= blurred(plain(x), inputs) | rounded(plain(x), inputs)
        if inputs.ndim == 2:
            facts |= missing(inputs)
    # With names of classes, numbers count these, as ever, but texts are names.
    terms = labels.terms_of(sets[0], names) if by_name or sets[0].dtype.kind not in "iuf" else None
    return Dataset(
        name, names, train, preparation, test=held_for_test, default_backbone=backbone, facts=facts, terms=terms
    )


def _examples(
    inputs: NDArray[Any],
    y: Any,
    names: tuple[str, ...],
    by_name: bool,
    *,
    ids: Sequence[Any] | NDArray[Any] | None = None,
    clean: Any | None = None,
    trusted: Any | None = None,
) -> Examples:
    count = len(inputs)
    encoded = labels.encode(_counted(labels.as_values(y), count, "labels"), names, by_name=by_name)
    truth = None
    if clean is not None:
        known = _counted(labels.as_values(clean), count, "clean labels")
        truth = labels.encode(known, names, by_name=by_name, what="clean label").given
    marks = None if trusted is None else _counted(labels.as_marks(trusted), count, "trusted marks")
    keys = content_ids(inputs) if ids is None else given_ids(ids, count)
    return Examples(ArrayInputs(inputs), keys, encoded.given, encoded.distribution, marks, truth)


def _counted(array: NDArray[Any], count: int, what: str) -> NDArray[Any]:
    if len(array) != count:
        raise PencilError(f"there are {len(array)} {what} for {count} examples; give one each.")
    return array


def _test_examples(
    test: tuple[Any, Any], like: NDArray[Any], names: tuple[str, ...], by_name: bool, raw: bool
) -> Examples:
    inputs = as_tensors(test[0]) if raw else as_inputs(test[0])
    if inputs.dtype.kind != like.dtype.kind:
        raise PencilError("training and test inputs are whole numbers and floats; give both as the same.")
    if inputs.shape[1:] != like.shape[1:]:
        raise PencilError(f"test inputs are {inputs.shape[1:]}, training inputs {like.shape[1:]}; give the same shape.")
    return _examples(inputs, test[1], names, by_name)


def describe_inputs(inputs: NDArray[Any]) -> tuple[Preparation, str, DataFacts]:
    """Return the usual preparation, backbone and facts for inputs of this shape."""
    if inputs.ndim == 2:
        return Preparation("rows", inputs.shape[1:]), "mlp", {}
    shape = (int(inputs.shape[1]), int(inputs.shape[2]), int(inputs.shape[3]))
    return describe_images(shape)


def describe_images(shape: tuple[int, int, int], crop: int = 0) -> tuple[Preparation, str, DataFacts]:
    """Large squares are photographs, cropped to 7/8; all else is seen whole, moved by up to an eighth, and mirrored."""
    height, width, _ = shape
    large, least = max(height, width) > SMALL_SIDE, min(height, width)
    facts: DataFacts = {"usual_flip": True, "photographs": True} if large else {"usual_flip": True}
    backbone = "" if large else "small_cnn"
    if height != width:
        # A square of a spectrogram, or of a person who stands, would leave most of it out.
        return Preparation("images", shape, crop=crop, pad=0 if crop else least // 8, flip=True), backbone, facts
    if large:
        return Preparation("images", shape, crop=crop or least * 7 // 8, flip=True), backbone, facts
    return Preparation("images", shape, crop=crop or least, pad=least // 8, flip=True), backbone, facts


def as_inputs(x: Any) -> NDArray[Any]:
    """Return inputs as uint8 images [n, H, W, C] or float32 rows [n, d].

    Two dimensions are rows, in which NaN is a value that is missing; three are grey images; four are images with 1, 3
    or 4 channels, last or first (last where both would do). Images are uint8, whole numbers or floats: values all
    within 0 to 1 are scaled by 255, values within 0 to 255 are rounded.
    """
    if np.ma.is_masked(x):
        raise PencilError("inputs have masked values; fill them in (of rows, with NaN), or leave out their rows.")
    array = as_array(x)
    if array.ndim < 2 or array.dtype.kind not in "biuf" or not array.size:
        raise PencilError(f"inputs are {array.dtype} of shape {array.shape}; give numbers: [n, d] or [n, H, W, C].")
    if array.ndim == 2:
        return as_rows(array)
    if array.ndim == 3:
        return np.ascontiguousarray(as_pixels(array)[..., None])
    if array.ndim > 4:
        raise PencilError(
            f"inputs have shape {array.shape}; give rows [n, d] or images [n, H, W, C], or take them as they are"
            " (raw=True)."
        )
    return np.ascontiguousarray(as_pixels(channels_last(array)))


def as_rows(array: NDArray[Any], columns: Sequence[str] | None = None) -> NDArray[np.float32]:
    """Return rows of float32: finite, or NaN for a value that is missing."""
    with np.errstate(over="ignore"):
        rows = np.ascontiguousarray(array, dtype=np.float32)
    if len(wrong := np.argwhere(np.isinf(rows))):
        row, column = wrong[0]
        name = columns[column] if columns is not None else f"{column + 1}"
        large = ", too large for 32 bits; divide its column by a number, or" if np.isfinite(array[row, column]) else ";"
        raise PencilError(
            f"row {row + 1}, column {name} is {array[row, column]}{large} leave out its row, or put NaN there, which"
            " stands for a missing value."
        )
    # There are many NaN, and rows are known again by their bytes.
    return np.where(nan, np.float32(np.nan), rows) if (nan := np.isnan(rows)).any() else rows


def missing(rows: NDArray[np.float32], columns: Sequence[str] | None = None) -> DataFacts:
    """Return a line on values that are missing, if any are."""
    counts = np.isnan(rows).sum(axis=0)
    places = np.flatnonzero(counts)
    if not len(places):
        return {}
    first = f'the column "{columns[places[0]]}"' if columns is not None else f"column {places[0] + 1}"
    where = first if len(places) == 1 else f"{len(places)} columns, {first.removeprefix('the column ')} and others"
    if counts.sum() == 1:
        return {"missing": f"one cell of {where} is empty; the network sees it as the column's mean."}
    return {"missing": f"{counts.sum():,} cells of {where} are empty; the network sees them as the column's mean."}


def blurred(given: Any, rows: NDArray[Any], columns: Sequence[str] | None = None) -> DataFacts:
    """Return a fact that hinders training: what a column says lies in digits that 32 bits do not hold."""
    exact = np.asarray(given)
    if exact.ndim != 2 or exact.dtype.itemsize <= 4 or len(exact) < 2:
        return {}
    some = slice(None, None, -(-len(exact) // LOOKED_AT))
    exact = exact[some].astype(np.float64)
    known = np.flatnonzero(~np.isnan(exact).all(axis=0))
    exact, rounded = exact[:, known], rows[some][:, known]
    lost, spread = np.nanstd(exact - rounded, axis=0), np.nanstd(exact, axis=0)
    wrong = np.flatnonzero(lost > MOST_LOST * spread)
    if not len(wrong):
        return {}
    first, mean = wrong[0], np.nanmean(exact[:, wrong[0]])
    name = columns[known[first]] if columns is not None else f"{known[first] + 1}"
    line = f"column {name} varies by {spread[first]:.3g} around {mean:.12g}, which 32 bits do not tell apart; subtract"
    return {"blurred": f"{line} {mean:.12g} from it."}


def rounded(given: Any, pixels: NDArray[Any]) -> DataFacts:
    """Return a line on images whose numbers lie so near each other that pixels of eight bits merge most of them."""
    exact = np.asarray(given)
    if pixels.ndim != 4 or exact.dtype.kind != "f" or pixels.max() > MOST_MERGED or not (exact % 1).any():
        return {}
    return {
        "dark": f"the images have numbers up to {exact.max():.3g}, of which {pixels.max() + 1} shades are left in"
        " pixels; multiply them by a number, so that the largest is about 1 or 255."
    }


def channels_last(images: NDArray[Any]) -> NDArray[Any]:
    """Return images [n, H, W, C] whichever way the channels were stored."""
    if images.shape[-1] in _CHANNELS:
        return images
    if images.shape[1] in _CHANNELS:
        return np.moveaxis(images, 1, -1)
    raise PencilError(f"images have shape {images.shape}; give 1, 3 or 4 channels, as [n, H, W, C] or [n, C, H, W].")


def as_pixels(images: NDArray[Any]) -> NDArray[np.uint8]:
    """Return pixels as uint8, by the rule of `as_inputs`."""
    if images.dtype == np.uint8:
        return images
    lowest, highest = float(images.min()), float(images.max())
    if np.isnan(lowest):
        raise PencilError("images hold NaN, where a number is missing; fill these in, or leave out their images.")
    if not (lowest >= 0 and highest <= 255):
        raise PencilError(
            f"image values reach from {lowest:g} to {highest:g}; give 0 to 255 or 0 to 1, without normalising"
            " them, or take inputs that are no images as they are (raw=True)."
        )
    if images.dtype.kind == "f":
        return np.round(images * 255 if highest <= 1 else images).astype(np.uint8)
    return (images * np.uint8(255) if images.dtype.kind == "b" else images).astype(np.uint8)
