"""Forward correction: predict what the noise, told by T, makes of the class (Patrini et al., CVPR 2017)."""

from torch import Tensor

from pencil.losses import forward_correction, log_transition
from pencil.methods._transition import GivenTransition
from pencil.types import Batch


class Forward(GivenTransition):
    """−log (fᵀT)_ŷ with T given."""

    extra_information = "the true transition matrix"

    def prepare_matrix(self, transition_CC: Tensor) -> Tensor:
        return log_transition(transition_CC)

    def cost(self, batch: Batch) -> Tensor:
        return forward_correction(batch.logits, batch.given, self.matrix, batch.given_class)


METHOD = Forward
