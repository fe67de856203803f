"""Where labels start: hard, soft, voted, missing."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from pencil.data.labels import as_values, encode
from pencil.flips import scale_for_classes
from pencil.table import initial_label_logits


@pytest.mark.parametrize("scale", [1.0, 10.0, 12.5])
def test_one_hot_labels_start_at_exactly_k(scale: float) -> None:
    hot = torch.eye(7)
    assert torch.equal(initial_label_logits(hot, scale), scale * hot)


@given(arrays(np.float64, (4, 5), elements=st.floats(0.01, 1)))
def test_soft_labels_start_as_themselves(weights: NDArray[np.float64]) -> None:
    soft = torch.from_numpy(weights / weights.sum(1, keepdims=True))
    assert torch.allclose(initial_label_logits(soft, 10.0).softmax(-1), soft, atol=1e-14)


def test_soft_labels_with_zeros_leave_no_more_than_a_trace_there() -> None:
    soft = torch.tensor([[0.5, 0.5, 0.0, 0.0]], dtype=torch.float64)
    logits = initial_label_logits(soft, 10.0)
    # The zeros get weight e^−K beside a total of 1.
    trace = np.exp(-10) / (1 + 2 * np.exp(-10))
    assert logits.softmax(-1).numpy() == pytest.approx(np.array([[0.5 - trace, 0.5 - trace, trace, trace]]), abs=1e-12)


def test_votes_start_as_their_shares() -> None:
    labels = encode(as_values(np.array([[3, 1, 0], [0, 0, 2], [0, 0, 0]])), ("a", "b", "c"))
    assert labels.distribution is not None
    start = initial_label_logits(torch.from_numpy(labels.distribution).double(), 10.0)
    expected = np.array([[0.75, 0.25, 0], [0, 0, 1], [1 / 3, 1 / 3, 1 / 3]])
    assert start.softmax(-1).numpy() == pytest.approx(expected, abs=1e-4)
    assert labels.given.tolist() == [0, 2, -1]


def test_missing_labels_start_uniform() -> None:
    logits = initial_label_logits(torch.zeros(2, 8), 10.0)
    assert torch.equal(logits, torch.zeros(2, 8))


def test_the_scale_keeps_the_first_certainty_for_any_number_of_classes() -> None:
    assert scale_for_classes(10) == 10
    certainty = np.exp(10) / (np.exp(10) + 9)
    for classes in (2, 14, 100, 1000, 20_000):
        k = scale_for_classes(classes)
        assert np.exp(k) / (np.exp(k) + classes - 1) == pytest.approx(certainty, abs=1e-9)
    # The paper's K = 10 fades with many classes.
    for classes, start in ((1000, 0.957), (20_000, 0.52)):
        hot = torch.zeros(1, classes, dtype=torch.float64)
        hot[0, 0] = 1
        assert initial_label_logits(hot, 10.0).softmax(-1)[0, 0].item() == pytest.approx(start, abs=5e-3)
