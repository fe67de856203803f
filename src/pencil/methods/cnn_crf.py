"""CNN-CRF: a random field over true and given class, anchored by a clean subset (Vahdat, NeurIPS 2017)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import log_softmax

from pencil import losses
from pencil.config import PhaseSettings, Range
from pencil.config.ranges import POSITIVE_SHARE
from pencil.errors import PencilError
from pencil.methods._contract import Known, Method, TrainingView
from pencil.table import Fixed, distribution_of
from pencil.types import Batch, Phase, Terms

POSITIVE_WEIGHT = Range(0, 1e6, above=True)


@dataclass(frozen=True, kw_only=True)
class Options:
    """How long the clean subset outweighs what the field itself believes."""

    auxiliary_start: Annotated[float, POSITIVE_WEIGHT] = 40.0
    """κ at the start: the E-step follows the clean subset's statistics."""
    auxiliary_end: Annotated[float, POSITIVE_WEIGHT] = 5.0
    """κ in the end."""
    annealing: Annotated[float, POSITIVE_SHARE] = 0.1
    """Share of the second phase over which κ falls, exponentially."""


class ConditionalRandomField(Method):
    """Learns from the noisy labels alone, measures p_aux(ŷ | y) on the trusted ones, then trains the field by EM.

    The network's outputs are the log-marginals of y, so rows of exp W sum to one; a bias per class loses nothing.
    """

    Options: ClassVar[type] = Options
    phase_names: ClassVar[tuple[str, ...]] = ("noisy", "field")
    extra_information = "labels known to be right"

    def __init__(self, options: Mapping[str, Any], num_classes: int) -> None:
        super().__init__(options, num_classes)
        self.start, self.end = self.options.auxiliary_start, self.options.auxiliary_end
        self.pairwise = nn.Parameter(torch.zeros(num_classes, num_classes))
        self.register_buffer("log_auxiliary", torch.zeros(num_classes, num_classes))
        self.register_buffer("auxiliary_weight", torch.tensor(self.start))
        self.log_auxiliary: Tensor
        self.auxiliary_weight: Tensor

    def inform(self, known: Known) -> None:
        if not known.num_trusted:
            raise PencilError(
                "cnn_crf needs a clean subset, labels known to be right, and this data has none; mark examples as "
                "trusted in the data, or with injected noise give --set data.trusted=0.1 to spare a tenth of them."
            )

    def phases(self, settings: Mapping[str, PhaseSettings]) -> tuple[Phase, ...]:
        noisy, field = (self.phase_setting(settings, name) for name in self.phase_names)
        return (
            Phase("noisy", noisy.epochs, noisy.lr, Fixed()),
            Phase("field", field.epochs, field.lr, Fixed(), track_predictions=True),
        )

    @torch.no_grad()
    def before_phase(self, view: TrainingView, phase: Phase) -> None:
        trusted_N, weight_N = view.columns["locked"], view.columns["weight"]
        if phase.name == "noisy":
            # A network that has learned the trusted labels says nothing of the noise.
            weight_N.masked_fill_(trusted_N, 0)
            return
        weight_N.masked_fill_(trusted_N, 1)
        counts_CC = self._auxiliary_counts(view.predict(), view.columns["given"], trusted_N)
        self.pairwise.copy_(counts_CC.log() - counts_CC.sum(-1, keepdim=True).log())
        # p_aux(y | ŷ): the same counts, read by columns.
        self.log_auxiliary.copy_(counts_CC.log() - counts_CC.sum(0).log())

    def _auxiliary_counts(self, prediction_NC: Tensor, given_N: Tensor, trusted_N: Tensor) -> Tensor:
        """Return how often the noise gives a trusted example of class y (rows) the label ŷ (columns)."""
        true_NC = distribution_of(given_N, self.num_classes, prediction_NC.dtype) * trusted_N.unsqueeze(-1)
        # One more example a class, mostly right, for classes without a trusted one.
        imagined_CC = 0.9 * torch.eye(self.num_classes, device=given_N.device) + 0.1 / self.num_classes
        return true_NC.T @ prediction_NC + imagined_CC

    def before_epoch(self, view: TrainingView, phase: Phase) -> None:
        if phase.name == "field":
            done = min(1.0, view.phase_epoch / (self.options.annealing * phase.epochs))
            self.auxiliary_weight.fill_(self.start * (self.end / self.start) ** done)

    def loss(self, batch: Batch) -> Terms:
        known_B = losses.cross_entropy(batch.logits, batch.given)
        if batch.phase == "noisy":
            return Terms({"cross_entropy": known_B}, rows=batch.labelled)
        pairwise_CC = log_softmax(self.pairwise, -1)
        belief_BC = losses.crf_posterior(
            batch.logits, pairwise_CC, batch.given, self.log_auxiliary, self.auxiliary_weight
        ).detach()
        guessed_B = losses.crf_negative_log_joint(batch.logits, pairwise_CC, batch.given, belief_BC)
        cost_B = guessed_B if batch.trusted is None else torch.where(batch.trusted, known_B, guessed_B)
        return Terms({"field": cost_B}, rows=batch.labelled)


METHOD = ConditionalRandomField
