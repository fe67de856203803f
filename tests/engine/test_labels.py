"""How labels move in a real run: when they flip, whatever the batch, and which never move."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pencil import methods
from pencil.config import OptimizerSettings
from pencil.errors import PencilError

C = 10
Array = NDArray[np.float64]
STILL = OptimizerSettings(weight_decay=0.0)


def softmax(z: Array) -> Array:
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


class Certain(nn.Module):
    """Believes in class 7, whatever it is shown."""

    def __init__(self, classes: int = C, confidence: float = 30.0) -> None:
        super().__init__()
        logits = torch.zeros(classes)
        logits[7 % classes] = confidence
        self.logits = nn.Parameter(logits)

    def forward(self, x: Tensor) -> Tensor:
        return self.logits.expand(len(x), -1)


class Opinionated(nn.Module):
    """Has a fixed opinion of each example, from its inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(64, C)
        nn.init.normal_(self.layer.weight, std=1.0)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.layer(x.flatten(1))
        return out


def frozen(labels: int, lr: str = "0") -> dict[str, tuple[int, Any]]:
    return {"backbone": (0, lr), "labels": (labels, lr), "tuning": (0, lr)}


def flips_after(lam: float, batch: int, alpha: float) -> int:
    """Updates until a label that the network surely contradicts changes its argmax, in NumPy, from the paper's loss."""
    logits, given, f = np.zeros(C), np.eye(C)[3], np.eye(C)[7]
    logits[3] = 10.0
    for update in range(1, 1000):
        y = softmax(logits)
        g = softmax(y) - given
        # ∂L/∂ỹ: the mean over the batch gives 1/B, the mean over classes 1/c, L_o is not averaged over classes.
        logits -= lam * ((y - f) / (batch * C) + alpha * y * (g - y @ g) / batch)
        if logits.argmax() == 7:
            return update
    raise AssertionError


@pytest.mark.parametrize(("lam", "about"), [(800, 10), (600, 13), (200, 40)])
def test_the_epoch_at_which_a_contradicted_label_flips(
    lam: float, about: int, digits: Any, engine_of: Any, train: Any
) -> None:
    data = digits(150, noise=0.0)
    data.given[:] = 3
    options = {"compatibility_weight": 0.1, "entropy_weight": 0.8, "label_lr": str(lam), "reference_batch": 128}
    engine = engine_of(
        data, methods.create("pencil", options, C), frozen(60 if lam < 600 else 25), Certain, batch=128, optimizer=STILL
    )
    train(engine)
    expected = flips_after(lam, 128, 0.1)
    assert expected == pytest.approx(about, abs=1)
    columns = engine.state.table.columns
    # Epochs count from 0, so the label changes in epoch `expected − 1`, in the full and in the short batch alike.
    assert set(columns["changed_at"].tolist()) == {expected - 1}
    assert set(columns["num_changes"].tolist()) == {1}


def test_the_paper_form_never_flips_at_the_papers_alpha(digits: Any, engine_of: Any, train: Any) -> None:
    data = digits(40, noise=0.0)
    data.given[:] = 3
    options = {"compatibility": "paper", "compatibility_weight": 0.1, "label_lr": "800"}
    method = methods.create("pencil", options, C)
    engine = engine_of(data, method, frozen(100), lambda: Certain(confidence=6.0), batch=40, optimizer=STILL)
    train(engine)
    y = engine.state.table.distributions()
    assert (engine.state.table.columns["num_changes"] == 0).all()
    # The rest point (f + a·ŷ)/(1 + a) with a = 1: about one half each.
    f = softmax(np.eye(C)[7] * 6)
    np.testing.assert_allclose(y[0].numpy(), (f + np.eye(C)[3]) / 2, atol=5e-3)


def final_labels(engine: Any, train: Any) -> Array:
    train(engine)
    logits: Array = engine.state.table.columns["label_logits"].numpy().copy()
    return logits


def test_the_same_label_step_in_any_batch_and_in_a_short_last_one(digits: Any, engine_of: Any, train: Any) -> None:
    data = digits(150)
    runs = [
        final_labels(
            engine_of(
                data,
                methods.create("pencil", {"anchor": 1.0, "label_step": "0.6, 0.3@2"}, C),
                frozen(5),
                Opinionated,
                batch=batch,
                precision="64-true",
                optimizer=STILL,
            ),
            train,
        )
        for batch in (150, 128, 32, 7, 1)
    ]
    start = 10.0 * np.eye(C)[data.given]
    assert np.abs(runs[0] - start).max() > 1
    for other in runs[1:]:
        np.testing.assert_allclose(other, runs[0], atol=1e-12)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"label_lr": "800", "reference_batch": 128}, {"label_step": "0.625"}),
        ({"label_lr": "3000 -> 0", "reference_batch": 64}, {"label_step": "4.6875 -> 0"}),
        ({"compatibility_weight": 0.125, "label_step": "0.5"}, {"anchor": 1.25, "label_step": "0.5"}),
    ],
)
def test_both_spellings_give_the_same_run(
    one: dict[str, Any], other: dict[str, Any], digits: Any, engine_of: Any, train: Any, networks: Any
) -> None:
    data, runs = digits(100), []
    for options in (one, other):
        method = methods.create("pencil", options, C)
        phases = {"backbone": (1, "0.1"), "labels": (3, "0.1"), "tuning": (1, "0.01")}
        engine = engine_of(data, method, phases, networks["perceptron"])
        train(engine)
        runs.append(engine.state.export())
    assert all(np.array_equal(runs[0][name], runs[1][name]) for name in runs[0])


@pytest.mark.parametrize(
    "options",
    [
        {"label_lr": "800", "label_step": "0.6"},
        {},
        {"label_step": "0.6", "anchor": 1.0, "compatibility_weight": 0.1},
    ],
)
def test_two_spellings_at_once_or_none_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(PencilError, match=r"give (one of them|the label step once)"):
        methods.create("pencil", options, C)


PHASES = {"backbone": (2, "0.1"), "labels": (4, "0.1"), "tuning": (2, "0.1, 0.01@1")}


def pencil(**options: Any) -> Any:
    return methods.create("pencil", {"anchor": 0.5, "label_step": "2", **options}, C)


def test_labels_move_in_the_second_phase_only_and_stay_distributions(
    digits: Any, engine_of: Any, train: Any, networks: Any
) -> None:
    snapshots: list[Array] = []
    engine = engine_of(digits(100), pencil(), PHASES, networks["perceptron"])
    done = engine._measure

    def measure(*arguments: Any) -> Any:
        snapshots.append(engine.state.table.columns["label_logits"].numpy().copy())
        return done(*arguments)

    engine._measure = measure
    start = engine.state.table.columns["label_logits"].numpy().copy()
    train(engine)
    assert len(snapshots) == 8
    assert all(snapshot.tobytes() == start.tobytes() for snapshot in snapshots[:2])
    assert all((a != b).any() for a, b in pairwise(snapshots[1:6]))
    assert all(snapshot.tobytes() == snapshots[5].tobytes() for snapshot in snapshots[6:])
    y = engine.state.table.distributions()
    assert (y >= 0).all() and torch.allclose(y.sum(-1), torch.ones(100), atol=1e-5)


def test_locked_labels_stay_to_the_bit(digits: Any, engine_of: Any, train: Any, networks: Any) -> None:
    data = digits(100)
    locked = torch.from_numpy(np.random.default_rng(0).random(100) < 0.4)
    engine = engine_of(data, pencil(), PHASES, networks["perceptron"], trusted_N=locked)
    before = engine.state.table.columns["label_logits"].clone()
    train(engine)
    after = engine.state.table.columns["label_logits"]
    assert torch.equal(after[locked], before[locked])
    assert not (after == before)[~locked].all(-1).any()
    assert (engine.state.table.columns["changed_at"][locked] == -1).all()


def test_unlabelled_examples_teach_nothing_at_first_and_get_a_label_later(
    digits: Any, engine_of: Any, train: Any, networks: Any
) -> None:
    data = digits(128, noise=0.0)
    hidden = np.arange(128) % 4 == 0
    data.given[hidden] = -1
    engine = engine_of(data, pencil(), {"backbone": (12, "0.1"), "labels": (6, "0.1"), "tuning": (0, "0.1")}, networks["perceptron"])  # fmt: skip  # noqa: E501
    train(engine)
    believed = engine.state.table.columns["label_logits"].argmax(-1).numpy()
    assert (believed[hidden] == data.clean[hidden]).mean() > 0.7


def test_unlabelled_examples_do_not_count_in_cross_entropy(
    digits: Any, engine_of: Any, train: Any, networks: Any
) -> None:
    """Batches with unlabelled rows give the mean over the labelled ones: compare with a plain loop."""
    data = digits(96)
    data.given[::3] = -1
    network: Callable[[], nn.Module] = lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, C))  # noqa: E731
    engine = engine_of(
        data, methods.create("cross_entropy", {}, C), {"training": (2, "0.1")}, network, precision="64-true",
        optimizer=OptimizerSettings(momentum=0.0, weight_decay=0.0),
    )  # fmt: skip
    torch.manual_seed(11)
    model = network().double()
    train(engine)
    x, given = torch.from_numpy(data.x).double(), torch.from_numpy(data.given)
    for index in (index for batches in engine.feed.epochs for index in batches):
        known = index[given[index] >= 0]
        loss = nn.functional.cross_entropy(model(x[known]), given[known])
        gradients = torch.autograd.grad(loss, list(model.parameters()))
        with torch.no_grad():
            for parameter, gradient in zip(model.parameters(), gradients, strict=True):
                parameter -= 0.1 * gradient
    for name, weight in model.state_dict().items():
        torch.testing.assert_close(engine.state.model.state_dict()[name], weight, rtol=0, atol=1e-12)


def test_anchors_hold_examples_apart(digits: Any, engine_of: Any, train: Any) -> None:
    data = digits(40, noise=0.0)
    data.given[:] = 3
    engine = engine_of(data, pencil(anchor=1.0, label_step="0.6"), frozen(30), Certain, batch=16, optimizer=STILL)
    engine.state.table.columns["anchor"][:20] = 3.0
    train(engine)
    # a·3 = 3 ≥ 2m holds the label, a = 1 < 2m lets it go (m = 1).
    assert engine.state.table.columns["label_logits"].argmax(-1).tolist() == [3] * 20 + [7] * 20


def test_epoch_records_count_what_happened(digits: Any, engine_of: Any, train: Any) -> None:
    data = digits(50, noise=0.0)
    data.given[:] = 3
    engine = engine_of(
        data, pencil(anchor=1.0, label_step="0.625"), frozen(12), Certain, batch=16, optimizer=STILL, watch=digits(70)
    )
    records = train(engine).records
    flip = flips_after(800, 128, 0.1) - 1
    assert [r["changed"] for r in records] == [50 if e == flip else 0 for e in range(12)]
    assert [r["relabelled"] for r in records] == [0 if e < flip else 50 for e in range(12)]
    sevens, threes = (100 * float((data.clean == k).mean()) for k in (7, 3))
    assert [r["label_accuracy"] for r in records] == pytest.approx([threes] * flip + [sevens] * (12 - flip))
    assert {r["train_accuracy"] for r in records} == {0.0}
    assert [r["agreement"] for r in records] == [0.0] * flip + [100.0] * (12 - flip)
    assert [(r["epoch"], r["phase"], r["phase_epoch"]) for r in records] == [(e, "labels", e) for e in range(12)]
    assert {r["label_step"] for r in records} == {0.625}
    test = digits(70)
    assert [r["test_accuracy"] for r in records] == pytest.approx([100 * float((test.given == 7).mean())] * 12)


def test_predictions_of_the_label_phase_are_averaged(digits: Any, engine_of: Any, train: Any) -> None:
    phases = {"backbone": (2, "0"), "labels": (3, "0"), "tuning": (2, "0")}
    data = digits(50)
    engine = engine_of(data, pencil(), phases, Opinionated, optimizer=STILL)
    train(engine)
    columns = engine.state.table.columns
    assert (columns["predictions"] == 3).all()
    with torch.no_grad():
        expected = engine.state.model(torch.from_numpy(data.x)).softmax(-1)
    assert torch.allclose(columns["prediction_sum"] / 3, expected, atol=1e-6)
