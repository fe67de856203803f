"""Mean absolute error between prediction and label (Ghosh, Kumar & Sastry, AAAI 2017): robust, but slow to learn."""

from torch import Tensor

from pencil.losses import mean_absolute_error
from pencil.methods._once import TrainedOnce
from pencil.types import Batch


class MeanAbsoluteError(TrainedOnce):
    """‖f − ŷ‖₁."""

    def cost(self, batch: Batch) -> Tensor:
        return mean_absolute_error(batch.logits, batch.given)


METHOD = MeanAbsoluteError
