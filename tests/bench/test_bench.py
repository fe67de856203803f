"""The benchmark runs everywhere and reports ratios; how fast it is, is no test's business."""

import json
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from pencil.bench import Report, full_run, rate_text
from pencil.bench.plain import PlainLoop
from pencil.bench.runner import Runner, random_images
from pencil.bench.suite import take_turns
from pencil.cli import run
from pencil.engine import EpochRecord

from ..warm import WarmProcess

QUICK = ("bench", "--backbone", "mlp", "--device", "cpu", "--batch-size", "16", "--seconds", "0.1")


def test_figures_are_shown_and_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("pencil.bench.packed.subprocess", SimpleNamespace(Popen=WarmProcess, PIPE=subprocess.PIPE))
    record = tmp_path / "bench" / "mlp.json"
    assert run([*QUICK, "--parallel", "2", "--record", str(record), "--json"]) == 0
    out, told = capsys.readouterr()
    shown = json.loads(out)
    assert shown == json.loads(record.read_text())
    assert shown["backbone"] == "mlp" and shown["environment"]["device"].startswith("CPU")
    assert shown["images_per_second"] == shown["rates"]["PENCIL label learning"] > 0
    names = ("engine against plain loop", "label learning against cross entropy", "four times as many examples")
    assert all(shown["ratios"][name] > 0 for name in names)
    assert shown["rates"]["limit by FLOPs"] > 0 < shown["rates"]["limit by bytes moved"]
    assert shown["work"]["gigaflops a step"] > 0 and shown["megabytes"]["largest use of memory"] > 0
    assert shown["command"] == "pencil bench --backbone mlp --batch-size 16 --parallel 2"
    assert shown["rates"]["2 runs at once, together"] > 0 and "2 at once " in told
    assert any(note.startswith("2 runs at once: ") for note in shown["notes"])


def test_a_folder_for_a_record_is_refused_before_anything_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*QUICK, "--no-sizes", "--record", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"pencil: {tmp_path} is a folder; give --record the name of a file.\n"


def test_other_sizes_can_be_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*QUICK, "--no-sizes", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["command"].endswith(" --no-sizes")
    assert "four times as many examples" not in shown["ratios"] and shown["ratios"]["engine against plain loop"] > 0


def test_small_rates_are_readable_on_the_screen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    report = Report("mlp", "CPU", rates={"PENCIL label learning": 1.44, "2 runs at once, together": 12345.6})
    monkeypatch.setattr("pencil.bench.run_suite", lambda *_, **__: report)
    assert run(QUICK) == 0
    shown = capsys.readouterr().out
    assert re.search(r"PENCIL label learning +1\.4\n", shown) and re.search(
        r"2 runs at once, together +12,346\n", shown
    )


@pytest.mark.parametrize(
    ("rate", "text"), [(12345.6, "12,346"), (10.4, "10"), (9.4, "9.4"), (1.44, "1.4"), (1.0, "1.0"), (0.0314, "0.031")]
)
def test_small_rates_keep_digits_that_say_something(rate: float, text: str) -> None:
    assert rate_text(rate) == text
    lines: list[str] = []
    take_turns({"a": lambda seconds: rate}, 0.0, lines.append)
    assert lines[0].endswith(f"a {text}/s")
    recorded = Report("mlp", rates={"PENCIL label learning": rate}).record()["images_per_second"]
    assert rate_text(recorded) == text


def test_turns_are_taken_in_order_and_the_median_counts() -> None:
    calls: list[str] = []
    rates = iter([1.0, 10.0, 3.0, 30.0, 2.0, 20.0])

    def runner(name: str) -> Callable[[float], float]:
        def turn(seconds: float) -> float:
            calls.append(name)
            return next(rates)

        return turn

    found = take_turns({"a": runner("a"), "b": runner("b")}, 0.0, lambda line: None)
    assert calls == ["a", "b"] * 3
    assert found == {"a": 2.0, "b": 20.0}


def test_a_whole_run_is_extrapolated_from_epochs_after_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(full_run, "EXAMPLES", 64)
    monkeypatch.setattr(full_run, "TESTED", 32)
    seconds = iter([100.0, 4.0, 1.0, 3.0, 2.0])
    measured = full_run._Epochs.epoch_done

    def epoch_done(self: full_run._Epochs, record: EpochRecord) -> None:
        assert record["phase"] == "labels" and "test_accuracy" in record
        measured(self, record | {"seconds": next(seconds)})

    monkeypatch.setattr(full_run._Epochs, "epoch_done", epoch_done)
    settings = {"backbone": "mlp", "optimizer": {"batch_size": 16}, "hardware": {"device": "cpu"}}
    assert full_run.full_run_seconds(settings) == 320 * 2.5


def test_a_runner_goes_on_where_its_last_turn_ended() -> None:
    runner = Runner(random_images(64, 3, 8), {"backbone": "mlp", "optimizer": {"batch_size": 16}}, phase="labels")
    before = runner.engine.state.clock.step.item() + 4 * runner.engine.epoch
    assert runner.run(0.05) > 0
    assert runner.engine.state.clock.step.item() + 4 * runner.engine.epoch > before


def test_what_begins_an_epoch_is_not_counted_as_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    runner = Runner(random_images(64, 3, 8), {"backbone": "mlp", "optimizer": {"batch_size": 16}}, phase="labels")
    begin, begun = runner.engine._begin_epoch, []

    def begin_and_look(*arguments: Any) -> Any:
        batches = begin(*arguments)
        begun.append(time.perf_counter())
        return batches

    monkeypatch.setattr(runner.engine, "_begin_epoch", begin_and_look)
    runner.run(0.0)
    assert runner.started > begun[0] and runner.steps == 1


def test_the_plain_loop_moves_labels_and_network() -> None:
    runner = Runner(random_images(64, 3, 8), {"backbone": "mlp"}, phase="labels")
    network = runner.engine.new_network()
    images = torch.randint(0, 256, (64, 8, 8, 3), dtype=torch.uint8)
    loop = PlainLoop(network, runner.engine.prepare, images, torch.zeros(64, dtype=torch.int64), 3)
    before = loop.labels_NC.clone(), [p.clone() for p in network.parameters()]
    assert loop.run(0.05, 16) > 0
    assert not torch.equal(before[0], loop.labels_NC)
    assert not all(torch.equal(a, b) for a, b in zip(before[1], network.parameters(), strict=True))
