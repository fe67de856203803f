"""Several runs at once, in real processes."""

from pathlib import Path

import pytest

from pencil.bench.packed import Worker, start_and_pack
from pencil.errors import PencilError

SETTINGS = {"backbone": "mlp", "hardware": {"device": "cpu", "threads": 1}, "optimizer": {"batch_size": 16}}


def test_each_process_is_started_and_measured() -> None:
    started, rates = start_and_pack(SETTINGS, examples=64, parallel=2, seconds=0.1)
    assert len(started) == 2 and all(seconds > 0.1 for seconds in started.values())
    assert len(rates) == 2 and all(rate > 0 for rate in rates)


def test_a_process_that_dies_is_named_with_its_last_words(tmp_path: Path) -> None:
    worker = Worker(SETTINGS | {"backbone": "mpl"}, 64, tmp_path)
    with pytest.raises(PencilError, match=r'ended early: .*no backbone "mpl"'):
        worker.wait_ready()
    worker.stop()
