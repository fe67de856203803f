"""Methods with a transition matrix: where it comes from, what is refused, and the estimate of a first training."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pencil import losses, methods
from pencil.config import Schedule
from pencil.engine.objective import objective
from pencil.errors import PencilError
from pencil.methods import Known
from pencil.table import ExampleTable, Fixed
from pencil.transition import read_transition
from pencil.types import Phase

C = 4
T = np.array([[0.7, 0.3, 0.0, 0.0], [0.1, 0.8, 0.1, 0.0], [0.0, 0.0, 1.0, 0.0], [0.05, 0.15, 0.2, 0.6]])


def told(name: str, transition: Any, **options: Any) -> Any:
    method = methods.create(name, options, len(transition))
    method.inform(Known(transition=torch.from_numpy(np.asarray(transition))))
    return method


def expected(name: str, batch: Any, transition: Any) -> Any:
    f = np.exp(batch.logits.log_softmax(-1).numpy())
    given = batch.given.numpy()
    if name == "forward":
        return -np.log((f @ transition * given).sum(-1))
    return -(given @ np.linalg.inv(transition) * np.log(f)).sum(-1)


@pytest.mark.parametrize("name", ["forward", "backward"])
def test_the_matrix_of_the_injected_noise_is_used(name: str, batch: Any, cost: Any) -> None:
    np.testing.assert_allclose(cost(told(name, T)), expected(name, batch, T), rtol=1e-9)


@pytest.mark.parametrize("name", ["forward", "backward"])
def test_without_noise_they_are_cross_entropy(name: str, cost: Any) -> None:
    plain = cost(methods.create("cross_entropy", {}, C))
    np.testing.assert_allclose(cost(told(name, np.eye(C))), plain, atol=1e-12)


@pytest.mark.parametrize("suffix", [".npy", ".csv"])
@pytest.mark.parametrize("name", ["forward", "backward"])
def test_a_file_wins_over_the_injected_noise(name: str, suffix: str, tmp_path: Path, batch: Any, cost: Any) -> None:
    path = tmp_path / f"t{suffix}"
    if suffix == ".npy":
        np.save(path, T)
    else:
        np.savetxt(path, T, delimiter=",")
    for known in (Known(), Known(transition=torch.eye(C, dtype=torch.float64))):
        method = methods.create(name, {"transition": str(path)}, C)
        method.inform(known)
        np.testing.assert_allclose(cost(method), expected(name, batch, T), rtol=1e-9)


@pytest.mark.parametrize("name", ["forward", "backward"])
def test_without_a_matrix_they_say_where_to_get_one(name: str) -> None:
    with pytest.raises(PencilError, match=r'must be told the transition .*"transition": "FILE\.npy".*forward_est'):
        methods.create(name, {}, C).inform(Known())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "which does not exist; give FILE.npy or FILE.csv"),
        (np.eye(3), r"has shape \(3, 3\); 4 classes need 4 × 4"),
        (np.full((4, 4), 0.3), r"row 1 sums to 1\.2"),
        (np.eye(4) * 1.5 - 0.125, r"row 1 holds -0\.125; each must be shares, 0 or more"),
    ],
)
def test_bad_files_are_refused(content: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "t.npy"
    if content is not None:
        np.save(path, content)
    with pytest.raises(PencilError, match=message):
        methods.create("forward", {"transition": str(path)}, C).inform(Known())


def test_a_folder_is_no_matrix(tmp_path: Path) -> None:
    with pytest.raises(PencilError, match="a folder; give FILE"):
        methods.create("forward", {"transition": str(tmp_path)}, C).inform(Known())


@pytest.mark.parametrize("text", ["a,b\n", "", "# T\n"])
def test_text_is_no_matrix(text: str, tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(PencilError, match="not a matrix of numbers"):
        methods.create("forward", {"transition": str(path)}, C).inform(Known())
    assert not recwarn.list


def test_a_spreadsheets_mark_of_utf8_is_no_part_of_the_matrix(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    np.savetxt(path, T, delimiter=",")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    np.testing.assert_array_equal(read_transition(path), T)


def asymmetric(rate: float) -> Any:
    matrix = np.eye(C)
    matrix[:2, :2] = [[1 - rate, rate], [rate, 1 - rate]]
    return matrix


def test_backward_refuses_noise_that_cannot_be_undone() -> None:
    with pytest.raises(PencilError, match=r"cannot be inverted.*indistinguishable.*take forward"):
        told("backward", asymmetric(0.5))
    with pytest.raises(PencilError, match=r"can hardly be inverted \(condition 1000\)"):
        told("backward", asymmetric(0.4995))
    with pytest.raises(PencilError, match="cannot be inverted"):
        told("backward", np.full((C, C), 1 / C))
    told("backward", asymmetric(0.45))
    told("forward", asymmetric(0.5))


def test_only_those_that_are_told_more_are_marked() -> None:
    marked = {"forward", "backward", "cnn_crf"}
    for name in ("forward", "backward", "cnn_crf", "forward_estimated", "joint_optimization", "pencil", "lq"):
        assert bool(methods.kind(name).extra_information) == (name in marked), name


def test_the_plan_tells_the_method_of_the_noise(digits: Any, planned: Any) -> None:
    noisy = planned(digits(), "forward", [1], data={"noise": "symmetric:0.4", "held_out": 0.0})
    wanted = 0.6 * np.eye(10) + 0.04
    np.testing.assert_allclose(noisy.method.matrix.exp(), wanted, rtol=1e-9)
    with pytest.raises(PencilError, match="must be told"):
        planned(digits(), "forward", [1])


def test_the_estimate_comes_from_the_first_network_and_a_new_one_is_trained(
    digits: Any, planned: Any, engine_of: Any, train: Any
) -> None:
    plan = planned(digits(), "forward_estimated", [3, 2], data={"noise": "symmetric:0.3", "held_out": 0.2})
    engine = engine_of(plan)
    seen: list[Any] = []

    def look() -> None:
        weights = {k: v.clone() for k, v in engine.state.model.state_dict().items()}
        probabilities = engine.train_evaluator.logits(engine.state.model).softmax(-1)
        seen.append((weights, probabilities, engine.state.method.log_transition.exp().clone()))

    records = train(engine, each=look).records
    assert torch.equal(seen[2][2], torch.eye(10)), "nothing is estimated before the first training ends"
    best = max(range(3), key=lambda epoch: records[epoch]["held_out_accuracy"])
    expected = losses.estimate_transition(seen[best][1], 0.03)
    np.testing.assert_allclose(seen[3][2], expected, rtol=1e-5)
    assert torch.equal(seen[3][2], seen[4][2]), "and once"
    assert [set(record["loss_parts"]) for record in records] == [{"cross_entropy"}] * 3 + [{"forward"}] * 2


@pytest.mark.parametrize("name", ["forward", "forward_estimated"])
def test_no_tensor_has_all_pairs_of_classes_for_each_example(name: str) -> None:
    """Which with thousands of classes no memory holds."""
    examples, classes = 8, 32
    method, kept = methods.create(name, {}, classes), []
    rows = ExampleTable.start(torch.arange(examples), classes, scale=1.0).gather(torch.arange(examples))
    logits = torch.zeros(examples, classes, requires_grad=True)

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        kept.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        objective(method, Phase("training", 1, Schedule.parse(0.1), Fixed()), logits, rows)
    assert 0 < max(kept) <= max(examples, classes) * classes


@pytest.mark.parametrize("soft", [False, True])
def test_a_class_that_no_label_names_is_not_predicted(
    soft: bool, digits: Any, planned: Any, engine_of: Any, train: Any
) -> None:
    data = digits(600)
    few = data.train.take(np.flatnonzero(data.train.given < 9))
    if soft:
        few = replace(few, distribution=np.eye(10, dtype=np.float32)[few.given])
    plan = planned(replace(data, train=few), "forward_estimated", [6, 6], data={"held_out": 0.2})
    engine = engine_of(plan)
    train(engine)
    assert engine.state.method.log_transition[9].exp().tolist() == [0] * 9 + [1]
    assert (engine.train_evaluator.logits(engine.state.network).argmax(-1) != 9).all()
