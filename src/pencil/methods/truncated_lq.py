"""Truncated L_q: L_q on the examples whose label the network finds likely (Zhang & Sabuncu, NeurIPS 2018)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from torch import Tensor

from pencil.config import PhaseSettings
from pencil.config.ranges import ONE_OR_MORE, POSITIVE_SHARE, SHARE
from pencil.losses import generalized_cross_entropy, truncation
from pencil.methods._contract import Method, TrainingView
from pencil.table import Fixed, distribution_of
from pencil.types import Batch, Phase, Terms


@dataclass(frozen=True, kw_only=True)
class Options:
    """The shape of L_q, and which examples it leaves out."""

    q: Annotated[float, POSITIVE_SHARE] = 0.7
    """Near 0 it is cross entropy, at 1 half the mean absolute error."""
    threshold: Annotated[float, SHARE] = 0.5
    """k: examples with f_ŷ ≤ k count as a constant, so nothing is learned from them."""
    refresh_epochs: Annotated[int, ONE_OR_MORE] = 10
    """Epochs between two decisions on who is left out."""


class TruncatedGeneralizedCrossEntropy(Method):
    """L_q on all examples, then on those kept by the weights that did best on the held-out labels."""

    Options: ClassVar[type] = Options
    phase_names: ClassVar[tuple[str, ...]] = ("all", "kept")
    keeps_best = "accuracy"

    def phases(self, settings: Mapping[str, PhaseSettings]) -> tuple[Phase, ...]:
        every, kept = (self.phase_setting(settings, name) for name in self.phase_names)
        return (
            Phase("all", every.epochs, every.lr, Fixed()),
            Phase("kept", kept.epochs, kept.lr, Fixed(), track_predictions=True),
        )

    def before_epoch(self, view: TrainingView, phase: Phase) -> None:
        if phase.name == "kept" and view.phase_epoch % self.options.refresh_epochs == 0:
            kept_N = truncation(view.predict_best(), given_distribution(view, self.num_classes), self.options.threshold)
            # Labels known to be right are always learned.
            view.columns["weight"].copy_(kept_N.masked_fill(view.columns["locked"], 1))

    def loss(self, batch: Batch) -> Terms:
        # Examples left out have weight 0; the constant they stand for has no gradient.
        return Terms(
            {"loss": generalized_cross_entropy(batch.logits, batch.given, self.options.q)}, rows=batch.labelled
        )


def given_distribution(view: TrainingView, num_classes: int) -> Tensor:
    """Return the given labels of all examples as distributions."""
    columns = view.columns
    if "given_distribution" in columns:
        return columns["given_distribution"]
    return distribution_of(columns["given"], num_classes, columns["weight"].dtype)


METHOD = TruncatedGeneralizedCrossEntropy
