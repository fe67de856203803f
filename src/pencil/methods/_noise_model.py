"""What a run knows of the noise, looked up between epochs and asked within the step.

Shapes: N examples, B examples of a batch, C classes.
"""

import torch
from torch import Tensor, nn

from pencil.chance import MANY
from pencil.methods._contract import TrainingView
from pencil.methods._noise_fit import (
    Seen,
    clean_probability,
    fit_bias,
    fit_shares,
    fit_temperature,
    fit_transition,
)


class NoiseModel(nn.Module):
    """T, how sure the teacher deserves to be, and, if asked for, how often each class is right."""

    transition: Tensor
    """[C, C] T[i, j] = P(given = j | true = i)."""
    temperature: Tensor
    shares: Tensor | None
    """[C] how often each class is right."""
    bias: Tensor | None
    """[C] what the teacher's outputs lack to name classes so often."""

    def __init__(self, num_classes: int, *, by_class_shares: bool) -> None:
        super().__init__()
        # Until something is known of the noise, a label says no more than the network has already learned from it.
        self.register_buffer("transition", torch.full((num_classes, num_classes), 1 / num_classes))
        self.register_buffer("temperature", torch.ones(()))
        self.register_buffer("shares", torch.full((num_classes,), 1 / num_classes) if by_class_shares else None)
        self.register_buffer("bias", torch.zeros(num_classes) if by_class_shares else None)

    @property
    def knows_nothing(self) -> bool:
        """Say whether it has never looked."""
        return bool((self.transition == self.transition[0, 0]).all())

    def look(self, view: TrainingView) -> None:
        """Learn of the noise from the labels held out, where there are any.

        A network that learns its own opinions would take its mistakes for noise: the first look at T counts, where
        labels enough are held out for one, and elsewhere the mean of all looks so far.
        """
        held_out = view.held_out()
        if held_out is None:
            return
        trained_on = _trained_on(view, held_out)
        # Going back may have made it forget them.
        weight = 1.0 if self.knows_nothing else 0.0 if trained_on is None else 1 / (view.phase_epoch + 1)
        if weight:
            self.transition.lerp_(fit_transition(held_out, trained_on).to(self.transition), weight)
        self.temperature.copy_(fit_temperature(held_out, self.transition))
        if self.shares is None or self.bias is None:
            return
        if weight:
            given_N = view.columns["given"]
            given_C = torch.bincount(given_N[given_N >= 0], minlength=len(self.shares))
            self.shares.lerp_(fit_shares(held_out, trained_on, self.temperature, given_C).to(self.shares), weight)
        self.bias.copy_(fit_bias(held_out, trained_on, self.temperature, self.shares))

    def believed(self, logits_BC: Tensor) -> Tensor:
        """Return the teacher's outputs as sure as they deserve."""
        tempered_BC = logits_BC / self.temperature
        return tempered_BC if self.bias is None else tempered_BC + self.bias

    def clean(self, believed_BC: Tensor, given_BC: Tensor, trusted_B: Tensor | None = None) -> Tensor:
        """Return P(the given label is right)."""
        clean_B = clean_probability(believed_BC, given_BC, self.transition)
        return clean_B if trusted_B is None else clean_B.masked_fill(trusted_B, 1)

    def weight(self, believed_BC: Tensor, given_BC: Tensor, trusted_B: Tensor | None = None) -> Tensor:
        """Return how far each given label counts, by its probability against that of labels on the whole.

        A network whose examples weigh f_ŷ settles where f ∝ f·p, p being the shares of the labels: any opinion, once
        it has it, grows. With the root it settles at f ∝ p², sharper than p, wherever it began; so the root, and of a
        teacher that is nowhere made surer than it is.
        """
        clean_B = self.clean(believed_BC * self.temperature.clamp(max=1), given_BC, trusted_B)
        return (clean_B / self.transition.diagonal().mean()).clamp(max=1).sqrt()


def share_right(view: TrainingView) -> float | None:
    """Return which share of the labels seems to be right at a look now, where labels are held out to tell."""
    held_out = view.held_out()
    if held_out is None:
        return None
    return float(fit_transition(held_out, _trained_on(view, held_out)).diagonal().mean())


def _trained_on(view: TrainingView, held_out: Seen) -> Seen | None:
    """Return what else tells of the noise where few labels are held out: those that are trained on."""
    return (view.predict().log(), view.columns["given"]) if len(held_out[1]) < MANY else None
