"""Forward correction with T̂ estimated from a first training (Patrini et al., CVPR 2017)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import torch
from torch import Tensor

from pencil.config import PhaseSettings, Range
from pencil.losses import cross_entropy, estimate_transition, forward_correction, log_transition
from pencil.methods._contract import Method, TrainingView
from pencil.table import Fixed
from pencil.types import Batch, Phase, Terms


@dataclass(frozen=True, kw_only=True)
class Options:
    """How T̂ is estimated."""

    drop_top: Annotated[float, Range(0, 0.5)] = 0.03
    """Share of the surest examples of each class that are passed over as outliers; 0 for data of many classes."""


class ForwardEstimated(Method):
    """Cross entropy; T̂ from the weights that did best on the held-out labels; a new network with T̂."""

    Options: ClassVar[type] = Options
    phase_names: ClassVar[tuple[str, ...]] = ("estimating", "training")
    keeps_best = "accuracy"

    def __init__(self, options: Mapping[str, Any], num_classes: int) -> None:
        super().__init__(options, num_classes)
        self.drop_top = self.options.drop_top
        self.register_buffer("log_transition", log_transition(torch.eye(num_classes)))
        self.log_transition: Tensor

    def phases(self, settings: Mapping[str, PhaseSettings]) -> tuple[Phase, ...]:
        estimating, training = (self.phase_setting(settings, name) for name in self.phase_names)
        return (
            Phase("estimating", estimating.epochs, estimating.lr, Fixed()),
            Phase("training", training.epochs, training.lr, Fixed(), fresh_network=True, track_predictions=True),
        )

    def before_fresh_network(self, view: TrainingView, phase: Phase) -> None:
        count_C = self._counts(view.columns)
        self.log_transition.copy_(log_transition(estimate_transition(view.predict_best(), self.drop_top, count_C)))

    def _counts(self, columns: Mapping[str, Tensor]) -> Tensor:
        """Return how many labels each class has; of soft labels the sum of its shares."""
        if "given_distribution" in columns:
            return columns["given_distribution"].sum(0)
        given_N = columns["given"]
        return torch.bincount(given_N[given_N >= 0], minlength=self.num_classes)

    def loss(self, batch: Batch) -> Terms:
        if batch.phase == "estimating":
            return Terms({"cross_entropy": cross_entropy(batch.logits, batch.given)}, rows=batch.labelled)
        cost_B = forward_correction(batch.logits, batch.given, self.log_transition, batch.given_class)
        return Terms({"forward": cost_B}, rows=batch.labelled)


METHOD = ForwardEstimated
