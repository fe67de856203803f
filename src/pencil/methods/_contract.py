"""What a method is: phases, a pure loss over one batch record, and optional hooks between epochs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from torch import Tensor, nn

from pencil.config import PhaseSettings, build_record
from pencil.errors import PencilError, did_you_mean
from pencil.types import Batch, Phase, Terms


class TrainingView(Protocol):
    """What a hook may look at and change between epochs."""

    columns: dict[str, Tensor]
    """The example table's columns, to be changed in place."""
    epoch: int
    """Epochs done since the start of the run."""
    phase_epoch: int
    """Epochs done since the start of the phase."""

    def predict(self) -> Tensor:
        """Return the network's class probabilities for every training example, in table order."""
        ...

    def held_out(self) -> tuple[Tensor, Tensor] | None:
        """Return the network's outputs [N, C] for the held-out examples and their noisy labels, where there are any."""
        ...

    def predict_best(self) -> Tensor:
        """Return those of the weights that did best on the held-out labels; only where the method `keeps_best`."""
        ...


@dataclass(frozen=True)
class Known:
    """What a method may be told of the data; one that uses any of it says so in `extra_information`."""

    transition: Tensor | None = None
    """[C, C] T of the injected noise: T[i, j] = P(given = j | true = i)."""
    prior: Tensor | None = None
    """[C] shares of the true classes, where the truth is known."""
    num_trusted: int = 0
    """How many training labels are known to be right."""


@dataclass(frozen=True, kw_only=True)
class NoOptions:
    """A method without options of its own."""


class Method(nn.Module):
    """A way to train on noisy labels. It holds no per-example state; its parameters and buffers are checkpointed."""

    Options: ClassVar[type] = NoOptions
    phase_names: ClassVar[tuple[str, ...]] = ("training",)
    phase_schedules: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Options that are schedules over a phase's epochs, by phase: they stretch with it."""
    extra_information: str = ""
    """What the method is told that PENCIL is not; it is marked with * where it is shown."""
    keeps_best: str = ""
    """Keep a copy of the weights that do best on the held-out labels, by "accuracy" or by "loss"."""
    mixes: ClassVar[bool] = False
    """Whether the loss mixes labels as inputs are mixed (`Batch.partner_share`)."""
    most_parts: ClassVar[int] = 8
    """How many named parts the loss has at most in a phase."""

    renamed: ClassVar[Mapping[str, str]] = {}
    """Parameters and buffers that checkpoints of before have under other names: the name then, the name now."""

    def __init__(self, options: Mapping[str, Any], num_classes: int) -> None:
        super().__init__()
        self.options = build_record(self.Options, options, "options.")
        self.num_classes = num_classes

    def inform(self, known: Known) -> None:
        """Take what the method needs of what is known of the data, or refuse where it is missing."""

    @property
    def label_scale(self) -> float:
        """K of ỹ = K·ŷ."""
        return 10.0

    def phases(self, settings: Mapping[str, PhaseSettings]) -> tuple[Phase, ...]:
        """Return the run's phases in order."""
        raise PencilError(f"the method {type(self).__name__} defines no phases; add phases(self, settings).")

    def loss(self, batch: Batch) -> Terms:
        """Return the loss of one batch; a pure function of it and of the method's own parameters."""
        raise PencilError(f"the method {type(self).__name__} defines no loss; add loss(self, batch).")

    def before_fresh_network(self, view: TrainingView, phase: Phase) -> None:
        """Take a last look at the network before a phase replaces it by a new one."""

    def before_phase(self, view: TrainingView, phase: Phase) -> None:
        """Do what is needed once before a phase: estimate a matrix, refresh a column."""

    def share_right(self, view: TrainingView) -> float | None:
        """Return which share of the labels seems to be right at a look now; None where the method does not tell."""
        return None

    def times_as_long(self, view: TrainingView, phase: Phase) -> tuple[float, str]:
        """Return how many times as many epochs a phase needs that is about to begin, and why; `at_most` bounds them."""
        return 1.0, ""

    def before_epoch(self, view: TrainingView, phase: Phase) -> None:
        """Do what is needed before an epoch."""

    def unlearned(self, logits_BC: Tensor, given_BC: Tensor) -> Tensor:
        """Return what is believed of labels that the network never learned: what it predicts, or what more is known."""
        return logits_BC.softmax(-1)

    def last_word(self, label_BC: Tensor, prediction_BC: Tensor) -> Tensor:
        """Return the labels that a run ends with, from those learned and the network's predictions at the end."""
        return label_BC

    @classmethod
    def check_phases(cls, names: Iterable[str]) -> None:
        """Refuse phases that the method does not have."""
        for name in sorted(set(names) - set(cls.phase_names)):
            raise PencilError(f'this method has no phase "{name}".{did_you_mean(name, cls.phase_names)}')

    def phase_setting(self, settings: Mapping[str, PhaseSettings], name: str) -> PhaseSettings:
        """Return a phase's settings, or say which are missing."""
        self.check_phases(settings)
        if name not in settings:
            raise PencilError(f"the settings of phase {name} are missing; give phases.{name}.epochs and .lr.")
        return settings[name]
