"""Values that no run can use are refused when the settings are made."""

from typing import Any

import pytest

from pencil.config import from_document
from pencil.errors import PencilError


@pytest.mark.parametrize(
    ("group", "name", "value"),
    [
        ("data", "held_out", 1.0),
        ("data", "held_out", -0.1),
        ("optimizer", "batch_size", 0),
        ("optimizer", "momentum", -0.1),
        ("optimizer", "momentum", float("nan")),
        ("optimizer", "momentum", 2.0),
        ("optimizer", "momentum", 1.0),
        ("optimizer", "weight_decay", -1e-4),
        ("optimizer", "weight_decay", float("inf")),
        ("teaching", "mixup", 1.5),
        ("teaching", "average_epochs", float("inf")),
        ("data", "trusted", float("nan")),
        ("data", "noise_seed", -1),
        ("hardware", "checkpoint_seconds", float("nan")),
        ("hardware", "checkpoint_seconds", -1.0),
        ("hardware", "threads", 5000),
        ("hardware", "workers", -1),
        ("hardware", "resident", "maybe"),
    ],
)
def test_impossible_values_are_refused(group: str, name: str, value: Any) -> None:
    with pytest.raises(PencilError, match=rf"{group}\.{name} is .*; give") as e:
        from_document({"method": "pencil", group: {name: value}})
    assert "\n" not in str(e.value)


def test_negative_epochs_are_refused_and_none_are_allowed() -> None:
    with pytest.raises(PencilError, match=r"phases\.labels\.epochs is -1"):
        from_document({"method": "pencil", "phases": {"labels": {"epochs": -1, "lr": 0.1}}})
    assert from_document({"method": "x", "phases": {"a": {"epochs": 0, "lr": 0.1}}}).phases["a"].epochs == 0


def test_nesterov_needs_momentum() -> None:
    with pytest.raises(PencilError, match="nesterov"):
        from_document({"method": "pencil", "optimizer": {"nesterov": True, "momentum": 0}})
