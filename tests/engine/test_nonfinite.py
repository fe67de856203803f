"""NaN and infinity: cut out of both updates, counted, and never carried on."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

import pencil
from pencil import methods
from pencil.config import OptimizerSettings
from pencil.errors import PencilError

C, N, BATCH = 10, 48, 16
BAD = [3, 17, 18, 40]
UNLIMITED = OptimizerSettings(nonfinite_limit=1.0)


class Added(nn.Module):
    """A linear network whose last input is added to all outputs: a NaN there spoils a row, not the gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(63, C)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.layer(x[:, :63]) + x[:, 63:]
        return out


def spoiled(digits: Any) -> Any:
    data = digits(N)
    data.x[:, 63] = 0
    data.x[BAD, 63] = [np.inf, np.inf, -np.inf, -np.inf]
    return data


def test_rows_that_are_not_finite_are_left_out_of_both_updates_and_counted(
    digits: Any, engine_of: Any, train: Any
) -> None:
    data = spoiled(digits)
    engine = engine_of(
        data,
        methods.create("pencil", {"anchor": 0.5, "label_step": "2", "entropy_weight": 0.0}, C),
        {"backbone": (2, "0.1"), "labels": (1, "0"), "tuning": (0, "0")},
        Added,
        batch=BATCH,
        precision="64-true",
        optimizer=OptimizerSettings(momentum=0.0, weight_decay=0.0),
    )
    before = engine.state.table.columns["label_logits"].clone()
    torch.manual_seed(11)
    model = Added().double()
    records = train(engine).records
    assert [record["nonfinite"] for record in records] == [len(BAD)] * 3
    assert all(np.isfinite(record["loss"]) for record in records)

    x, given = torch.from_numpy(data.x).double(), torch.from_numpy(data.given)
    for index in (index for batches in engine.feed.epochs[:2] for index in batches):
        fine = torch.tensor([i for i in index.tolist() if i not in BAD])
        gradients = torch.autograd.grad(cross_entropy(model(x[fine]), given[fine]), list(model.parameters()))
        with torch.no_grad():
            for parameter, gradient in zip(model.parameters(), gradients, strict=True):
                parameter -= 0.1 * gradient
    for name, weight in model.state_dict().items():
        torch.testing.assert_close(engine.state.model.state_dict()[name], weight, rtol=0, atol=1e-12)

    columns = engine.state.table.columns
    fine = torch.tensor([i not in BAD for i in range(N)])
    assert torch.equal(columns["label_logits"][~fine], before[~fine])
    assert not (columns["label_logits"] == before)[fine].all(-1).any()
    assert columns["label_logits"].isfinite().all()
    assert columns["predictions"].tolist() == fine.int().tolist(), "what is not finite is no prediction"
    assert (columns["prediction_sum"][~fine] == 0).all()


def test_a_gradient_that_is_not_finite_skips_the_networks_update(digits: Any, engine_of: Any, train: Any) -> None:
    data = digits(N, noise=0.0)
    data.x[7, 0] = np.inf  # Spoils its row's outputs, and through the first layer's input the whole gradient.
    engine = engine_of(
        data,
        methods.create("pencil", {"anchor": 0.5, "label_step": "2"}, C),
        {"backbone": (0, "0"), "labels": (1, "0.1"), "tuning": (0, "0")},
        lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, C)),
        batch=N,
        optimizer=UNLIMITED,
    )
    start = {k: np.array(v) for k, v in engine.state.export().items()}
    records = train(engine).records
    end = engine.state.export()
    for name in start:
        if name.startswith(("model.", "optimizer.")):
            assert np.array_equal(start[name], end[name]), name
    assert records[0]["nonfinite"] == 1
    moved = (end["table.label_logits"] != start["table.label_logits"]).any(-1)
    assert moved.tolist() == [i != 7 for i in range(N)], "the labels of the other rows still learn"


def test_training_goes_on_after_a_skipped_update(digits: Any, engine_of: Any, train: Any) -> None:
    data = digits(N, noise=0.0)
    data.x[7, 0] = np.inf
    engine = engine_of(
        data,
        methods.create("cross_entropy", {}, C),
        {"training": (15, "0.5")},
        lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, C)),
        batch=BATCH,
    )
    records = train(engine).records
    assert all(parameter.isfinite().all() for parameter in engine.state.model.parameters())
    assert records[-1]["loss"] < 0.5 * records[0]["loss"]
    assert {record["nonfinite"] for record in records} == {1}


def test_a_batch_that_is_wholly_spoiled_changes_nothing(digits: Any, engine_of: Any, train: Any) -> None:
    data = digits(N)
    data.x[:, 63] = np.inf
    engine = engine_of(
        data,
        methods.create("pencil", {"anchor": 0.5, "label_step": "2"}, C),
        {"backbone": (1, "0.1"), "labels": (1, "0.1"), "tuning": (1, "0.1")},
        Added,
        optimizer=OptimizerSettings(weight_decay=0.0, nonfinite_limit=1.0),
    )
    start = {k: np.array(v) for k, v in engine.state.export().items()}
    records = train(engine).records
    end = engine.state.export()
    for name in start:
        if name.startswith(("model.", "table.")):
            assert np.array_equal(start[name], end[name]), name
    assert [record["nonfinite"] for record in records] == [N] * 3
    assert all(record["loss"] == pytest.approx(0) for record in records)


class Normalised(nn.Module):
    """A linear network with batch statistics, which one bad row spoils for all."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.layer = nn.BatchNorm1d(64), nn.Linear(64, C)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.layer(self.norm(x))
        return out


def test_running_statistics_that_a_bad_batch_spoiled_go_back_to_the_start_of_the_epoch(
    digits: Any, engine_of: Any, train: Any
) -> None:
    data = spoiled(digits)
    engine = engine_of(
        data,
        methods.create("cross_entropy", {}, C),
        {"training": (2, "0.1")},
        Normalised,
        batch=BATCH,
        precision="64-true",
        optimizer=UNLIMITED,
    )
    fresh = Normalised().double().norm
    train(engine)
    norm = engine.state.model.norm
    assert norm.running_mean.isfinite().all() and norm.running_var.isfinite().all()
    # Every epoch has a bad batch, and a column that is spoiled in one is spoiled in all of them.
    assert torch.equal(norm.running_mean, fresh.running_mean)
    assert torch.equal(norm.running_var, fresh.running_var)


@pytest.mark.parametrize(("bad", "what"), [(N // 2 + 1, "25 of 48 examples"), (1, "1 of 1 updates of the network")])
def test_a_run_that_is_mostly_not_finite_ends_after_the_epoch(
    digits: Any, engine_of: Any, tape: Any, bad: int, what: str
) -> None:
    data = digits(N, noise=0.0)
    # Added to the outputs it spoils rows alone; through the layer it spoils the whole batch's gradient.
    column = 63 if bad > 1 else 0
    data.x[:, 63] = 0
    data.x[:bad, column] = np.inf
    engine = engine_of(data, methods.create("cross_entropy", {}, C), {"training": (3, "0.1")}, Added, batch=N)
    listener = tape()
    with pytest.raises(PencilError, match=f"epoch 1: {what} came to NaN or infinity; the last checkpoint is kept"):
        engine.train(listener)
    assert len(listener.records) == 1 and not listener.saved


def test_less_than_the_limit_goes_on(digits: Any, engine_of: Any, train: Any) -> None:
    data = spoiled(digits)
    data.x[: N // 2, 63] = np.inf
    data.x[N // 2 :, 63] = 0
    engine = engine_of(data, methods.create("cross_entropy", {}, C), {"training": (2, "0.1")}, Added, batch=BATCH)
    assert [(record["nonfinite"], record["skipped"]) for record in train(engine).records] == [(N // 2, 0)] * 2


class Directions(nn.Linear):
    """Looks at directions alone; a row of zeros has none."""

    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input / input.norm(dim=1, keepdim=True))


@pytest.mark.parametrize(("held_out", "place"), [(0.0, 7), (0.3, 7), (0.3, 0)])
@pytest.mark.parametrize(("method", "epochs"), [("cross_entropy", [1]), ("pencil", [1, 1, 1])])
def test_one_example_that_is_never_finite_does_not_spoil_the_run(
    method: str, epochs: list[int], held_out: float, place: int
) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 4)).astype(np.float32)
    given = (x[:, 0] > 0).astype(int) + (x[:, 1] > 0)
    if held_out:
        split = pencil.fit(x, given, method="cross_entropy", epochs=[1], held_out=held_out).labels["split"].to_pylist()
        place = split.index("train" if place else "held-out")
    x[place] = 0
    result = pencil.fit(
        x, given, raw=True, backbone=Directions(4, 3), method=method, epochs=epochs, held_out=held_out,
        settings={"optimizer": {"batch_size": 8}},
    )  # fmt: skip
    row = result.labels.slice(place, 1).to_pylist()[0]
    assert row["corrected"] == row["given"] == given[place], "nothing speaks against it"
    assert np.isfinite(result.label_distributions).all()
    assert all(math.isfinite(record.get("held_out_loss", 0.0)) for record in result.history)
