"""Sums over an epoch, kept on the device so that nothing waits for them."""

import torch
from torch import Tensor

from pencil.errors import PencilError

COUNTS = (
    "examples", "correct_given", "agreeing", "label_correct", "label_known", "changed", "relabelled", "nonfinite",
    "skipped",
)  # fmt: skip


def batch_sums(counts: dict[str, Tensor], parts: dict[str, Tensor]) -> Tensor:
    """Return one batch's counts and loss parts in the order of the meters."""
    values = [counts[name] for name in COUNTS] + list(parts.values())
    return torch.stack([value.to(torch.float64) for value in values])


class Meters:
    """Named running sums in one tensor; loss parts are named when a phase is first seen.

    The tensor has room for `parts` of a loss from the start: a captured step remembers where it lies.
    """

    def __init__(self, device: torch.device, num_classes: int, parts: int) -> None:
        self.sums = torch.zeros(len(COUNTS) + parts, dtype=torch.float64, device=device)
        self.labels = torch.zeros(num_classes, dtype=torch.int64, device=device)
        """Examples whose label is of each class; an epoch sees every example once."""
        self.one = torch.ones(1, dtype=torch.int64, device=device)
        self.part_names: tuple[str, ...] = ()

    def add(self, sums: Tensor) -> None:
        """Add one batch's sums."""
        self.sums[: len(sums)] += sums

    def name_parts(self, names: tuple[str, ...]) -> None:
        """Learn what the parts of a loss are called, or refuse more of them than there is room for."""
        room = len(self.sums) - len(COUNTS)
        if len(names) > room:
            raise PencilError(
                f"the method's loss has {len(names)} parts, but there is room for {room};"
                f" set most_parts = {len(names)} in the method's class, or add some parts up."
            )
        self.part_names = names

    def count(self, label_B: Tensor) -> None:
        """Count the classes of a batch's labels."""
        self.labels.index_add_(0, label_B, self.one.expand(len(label_B)))

    def reset(self) -> None:
        """Start an epoch."""
        self.sums.zero_()
        self.labels.zero_()

    def read(self) -> tuple[dict[str, float], dict[str, float]]:
        """Return counts and summed loss parts; waits for the device."""
        values = self.sums.tolist()
        counts = dict(zip(COUNTS, values, strict=False))
        return counts, dict(zip(self.part_names, values[len(COUNTS) :], strict=False))
