"""Shares epochs out among the phases of a shorter trial, and tells what does not get shorter with them."""

from collections.abc import Mapping
from typing import Any

from pencil.errors import PencilError

STEP = "label_lr"
STEP_STAYS = "λ stays the same whatever the length: in a shorter phase labels move less far, and may all stay as given."


def keeps_step(options: Mapping[str, Any]) -> bool:
    """Say whether labels move by a λ that is meant for another length, as in the paper's recipes."""
    return STEP in options


def share_out(lengths: Mapping[str, int], total: int) -> dict[str, int]:
    """Divide epochs among phases in proportion; each that has any keeps at least one, the longest take the rest."""
    used = [name for name, length in lengths.items() if length]
    if total < len(used):
        raise PencilError(f"--epochs is {total}, but there are {len(used)} phases; give at least one epoch for each.")
    factor = total / sum(lengths.values())
    shares = {name: max(1, round(length * factor)) if length else 0 for name, length in lengths.items()}
    left = total - sum(shares.values())
    for name in sorted(used, key=lambda name: -lengths[name]):
        change = max(left, 1 - shares[name])
        shares[name], left = shares[name] + change, left - change
    return shares
