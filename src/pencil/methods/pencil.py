"""PENCIL: probabilistic end-to-end noise correction in labels (Yi & Wu, CVPR 2019)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import torch
from torch import Tensor

from pencil import losses
from pencil.config import PhaseSettings, Schedule
from pencil.config.ranges import ONE_OR_MORE, SCALE, WEIGHT
from pencil.errors import PencilError, did_you_mean
from pencil.flips import scale_for_classes
from pencil.methods._contract import Method, TrainingView
from pencil.methods._noise_model import NoiseModel, share_right
from pencil.table import Fixed, GradientStep
from pencil.table.rules import log_distribution
from pencil.types import Batch, Phase, Terms

COMPATIBILITY = {"code": losses.compatibility_code, "paper": losses.compatibility_paper}
HALF = 0.5
"""Share of right labels for which lengths of phases are meant."""
CLASSIFICATION = {"reverse": losses.classification, "classic": losses.classic_kl, "none": losses.classification}


@dataclass(frozen=True, kw_only=True)
class Options:
    """PENCIL's settings. Give λ or η, and α or a: η = λ/(B·c) and a = α·c mean the same for any batch and classes."""

    compatibility: str = "code"
    """Form of the compatibility loss: "code" (as released; labels can flip) or "paper" (as printed)."""
    classification: str = "reverse"
    """"reverse" KL(f ‖ y^d) (Eq. 4) or "classic" KL(y^d ‖ f) (Eq. 2); "none" leaves it out of label learning."""
    compatibility_weight: Annotated[float | None, WEIGHT] = None
    """α, at the class count of the data."""
    anchor: Annotated[float | None, WEIGHT] = None
    """a = α·c, the scale-free weight of the compatibility loss; 0 leaves it out."""
    entropy_weight: Annotated[float, WEIGHT] = 0.4
    """β; 0 leaves the entropy loss out."""
    label_lr: Schedule | None = None
    """λ over the label-learning phase, at `reference_batch`."""
    reference_batch: Annotated[int, ONE_OR_MORE] = 128
    """B, the batch at which λ is defined; the batch really used changes nothing."""
    label_step: Schedule | None = None
    """η = λ/(B·c), the scale-free label step."""
    init_scale: Annotated[float, SCALE] = 10.0
    """K of ỹ = K·ŷ; 0 chooses it by the class count."""
    divide_by_classes: bool = True
    """Divide the network's loss by c in the last two phases, as the paper does."""
    from_best: bool = False
    """Begin label learning with the weights of the epoch that had the lowest loss on the noisy held-out labels."""
    settle: bool = False
    """End with the mean of what labels learned and what the network predicts: it settles those still on their way."""
    by_clean_probability: bool = False
    """Anchor each label by the probability that it is right, and learn from it as far as it is believed."""
    by_class_shares: bool = False
    """With it: have classes named as often as they are right, as far as given labels tell, so that none is lost."""
    gone: ClassVar[Mapping[str, Any]] = {"mix_tuning": False}


class Pencil(Method):
    """Backbone learning, label learning, fine-tuning; one network and one optimizer all along (Sec. 3.6)."""

    Options: ClassVar[type] = Options
    phase_names: ClassVar[tuple[str, ...]] = ("backbone", "labels", "tuning")
    mixes: ClassVar[bool] = True
    phase_schedules: ClassVar[Mapping[str, tuple[str, ...]]] = {"labels": ("label_lr", "label_step")}
    renamed: ClassVar[Mapping[str, str]] = {
        name: f"noise.{name}" for name in ("transition", "temperature", "shares", "bias")
    }

    def __init__(self, options: Mapping[str, Any], num_classes: int) -> None:
        super().__init__(options, num_classes)
        o = self.options
        self.compatibility = _choice("compatibility", o.compatibility, COMPATIBILITY)
        self.classification = _choice("classification", o.classification, CLASSIFICATION)
        if o.classification == "none" and not o.entropy_weight:
            raise PencilError(
                'options.classification is "none" and options.entropy_weight is 0: nothing would train the network '
                "while labels are learned; give one of them."
            )
        self.anchor = _one_of(o, "anchor", "compatibility_weight", factor=num_classes)
        self.label_step = _label_step(o, num_classes)
        self.loss_scale = 1 / num_classes if o.divide_by_classes else 1.0
        self.keeps_best = "loss" if o.from_best else ""
        if o.by_class_shares and not o.by_clean_probability:
            raise PencilError("options.by_class_shares needs options.by_clean_probability, which estimates the noise.")
        self.noise = NoiseModel(num_classes, by_class_shares=o.by_class_shares) if o.by_clean_probability else None

    @property
    def label_scale(self) -> float:
        return self.options.init_scale or scale_for_classes(self.num_classes)

    def phases(self, settings: Mapping[str, PhaseSettings]) -> tuple[Phase, ...]:
        backbone, labels, tuning = (self.phase_setting(settings, name) for name in self.phase_names)
        return (
            Phase("backbone", backbone.epochs, backbone.lr, Fixed(), patience=backbone.patience),
            Phase(
                "labels",
                labels.epochs,
                labels.lr,
                GradientStep(),
                self.label_step,
                from_best=self.options.from_best,
                at_most=labels.at_most,
                track_predictions=True,
            ),
            # By then labels are as right as they get: they may be learned as sharply as plain training would.
            Phase("tuning", tuning.epochs, tuning.lr, Fixed(), mixed=False),
        )

    def share_right(self, view: TrainingView) -> float | None:
        return None if self.noise is None else share_right(view)

    def times_as_long(self, view: TrainingView, phase: Phase) -> tuple[float, str]:
        """Let a network see as many right labels while it corrects them as where half of them are right."""
        right = self.share_right(view)
        return (1.0, "") if right is None else (HALF / max(right, 1e-6), "most labels seem to be wrong")

    def before_epoch(self, view: TrainingView, phase: Phase) -> None:
        if self.noise is not None and phase.name == "labels":
            self.noise.look(view)

    def loss(self, batch: Batch) -> Terms:
        """The loss of each phase, times c: KL + a·L_o + β·H; the network's share is divided by c again."""
        if batch.phase == "backbone":
            target_BC = losses.mix(batch.given, batch.partner_share)
            return Terms({"cross_entropy": losses.cross_entropy(batch.logits, target_BC)}, rows=batch.labelled)
        batch, clean_B = self._weigh(batch)
        parts = {}
        # Fine-tuning has no other loss to live on.
        if batch.phase == "tuning" or self.options.classification != "none":
            parts["classification"] = self._classification(batch)
        if batch.phase == "labels":
            pull = self.compatibility(batch.label_logits, batch.given)
            parts["compatibility"] = self.anchor * batch.anchor * pull * (1 if clean_B is None else clean_B)
            parts["entropy"] = self.options.entropy_weight * losses.entropy(batch.logits)
            if batch.teacher_logits is not None:
                parts["teacher"] = losses.classification(batch.teacher_logits, batch.label_logits)
        return Terms(parts, scale=self.loss_scale)

    def unlearned(self, logits_BC: Tensor, given_BC: Tensor) -> Tensor:
        """With T, as labels move that are learned: to class j where it is believed more than ŷ by more than P.

        (f + P·ŷ)/(1 + P) is where the paper's compatibility loss, as printed, comes to rest with a = P.
        """
        if self.noise is None or self.noise.knows_nothing:
            return logits_BC.softmax(-1)
        belief_BC = self.noise.believed(logits_BC)
        right_B1 = self.noise.clean(belief_BC, given_BC).unsqueeze(-1)
        return (belief_BC.softmax(-1) + right_B1 * given_BC) / (1 + right_B1)

    def last_word(self, label_BC: Tensor, prediction_BC: Tensor) -> Tensor:
        return (label_BC + prediction_BC) / 2 if self.options.settle else label_BC

    def _classification(self, batch: Batch) -> Tensor:
        """Without a teacher one loss moves network and labels; with one this is the network's alone."""
        if batch.teacher_logits is None and batch.partner_share is None:
            cost_B: Tensor = self.classification(batch.logits, batch.label_logits)
            return cost_B
        label_BC = batch.label_logits.detach().softmax(-1)
        believed_B = torch.ones_like(label_BC[:, 0])
        if self.noise is not None and batch.teacher_logits is not None:
            # A label counts less where it is less likely right than labels are on the whole, until the teacher has
            # come to share it.
            weight_B = self.noise.weight(batch.teacher_logits, batch.given, batch.trusted)
            believed_B = torch.maximum(weight_B, (label_BC * batch.teacher_logits.softmax(-1)).sum(-1))
        weight_B = losses.mix(believed_B, batch.partner_share)
        target_BC = losses.mix(believed_B.unsqueeze(-1) * label_BC, batch.partner_share)
        target_BC = target_BC / weight_B.clamp(min=1e-6).unsqueeze(-1)
        cost_B = self.classification(batch.logits, log_distribution(target_BC))
        return weight_B * cost_B

    def _weigh(self, batch: Batch) -> tuple[Batch, Tensor | None]:
        """Return the batch with the teacher's outputs as sure as they deserve, and P(the given label is right)."""
        if self.noise is None or batch.teacher_logits is None:
            return batch, None
        teacher_BC = self.noise.believed(batch.teacher_logits)
        clean_B = self.noise.clean(teacher_BC, batch.given, batch.trusted)
        return replace(batch, teacher_logits=teacher_BC), clean_B


METHOD = Pencil


def _choice(name: str, value: str, known: Mapping[str, Any]) -> Any:
    if value not in known:
        raise PencilError(f'options.{name} cannot be "{value}".{did_you_mean(value, known)}')
    return known[value]


def _one_of(options: Any, free: str, scaled: str, *, factor: float) -> float:
    both = getattr(options, free), getattr(options, scaled)
    if None not in both:
        raise PencilError(f"options.{free} and options.{scaled} are two spellings of one setting; give one of them.")
    return float(both[0] if both[0] is not None else (both[1] or 0.0) * factor)


def _label_step(options: Any, num_classes: int) -> Schedule:
    if (options.label_step is None) == (options.label_lr is None):
        raise PencilError("give the label step once: options.label_lr (λ) or options.label_step (η = λ/(B·c)).")
    if options.label_step is not None:
        return Schedule.parse(options.label_step)
    return Schedule.parse(options.label_lr).times(1 / (options.reference_batch * num_classes))
