"""A class whose examples all go over to others is named in the epoch's record."""

from typing import Any

import torch
from torch import Tensor, nn

from pencil import methods

N = 60


class Blind(nn.Module):
    """A network that never believes in class 3, whatever it is shown."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.layer(x)
        return torch.cat([out[:, :3], torch.full_like(out[:, :1], -50.0), out[:, 4:]], dim=1)


def test_a_class_that_loses_all_its_examples_is_in_the_record(digits: Any, engine_of: Any, train: Any) -> None:
    data = digits(N, noise=0.0)
    phases = {"backbone": (3, "0.1"), "labels": (6, "0.1"), "tuning": (2, "0.1")}
    method = methods.create("pencil", {"anchor": 0.0, "label_step": "20"}, 10)
    engine = engine_of(data, method, phases, Blind)
    lost = [record["lost_classes"] for record in train(engine).records]
    assert lost[:3] == [[], [], []], "labels don't move in the first phase"
    label = engine.state.table.columns["label_logits"].argmax(-1)
    gone = [number for number in range(10) if number not in label.tolist()]
    assert 3 in gone and lost[-1] == gone
    assert engine.state.meters.labels.tolist() == torch.bincount(label, minlength=10).tolist()


def test_a_class_that_nobody_was_given_is_not_lost(digits: Any, engine_of: Any, train: Any) -> None:
    data = digits(N, noise=0.0)
    data.given[data.given == 7] = 8
    engine = engine_of(data, methods.create("cross_entropy", {}, 10), {"training": (1, "0.1")}, Blind)
    assert train(engine).records[0]["lost_classes"] == []
