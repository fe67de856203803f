"""What is measured on examples that are never trained on."""

import torch
from torch import nn

from pencil.engine.watched import Watched, score, watch


class Outputs:
    """Stands for an evaluator whose network gives these outputs."""

    def __init__(self, outputs: torch.Tensor) -> None:
        self.outputs = outputs

    def logits(self, network: nn.Module) -> torch.Tensor:
        return self.outputs


def _watched(labels: list[int]) -> Watched:
    return Watched(Outputs(torch.eye(4)), torch.tensor(labels))  # type: ignore[arg-type]


def test_sets_without_labels_have_no_accuracy_and_choose_no_weights() -> None:
    nothing = _watched([-1, -1, -1, -1])
    record = watch(nn.Identity(), {"held_out": nothing, "test": nothing})
    assert record == {}
    assert score({"epoch": 3, **record}, keeps_best="accuracy") == 3, "the latest weights are the best"


def test_only_examples_with_a_label_count() -> None:
    some = _watched([0, -1, 2, 0])
    assert len(some) == 3
    assert round(watch(nn.Identity(), {"test": some})["test_accuracy"], 3) == 66.667
