"""The table that keeps only the strongest classes of each label, against the dense one."""

import numpy as np
import pytest
import torch

from pencil.table import ExampleTable, GradientStep, TopTable
from pencil.table.rules import apply
from pencil.table.top import cut, spread

CLASSES, EXAMPLES, KEPT = 1000, 400, 16


def test_cutting_keeps_the_strongest_classes_and_the_mass_of_the_rest() -> None:
    logits = torch.from_numpy(np.random.default_rng(0).normal(size=(7, 50)) * 3)
    rows = cut(logits, 5)
    again = spread(rows, 50)
    dense, kept = logits.softmax(-1).numpy(), again.softmax(-1).numpy()
    for row in range(7):
        strongest = np.argsort(-dense[row])[:5]
        assert set(rows["top_classes"][row].tolist()) == set(strongest.tolist())
        assert np.allclose(kept[row][strongest], dense[row][strongest])
        others = np.setdiff1d(np.arange(50), strongest)
        assert np.allclose(kept[row][others], dense[row][others].sum() / 45)


def test_with_all_classes_kept_nothing_is_lost() -> None:
    logits = torch.randn(4, 6, dtype=torch.float64)
    assert torch.allclose(spread(cut(logits, 6), 6), logits)


def test_a_new_table_starts_like_a_dense_one() -> None:
    given = torch.tensor([3, -1, CLASSES - 1])
    top, dense = (kind.start(given, CLASSES, scale=14.0) for kind in (TopTable, ExampleTable))
    index = torch.arange(3)
    assert torch.equal(top.gather(index)["label_logits"], dense.gather(index)["label_logits"])
    assert torch.allclose(top.distributions(slice(1, 3)), dense.distributions(slice(1, 3)))
    assert top.num_classes == CLASSES


def test_soft_labels_are_kept_where_they_fit() -> None:
    soft = torch.zeros(2, CLASSES)
    soft[0, [5, 7]], soft[1, 9] = torch.tensor([0.25, 0.75]), 1.0
    top = TopTable.start(torch.tensor([7, 9]), CLASSES, scale=16.0, distribution_NC=soft)
    assert torch.allclose(top.distributions(), soft, atol=1e-3)


def test_memory_at_twenty_thousand_classes_is_a_fiftieth_of_dense() -> None:
    top = TopTable.start(torch.zeros(100, dtype=torch.int64), 20_000, scale=10.0)
    labels = sum(
        top.columns[n].numel() * top.columns[n].element_size() for n in top.columns if "top_" in n or "other" in n
    )
    assert labels <= 0.02 * 100 * 20_000 * 4


def test_one_stream_of_predictions_gives_the_argmax_of_the_dense_table() -> None:
    """Predictions as a network gives them: mostly on a true class and its few neighbours, hesitant at times."""
    rng = np.random.default_rng(1)
    clean = rng.integers(0, CLASSES, EXAMPLES)
    given = np.where(rng.random(EXAMPLES) < 0.4, rng.integers(0, CLASSES, EXAMPLES), clean)
    tables = [kind.start(torch.from_numpy(given), CLASSES, scale=14.7) for kind in (TopTable, ExampleTable)]
    index, step, rule = torch.arange(EXAMPLES), torch.tensor([0.6]), GradientStep()
    usable = torch.ones(EXAMPLES, dtype=torch.bool)
    for epoch in range(40):
        noise = rng.normal(size=(EXAMPLES, CLASSES)).astype(np.float32) * 1.5
        noise[np.arange(EXAMPLES), clean] += rng.uniform(6, 14, EXAMPLES)
        prediction = torch.from_numpy(noise).softmax(-1)
        for table in tables:
            rows = table.gather(index)
            gradient = rows["label_logits"].softmax(-1) - prediction
            moment = torch.tensor([epoch])
            table.scatter(index, apply(rule, rows, gradient, prediction, step, moment, usable))
    top, dense = (table.distributions().argmax(-1) for table in tables)
    assert (dense.numpy() != given).mean() > 0.3, "the stream must really move labels"
    assert (top == dense).float().mean() >= 0.999
    assert torch.equal(tables[0].columns["num_changes"], tables[1].columns["num_changes"])


@pytest.mark.parametrize("kind", [TopTable, ExampleTable])
def test_a_table_comes_back_from_its_state(kind: type[ExampleTable]) -> None:
    first = kind.start(torch.tensor([1, 2, 0]), 30, scale=10.0)
    rows = first.gather(torch.tensor([2]))
    first.scatter(torch.tensor([2]), {"label_logits": rows["label_logits"] + torch.arange(30.0)})
    second = kind.start(torch.tensor([1, 2, 0]), 30, scale=10.0)
    second.load({name: column.clone() for name, column in first.state().items()})
    assert torch.equal(first.distributions(), second.distributions())
