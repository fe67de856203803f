"""What methods share that train once, on labels that stay as they are."""

from collections.abc import Mapping

from torch import Tensor

from pencil.config import PhaseSettings
from pencil.methods._contract import Method
from pencil.table import Fixed
from pencil.types import Batch, Phase, Terms


class TrainedOnce(Method):
    """One phase on the given labels; a subclass gives the cost of each example."""

    def phases(self, settings: Mapping[str, PhaseSettings]) -> tuple[Phase, ...]:
        setting = self.phase_setting(settings, "training")
        return (Phase("training", setting.epochs, setting.lr, Fixed(), track_predictions=True),)

    def cost(self, batch: Batch) -> Tensor:
        """Return [B] the loss of each example; those without a label are left out."""
        raise NotImplementedError

    def loss(self, batch: Batch) -> Terms:
        return Terms({"loss": self.cost(batch)}, rows=batch.labelled)
