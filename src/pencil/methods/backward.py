"""Backward correction: the loss of the clean labels in the mean, by the inverse of T (Patrini et al., CVPR 2017)."""

import torch
from torch import Tensor

from pencil.errors import PencilError
from pencil.losses import backward_correction
from pencil.methods._transition import GivenTransition
from pencil.types import Batch

LARGEST_CONDITION = 100.0
"""Above it single examples weigh a hundred times as much as others, and nothing is learned."""


class Backward(GivenTransition):
    """Σ_j (T⁻¹)_ŷj·(−log f_j) with T given; it can be negative."""

    extra_information = "the true transition matrix"

    def prepare_matrix(self, transition_CC: Tensor) -> Tensor:
        condition = float(torch.linalg.cond(transition_CC))
        if not condition <= LARGEST_CONDITION * (1 + 1e-6):
            how = "cannot be inverted" if condition > 1e12 else f"can hardly be inverted (condition {condition:.0f})"
            raise PencilError(
                f"the transition matrix {how}: this noise makes classes almost or wholly indistinguishable. "
                f"The method backward needs a condition of at most {LARGEST_CONDITION:g}; take forward instead."
            )
        inverse_CC: Tensor = torch.linalg.inv(transition_CC)
        return inverse_CC

    def cost(self, batch: Batch) -> Tensor:
        return backward_correction(batch.logits, batch.given, self.matrix)


METHOD = Backward
