"""Torch tensors, and what else holds inputs, as NumPy arrays, without importing torch."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pencil.errors import PencilError


def as_array(x: Any) -> NDArray[Any]:
    """Return inputs as one array; what is sparse, or of several lengths, is none."""
    if hasattr(x, "toarray"):
        raise PencilError(f"inputs are a sparse {type(x).__name__}; give x.toarray().")
    try:
        array = np.asarray(plain(x))
        # Columns of several types, as of truth values beside numbers, make objects of a data frame's numbers.
        return np.array(array.tolist()) if array.dtype == object else array
    except (TypeError, ValueError) as error:
        raise PencilError(f"inputs make no array ({error}); give as many numbers for each example.") from error


def plain(values: Any) -> Any:
    """Return a torch tensor as a NumPy array, wherever it is, and anything else as it is."""
    if not hasattr(values, "detach"):
        return values
    values = values.detach().cpu()
    # NumPy has no such numbers.
    return (values.float() if str(values.dtype) == "torch.bfloat16" else values).numpy()
