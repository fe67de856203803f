"""How large the datasets of the studies are."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pencil.config import DataSettings
from pencil.recipes import Facts

FACTS = {
    "cifar10": Facts(45_000, 10, "images", shape=(3, 32, 32)),
    "cifar100": Facts(45_000, 100, "images", shape=(3, 32, 32)),
    "cub200": Facts(5_994, 200, "images", shape=(3, 224, 224)),
    "clothing1m": Facts(259_994, 14, "images", shape=(3, 224, 224)),
    "digits": Facts(1_294, 10, "images", shape=(1, 8, 8)),
}
"""Sizes of the training sets after the usual share is held out, or as the source itself holds some out."""
WHOLE = {"cifar10": 50_000, "cifar100": 50_000, "cub200": 5_994, "digits": 1_438}
"""Examples of those that no one has divided, before any is held out."""


def facts_of(data: Mapping[str, Any]) -> Facts:
    """Return the sizes of the training set by the settings of the data, which may hold out another share."""
    facts, whole = FACTS[data["source"]], WHOLE.get(data["source"])
    if whole is None:
        return facts
    return replace(facts, num_examples=whole - round(data.get("held_out", DataSettings.held_out) * whole))
