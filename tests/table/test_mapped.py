"""Labels in a file."""

from pathlib import Path

import torch

from pencil.table import MappedTable


def test_a_rule_that_leaves_labels_alone_leaves_those_in_the_file_alone(tmp_path: Path) -> None:
    table = MappedTable.start(torch.tensor([1, 0, 2, 1]), 3, scale=10.0, folder=tmp_path, batch_size=2)
    batches = [torch.tensor([0, 1]), torch.tensor([3, 2])]
    table.start_epoch(batches, moves=True)
    moved = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    for index, changed in zip(batches, ({"label_logits": moved}, {"weight": torch.zeros(2)}), strict=True):
        table.stage()
        table.gather(index)
        table.scatter(index, changed)
        table.collect()
    assert torch.equal(table.distributions()[:2], moved.softmax(-1))
    assert table.distributions()[2:].argmax(-1).tolist() == [2, 1], "nobody has moved these"
    assert table.columns["weight"].tolist() == [1, 1, 0, 0]
