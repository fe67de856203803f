"""The estimate of time comes from the last benchmark of the same network, or is not made."""

from pathlib import Path

import pytest

from pencil.reproduce.choice import choose
from pencil.reproduce.estimate import describe, duration, last_benchmark, read_benchmarks
from pencil.reproduce.speed import speed
from pencil.reproduce.studies import STUDIES
from pencil.reproduce.trial import Wanted, plan_trials
from pencil.results.documents import write_json


def _bench(reference: Path, name: str, **fields: object) -> None:
    (reference / "bench").mkdir(exist_ok=True)
    write_json(reference / "bench" / f"{name}.json", fields)


def test_the_last_benchmark_of_the_backbone(tmp_path: Path) -> None:
    _bench(tmp_path, "b", images_per_second=40_000, backbone="preact_resnet32", date="2020-01-02")
    _bench(tmp_path, "c", images_per_second=30_000, backbone="preact_resnet32", date="2020-01-01")
    _bench(tmp_path, "d", images_per_second=20_000, backbone="resnet34", date="2020-01-03")
    _bench(tmp_path, "e", seconds={"start": 1})
    found = last_benchmark(tmp_path, "preact_resnet32")
    assert found is not None and found.images_per_second == 40_000
    assert last_benchmark(tmp_path, "resnet50") is None


def test_time_is_epochs_times_images_over_speed(tmp_path: Path) -> None:
    _bench(tmp_path, "b", images_per_second=40_000, backbone="preact_resnet32")
    trials = plan_trials(STUDIES["table3"], cells=["symmetric-50"], systems=["pencil"], trials=1, wanted=Wanted())
    # 320 · 45,000 / 40,000 = 360 s
    assert "About 6 min" in describe(trials, trials, tmp_path, 1)
    assert "recorded" in describe(trials, [], tmp_path, 1)


def test_several_at_a_time_are_told_where_they_were_measured(tmp_path: Path) -> None:
    rates = {"2 runs at once, together": 60_000, "4 runs at once, together": 80_000, "eager": 1}
    _bench(tmp_path, "b", images_per_second=40_000, backbone="preact_resnet32", rates=rates)
    trials = plan_trials(STUDIES["table3"], cells=["symmetric-50"], systems=["pencil"], trials=4, wanted=Wanted())
    assert "About 24 min one after another" in describe(trials, trials, tmp_path, 1)
    assert "3 at a time: about 16 min, from 60,000 of 2 together" in describe(trials, trials, tmp_path, 3)
    assert "4 at a time: about 12 min, from 80,000 of 4 together" in describe(trials, trials, tmp_path, 4)
    _bench(tmp_path, "b", images_per_second=40_000, backbone="preact_resnet32")
    assert "gain was not measured" in describe(trials, trials, tmp_path, 4)


def test_each_network_is_told_by_its_own_benchmark(tmp_path: Path) -> None:
    _bench(tmp_path, "b", images_per_second=40_000, backbone="preact_resnet32")
    _bench(tmp_path, "c", images_per_second=20_000, backbone="resnet34")
    named = ("table3/pencil/symmetric-50", "table2/pencil/symmetric-40")
    trials = choose(named, trials=1, wanted=Wanted())
    text = describe(trials, trials, tmp_path, 1)
    # 320 · 45,000 images each
    assert "About 6 min one after another, from 40,000 images/s of preact_resnet32" in text
    assert "About 12 min one after another, from 20,000 images/s of resnet34" in text


def test_without_a_benchmark_no_time_is_told(tmp_path: Path) -> None:
    trials = plan_trials(STUDIES["table3"], cells=["symmetric-50"], systems=["pencil"], trials=1, wanted=Wanted())
    text = describe(trials, trials, tmp_path, 1)
    assert "No benchmark of preact_resnet32 is recorded" in text
    assert "70 + 130 + 120" in text and "320" in text


@pytest.mark.parametrize("damage", [{"rates": None}, {"environment": "x"}, {"ratios": []}, {"seconds": {"start": "x"}}])
def test_a_damaged_benchmark_tells_nothing(tmp_path: Path, damage: dict[str, object]) -> None:
    _bench(tmp_path, "b", **{"images_per_second": 40_000, "backbone": "preact_resnet32", "rates": {}} | damage)
    assert last_benchmark(tmp_path, "preact_resnet32") is None
    assert speed(read_benchmarks(tmp_path)) == []


def test_methods_that_are_told_more_have_a_star_here_too(tmp_path: Path) -> None:
    systems, cells = ["forward", "joint_optimization", "pencil"], ["asymmetric-10"]
    for settings, starred in (({}, ["forward"]), ({"options": {"prior_weight": 1.2}}, systems[:2])):
        wanted = Wanted(settings=settings)
        trials = plan_trials(STUDIES["table4"], cells=cells, systems=systems, trials=1, wanted=wanted)
        text = describe(trials, trials, tmp_path, 1)
        assert [name for name in systems if f"table4/{name}/asymmetric-10-seed-0 * " in text] == starred
        assert "uses information that PENCIL does not" in text
        assert "uses information" not in describe(trials[2:], trials, tmp_path, 1)


def test_durations_are_readable() -> None:
    assert [duration(40), duration(720), duration(11_100)] == ["40 s", "12 min", "3 h 05 min"]


def test_a_shorter_run_is_told_what_becomes_of_its_labels(tmp_path: Path) -> None:
    chosen: dict[str, list[str]] = {"cells": ["symmetric-50"]}
    for system, epochs, told in (("pencil", 32, True), ("pencil", 0, False), ("cross_entropy", 32, False)):
        wanted = Wanted(epochs=epochs)
        trials = plan_trials(STUDIES["table3"], **chosen, systems=[system], trials=1, wanted=wanted)
        assert ("in a shorter phase labels move less far" in describe(trials, trials, tmp_path, 1)) == told
