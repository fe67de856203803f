"""Reads datasets, labels and noise into one record: examples with stable ids."""

from pencil.data.arrays import from_arrays
from pencil.data.dataset import UNLABELLED, ArrayInputs, Dataset, Examples, Inputs, Preparation, Selection
from pencil.data.given import OPTIONS, from_frame, from_given, options_of
from pencil.data.hugging_face import from_hugging_face
from pencil.data.identity import fingerprint, inputs_digest
from pencil.data.load import as_source, load, read, source_kind
from pencil.data.prepare import prepare
from pencil.data.request import Request
from pencil.data.torch_dataset import from_torch

__all__ = [
    "OPTIONS",
    "UNLABELLED",
    "ArrayInputs",
    "Dataset",
    "Examples",
    "Inputs",
    "Preparation",
    "Request",
    "Selection",
    "as_source",
    "fingerprint",
    "from_arrays",
    "from_frame",
    "from_given",
    "from_hugging_face",
    "from_torch",
    "inputs_digest",
    "load",
    "options_of",
    "prepare",
    "read",
    "source_kind",
]
