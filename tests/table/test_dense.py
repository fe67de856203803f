"""The example table: rows by index, columns together."""

import pytest
import torch

from pencil.errors import PencilError
from pencil.table import ExampleTable


def small(**more: torch.Tensor) -> ExampleTable:
    return ExampleTable.start(torch.tensor([2, 0, -1, 1]), 3, scale=10.0, **more)


def test_a_new_table_knows_the_given_labels_and_nothing_else() -> None:
    table = small()
    c = table.columns
    assert (len(table), table.num_classes) == (4, 3)
    assert c["given"].tolist() == [2, 0, -1, 1]
    assert c["labelled"].tolist() == [True, True, False, True]
    assert c["label_logits"].tolist() == [[0, 0, 10], [10, 0, 0], [0, 0, 0], [0, 10, 0]]
    assert not c["locked"].any() and "clean" not in c and "given_distribution" not in c
    assert c["changed_at"].tolist() == [-1] * 4 and c["num_changes"].tolist() == [0] * 4
    assert (c["anchor"] == 1).all() and (c["weight"] == 1).all()
    assert table.distributions().sum(-1).tolist() == pytest.approx([1] * 4)


def test_soft_labels_trust_and_truth_become_columns() -> None:
    soft = torch.tensor([[0.1, 0.1, 0.8], [1.0, 0, 0], [0, 0, 0], [0, 0.6, 0.4]])
    trusted = torch.tensor([True, False, False, True])
    table = small(distribution_NC=soft, trusted_N=trusted, clean_N=torch.tensor([2, 1, -1, 1]))
    assert torch.equal(table.columns["given_distribution"], soft)
    assert table.columns["locked"].tolist() == [True, False, False, True]
    assert table.columns["labelled"].tolist() == [True, True, False, True]
    assert table.columns["clean"].tolist() == [2, 1, -1, 1]
    assert torch.allclose(table.distributions()[0], soft[0])


def test_rows_come_and_go_by_index() -> None:
    table = small()
    index = torch.tensor([3, 0])
    rows = table.gather(index)
    assert rows["given"].tolist() == [1, 2]
    before = table.columns["label_logits"].clone()
    table.scatter(index, {"label_logits": torch.tensor([[1.0, 2, 3], [4, 5, 6]])})
    assert table.columns["label_logits"][[3, 0]].tolist() == [[1, 2, 3], [4, 5, 6]]
    assert torch.equal(table.columns["label_logits"][[1, 2]], before[[1, 2]])


def test_gathered_rows_are_copies() -> None:
    table = small()
    rows = table.gather(torch.tensor([0, 1]))
    rows["label_logits"].fill_(5)
    assert table.columns["label_logits"][0].tolist() == [0, 0, 10]


def test_columns_are_added_once() -> None:
    table = small()
    table.ensure("recent", (2, 3), torch.float32)
    table.columns["recent"].fill_(1)
    table.ensure("recent", (2, 3), torch.float32)
    assert table.columns["recent"].shape == (4, 2, 3) and (table.columns["recent"] == 1).all()


def test_a_saved_table_is_taken_over_in_place_with_all_its_columns() -> None:
    table, other = small(), small()
    other.columns["label_logits"].normal_()
    other.ensure("recent", (3,), torch.float32)
    where = table.columns["label_logits"].data_ptr()
    table.load(other.state())
    assert torch.equal(table.columns["label_logits"], other.columns["label_logits"])
    assert table.columns["label_logits"].data_ptr() == where, "a captured step refers to this memory"
    assert "recent" in table.columns


def test_a_table_of_other_data_or_precision_is_refused() -> None:
    bigger = ExampleTable.start(torch.zeros(5, dtype=torch.int64), 3, scale=10.0)
    with pytest.raises(PencilError, match=r"column \w+ is .*resume with the data and precision"):
        small().load(bigger.state())
    finer = ExampleTable.start(torch.tensor([2, 0, -1, 1]), 3, scale=10.0, dtype=torch.float64)
    with pytest.raises(PencilError, match="float64"):
        small().load(finer.state())
