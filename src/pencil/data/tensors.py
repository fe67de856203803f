"""Torch tensors as NumPy arrays, without importing torch."""

from typing import Any


def plain(values: Any) -> Any:
    """Return a torch tensor as a NumPy array, wherever it is, and anything else as it is."""
    if not hasattr(values, "detach"):
        return values
    values = values.detach().cpu()
    # NumPy has no such numbers.
    return (values.float() if str(values.dtype) == "torch.bfloat16" else values).numpy()
