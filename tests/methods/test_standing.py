"""Labels are left alone where a network that never learned them is not shown to know better."""

import numpy as np
import pytest
import torch
from torch import Tensor

from pencil.config import PhaseSettings
from pencil.errors import PencilError
from pencil.methods._noise_model import Seen
from pencil.methods._standing import fit_standing, may_only_doubt
from pencil.methods.pencil import Pencil

C = 10


def seen(count: int, *, knows: float, right: float, seed: int = 0) -> Seen:
    """Outputs of a network that is as often right as it is sure, the surer the more it `knows`, and noisy labels."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(count, C)) * knows
    posterior = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    truth = (posterior.cumsum(-1) > rng.random((count, 1))).argmax(-1)
    given = np.where(rng.random(count) < right, truth, (truth + rng.integers(1, C, count)) % C)
    return torch.from_numpy(logits), torch.from_numpy(given)


def doubts(held_out: Seen) -> bool:
    return may_only_doubt(fit_standing(held_out))


@pytest.mark.parametrize("count", [300, 5_000])
def test_a_weak_network_and_right_labels_show_no_noise(count: int) -> None:
    agrees, _, surest, following, number = fit_standing(seen(count, knows=1.5, right=1.0)).tolist()
    assert agrees < 0.5 < following < surest and number == count
    assert doubts(seen(count, knows=1.5, right=1.0))


@pytest.mark.parametrize("right", [0.55, 0.7, 1.0])
@pytest.mark.parametrize("count", [300, 5_000])
def test_a_network_that_finds_most_labels_is_believed(count: int, right: float) -> None:
    assert not doubts(seen(count, knows=8.0, right=right))


@pytest.mark.parametrize("count", [300, 5_000])
def test_it_is_believed_too_where_only_some_classes_are_mislabelled(count: int) -> None:
    """Its surest are then of the other classes, and agree with far more labels than are right."""
    logits, truth = seen(count, knows=6.0, right=1.0)
    chance = torch.rand(count, generator=torch.Generator().manual_seed(1))
    given = torch.where((truth % 2 == 0) & (chance < 0.4), truth + 1, truth)
    transition = torch.eye(C, dtype=torch.float64)
    for even in range(0, C, 2):
        transition[even, even : even + 2] = torch.tensor([0.6, 0.4])
    learned = (logits.softmax(-1) @ transition).log()
    agrees, _, surest, *_ = fit_standing((learned, given)).tolist()
    assert agrees < 0.72 * surest
    assert not doubts((learned, given))


def test_a_weaker_one_is_believed_where_labels_enough_show_that_its_surest_agree_alike() -> None:
    assert not doubts(seen(5_000, knows=3.0, right=0.6))
    assert doubts(seen(5_000, knows=2.0, right=1.0))


def test_labels_that_are_mostly_wrong_are_not_kept_for_safety() -> None:
    assert not doubts(seen(300, knows=1.5, right=0.3))
    assert not doubts((torch.zeros(0, C), torch.zeros(0, dtype=torch.long)))
    assert not doubts((torch.randn(20, C), torch.full((20,), -1)))


class _View:
    """What a method sees of a training whose held-out outputs are these, and what it says."""

    def __init__(self, held_out: Seen, phase_epoch: int) -> None:
        self.seen, self.phase_epoch, self.columns = held_out, phase_epoch, {"given": held_out[1]}
        self.lines: list[str] = []
        self.note = self.lines.append

    def held_out(self) -> Seen:
        return self.seen

    def predict(self) -> Tensor:
        return self.seen[0].softmax(-1)


def _watched(method: Pencil, *looks: Seen) -> list[list[str]]:
    _, labels, _ = method.phases({name: PhaseSettings(epochs=9, lr="0.1") for name in method.phase_names})
    views = [_View(look, epoch) for epoch, look in enumerate(looks)]
    for view in views:
        method.before_epoch(view, labels)  # type: ignore[arg-type]
    return [view.lines for view in views]


def _method(**options: object) -> Pencil:
    return Pencil({"label_step": "1", "anchor": 2.0, "by_clean_probability": True, "settle": True, **options}, C)


def test_labels_stay_until_the_network_is_shown_to_know_better_and_then_move_for_good() -> None:
    weak, able = seen(5_000, knows=1.5, right=1.0), seen(5_000, knows=8.0, right=0.7, seed=1)
    method = _method(await_proof=True)
    told = _watched(method, weak, weak)
    assert torch.equal(method.transition, torch.eye(C))
    assert "labels stay as given" in told[0][0] and not told[1], "it is said once"
    given = torch.eye(C)[:2]
    against = torch.full((2, C), -9.0).index_fill(1, torch.tensor([5]), 9.0)
    assert torch.equal(method.unlearned(against, given).argmax(-1), given.argmax(-1))
    assert torch.equal(method.last_word(given, against.softmax(-1)), given)

    method = _method(await_proof=True)
    told = _watched(method, weak, able, weak)
    assert "labels move from here on" in told[1][0] and not told[2]
    assert float(method.transition.diagonal().mean()) == pytest.approx(0.7, abs=0.03), "of the look that showed it"
    assert not torch.equal(method.last_word(given, against.softmax(-1)), given)


def test_where_nothing_is_awaited_nothing_changes() -> None:
    able = seen(300, knows=8.0, right=0.7)
    methods = [_method(await_proof=awaits) for awaits in (False, True)]
    for method in methods:
        assert _watched(method, able, able) == [[], []]
    assert torch.equal(methods[0].transition, methods[1].transition)
    assert "standing" not in methods[0].state_dict()


def test_it_needs_the_noise() -> None:
    with pytest.raises(PencilError, match=r"await_proof needs options\.by_clean_probability"):
        Pencil({"await_proof": True, "anchor": 1.0, "label_step": "1"}, C)
