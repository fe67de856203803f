"""A small part of `make torture`, for every day."""

from pathlib import Path

import pytest

from . import hostile, inputs
from .exploits import Marking


@pytest.mark.filterwarnings("ignore")
def test_mutated_inputs_get_a_line_or_are_read(tmp_path: Path) -> None:
    counts = inputs.try_all(11, tmp_path, 12)
    assert counts["read"] > 20 and counts["refused"] > 100, counts


@pytest.mark.filterwarnings("ignore")
def test_exploits_of_our_own_making_are_refused(tmp_path: Path) -> None:
    assert hostile.refuse_all(tmp_path) >= 20


def test_the_exploit_would_work_on_an_ordinary_reader(tmp_path: Path) -> None:
    """A check that the samples are live: an exploit that no one could fall for proves nothing."""
    import pickle

    pickle.loads(pickle.dumps(Marking(tmp_path / "mark")))
    assert (tmp_path / "mark").exists()
