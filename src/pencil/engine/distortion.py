"""When a network is to learn distorted examples: once plain ones have no more to teach, and if it still knows them."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from pencil.data.transforms.distort import distort
from pencil.data.transforms.leave_out import leave_out
from pencil.engine.by_heart import learned_by_heart
from pencil.engine.evaluate import Evaluator

Distort = Callable[[Tensor, float, int, Tensor, Tensor], Tensor]
"""Of (prepared inputs, strength, seed, epoch, examples)."""
MOSTLY_RIGHT = 0.95
"""Share of right labels from which on a network may know them by heart."""
STILL_KNOWN = 0.8
"""Share of rows whose class the network must name as before; where it is less, columns say little by themselves."""


class Distortion(NamedTuple):
    """What is done to one kind of inputs."""

    distort: Distort
    plain: str
    distorted: str
    may_harm: bool
    """Whether classes may not survive it. Of images people can say that they do, of a table's columns nobody."""


DISTORTIONS = {
    "images": Distortion(distort, "images as they are", "distorted images", may_harm=False),
    "rows": Distortion(leave_out, "whole rows", "rows that lack columns", may_harm=True),
}


def reason_to_distort(
    distortion: Distortion, strength: float, network: nn.Module, learned: tuple[Evaluator, Tensor],
    held_out: tuple[Evaluator, Tensor], *, has_learned: bool, share_right: float | None,
) -> str:  # fmt: skip
    """Say why the network should learn distorted examples from here on; nothing where it should not.

    It is slower to learn from them: where there is nothing to gain, or no time left, they only do harm.
    """
    found = None if has_learned else learned_by_heart(network, learned, held_out)
    if not has_learned and found is None:
        return ""
    if distortion.may_harm:
        if share_right is not None and share_right >= MOSTLY_RIGHT:
            return ""
        if _still_known(network, learned[0], distortion.distort, strength) < STILL_KNOWN:
            return ""
    if found is None:
        return f"the network has learned what it can from {distortion.plain}"
    return (
        f"the network agrees with {found[0]:.1f}% of the labels it learned and {found[1]:.1f}% of those"
        " held out, so it begins to know them by heart"
    )


class _Distorting(nn.Module):
    """A network that sees its inputs distorted."""

    def __init__(self, network: nn.Module, distort: Distort, strength: float) -> None:
        super().__init__()
        self.network, self.distort, self.strength = network, distort, strength

    def forward(self, inputs: Tensor) -> Tensor:
        index_B = torch.arange(len(inputs), device=inputs.device)
        outputs_BC: Tensor = self.network(self.distort(inputs, self.strength, 0, index_B[:1], index_B))
        return outputs_BC


def _still_known(network: nn.Module, evaluator: Evaluator, distort: Distort, strength: float) -> float:
    """Return the share of examples of which the network names the same class when they are distorted.

    It is asked of the half that it is surest of: what it hardly knows it names otherwise at the least occasion.
    """
    distorting = _Distorting(network, distort, strength)
    sure, same = [], []
    for (_, plain_BC), (_, distorted_BC) in zip(evaluator.blocks(network), evaluator.blocks(distorting), strict=True):
        sure.append(plain_BC.softmax(-1).amax(-1))
        same.append((plain_BC.argmax(-1) == distorted_BC.argmax(-1)).float())
    sure_N = torch.cat(sure)
    return float(torch.cat(same)[sure_N >= sure_N.median()].mean())
