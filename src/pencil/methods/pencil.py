"""PENCIL: probabilistic end-to-end noise correction in labels (Yi & Wu, CVPR 2019)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from pencil import losses
from pencil.chance import MANY
from pencil.config import PhaseSettings, Schedule
from pencil.errors import PencilError, did_you_mean
from pencil.methods._contract import Method, TrainingView
from pencil.methods._noise_model import (
    Seen,
    clean_probability,
    fit_bias,
    fit_shares,
    fit_temperature,
    fit_transition,
)
from pencil.table import Fixed, GradientStep
from pencil.table.initial import scale_for_classes
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
    compatibility_weight: float | None = None
    """α, at the class count of the data."""
    anchor: float | None = None
    """a = α·c, the scale-free weight of the compatibility loss; 0 leaves it out."""
    entropy_weight: float = 0.4
    """β; 0 leaves the entropy loss out."""
    label_lr: Schedule | None = None
    """λ over the label-learning phase, at `reference_batch`."""
    reference_batch: int = 128
    """B, the batch at which λ is defined; the batch really used changes nothing."""
    label_step: Schedule | None = None
    """η = λ/(B·c), the scale-free label step."""
    init_scale: float = 10.0
    """K of ỹ = K·ŷ; 0 chooses it by the class count."""
    divide_by_classes: bool = True
    """Divide the network's loss by c in the last two phases, as the paper does."""
    from_best: bool = False
    """Begin label learning with the weights of the epoch that had the lowest loss on the noisy held-out labels."""
    mix_tuning: bool = True
    """Mix examples in fine-tuning too, where teaching.mixup mixes them."""
    settle: bool = False
    """End with the mean of what labels learned and what the network predicts: it settles those still on their way."""
    by_clean_probability: bool = False
    """Anchor each label by the probability that it is right, and learn from it as far as it is believed."""
    by_class_shares: bool = False
    """With it: have classes named as often as they are right, as far as given labels tell, so that none is lost."""


class Pencil(Method):
    """Backbone learning, label learning, fine-tuning; one network and one optimizer all along (Sec. 3.6)."""

    Options: ClassVar[type] = Options
    phase_names: ClassVar[tuple[str, ...]] = ("backbone", "labels", "tuning")
    mixes: ClassVar[bool] = True
    phase_schedules: ClassVar[Mapping[str, tuple[str, ...]]] = {"labels": ("label_lr", "label_step")}

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
        asked = o.by_clean_probability
        shared = o.by_class_shares
        if shared and not asked:
            raise PencilError("options.by_class_shares needs options.by_clean_probability, which estimates the noise.")
        # Until something is known of the noise, a label says no more than the network has already learned from it.
        uninformed = torch.full((num_classes, num_classes), 1 / num_classes)
        self.register_buffer("transition", uninformed if asked else None)
        self.register_buffer("temperature", torch.ones(()) if asked else None)
        self.register_buffer("shares", torch.full((num_classes,), 1 / num_classes) if shared else None)
        self.register_buffer("bias", torch.zeros(num_classes) if shared else None)
        self.transition: Tensor | None
        self.temperature: Tensor | None
        self.shares: Tensor | None
        self.bias: Tensor | None

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
            Phase("tuning", tuning.epochs, tuning.lr, Fixed(), mixed=self.options.mix_tuning),
        )

    def times_as_long(self, view: TrainingView, phase: Phase) -> tuple[float, str]:
        """Let a network see as many right labels while it corrects them as where half of them are right."""
        held_out = view.held_out()
        if self.transition is None or held_out is None:
            return 1.0, ""
        right = fit_transition(held_out, self._also(view, held_out)).diagonal().mean()
        return float(HALF / right.clamp(min=1e-6)), "most labels seem to be wrong"

    def before_epoch(self, view: TrainingView, phase: Phase) -> None:
        if self.transition is None or self.temperature is None or phase.name != "labels":
            return
        held_out, given_N = view.held_out(), view.columns["given"]
        if held_out is None:
            return
        trained_on = self._also(view, held_out)
        few = trained_on is not None
        # A network that learns its own opinions would take its mistakes for noise: the first look counts, where
        # labels enough are held out for one, and elsewhere the mean of all looks so far.
        # Going back may have made it forget them.
        look = 1.0 if self._knows_nothing() else 1 / (view.phase_epoch + 1) if few else 0.0
        if look:
            self.transition.lerp_(fit_transition(held_out, trained_on).to(self.transition), look)
        self.temperature.copy_(fit_temperature(held_out, self.transition))
        if self.shares is not None and self.bias is not None:
            if look:
                given_C = torch.bincount(given_N[given_N >= 0], minlength=self.num_classes)
                found_C = fit_shares(held_out, trained_on, self.temperature, given_C)
                self.shares.lerp_(found_C.to(self.shares), look)
            self.bias.copy_(fit_bias(held_out, trained_on, self.temperature, self.shares))

    def _also(self, view: TrainingView, held_out: Seen) -> Seen | None:
        """Return what else tells of the noise where few labels are held out: those that are trained on."""
        return (view.predict().log(), view.columns["given"]) if len(held_out[1]) < MANY else None

    def loss(self, batch: Batch) -> Terms:
        """The loss of each phase, times c: KL + a·L_o + β·H; the network's share is divided by c again."""
        if batch.phase == "backbone":
            target_BC = losses.mix(batch.given, batch.partner_share)
            return Terms({"cross_entropy": losses.cross_entropy(batch.logits, target_BC)}, rows=batch.labelled)
        batch, clean_B = self._weigh(batch)
        parts = {}
        # Fine-tuning has no other loss to live on.
        if batch.phase == "tuning" or self.options.classification != "none":
            parts["classification"] = self._classification(batch, clean_B)
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
        if self.transition is None or self.temperature is None or self._knows_nothing():
            return logits_BC.softmax(-1)
        belief_BC = self._as_sure_as_it_deserves(logits_BC)
        right_B1 = clean_probability(belief_BC, given_BC, self.transition).unsqueeze(-1)
        return (belief_BC.softmax(-1) + right_B1 * given_BC) / (1 + right_B1)

    def last_word(self, label_BC: Tensor, prediction_BC: Tensor) -> Tensor:
        return (label_BC + prediction_BC) / 2 if self.options.settle else label_BC

    def _classification(self, batch: Batch, clean_B: Tensor | None) -> Tensor:
        """Without a teacher one loss moves network and labels; with one this is the network's alone."""
        if batch.teacher_logits is None and batch.partner_share is None:
            cost_B: Tensor = self.classification(batch.logits, batch.label_logits)
            return cost_B
        label_BC = batch.label_logits.detach().softmax(-1)
        believed_B = torch.ones_like(label_BC[:, 0])
        if clean_B is not None and batch.teacher_logits is not None:
            # A label counts less where it is less likely right than labels are on the whole, until the teacher has
            # come to share it.
            believed_B = torch.maximum(self._weight(batch), (label_BC * batch.teacher_logits.softmax(-1)).sum(-1))
        weight_B = losses.mix(believed_B, batch.partner_share)
        target_BC = losses.mix(believed_B.unsqueeze(-1) * label_BC, batch.partner_share)
        target_BC = target_BC / weight_B.clamp(min=1e-6).unsqueeze(-1)
        cost_B = self.classification(batch.logits, log_distribution(target_BC))
        return weight_B * cost_B

    def _weigh(self, batch: Batch) -> tuple[Batch, Tensor | None]:
        """Return the batch with the teacher's outputs as sure as they deserve, and P(the given label is right)."""
        if self.transition is None or self.temperature is None or batch.teacher_logits is None:
            return batch, None
        teacher_BC = self._as_sure_as_it_deserves(batch.teacher_logits)
        return replace(batch, teacher_logits=teacher_BC), self._clean(batch, teacher_BC)

    def _as_sure_as_it_deserves(self, logits_BC: Tensor) -> Tensor:
        assert self.temperature is not None
        tempered_BC = logits_BC / self.temperature
        return tempered_BC if self.bias is None else tempered_BC + self.bias

    def _knows_nothing(self) -> bool:
        assert self.transition is not None
        return bool((self.transition == self.transition[0, 0]).all())

    def _clean(self, batch: Batch, teacher_BC: Tensor) -> Tensor:
        assert self.transition is not None
        clean_B = clean_probability(teacher_BC, batch.given, self.transition)
        return clean_B if batch.trusted is None else clean_B.masked_fill(batch.trusted, 1)

    def _weight(self, batch: Batch) -> Tensor:
        """Return how far each given label counts, by its probability against that of labels on the whole.

        A network whose examples weigh f_ŷ settles where f ∝ f·p, p being the shares of the labels: any opinion, once
        it has it, grows. With the root it settles at f ∝ p², sharper than p, wherever it began; so the root, and of a
        teacher that is nowhere made surer than it is.
        """
        assert self.transition is not None and self.temperature is not None and batch.teacher_logits is not None
        clean_B = self._clean(batch, batch.teacher_logits * self.temperature.clamp(max=1))
        return (clean_B / self.transition.diagonal().mean()).clamp(max=1).sqrt()


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
    if options.reference_batch < 1:
        raise PencilError(f"options.reference_batch is {options.reference_batch}; give at least 1.")
    return Schedule.parse(options.label_lr).times(1 / (options.reference_batch * num_classes))
