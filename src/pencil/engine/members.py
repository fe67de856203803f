"""Networks that learn beside each other, each of which leaves out its share of the examples and teaches those.

A network knows the labels that it has learned, wrong ones too. What is said of an example is said here by a member
that has not learned its label, as of one held out, and no label is lost to training by it.

Shapes: N examples of the run, B of a batch, K members, C classes; L = B·(K - 1) an example for each that learns it.
"""

from dataclasses import replace

import torch
from torch import Tensor, nn

from pencil.backbones import Members
from pencil.chance import is_higher
from pencil.engine.objective import Measured, objective
from pencil.methods import Method, TrainingView
from pencil.table import Rows
from pencil.types import Phase

LEAST = 0.85
"""How many labels a member agrees with, at least, by how many are right: as at the end of a run."""
CHANCE = 1.0
"""Standard errors that are taken for chance."""


def shares(given_N: Tensor, members: int, seed: int) -> Tensor:
    """Return which member leaves each example out: about as many of each class for each of them, drawn at random."""
    drawn_N = torch.randperm(len(given_N), generator=torch.Generator().manual_seed(seed))
    # In random order within each class; a class begins where the one before ended, or the first would leave out most.
    order_N = drawn_N[given_N[drawn_N].argsort(stable=True)]
    share_N = torch.empty_like(order_N)
    share_N[order_N] = torch.arange(len(given_N)) % members
    return share_N


class Apart(nn.Module):
    """Members that do not answer as one: [B, K, C]."""

    def __init__(self, members: Members) -> None:
        super().__init__()
        self.members = members

    def forward(self, inputs: Tensor) -> Tensor:
        return self.members.each(inputs)


def apart(network: nn.Module) -> nn.Module:
    """Return a network of members so that each of them is heard; any other as it is."""
    return Apart(network) if isinstance(network, Members) else network


def unlearned(outputs_BKC: Tensor, share_B: Tensor) -> Tensor:
    """Return what is said of each example by the member that leaves it out."""
    return outputs_BKC.gather(1, share_B.view(-1, 1, 1).expand(-1, 1, outputs_BKC.shape[2])).squeeze(1)


def said(outputs_BKC: Tensor, share_B: Tensor, *, alone: bool) -> Tensor:
    """Return what is said of each example, by the member that leaves it out or by all of them."""
    return unlearned(outputs_BKC, share_B) if alone else outputs_BKC.mean(1)


def knows_little(view: TrainingView, share_right: float) -> str:
    """Say by how much a member agrees with fewer labels that it left out than are right; nothing where with most.

    Where it is wrong about many examples, it would be taken at its word about those, and right labels lost. All of
    them together have learned the given label, which then has a say.
    """
    given_N = view.columns["given"]
    known_N = given_N >= 0
    hits = int((view.predict().argmax(-1) == given_N)[known_N].sum())
    count = int(known_N.sum())
    if not is_higher(LEAST * share_right * count, count, hits, count, errors=CHANCE):
        return ""
    return (
        f"members agree with {hits / max(count, 1):.0%} of the labels that they leave out, of which about"
        f" {share_right:.0%} seem to be right"
    )


def objective_of_members(
    method: Method, phase: Phase, outputs_BKC: Tensor, rows: Rows, teacher_BC: Tensor, share_B: Tensor
) -> tuple[Tensor, Measured]:
    """Return the loss of all members, each on the examples that it learns, so that each one's gradient is of a mean."""
    members = outputs_BKC.shape[1]
    learning = members - 1
    next_B1K = share_B.unsqueeze(1) + torch.arange(1, members, device=share_B.device)
    who = (next_B1K % members).unsqueeze(-1).expand(-1, -1, outputs_BKC.shape[2])
    logits_LC = outputs_BKC.gather(1, who).flatten(0, 1)
    rows_L = {name: values.repeat_interleave(learning, 0) for name, values in rows.items()}
    loss, measured = objective(method, phase, logits_LC, rows_L, teacher_BC.repeat_interleave(learning, 0))
    # A member learns (K - 1)/K of the batch; a label hears of itself once for each that learns it.
    return loss * (members / learning), replace(
        measured,
        usable_B=measured.usable_B.view(-1, learning).all(1),
        count=measured.count / learning,
        rescale=measured.rescale / members,
        parts={name: value / learning for name, value in measured.parts.items()},
    )
