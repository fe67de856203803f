"""Mean squared error between prediction and label (Ghosh, Kumar & Sastry, AAAI 2017)."""

from torch import Tensor

from pencil.losses import mean_squared_error
from pencil.methods._once import TrainedOnce
from pencil.types import Batch


class MeanSquaredError(TrainedOnce):
    """‖f − ŷ‖²."""

    def cost(self, batch: Batch) -> Tensor:
        return mean_squared_error(batch.logits, batch.given)


METHOD = MeanSquaredError
