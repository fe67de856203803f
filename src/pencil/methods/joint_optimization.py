"""Joint optimization: labels become the mean of recent predictions, then a new network (Tanaka et al., CVPR 2018)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import torch
from torch import Tensor
from torch.nn.functional import softmax

from pencil import losses
from pencil.config import PhaseSettings
from pencil.config.ranges import ONE_OR_MORE, WEIGHT
from pencil.errors import PencilError, did_you_mean
from pencil.methods._contract import Known, Method
from pencil.table import EpochAverage, Fixed
from pencil.types import Batch, Phase, Terms

PRIORS = ("uniform", "clean")
USUAL_WINDOW = 10


@dataclass(frozen=True, kw_only=True)
class Options:
    """Weights of the regularizers, and how labels are averaged."""

    entropy_weight: Annotated[float, WEIGHT] = 0.8
    """β."""
    prior_weight: Annotated[float, WEIGHT] = 0.0
    """α. The prior tells how often the true classes occur, so it is off, as in the paper's comparison; 1.2 is usual."""
    prior: str = "uniform"
    """"uniform", or "clean": the shares of the true classes, where they are known."""
    average: Annotated[int, ONE_OR_MORE] = USUAL_WINDOW
    """Epochs whose predictions make up a label."""


class JointOptimization(Method):
    """Given labels, then averaged predictions as labels, then a new network on the labels found."""

    Options: ClassVar[type] = Options
    phase_names: ClassVar[tuple[str, ...]] = ("backbone", "labels", "final")

    def __init__(self, options: Mapping[str, Any], num_classes: int) -> None:
        super().__init__(options, num_classes)
        o = self.options
        self.entropy_weight, self.prior_weight = o.entropy_weight, o.prior_weight
        if o.prior not in PRIORS:
            raise PencilError(f'options.prior cannot be "{o.prior}".{did_you_mean(o.prior, PRIORS)}')
        if o.prior != PRIORS[0] and not self.prior_weight:
            raise PencilError(
                f'options.prior is "{o.prior}", but no prior is used; give options.prior_weight, e.g. 1.2.'
            )
        if self.prior_weight:
            self.extra_information = "the shares of the true classes"
        self.register_buffer("prior", torch.full((num_classes,), 1 / num_classes))
        self.prior: Tensor

    def inform(self, known: Known) -> None:
        if not self.prior_weight or self.options.prior == "uniform":
            return
        if known.prior is None:
            raise PencilError(
                'options.prior is "clean", but the true classes of this data are unknown; take "uniform".'
            )
        self.prior.copy_(known.prior)

    def phases(self, settings: Mapping[str, PhaseSettings]) -> tuple[Phase, ...]:
        backbone, labels, final = (self.phase_setting(settings, name) for name in self.phase_names)
        # More room than there are epochs is for nothing; the usual window's is kept, which checkpoints have.
        last = min(self.options.average, max(USUAL_WINDOW, backbone.epochs + labels.epochs))
        return (
            # Predictions before labels move count in the first averages.
            Phase("backbone", backbone.epochs, backbone.lr, EpochAverage(last, moving=False)),
            Phase("labels", labels.epochs, labels.lr, EpochAverage(last), track_predictions=True),
            Phase("final", final.epochs, final.lr, Fixed(), fresh_network=True),
        )

    def loss(self, batch: Batch) -> Terms:
        if batch.phase == "final":
            return Terms({"cross_entropy": self._soft(batch)})
        first = batch.phase == "backbone"
        cost_B = losses.cross_entropy(batch.logits, batch.given) if first else self._soft(batch)
        parts = {"cross_entropy": cost_B, "entropy": self.entropy_weight * losses.entropy(batch.logits)}
        prior = {"prior": self.prior_weight * losses.prior_divergence(batch.logits, self.prior)}
        return Terms(parts, rows=batch.labelled if first else None, whole_batch=prior if self.prior_weight else {})

    def _soft(self, batch: Batch) -> Tensor:
        return losses.cross_entropy(batch.logits, softmax(batch.label_logits, -1))


METHOD = JointOptimization
