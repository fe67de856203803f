"""The noise model on data whose noise is known: what it finds, and what it makes of each label."""

import numpy as np
import pytest
import torch
from torch import Tensor

from pencil.config import PhaseSettings
from pencil.errors import PencilError
from pencil.methods._noise_fit import (
    SURE_SHARES,
    SUREST_SHARES,
    Seen,
    _counts,
    _sure,
    clean_probability,
    fit_bias,
    fit_shares,
    fit_temperature,
    fit_transition,
)
from pencil.methods.pencil import Pencil

N, C = 4_000, 4


def fit_noise(held_out: Seen, trained_on: Seen | None = None) -> tuple[Tensor, Tensor]:
    transition = fit_transition(held_out, trained_on)
    return transition, fit_temperature(held_out, transition)


def made(transition_CC: np.ndarray, *, doubt: float, sharpness: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    """Examples whose true classes are drawn from posteriors that a perfect network knows, times `sharpness`."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(N, C)) * 3 / doubt
    posterior = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    truth = np.array([rng.choice(C, p=p) for p in posterior])
    given = np.array([rng.choice(C, p=transition_CC[t]) for t in truth])
    return torch.from_numpy(logits * sharpness), torch.from_numpy(given), torch.from_numpy(truth)


CLEAN = np.eye(C)
SYMMETRIC = 0.6 * np.eye(C) + 0.4 / C
PAIRED = np.array([[1, 0, 0, 0], [0.4, 0.6, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])


@pytest.mark.parametrize("noise", [CLEAN, SYMMETRIC, PAIRED], ids=["clean", "symmetric", "paired"])
def test_the_matrix_is_found_from_noisy_labels_alone(noise: np.ndarray) -> None:
    logits, given, _ = made(noise, doubt=0.3)
    transition, _ = fit_noise((logits, given))
    assert np.abs(transition.numpy() - noise).max() < 0.06
    np.testing.assert_allclose(transition.sum(-1), 1)


def test_few_labels_tell_which_class_is_taken_for_which() -> None:
    """A network that learned such labels doubts where they are wrong: that must not pass for its own doubt."""
    logits, given, _ = made(PAIRED, doubt=0.3)
    learned = (logits.softmax(-1) @ torch.from_numpy(PAIRED)).log()
    few, nobody = (learned[:300], given[:300]), (learned[:0], given[:0])
    transition, _ = fit_noise(few, nobody)
    assert float(transition[1, 1]) == pytest.approx(0.6, abs=0.15)
    assert float(transition[1, 0]) == pytest.approx(0.4, abs=0.15)


@pytest.mark.parametrize("sharpness", [0.25, 1.0, 4.0])
def test_the_temperature_undoes_false_certainty(sharpness: float) -> None:
    logits, given, _ = made(SYMMETRIC, doubt=1.0, sharpness=sharpness)
    _, temperature = fit_noise((logits, given))
    assert float(temperature) / sharpness == pytest.approx(1, rel=0.35)


def test_classes_that_overlap_are_not_taken_for_noise() -> None:
    logits, given, truth = made(CLEAN, doubt=1.0)
    assert (logits.argmax(-1) == truth).double().mean() < 0.9, "a tenth of the right labels look wrong"
    transition, temperature = fit_noise((logits, given))
    right = clean_probability(logits / temperature, torch.eye(C, dtype=torch.float64)[given], transition)
    # A label flips where the network prefers another class by more than this probability.
    sure = (logits / temperature).softmax(-1)
    margin = sure.max(-1).values - sure.gather(1, given[:, None]).squeeze(1)
    assert (margin > right).double().mean() < 0.02


def test_the_probability_is_that_of_bayes_and_calibrated() -> None:
    logits, given, truth = made(SYMMETRIC, doubt=0.6)
    hot = torch.eye(C, dtype=torch.float64)[given]
    right = clean_probability(logits, hot, torch.from_numpy(SYMMETRIC))
    for low, high in ((0.0, 0.2), (0.2, 0.8), (0.8, 1.01)):
        within = (right >= low) & (right < high)
        assert within.sum() > 30
        assert float((given == truth)[within].double().mean()) == pytest.approx(float(right[within].mean()), abs=0.08)


@pytest.mark.parametrize("noise", [CLEAN, SYMMETRIC, PAIRED], ids=["clean", "symmetric", "paired"])
@pytest.mark.parametrize("lent", [False, True], ids=["held out", "few held out"])
def test_a_class_that_the_network_dislikes_gets_its_share_back(noise: np.ndarray, lent: bool) -> None:
    logits, given, truth = made(noise, doubt=1.0)
    logits[:, 1] -= 1.5
    held_out, trained_on = (
        ((logits[:400], given[:400]), (logits[400:], given[400:])) if lent else ((logits, given), None)
    )
    temperature = torch.ones(())
    shares = fit_shares(held_out, trained_on, temperature, torch.bincount(given))
    true = torch.bincount(truth) / N
    assert logits.softmax(-1).mean(0)[1] < 0.6 * true[1]
    assert (shares - true).abs().max() < 0.15 * true.min()
    bias = fit_bias(held_out, trained_on, temperature, shares)
    np.testing.assert_allclose((logits + bias).softmax(-1).mean(0), shares, atol=1e-3)
    assert ((logits + bias).argmax(-1) == truth).sum() > (logits.argmax(-1) == truth).sum()


def test_a_class_that_is_nowhere_the_first_choice_becomes_it_where_it_is_believed_in_most() -> None:
    rng = np.random.default_rng(2)
    truth = torch.from_numpy(rng.integers(0, C, N))
    liked = torch.where(truth == 1, torch.from_numpy(rng.choice([0, 2, 3], N)), truth)
    logits = 2 * torch.eye(C, dtype=torch.float64)[liked] + torch.from_numpy(rng.normal(size=(N, C))) / 4
    logits[:, 1] = 1.1 + 0.3 * (truth == 1) + torch.from_numpy(rng.normal(size=N)) / 16
    seen, shares = (logits, truth), torch.full((C,), 1 / C, dtype=torch.float64)
    assert (logits.argmax(-1) == 1).double().mean() < 0.1
    assert abs(float(logits.softmax(-1).mean(0)[1]) - 1 / C) < 0.02, "its share is right, as far as beliefs go"
    sure = logits + fit_bias(seen, None, torch.ones(()), shares)
    first = torch.bincount(sure.argmax(-1), minlength=C) / N
    assert (first - shares).abs().max() < 0.05
    assert (sure.argmax(-1) == truth).sum() > (logits.argmax(-1) == truth).sum()


def test_labels_that_tell_nothing_do_not_carry_shares_away() -> None:
    logits, _, _ = made(CLEAN, doubt=1.0)
    logits[:, 1] -= 1.5
    given = torch.from_numpy(np.random.default_rng(1).integers(0, C, N))
    shares = fit_shares((logits, given), None, torch.ones(()), torch.bincount(given))
    named = logits.softmax(-1).mean(0)
    assert (shares / named).log().abs().max() < 1, "no further than a network's likings usually are"


def test_shares_need_the_noise() -> None:
    with pytest.raises(PencilError, match=r"by_class_shares needs options\.by_clean_probability"):
        Pencil({"by_class_shares": True, "anchor": 1.0, "label_step": "1"}, C)


def test_unlabelled_and_unseen_classes_do_no_harm() -> None:
    logits = torch.randn(20, C)
    transition, temperature = fit_noise((logits, torch.full((20,), -1)))
    assert transition.isfinite().all() and temperature == 1
    nobody = logits, torch.full((20,), -1)
    shares = fit_shares(nobody, None, temperature, torch.zeros(C))
    assert shares.tolist() == [1 / C] * C and not fit_bias(nobody, None, temperature, shares).any()
    right = clean_probability(logits, torch.zeros(20, C), transition.float())
    assert (right == 0).all(), "no label, nothing to be right"


@pytest.mark.parametrize("shares", [SURE_SHARES, SUREST_SHARES])
def test_where_a_network_is_right_throughout_every_label_tells_of_the_noise(shares: tuple[float, ...]) -> None:
    errors = {}
    for doubt in (0.1, 1.0):
        logits, given, truth = made(SYMMETRIC, doubt=doubt)
        sure = _sure(logits, given, shares)
        errors[doubt] = float((logits.argmax(-1) != truth)[sure].double().mean()), float(sure.double().mean())
    assert errors[0.1][1] >= 0.75, "it is right about nearly all of them"
    assert errors[1.0][0] < 0.08, "it is right about the surest alone"
    assert errors[1.0][1] < 0.75


def test_of_many_held_out_labels_a_weak_network_is_asked_about_fewer() -> None:
    rng = np.random.default_rng(0)
    truth = torch.from_numpy(rng.integers(0, C, 6000))
    # The surer, the more often right, to the very top.
    strength = torch.from_numpy(rng.exponential(1.0, (6000, 1)))
    logits = torch.from_numpy(rng.normal(0, 1.0, (6000, C))) + strength * torch.eye(C, dtype=torch.float64)[truth]
    found = [float(fit_transition((logits[:n], truth[:n])).diagonal().mean()) for n in (999, 6000)]
    quarter = _counts(*_surest(logits, truth, 0.25))
    assert found[1] > float(quarter.diagonal().sum() / quarter.sum()) + 0.01 > found[0] - 0.05


@pytest.mark.parametrize("noise", [SYMMETRIC, PAIRED], ids=["symmetric", "paired"])
def test_rows_of_the_matrix_differ_only_as_far_as_labels_tell_them_apart(noise: np.ndarray) -> None:
    """The surest of each class are few: taken each for itself, rows differ by chance alone."""
    logits, given, truth = made(noise, doubt=1.0)
    assert (logits.argmax(-1) == truth).double().mean() < 0.9
    transition = fit_transition((logits, given))
    apart = float((transition.diagonal() - transition.diagonal().mean()).abs().max())
    assert np.abs(transition.numpy() - noise).max() < 0.09
    assert (apart < 0.02) if noise is SYMMETRIC else (apart > 0.2)


def _surest(logits: Tensor, given: Tensor, share: float) -> Seen:
    sure = _sure(logits, given, (share,))
    return logits[sure], given[sure]


def test_examples_trained_on_help_out_unless_learned_by_heart() -> None:
    logits, given, _ = made(SYMMETRIC, doubt=0.1)
    few, many = (logits[:30], given[:30]), (logits[30:], given[30:])
    by_heart = many[0] + 100 * torch.eye(C, dtype=torch.float64)[many[1]]

    def error(trained_on: tuple[Tensor, Tensor] | None) -> float:
        return float(np.abs(fit_noise(few, trained_on)[0].numpy() - SYMMETRIC).max())

    assert error(many) < 0.03 < error(None)
    assert error((by_heart, many[1])) == error(None)


def test_examples_trained_on_do_not_help_out_where_a_network_is_surest_of_what_it_was_told() -> None:
    logits, given, _ = made(SYMMETRIC, doubt=0.3)
    few, many = (logits[:150], given[:150]), (logits[150:], given[150:])
    told = many[0].argmax(-1) == many[1]
    surer = torch.where(told[:, None], 2 * many[0], many[0])  # It agrees with as many labels as before.
    assert not torch.equal(fit_transition(few, many), fit_transition(few))
    torch.testing.assert_close(fit_transition(few, (surer, many[1])), fit_transition(few), rtol=0, atol=0)


class _View:
    """What a method sees of a training whose held-out outputs are these."""

    def __init__(self, held_out: Seen, phase_epoch: int) -> None:
        self.seen, self.phase_epoch = held_out, phase_epoch
        self.columns = {"given": held_out[1]}

    def held_out(self) -> Seen:
        return self.seen

    def predict(self) -> Tensor:
        return self.seen[0].softmax(-1)


@pytest.mark.parametrize("examples", [N, 300])
def test_a_network_that_got_worse_makes_the_noise_seem_greater_only_where_few_labels_tell(examples: int) -> None:
    method = Pencil({"label_step": "1", "anchor": 2.0, "by_clean_probability": True}, C)
    _, labels, _ = method.phases({name: PhaseSettings(epochs=2, lr="0.1") for name in method.phase_names})
    logits, given = (values[:examples] for values in made(SYMMETRIC, doubt=0.3)[:2])
    confused = torch.rand(examples, generator=torch.Generator().manual_seed(0)) < 0.3
    worse = torch.where(confused[:, None], logits.roll(1, dims=1), logits)
    method.before_epoch(_View((logits, given), 0), labels)
    found = method.noise.transition.clone()
    method.before_epoch(_View((worse, given), 1), labels)
    assert torch.equal(method.noise.transition, found) == (examples == N)
    assert float(method.noise.temperature) > 1, "it is believed less"


@pytest.mark.parametrize("examples", [N, 300])
def test_labels_that_are_mostly_wrong_take_longer(examples: int) -> None:
    method = Pencil({"label_step": "1", "anchor": 2.0, "by_clean_probability": True}, C)
    _, labels, _ = method.phases({name: PhaseSettings(epochs=4, lr="0.1", at_most=9) for name in method.phase_names})
    assert labels.at_most == 9
    eye, even = np.eye(C), np.full((C, C), 1 / C)
    for right in (1.0, 0.5, 0.3):
        share = (right - 1 / C) / (1 - 1 / C)
        seen = tuple(values[:examples] for values in made(share * eye + (1 - share) * even, doubt=0.1)[:2])
        times, why = method.times_as_long(_View(seen, 0), labels)
        assert times == pytest.approx(0.5 / right, rel=0.25) and why == "most labels seem to be wrong"
    known = Pencil({"label_step": "1", "anchor": 2.0}, C)
    assert known.times_as_long(_View(seen, 0), labels) == (1.0, "")


@pytest.mark.parametrize("examples", [N, 300])
def test_what_the_guard_took_back_is_estimated_again(examples: int) -> None:
    method = Pencil({"label_step": "1", "anchor": 2.0, "by_clean_probability": True}, C)
    _, labels, _ = method.phases({name: PhaseSettings(epochs=2, lr="0.1") for name in method.phase_names})
    seen = tuple(values[:examples] for values in made(SYMMETRIC, doubt=0.3)[:2])
    before = {name: value.clone() for name, value in method.state_dict().items()}
    method.before_epoch(_View(seen, 0), labels)
    found = method.noise.transition.clone()
    method.load_state_dict(before)
    method.before_epoch(_View(seen, 1), labels)
    assert torch.equal(method.noise.transition, found)
