"""Plain training on the given labels (Eq. 1): the baseline every table starts with."""

from collections.abc import Mapping
from typing import ClassVar

from pencil.config import PhaseSettings
from pencil.losses import cross_entropy, mix
from pencil.methods._contract import Method
from pencil.table import Fixed
from pencil.types import Batch, Phase, Terms


class CrossEntropy(Method):
    """One phase, fixed labels."""

    mixes: ClassVar[bool] = True

    def phases(self, settings: Mapping[str, PhaseSettings]) -> tuple[Phase, ...]:
        setting = self.phase_setting(settings, "training")
        return (Phase("training", setting.epochs, setting.lr, Fixed(), track_predictions=True),)

    def loss(self, batch: Batch) -> Terms:
        target_BC = mix(batch.given, batch.partner_share)
        return Terms({"cross_entropy": cross_entropy(batch.logits, target_BC)}, rows=batch.labelled)


METHOD = CrossEntropy
