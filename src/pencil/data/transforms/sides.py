"""Whether images may be mirrored: not where they can be told from their mirror images, as letters can."""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool2d, conv2d

from pencil.data.dataset import UNLABELLED, Examples
from pencil.data.spaced import in_chunks

LOOKED_AT = 1000
"""Examples that are enough to tell."""
SIDE = 32
"""Images are looked at in this size at the most."""
FILTERS, WIDTH = 64, 5
"""How many random filters, and of what side."""
PLACES = 8
"""So many parts of the height and of the width are looked at for themselves."""
FEW = 8
"""Of classes with fewer examples than so many, all together are looked at as one."""
TOLD_APART = 0.6
"""Share of the images that must be told from their mirror images; by chance it is a half."""
DEVIATIONS = 4
"""So many standard deviations the share must be above a half."""


def share_told_apart(train: Examples) -> float:
    """Return the share of images that can be told from their mirror images, or 0 where it is near chance.

    What is seen in a class's images, less what is seen in their mirror images, has a mean of zero where both are as
    likely. So the mean over one half of a class is asked of each image of the other half which of the two it is.
    """
    labelled = np.flatnonzero(train.given != UNLABELLED)
    chosen = labelled[np.linspace(0, len(labelled) - 1, min(LOOKED_AT, len(labelled))).astype(np.int64)]
    if len(chosen) < FEW:
        return 0.0
    planes = torch.cat([_shrunk(images) for images in in_chunks(train.inputs, chosen)])
    share = max(_share(_differences(planes, seen), train.given[chosen]) for seen in (_answers, _places))
    # Both halves ask each other the same, so that the share varies as that of one of them.
    by_chance = 0.5 + DEVIATIONS * (0.5 / len(chosen)) ** 0.5
    return share if share > max(TOLD_APART, by_chance) else 0.0


def _shrunk(images: NDArray[np.uint8]) -> Tensor:
    """Return images [n, H, W, C] in grey, as planes of a moderate size."""
    planes = torch.from_numpy(np.ascontiguousarray(images)).permute(0, 3, 1, 2).float().mean(dim=1, keepdim=True)
    return adaptive_avg_pool2d(planes, (min(planes.shape[2], SIDE), min(planes.shape[3], SIDE)))


def _differences(planes: Tensor, seen: Callable[[Tensor], Tensor]) -> NDArray[np.float64]:
    """Return what is seen in images, less what is seen in their mirror images, as units."""
    found = (seen(planes) - seen(planes.flip(3))).double()
    units: NDArray[np.float64] = (found / found.norm(dim=1, keepdim=True).clamp(min=1e-9)).numpy()
    return units


def _answers(planes: Tensor) -> Tensor:
    """Return how strongly each of some random filters answers, wherever in the image."""
    filters = torch.randn(FILTERS, 1, WIDTH, WIDTH, generator=torch.Generator().manual_seed(0))
    filters -= filters.mean(dim=(2, 3), keepdim=True)
    return conv2d(planes, filters, padding=WIDTH // 2).relu().mean(dim=(2, 3))


def _places(planes: Tensor) -> Tensor:
    """Return how light the image is in each of a few places."""
    return adaptive_avg_pool2d(planes, PLACES).flatten(1)


def _share(differences: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    sizes = np.bincount(labels)
    groups = np.where(sizes[labels] < FEW, UNLABELLED, labels)
    order, told = np.random.default_rng(0).permutation(len(groups)), 0.0
    for group in np.unique(groups):
        places = order[groups[order] == group]
        halves = places[::2], places[1::2]
        for half, other in (halves, halves[::-1]):
            answers = differences[half] @ differences[other].sum(axis=0)
            # What looks the same both ways tells nothing.
            told += float((answers > 0).sum() + 0.5 * (answers == 0).sum())
    return told / len(groups)
