"""The examples run as their first lines say, and stay short."""

import json
from pathlib import Path

import pytest
import torch

from pencil import methods
from pencil.errors import PencilError
from pencil.run.fit import fit

EXAMPLES = Path(__file__).parents[1] / "examples"
OWN = EXAMPLES / "own_method.py"


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def test_a_method_of_ones_own_takes_forty_lines() -> None:
    assert len(OWN.read_text(encoding="utf-8").splitlines()) <= 40


def test_a_method_of_ones_own_is_trained_by_name(tmp_path: Path) -> None:
    result = fit(
        "digits",
        method=f"{OWN}:METHOD",
        noise="symmetric:0.4",
        backbone="mlp",
        epochs=[4, 6],
        out=tmp_path / "run",
        settings={"options": {"memory": 0.8}, "hardware": {"device": "cpu", "threads": 1}},
    )
    assert [record["phase"] for record in result.history] == ["given"] * 4 + ["moving"] * 6
    accuracy = result.summary["label_accuracy"]
    assert accuracy["corrected"] > accuracy["given"] + 10, "labels follow the network"
    assert json.loads((tmp_path / "run" / "result.json").read_text())["method"].endswith("own_method.py:METHOD")
    assert methods.create(f"{OWN}:METHOD", {"memory": 0.5}, 3).options.memory == 0.5
    with pytest.raises(PencilError, match=r"options\.memory is 2; give a number from 0 to 1"):
        methods.create(f"{OWN}:METHOD", {"memory": 2}, 3)
