"""After memory ran out a batch goes on in parts: the same update, said in the log, and the same after a resume."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from pencil import methods
from pencil.errors import PencilError

N, BATCH = 96, 32
PHASES = {"backbone": (2, "0.1"), "labels": (2, "0.1"), "tuning": (1, "0.1")}


class Limited(nn.Module):
    """A network for which memory runs out, in the middle of its forward pass, with more than so many examples."""

    def __init__(self, inner: nn.Module, most: int) -> None:
        super().__init__()
        self.inner, self.most = inner, most

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.inner(x)
        if self.training and len(x) > self.most:
            raise torch.cuda.OutOfMemoryError("out of memory")
        return out


def plain() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 24), nn.ReLU(), nn.Linear(24, 10))


def engine(engine_of: Any, digits: Any, network: Callable[[], nn.Module], **how: Any) -> Any:
    method = methods.create("pencil", {"anchor": 0.5, "label_step": "2"}, 10)
    return engine_of(digits(N), method, PHASES, network, batch=BATCH, precision="64-true", **how)


@pytest.mark.parametrize("streaming", [False, True])
def test_parts_of_a_batch_make_the_whole_batchs_update(
    engine_of: Any, digits: Any, train: Any, streaming: bool
) -> None:
    whole = engine(engine_of, digits, plain, streaming=streaming)
    parts = engine(engine_of, digits, lambda: Limited(plain(), 9), streaming=streaming)
    unbroken, tape = train(whole), train(parts)
    assert parts.state.micro_batch == 8
    said = [note for note in tape.notes if "memory ran out" in note]
    assert len(said) == 2, "halved twice, and said each time"
    assert "parts of 8" in said[-1] and "batch statistics" in said[-1]
    for one, other in zip(whole.state.model.parameters(), parts.state.model.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)
    logits = [e.state.table.columns["label_logits"] for e in (whole, parts)]
    torch.testing.assert_close(*logits, rtol=0, atol=1e-10)
    for before, after in zip(unbroken.records, tape.records, strict=True):
        assert after["loss_parts"] == pytest.approx(before["loss_parts"], abs=1e-9)
        assert after["changed"] == before["changed"] and after["train_accuracy"] == before["train_accuracy"]


def test_a_failed_pass_leaves_running_statistics_as_they_were(
    engine_of: Any, digits: Any, train: Any, networks: Any
) -> None:
    halved = engine(engine_of, digits, lambda: Limited(networks["perceptron"](), 16))
    asked = engine(engine_of, digits, lambda: Limited(networks["perceptron"](), 16))
    asked.state.micro_batch = 16
    train(halved), train(asked)
    for one, other in zip(halved.state.model.buffers(), asked.state.model.buffers(), strict=True):
        assert torch.equal(one, other)


class Counted(nn.Sequential):
    """Keeps a tensor that is made anew for each batch, and is not in its state."""

    def forward(self, input: Tensor) -> Tensor:
        self.register_buffer("ones", torch.ones(len(input), 1), persistent=False)
        out: Tensor = super().forward(input)
        return out * self.ones.to(out)


def test_a_tensor_made_anew_for_each_batch_may_have_grown_as_a_pass_failed(
    engine_of: Any, digits: Any, train: Any
) -> None:
    limited = engine(engine_of, digits, lambda: Limited(Counted(*plain()), 16))  # type: ignore[misc]
    limited.state.model(torch.zeros(8, 64, dtype=torch.float64))
    train(limited)
    assert limited.state.micro_batch == 16


def test_a_resumed_run_keeps_the_smaller_parts(engine_of: Any, digits: Any, train: Any) -> None:
    def network() -> nn.Module:
        return Limited(plain(), 9)

    unbroken = engine(engine_of, digits, network)
    train(unbroken)
    stopped = engine(engine_of, digits, network)
    arrays, meta = train(stopped, stop_after=5).saved[-1]
    resumed = engine(engine_of, digits, network)
    resumed.restore(arrays, meta)
    assert not [note for note in train(resumed).notes if "memory" in note]
    for one, other in zip(unbroken.state.model.parameters(), resumed.state.model.parameters(), strict=True):
        assert torch.equal(one, other)


def test_one_example_that_does_not_fit_ends_with_a_remedy(engine_of: Any, digits: Any, train: Any) -> None:
    with pytest.raises(PencilError, match="does not hold one example; use a smaller network"):
        train(engine(engine_of, digits, lambda: Limited(plain(), 0)))


def test_predictions_go_on_in_parts(engine_of: Any, digits: Any) -> None:
    class Narrow(Limited):
        def forward(self, x: Tensor) -> Tensor:
            if len(x) > self.most:
                raise torch.cuda.OutOfMemoryError("out of memory")
            out: Tensor = self.inner(x)
            return out

    run = engine(engine_of, digits, lambda: Narrow(plain(), 20))
    expected = run.state.model.inner(torch.from_numpy(digits(N).x).double())
    torch.testing.assert_close(run.train_evaluator.logits(run.state.model), expected, rtol=0, atol=1e-12)
