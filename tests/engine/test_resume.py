"""Stopped anywhere and taken up again: the same weights, table and history to the bit, and hooks called once."""

from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor

from pencil import methods
from pencil.config import OptimizerSettings
from pencil.errors import PencilError
from pencil.methods import Method
from pencil.table import EpochAverage, Fixed, GradientStep, MovingAverage
from pencil.types import Batch, Phase, Terms

C = 10
N, BATCH = 70, 16
STEPS = 5
"""Steps an epoch; the last batch is short."""
PHASES = {"backbone": (1, "0.1"), "labels": (2, "0.1 ~> 0.01"), "tuning": (1, "0.1")}


def pencil() -> Any:
    return methods.create("pencil", {"anchor": 0.5, "label_step": "2 -> 0"}, C)


def same(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert one.keys() == other.keys()
    for name in one:
        assert np.array_equal(one[name], other[name]), name


@pytest.fixture
def build(digits: Any, engine_of: Any, networks: Any) -> Any:
    def make(method: Method, phases: Any, **more: Any) -> Any:
        engine = engine_of(digits(N, images=True), method, phases, networks["forgetful"], batch=BATCH, **more)
        torch.manual_seed(np.random.default_rng().integers(2**31))  # A resume must not lean on what came before it.
        return engine

    return make


def broken_run(build: Any, train: Any, method: Any, phases: Any, stops: list[int], **more: Any) -> Any:
    """Train in sittings of so many steps, each on a new engine; return the last engine and all records."""
    records: list[Any] = []
    saved = None
    for stop in [*stops, None]:
        engine = build(method(), phases, **more)
        if saved is not None:
            with torch.no_grad():
                for parameter in engine.state.model.parameters():
                    parameter.fill_(torch.nan)
            engine.restore(*saved)
        tape = train(engine, stop_after=stop)
        records += tape.records
        saved = tape.saved[-1] if tape.saved else None
    return engine, records


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(
    "stops",
    [[1], [STEPS - 1], [STEPS], [STEPS + 2], [3 * STEPS], [3 * STEPS + 4], [4 * STEPS], [3] * 6, [STEPS] * 3],
    ids=str,
)
def test_a_broken_run_is_an_unbroken_one(stops: list[int], streaming: bool, build: Any, train: Any) -> None:
    whole = build(pencil(), PHASES)
    expected = train(whole).records
    engine, records = broken_run(build, train, pencil, PHASES, stops, streaming=streaming)
    assert records == expected
    same(engine.state.export(), whole.state.export())


def test_a_checkpoint_is_offered_after_each_epoch_and_phase_ends_are_marked(build: Any, train: Any) -> None:
    tape = train(build(pencil(), PHASES))
    assert tape.phase_ends == [True, False, True, True]


def test_phases_of_no_epochs_are_passed_over(build: Any, train: Any) -> None:
    tape = train(build(pencil(), {**PHASES, "labels": (0, "0.1")}))
    assert [record["phase"] for record in tape.records] == ["backbone", "tuning"]


class Several(Method):
    """Three phases with rules that keep columns of their own, and a new network for the last."""

    phase_names: ClassVar[tuple[str, ...]] = ("first", "second", "third", "fourth")

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.register_buffer("matrix", torch.zeros(self.num_classes, self.num_classes))
        self.calls: list[tuple[str, str, int]] = []

    def phases(self, settings: Any) -> tuple[Phase, ...]:
        rules = (Fixed(), EpochAverage(3), MovingAverage(), GradientStep())
        return tuple(
            Phase(name, settings[name].epochs, settings[name].lr, rule, fresh_network=name == "third")
            for name, rule in zip(self.phase_names, rules, strict=True)
        )

    def before_phase(self, view: Any, phase: Phase) -> None:
        self.calls.append(("phase", phase.name, view.epoch))
        if phase.name == "second":
            given, predicted = view.columns["given"].long(), view.predict()
            self.matrix.index_add_(0, given, predicted)

    def before_epoch(self, view: Any, phase: Phase) -> None:
        self.calls.append(("epoch", phase.name, view.epoch))
        view.columns["weight"].copy_(0.5 + view.predict().amax(-1))

    def loss(self, batch: Batch) -> Terms:
        target = batch.label_logits.softmax(-1)
        return Terms({"loss": -(target * batch.logits.log_softmax(-1)).sum(-1) + 1e-3 * self.matrix.sum()})


FOUR = {"first": (1, "0.1"), "second": (2, "0.1"), "third": (2, "0.1"), "fourth": (1, "0.1")}
CALLS = [
    ("phase", "first", 0), ("epoch", "first", 0),
    ("phase", "second", 1), ("epoch", "second", 1), ("epoch", "second", 2),
    ("phase", "third", 3), ("epoch", "third", 3), ("epoch", "third", 4),
    ("phase", "fourth", 5), ("epoch", "fourth", 5),
]  # fmt: skip


def several() -> Several:
    return Several({}, C)


def test_hooks_are_called_before_each_phase_and_epoch(build: Any, train: Any) -> None:
    engine = build(several(), FOUR)
    train(engine)
    assert engine.state.method.calls == CALLS


@pytest.mark.parametrize("stop", [1, 5, 8, 10, 14, 15, 16, 20, 24, 25, 29])
def test_hooks_columns_and_fresh_networks_survive_a_stop_in_any_phase(stop: int, build: Any, train: Any) -> None:
    whole = build(several(), FOUR)
    expected = train(whole).records
    made: list[Several] = []

    def method() -> Several:
        made.append(several())
        return made[-1]

    engine, records = broken_run(build, train, method, FOUR, [stop])
    assert [call for one in made for call in one.calls] == CALLS, "each hook once in all"
    assert records == expected
    same(engine.state.export(), whole.state.export())


def test_a_fresh_network_is_new_forgets_momentum_and_leaves_labels(build: Any, train: Any) -> None:
    class Snap(Several):
        seen: ClassVar[dict[str, Any]] = {}

        def before_phase(self, view: Any, phase: Phase) -> None:
            if phase.name in ("second", "third"):
                self.seen[phase.name] = (
                    {k: np.array(v) for k, v in engine.state.export().items()},
                    view.columns["label_logits"].clone(),
                )

    engine = build(Snap({}, C), FOUR)
    start = {k: np.array(v) for k, v in engine.state.export().items()}
    train(engine)
    carried, fresh = (Snap.seen[name][0] for name in ("second", "third"))
    weight = "model.1.weight"
    assert not np.array_equal(fresh[weight], start[weight]), "not the first network again"
    assert fresh["model.2.num_batches_tracked"] == 0 and carried["model.2.num_batches_tracked"] == STEPS
    momenta = [name for name in fresh if name.endswith("momentum_buffer")]
    assert momenta and not any(fresh[name].any() for name in momenta)
    assert all(carried[name].any() for name in momenta), "other phases carry momentum on"
    assert not torch.equal(Snap.seen["second"][1], Snap.seen["third"][1]), "labels moved and stayed"


def test_without_momentum_there_is_none_to_forget(build: Any, train: Any) -> None:
    engine = build(several(), FOUR, optimizer=OptimizerSettings(momentum=0.0))
    assert not any(name.startswith("optimizer.") for name in engine.state.export())
    assert len(train(engine).records) == sum(epochs for epochs, _ in FOUR.values())


def test_looking_does_not_change_training(build: Any, train: Any) -> None:
    class Looking(type(pencil())):  # type: ignore[misc]
        def before_epoch(self, view: Any, phase: Phase) -> None:
            probabilities = view.predict()
            assert probabilities.shape == (N, C)
            assert torch.allclose(probabilities.sum(-1), torch.ones(N), atol=1e-5)

    plain, looking = build(pencil(), PHASES), build(Looking({"anchor": 0.5, "label_step": "2 -> 0"}, C), PHASES)
    assert train(plain).records == train(looking).records
    same(plain.state.export(), looking.state.export())


class Learned(Method):
    """Has a parameter of its own, trained beside the network."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.scale = torch.nn.Parameter(torch.ones(()))

    def phases(self, settings: Any) -> tuple[Phase, ...]:
        return (Phase("training", settings["training"].epochs, settings["training"].lr, Fixed()),)

    def loss(self, batch: Batch) -> Terms:
        log_f: Tensor = (self.scale * batch.logits).log_softmax(-1)
        return Terms({"loss": -(batch.given * log_f).sum(-1)})


def test_a_methods_own_parameters_are_trained_and_saved(build: Any, train: Any) -> None:
    phases = {"training": (2, "0.1")}
    whole = build(Learned({}, C), phases)
    train(whole)
    assert whole.state.method.scale.item() != 1
    engine, _ = broken_run(build, train, lambda: Learned({}, C), phases, [STEPS + 1])
    same(engine.state.export(), whole.state.export())


def test_a_checkpoint_of_another_run_is_refused(build: Any, train: Any, digits: Any, engine_of: Any) -> None:
    saved = train(build(pencil(), PHASES), stop_after=2).saved[-1]
    wider = engine_of(
        digits(N, images=True), pencil(), PHASES,
        lambda: torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, C)), batch=BATCH,
    )  # fmt: skip
    with pytest.raises(PencilError, match=r"does not fit this network.*resume with the settings"):
        wider.restore(*saved)
    finer = build(pencil(), PHASES, precision="64-true")
    with pytest.raises(PencilError, match="resume with the data and precision"):
        finer.restore(*saved)


def test_the_clock_of_a_checkpoint(build: Any, train: Any) -> None:
    arrays, meta = train(build(pencil(), PHASES), stop_after=STEPS + 2).saved[-1]
    assert (meta["epoch"], int(arrays["clock.step"][0]), int(arrays["clock.position"][0])) == (1, 2, 2 * BATCH)
    arrays, meta = train(build(pencil(), PHASES), stop_after=STEPS).saved[-1]
    assert (meta["epoch"], int(arrays["clock.step"][0]), int(arrays["clock.position"][0])) == (1, 0, 0)
    assert meta["threads"] == torch.get_num_threads()
