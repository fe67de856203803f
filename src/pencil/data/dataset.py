"""What every source gives: examples with stable ids, inputs by position, and what is known of their labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypedDict

import numpy as np
from numpy.typing import NDArray

from pencil.types import InputKind, InputSpec

UNLABELLED = -1
LARGEST_COPY = 4 * 2**30
"""Bytes of a selection that may be copied into memory at once."""


class Inputs(Protocol):
    """The inputs of a set of examples, read by position."""

    def __len__(self) -> int: ...

    def read(self, index: NDArray[np.int64]) -> NDArray[Any]:
        """Return the raw inputs at these positions: uint8 images [B, H, W, C], float32 rows [B, d], tensors [B, …]."""
        ...

    @property
    def array(self) -> NDArray[Any] | None:
        """All inputs as one array (in memory or mapped), or None where they can only be read one by one."""
        ...


@dataclass(frozen=True)
class Preparation:
    """How raw inputs become what the network sees; saved as preprocessing.json."""

    kind: InputKind
    """"images" (uint8, height × width × channels), "rows" (floats), or "tensors" of any shape, taken as they are."""
    raw_shape: tuple[int, ...]
    """(H, W, C), (d,), or any for tensors."""
    mean: tuple[float, ...] = ()
    """Per channel on the 0–255 scale, or per feature; of the training inputs."""
    std: tuple[float, ...] = ()
    crop: int = 0
    """Side of the square the network sees; 0 keeps the image as it is."""
    pad: int = 0
    """Zero pixels added on each side before the random crop of training."""
    flip: bool = False
    """Mirror half of the training images left to right."""
    whole: bool = False
    """Tensors of whole numbers, which stay so: a network may look them up."""
    least: tuple[float, ...] = ()
    """Of features whose logarithm the network sees, the least value of training; 0 for others; empty: there is none."""
    reach: tuple[float, ...] = ()
    """Of features with values far from all others, how many deviations from the mean the network sees at the most; 0
    for others, which it sees wherever they are; empty: there is none."""

    @property
    def spec(self) -> InputSpec:
        if self.kind != "images":
            return InputSpec(self.kind, self.raw_shape)
        height, width, channels = self.raw_shape
        return InputSpec("images", (channels, self.crop or height, self.crop or width))


@dataclass(frozen=True, eq=False)
class Examples:
    """n examples: inputs, ids and labels, in one order."""

    inputs: Inputs
    ids: NDArray[np.str_]
    """Stable under re-ordering: a path, a given key, or a hash of the content."""
    given: NDArray[np.int64]
    """The label at hand, wrong or right; −1 where there is none."""
    distribution: NDArray[np.float32] | None = None
    """[n, C] the given label as a distribution, from soft labels or votes; all zeros where there is none."""
    trusted: NDArray[np.bool_] | None = None
    """True where a label is known to be right and must not be moved."""
    clean: NDArray[np.int64] | None = None
    """The true labels, where known: for measuring only; −1 where not known."""
    texts: Mapping[str, NDArray[np.object_]] | None = None
    """By name, what people see of each example beside its inputs; no network learns from it."""

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, index: NDArray[np.int64]) -> Examples:
        """Return the examples at these positions, in this order."""
        chosen: dict[str, Any] = {
            name: None if (value := getattr(self, name)) is None else value[index]
            for name in ("distribution", "trusted", "clean")
        }
        chosen["texts"] = None if self.texts is None else {name: text[index] for name, text in self.texts.items()}
        return Examples(select(self.inputs, index), self.ids[index], self.given[index], **chosen)

    def with_given(self, given: NDArray[np.int64], *, keep_clean: bool) -> Examples:
        """Return the same examples under other labels; with keep_clean the old ones become the known truth."""
        clean = self.given if keep_clean and self.clean is None else self.clean
        return replace(self, given=given, distribution=None, clean=clean)


@dataclass(frozen=True, eq=False)
class ArrayInputs:
    """Inputs held in one array in memory."""

    array: NDArray[Any]

    def __len__(self) -> int:
        return len(self.array)

    def read(self, index: NDArray[np.int64]) -> NDArray[Any]:
        return self.array[index]


@dataclass(frozen=True, eq=False)
class Selection:
    """The inputs at some positions of other inputs."""

    base: Inputs
    index: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.index)

    def read(self, index: NDArray[np.int64]) -> NDArray[Any]:
        return self.base.read(self.index[index])

    @property
    def array(self) -> NDArray[Any] | None:
        """A copy in memory, made anew each time; None where it would be too large to copy."""
        whole = self.base.array
        if whole is None or len(self.index) * whole[:1].nbytes > LARGEST_COPY:
            return None
        return np.asarray(whole[self.index])


def select(inputs: Inputs, index: NDArray[np.int64]) -> Selection:
    """Return the inputs at these positions; their `index` always counts in the source's own order."""
    if isinstance(inputs, Selection):
        return Selection(inputs.base, inputs.index[index])
    return Selection(inputs, index)


class DataFacts(TypedDict, total=False):
    """What else is known of a dataset; each is there where it applies."""

    features: list[str]
    """What the columns of its rows are called."""
    columns: list[str]
    """Of which column of a table each feature is: one of numbers, lists, texts or sentences."""
    levels: list[list[int]]
    """Places among these of the texts of one column, which weigh as one feature together."""
    label_column: str
    split_column: str
    photographs: bool
    """Its images are large: networks for photographs, not for small pictures."""
    resizable: bool
    """Its images are files, kept in the size that the option `size` asks for."""
    usual_flip: bool
    """That its images are mirrored is usual, not said by anyone: they are looked at first."""
    sided: str
    """A line on images that are not mirrored, since their mirror images look other."""
    subset: str
    """By which rule examples of a larger set were chosen."""
    noise: dict[str, Any]
    """The noise that was put on its labels: its settings, its convention and how much was measured."""
    transition: list[list[float]]
    """[C, C] how that noise turns a true class into the others."""
    fingerprint: str
    left_out: str
    """A line on what was there and is not used."""
    missing: str
    """A line on numbers that are not there."""
    dark: str
    """A line on images that use few of the bits that they have."""
    copies: int
    """How many training examples have the input and the label of one before them."""
    own_held_out: str
    """A line on a set of its own that is held out, whatever share was asked for."""
    blurred: str
    """A line on digits that rows of 32 bits would lose, so that nothing is trained on them."""
    by_place: bool
    """Its examples have no names but their places."""
    unseen: dict[str, dict[int, str]]
    """By column and row, texts that the run this was read for never saw."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Everything a source knows."""

    name: str
    class_names: tuple[str, ...]
    train: Examples
    preparation: Preparation
    held_out: Examples | None = None
    """A validation set of the dataset's own; otherwise a share of `train` is kept apart."""
    test: Examples | None = None
    default_backbone: str = ""
    facts: DataFacts = field(default_factory=DataFacts)
    terms: NDArray[Any] | None = None
    """[C] what the labels that were given call each class, names or numbers; None: they count classes from 0."""

    @property
    def num_classes(self) -> int:
        return len(self.class_names)
