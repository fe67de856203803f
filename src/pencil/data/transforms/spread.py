"""In how many directions rows spread, as far as some of them tell."""

import numpy as np
import torch

from pencil.data.dataset import Inputs, Preparation
from pencil.data.transforms.augment import Prepare

_MOST = 1_000
"""Rows that are compared with each other."""


def directions(inputs: Inputs, preparation: Preparation) -> float:
    """Return the number of directions that would spread rows as far from each other if all spread them alike.

    It is (Σ λ)² / Σ λ² of their covariance's eigenvalues: the columns' number where none goes with another, and fewer
    where they do. Σ λ² is the mean square of two rows' inner product: an example's own square would count chance.
    """
    places = np.unique(np.linspace(0, len(inputs) - 1, min(len(inputs), _MOST)).astype(np.int64))
    raw = torch.from_numpy(np.array(inputs.read(places))).double()
    rows = Prepare(preparation, 0)(raw)
    rows = rows - rows.mean(0)
    products = rows @ rows.T
    own, count = products.diagonal(), len(rows)
    square = float(products.square().sum() - own.square().sum()) / max(count * (count - 1), 1)
    total = float(own.sum()) / max(count - 1, 1)
    return min(total**2 / square, float(rows.shape[1])) if square > 0 else 1.0
