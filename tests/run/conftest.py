"""Quick runs: the digits, a small perceptron, a few epochs."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """Small tensors are faster without threads."""
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def same_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture
def quick() -> dict[str, Any]:
    """Settings of a run that takes a moment."""
    return {
        "backbone": "mlp",
        "backbone_options": {"hidden": 32, "depth": 1},
        "optimizer": {"batch_size": 128},
        "hardware": {"device": "cpu", "threads": 1},
    }
