"""A whole run on a real GPU with each kind of table."""

import pytest
import torch

import pencil

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here"),
]


@pytest.mark.parametrize("table", ["dense", "mapped", "top"])
def test_labels_are_corrected_and_written(table: str) -> None:
    settings = {"hardware": {"device": "cuda", "table": table}}
    result = pencil.fit("digits", noise="symmetric:0.3", settings=settings)
    right = result.summary["label_accuracy"]
    assert right["corrected"] > right["given"] + 15
    assert result.label_distributions.shape == (len(result.labels), 10)
