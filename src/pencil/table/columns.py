"""The narrow columns of an example table: one or a few numbers an example, whatever kind of table it is."""

import torch
from torch import Tensor
from torch.nn.functional import one_hot

Rows = dict[str, Tensor]
NEVER = -1


def narrow_columns(
    given_N: Tensor,
    labelled_N: Tensor,
    *,
    trusted_N: Tensor | None = None,
    clean_N: Tensor | None = None,
    dtype: torch.dtype = torch.float32,
) -> Rows:
    """Return the columns every table has, at the start of a run."""
    n, device = len(given_N), given_N.device
    columns = {
        "given": given_N.to(torch.int32),
        "labelled": labelled_N,
        "locked": torch.zeros(n, dtype=torch.bool, device=device) if trusted_N is None else trusted_N,
        "anchor": torch.ones(n, dtype=dtype, device=device),
        "weight": torch.ones(n, dtype=dtype, device=device),
        "predictions": torch.zeros(n, dtype=torch.int32, device=device),
        "changed_at": torch.full((n,), NEVER, dtype=torch.int32, device=device),
        "num_changes": torch.zeros(n, dtype=torch.int32, device=device),
    }
    if clean_N is not None:
        columns["clean"] = clean_N.to(torch.int32)
    return columns


def distribution_of(given_B: Tensor, num_classes: int, dtype: torch.dtype) -> Tensor:
    """Return labels as one-hot rows, all zeros for −1."""
    hot_BC = one_hot(given_B.clamp(min=0).long(), num_classes).to(dtype)
    return hot_BC * (given_B >= 0).unsqueeze(-1)
