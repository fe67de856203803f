"""Watches labels that move: where they start to do harm, they go back to the last good table and move more slowly.

Nothing here knows the truth. The signs are the network's accuracy on the noisy held-out labels, its agreement with
the labels it learns, and the shares of the classes among them.
"""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

SURE = 3.0
"""Standard errors by which held-out accuracy must fall before it counts as harm."""
AGREEMENT_KEPT = 2 / 3
"""Share of the best agreement between network and labels below which the two have come apart."""
CLASS_KEPT = 1 / 2
"""Share below which a class counts as collapsing, of as many of its given examples as were found right elsewhere."""
USUALLY_RIGHT = 2 / 3
"""How many given labels are taken to be right where none are held out to tell."""
SLOWER = 1 / 4
"""What the label step is multiplied by after each return."""
FASTER = 2.0
"""And after each good epoch, until it is what it was: a network that has learned more may move what it could not."""
STANDING = SLOWER**3
"""What is left of the label step where harm is no longer the labels' doing."""


class Guard:
    """The last good state of what learns, and what it was judged by."""

    def __init__(self, learning: Mapping[str, Tensor]) -> None:
        device = next(iter(learning.values())).device
        self.good = {name: value.detach().clone() for name, value in learning.items()}
        self.highest = torch.zeros(2, dtype=torch.float64, device=device)
        """The best held-out accuracy, and the best agreement, in percent."""
        self.right = torch.zeros((), dtype=torch.float64, device=device)
        """The held-out accuracy before any label had changed."""
        self.pace = torch.ones((), dtype=torch.float64, device=device)
        """What the label step is multiplied by."""

    def judge(self, record: Mapping[str, Any], held_out: int, labels_C: Tensor, given_C: Tensor) -> str:
        """Return what is wrong after an epoch in which labels moved; nothing where all is well."""
        best, agreeing = self.highest.tolist()
        accuracy = record.get("held_out_accuracy", 0.0)
        # One more example on either side: all or none of a few held-out labels is no certainty.
        share = (best / 100 * held_out + 1) / (held_out + 2)
        error = 100 * math.sqrt(share * (1 - share) / max(held_out, 1))
        if held_out and accuracy < best - SURE * error:
            return f"accuracy on the held-out labels fell from {best:.1f}% to {accuracy:.1f}%"
        if record["agreement"] < AGREEMENT_KEPT * agreeing:
            return f"the network agrees with {record['agreement']:.1f}% of the labels, after {agreeing:.1f}%"
        # The network found so many held-out labels right before labels moved, so about as many of a class are its own;
        # a measure that rose later would find fault with the very state to go back to. Classes of a few examples come
        # and go by chance.
        right = self.right.item() / 100 if held_out else USUALLY_RIGHT
        least_C = CLASS_KEPT * right * (given_C - SURE * given_C.sqrt())
        fewer = (labels_C < least_C).nonzero().flatten().tolist()
        if fewer:
            return f"class {fewer[0]} is down to {int(labels_C[fewer[0]]):,} of {int(given_C[fewer[0]]):,} examples"
        return ""

    def take(self, learning: Mapping[str, Tensor]) -> None:
        """Take the state of now as the one to go back to."""
        for name, value in learning.items():
            if name in self.good:
                self.good[name].copy_(value)
            else:
                self.good[name] = value.detach().clone()

    def enter(self, learning: Mapping[str, Tensor], *, fresh: bool) -> None:
        """Take the state in which a phase begins; what another network was best at says nothing of a fresh one."""
        self.take(learning)
        if fresh:
            self.highest.zero_()

    def give_in(self, learning: Mapping[str, Tensor], record: Mapping[str, Any]) -> None:
        """Take the state of now as what later ones are judged by, however much better an earlier one was."""
        self.take(learning)
        self.highest[0], self.highest[1] = record.get("held_out_accuracy", 0.0), record["agreement"]

    def begin(self, learning: Mapping[str, Tensor], record: Mapping[str, Any]) -> None:
        """Take the state of now, in which no label has changed yet, as what all later ones are judged by."""
        self.take(learning)
        self.highest[0] = record.get("held_out_accuracy", 0.0)
        self.highest[1] = 0.0
        self.right.copy_(self.highest[0])

    def keep(self, learning: Mapping[str, Tensor], record: Mapping[str, Any], *, moved: bool) -> None:
        """Take the state of now as a good one, and as what later ones are judged by."""
        self.take(learning)
        self.highest[0].clamp_(min=record.get("held_out_accuracy", 0.0))
        self.highest[1].clamp_(min=record["agreement"] if moved else 0.0)
        if not moved:
            self.right.fill_(record.get("held_out_accuracy", 0.0))
        self.pace.mul_(FASTER).clamp_(max=1.0)

    def go_back(self, learning: Mapping[str, Tensor]) -> None:
        """Put the last good state back, in place, and slow the labels down."""
        for name, value in self.good.items():
            learning[name].data.copy_(value)
        self.pace.mul_(SLOWER)

    def tensors(self) -> dict[str, Tensor]:
        """Return all that a checkpoint needs."""
        own = {"highest": self.highest, "right": self.right, "pace": self.pace}
        return own | {f"good.{k}": v for k, v in self.good.items()}
