"""How rows spread and how their labels pull at a network, as far as some of them tell."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from pencil.data.dataset import Examples, Preparation
from pencil.data.transforms.augment import Prepare

_MOST = 1_000
"""Rows that are compared with each other."""


class Spread(NamedTuple):
    """What a network of rows will find, before it is trained."""

    directions: float = 1.0
    """In how many directions rows spread: see `directions`."""
    pull: float = 1.0
    """How strongly labels pull at it: see `pull`."""


def spread(examples: Examples, preparation: Preparation, num_classes: int) -> Spread:
    """Look at evenly spaced rows as a network sees them, and at the labels they were given."""
    places = np.unique(np.linspace(0, len(examples) - 1, min(len(examples), _MOST)).astype(np.int64))
    raw = torch.from_numpy(np.array(examples.inputs.read(places))).double()
    rows = Prepare(preparation, 0)(raw)
    return Spread(directions(rows), pull(rows, torch.from_numpy(examples.given[places]), num_classes))


def directions(rows: Tensor) -> float:
    """Return the number of directions that would spread rows as far from each other if all spread them alike.

    It is (Σ λ)² / Σ λ² of their covariance's eigenvalues: the columns' number where none goes with another, and fewer
    where they do. Σ λ² is the mean square of two rows' inner product: an example's own square would count chance.
    """
    rows = rows - rows.mean(0)
    products = rows @ rows.T
    own, count = products.diagonal(), len(rows)
    square = float(products.square().sum() - own.square().sum()) / max(count * (count - 1), 1)
    total = float(own.sum()) / max(count - 1, 1)
    return min(total**2 / square, float(rows.shape[1])) if square > 0 else 1.0


def pull(rows: Tensor, labels: Tensor, num_classes: int) -> float:
    """Return the largest gradient that the labels give to weights of no size yet, in any direction of rows.

    It is the largest singular value of the mean of (y - ȳ) xᵀ: weight decay that is far above it leaves nothing of a
    network. Examples without a label (-1) pull at nothing.
    """
    known = labels >= 0
    if not known.any():
        return 0.0
    classes = one_hot(labels[known].long(), num_classes).to(rows.dtype)
    products = (classes - classes.mean(0)).T @ rows[known] / int(known.sum())
    # Of the smaller of both products: there may be as many columns as classes, or far more.
    gram = products @ products.T if num_classes < rows.shape[1] else products.T @ products
    return float(torch.linalg.eigvalsh(gram)[-1].clamp(min=0).sqrt())
