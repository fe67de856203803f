"""Deep label distribution learning: fixed soft labels (Gao et al., TIP 2017)."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from torch import Tensor

from pencil.config.ranges import SCALE
from pencil.flips import scale_for_classes
from pencil.losses import classic_kl
from pencil.methods._once import TrainedOnce
from pencil.types import Batch


@dataclass(frozen=True, kw_only=True)
class Options:
    """How sharp the distributions are that plain labels become."""

    init_scale: Annotated[float, SCALE] = 10.0
    """K of y^d = softmax(K·ŷ); smaller is softer, 0 chooses it by the class count. Soft labels are taken as given."""


class LabelDistributions(TrainedOnce):
    """KL(y^d ‖ f) (Eq. 2) with y^d fixed: PENCIL's label distributions without its corrections."""

    Options: ClassVar[type] = Options

    @property
    def label_scale(self) -> float:
        return float(self.options.init_scale) or scale_for_classes(self.num_classes)

    def cost(self, batch: Batch) -> Tensor:
        return classic_kl(batch.logits, batch.label_logits)


METHOD = LabelDistributions
