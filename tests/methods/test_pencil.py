"""PENCIL's loss in each phase, its settings, and what it refuses."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from pencil import methods
from pencil.config import PhaseSettings, Schedule
from pencil.errors import PencilError
from pencil.types import Batch

B, C = 6, 4
RNG = np.random.default_rng(0)
Z, Y, GIVEN = RNG.normal(size=(B, C)), RNG.normal(size=(B, C)), np.eye(C)[RNG.integers(C, size=B)]


def softmax(z: Any) -> Any:
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


F, D = softmax(Z), softmax(Y)
KL = (F * np.log(F / D)).sum(-1)
H = -(F * np.log(F)).sum(-1)


def batch(phase: str) -> Batch:
    return Batch(
        logits=torch.from_numpy(Z),
        label_logits=torch.from_numpy(Y),
        given=torch.from_numpy(GIVEN),
        labelled=torch.ones(B, dtype=torch.bool),
        anchor=torch.ones(B, dtype=torch.float64),
        weight=torch.ones(B, dtype=torch.float64),
        phase=phase,
    )


def pencil(**options: Any) -> Any:
    return methods.create("pencil", {"label_step": "0.6", **options}, C)


def mean_loss(method: Any, phase: str) -> float:
    terms = method.loss(batch(phase))
    return float(terms.scale * sum(terms.parts.values()).mean())


def test_the_first_phase_is_cross_entropy() -> None:
    assert mean_loss(pencil(), "backbone") == pytest.approx(float(-(GIVEN * np.log(F)).sum(-1).mean()))


@pytest.mark.parametrize("form", ["paper", "code"])
def test_the_second_phase_is_the_papers_sum(form: str) -> None:
    alpha, beta = 0.3, 0.7
    lo = -(GIVEN * np.log(D if form == "paper" else softmax(D))).sum(-1)
    expected = (KL / C + alpha * lo + beta / C * H).mean()
    method = pencil(compatibility=form, compatibility_weight=alpha, entropy_weight=beta)
    assert mean_loss(method, "labels") == pytest.approx(float(expected))


def test_the_third_phase_is_the_classification_loss_alone() -> None:
    assert mean_loss(pencil(anchor=9.0, entropy_weight=0.9), "tuning") == pytest.approx(float(KL.mean() / C))
    assert mean_loss(pencil(divide_by_classes=False), "tuning") == pytest.approx(float(KL.mean()))


def test_the_classic_kl_ablation() -> None:
    expected = (D * np.log(D / F)).sum(-1).mean() / C
    assert mean_loss(pencil(classification="classic"), "tuning") == pytest.approx(float(expected))


def test_anchors_multiply_the_pull_of_each_example() -> None:
    anchor = torch.tensor([0.0, 1, 2, 3, 4, 5], dtype=torch.float64)
    one = pencil(anchor=0.5).loss(batch("labels")).parts["compatibility"]
    many = pencil(anchor=0.5).loss(replace(batch("labels"), anchor=anchor)).parts["compatibility"]
    assert torch.allclose(many, anchor * one)


def test_alpha_and_lambda_are_scaled_by_the_classes() -> None:
    method = methods.create("pencil", {"compatibility_weight": 0.1, "label_lr": "10000"}, 100)
    assert method.anchor == pytest.approx(10)
    assert method.label_step == Schedule.parse(10000 / (128 * 100))
    assert methods.create("pencil", {"label_step": 0.6}, 100).anchor == 0


def test_k_is_ten_unless_chosen_by_the_classes() -> None:
    assert pencil().label_scale == 10
    assert pencil(init_scale=3.0).label_scale == 3
    assert methods.create("pencil", {"label_step": 1, "init_scale": 0.0}, 100).label_scale == pytest.approx(
        10 + np.log(11)
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"compatibility": "papers"}, r'options\.compatibility cannot be "papers"\. Did you mean "paper"'),
        ({"classification": "kl"}, r'options\.classification cannot be "kl"'),
        ({"anchr": 1.0}, r'no setting "options\.anchr"\. Did you mean "anchor"'),
        ({"anchor": "strong"}, r'options\.anchor is "strong"; give a value of type float'),
        ({"label_step": None, "label_lr": "800", "reference_batch": 0}, r"reference_batch is 0; give at least 1"),
        ({"anchor": -1.0}, r"options\.anchor is -1; give a number from 0 to 1000000"),
        ({"compatibility_weight": np.inf}, r"options\.compatibility_weight is inf; give a number from 0"),
        ({"entropy_weight": np.nan}, r"options\.entropy_weight is nan; give a number from 0"),
        ({"entropy_weight": -0.1}, r"options\.entropy_weight is -0\.1; give a number from 0"),
        ({"init_scale": -5.0}, r"options\.init_scale is -5; give a number from 0"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(PencilError, match=message):
        pencil(**options)


def test_phases_must_be_given_and_known() -> None:
    setting = PhaseSettings(epochs=1, lr=Schedule.parse(0.1))
    known = {"backbone": setting, "labels": setting, "tuning": setting}
    with pytest.raises(PencilError, match="phase labels are missing"):
        pencil().phases({k: v for k, v in known.items() if k != "labels"})
    with pytest.raises(PencilError, match=r'no phase "lables"\. Did you mean "labels"'):
        pencil().phases({**known, "lables": setting})


def test_each_term_can_be_left_out() -> None:
    parts = pencil(anchor=0.5, entropy_weight=0.4).loss(batch("labels")).parts
    without = pencil(anchor=0.0, entropy_weight=0.4).loss(batch("labels")).parts
    assert without["compatibility"].eq(0).all() and torch.equal(without["classification"], parts["classification"])
    without = pencil(anchor=0.5, entropy_weight=0.0).loss(batch("labels")).parts
    assert without["entropy"].eq(0).all() and torch.equal(without["compatibility"], parts["compatibility"])
    without = pencil(anchor=0.5, entropy_weight=0.4, classification="none").loss(batch("labels")).parts
    assert set(without) == {"compatibility", "entropy"}


def test_fine_tuning_keeps_the_classification_loss() -> None:
    assert mean_loss(pencil(classification="none"), "tuning") == pytest.approx(float(KL.mean() / C))


def test_something_must_train_the_network() -> None:
    with pytest.raises(PencilError, match="nothing would train the network while labels are learned"):
        pencil(classification="none", entropy_weight=0.0)


def taught(phase: str, **more: Any) -> Batch:
    teacher = torch.from_numpy(np.random.default_rng(1).normal(size=(B, C)))
    made = replace(batch(phase), teacher_logits=teacher, **more)
    made.logits.requires_grad_()
    made.label_logits.requires_grad_()
    return made


def gradients(method: Any, made: Batch) -> tuple[Any, Any]:
    for tensor in (made.logits, made.label_logits):
        tensor.grad = None
    sum(method.loss(made).parts.values()).sum().backward()
    return made.logits.grad.numpy(), made.label_logits.grad.numpy()


def test_with_a_teacher_labels_follow_it_and_the_network_follows_the_labels() -> None:
    made = taught("labels")
    of_logits, of_labels = gradients(pencil(classification="classic", entropy_weight=0.0), made)
    np.testing.assert_allclose(of_labels, D - softmax(made.teacher_logits.numpy()))
    np.testing.assert_allclose(of_logits, F - D)


def test_mixed_examples_learn_mixed_labels() -> None:
    share = torch.linspace(0, 0.5, B, dtype=torch.float64)
    made = taught("labels", partner_share=share)
    of_logits, of_labels = gradients(pencil(classification="classic", entropy_weight=0.0), made)
    s, partner = share.numpy()[:, None], np.minimum(np.arange(B) ^ 1, B - 1)
    np.testing.assert_allclose(of_logits, F - ((1 - s) * D + s * D[partner]))
    np.testing.assert_allclose(of_labels, D - softmax(made.teacher_logits.numpy()))


def test_an_anchor_holds_as_far_as_its_label_is_likely_right() -> None:
    method = pencil(classification="classic", entropy_weight=0.0, anchor=2.0, by_clean_probability=True).double()
    noise = 0.6 * np.eye(C) + 0.4 / C
    method.noise.transition.copy_(torch.from_numpy(noise))
    method.noise.temperature.fill_(2.0)
    made = taught("labels")
    of_logits, of_labels = gradients(method, made)
    f = softmax(made.teacher_logits.numpy() / 2)
    right = (GIVEN * f * np.diag(noise) / (f @ noise)).sum(-1, keepdims=True)
    pull = softmax(D) - GIVEN
    code = D * (pull - (D * pull).sum(-1, keepdims=True))
    np.testing.assert_allclose(of_labels, D - f + 2 * right * code)
    # The network learns less from a label that is less likely right than most, until the teacher has come to share it.
    likely = np.sqrt(np.minimum(right / np.diag(noise).mean(), 1))
    believed = np.maximum(likely, (D * f).sum(-1, keepdims=True))
    assert believed.min() < 1
    np.testing.assert_allclose(of_logits, believed * (F - D))
    locked = replace(made, trusted=torch.ones(B, dtype=torch.bool))
    np.testing.assert_allclose(gradients(method, locked)[0], F - D)
    # A teacher that deserves to be surer is believed as it is: weights that grow with an opinion would make it grow.
    method.noise.temperature.fill_(0.5)
    plain, sure = (softmax(made.teacher_logits.numpy() / t) for t in (1, 0.5))
    right = (GIVEN * plain * np.diag(noise) / (plain @ noise)).sum(-1, keepdims=True)
    likely = np.sqrt(np.minimum(right / np.diag(noise).mean(), 1))
    believed = np.maximum(likely, (D * sure).sum(-1, keepdims=True))
    np.testing.assert_allclose(gradients(method, made)[0], believed * (F - D))


def test_the_network_has_its_say_at_the_end_where_asked_for() -> None:
    label, prediction = torch.from_numpy(D), torch.from_numpy(F)
    assert torch.equal(pencil().last_word(label, prediction), label)
    assert torch.allclose(pencil(settle=True).last_word(label, prediction), torch.from_numpy((D + F) / 2))
    sure = torch.eye(C, dtype=torch.float64)
    assert (pencil(settle=True).last_word(sure, prediction[:C]).argmax(-1) == torch.arange(C)).all(), "sure labels stay"


def test_a_label_that_was_not_learned_moves_where_another_class_is_believed_more_by_more_than_it_is_right() -> None:
    method = pencil(anchor=2.0, by_clean_probability=True).double()
    logits, given = torch.from_numpy(Z), torch.from_numpy(GIVEN)
    assert torch.allclose(method.unlearned(logits, given), torch.from_numpy(F)), "nothing is known of the noise yet"
    assert torch.allclose(pencil().unlearned(logits, given), torch.from_numpy(F))
    for right in (0.4, 0.7, 0.999):
        method.noise.transition.copy_(torch.eye(C) * right + (1 - torch.eye(C)) * (1 - right) / (C - 1))
        method.noise.temperature.fill_(0.5)
        f = softmax(Z / 0.5)
        likely = f @ method.noise.transition.numpy()
        p = (GIVEN * f * right / likely).sum(-1)
        margin = np.where(GIVEN == 1, -1, f).max(-1) - (GIVEN * f).sum(-1)
        found = method.unlearned(logits, given)
        assert torch.allclose(found.sum(-1), torch.ones(B, dtype=torch.float64))
        assert ((found.argmax(-1).numpy() != GIVEN.argmax(-1)) == (p < margin)).all()
    assert torch.allclose(method.unlearned(logits, torch.zeros_like(given)), torch.from_numpy(f)), "no label was given"
