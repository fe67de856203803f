"""Leaves columns out of prepared rows, so that a network cannot know a row again by any one of them.

Draws are a stateless function of (seed, epoch, example, column), as all augmentation's are. Values are normalised, so
0 is a column's mean, as which also missing values are seen. Shapes: B rows of D columns.
"""

import torch
from torch import Tensor

from pencil.data.transforms.augment import draw

FIRST_STREAM = 32
"""Two streams of draws from here on are for columns."""
MOST = 0.4
"""Share of the columns that is left out at full strength."""


def leave_out(row_BD: Tensor, strength: float, seed: int, epoch: Tensor, index_B: Tensor) -> Tensor:
    """Take each column for its mean with the same probability; the others grow, so that sums stay as they are."""
    share = MOST * strength
    place_D = torch.arange(row_BD.shape[1], device=row_BD.device)
    of_row_B1 = draw(seed, epoch, index_B, FIRST_STREAM).unsqueeze(1)
    draw_BD = draw(seed, epoch, of_row_B1 + place_D, FIRST_STREAM + 1)
    return torch.where(draw_BD < int(share * 2**32), 0, row_BD / (1 - share))
