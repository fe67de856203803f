"""Statistics are those of NumPy over the whole, whatever the chunks."""

import tracemalloc

import numpy as np
import pytest
import torch

from pencil.data import ArrayInputs, Preparation, spaced
from pencil.data.transforms import statistics
from pencil.data.transforms.augment import Prepare
from pencil.errors import PencilError


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(spaced, "_CHUNK_BYTES", 1000)


def test_rows_far_from_zero_keep_their_precision():
    rows = (1e4 + np.random.default_rng(0).normal(size=(999, 3))).astype(np.float32)
    mean, std, *_ = statistics.measure(ArrayInputs(rows), "rows")
    np.testing.assert_allclose(mean, rows.astype(np.float64).mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(std, rows.astype(np.float64).std(axis=0), rtol=1e-9)


def test_what_never_varies_is_divided_by_one():
    assert statistics.measure(ArrayInputs(np.full((9, 2), 3.0, np.float32)), "rows")[1] == (1.0, 1.0)
    assert statistics.measure(ArrayInputs(np.full((9, 4, 4, 1), 7, np.uint8)), "images") == ((7.0,), (1.0,), (), ())


def test_levels_of_one_column_weigh_as_one_feature():
    rng = np.random.default_rng(0)
    levels = np.eye(4)[rng.choice(4, 999, p=(0.6, 0.3, 0.09, 0.01))]
    rows = np.concatenate([rng.normal(5, 3, (999, 1)), levels, np.full((999, 1), 2.0)], axis=1).astype(np.float32)
    mean, std, *_ = statistics.measure(ArrayInputs(rows), "rows", levels=[[1, 2, 3, 4], [5]])
    seen = (rows - np.array(mean)) / np.array(std)
    np.testing.assert_allclose([seen[:, :1].var(0).sum(), seen[:, 1:5].var(0).sum()], 1, rtol=1e-5)
    assert len(set(std[1:5])) == 1 and std[5] == 1.0, "a text that is rare is no larger than others"


def test_of_large_data_evenly_spaced_examples_are_measured(monkeypatch):
    monkeypatch.setattr(statistics, "_READ_BYTES", 3 * 4)
    rows = np.arange(101, dtype=np.float32)[:, None]
    assert statistics.measure(ArrayInputs(rows), "rows")[0] == (50.0,)


def test_infinite_values_are_refused():
    with pytest.raises(PencilError, match=r"column 2 has the value inf"):
        statistics.measure(ArrayInputs(np.array([[0, np.inf]], np.float32)), "rows")


def test_of_skewed_positive_features_the_logarithms_are_measured():
    z = np.random.default_rng(0).normal(size=(5000, 4))
    rows = np.stack([np.exp(2 * z[:, 0]), z[:, 1], -np.exp(z[:, 2] / 2), 9 + z[:, 3]], axis=1).astype(np.float32)
    found = statistics.measure(ArrayInputs(rows), "rows")
    seen = np.concatenate([np.log(rows[:, :1].astype(np.float64)), rows[:, 1:].astype(np.float64)], axis=1)
    np.testing.assert_allclose(found.mean, seen.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(found.std, seen.std(axis=0), rtol=1e-9)
    assert found.least == (float(rows[:, 0].min()), 0, 0, 0)


@pytest.mark.parametrize(
    "column", [np.arange(1, 100), np.r_[np.zeros(60), np.exp(np.arange(40))], np.r_[np.ones(94), np.full(6, 1e6)]],
    ids=["even", "with zeros", "mostly one value"],
)  # fmt: skip
def test_other_features_are_measured_as_they_are(column):
    found = statistics.measure(ArrayInputs(column[:, None].astype(np.float32)), "rows")
    assert (found.least, found.reach) == ((), ())
    assert found.std == pytest.approx((column.std(),), rel=1e-5)


def test_a_slip_of_the_pen_hides_no_other_value():
    rows = np.random.default_rng(0).normal(50, 4, size=(2000, 3))
    rows[7, 0], rows[8, 0], rows[9, 2] = 1e9, -999, np.nan
    found = statistics.measure(ArrayInputs(rows.astype(np.float32)), "rows")
    assert [reach > 0 for reach in found.reach] == [True, False, False]
    preparation = Preparation("rows", (3,), *found[:2], least=found.least, reach=found.reach)
    seen = Prepare(preparation, 0)(torch.from_numpy(rows)).numpy()
    others = np.r_[0:7, 10:2000]
    np.testing.assert_allclose(seen[others].mean(axis=0), 0, atol=0.02)
    np.testing.assert_allclose(seen[others].std(axis=0), 1, rtol=0.05)
    assert seen[7, 0] == pytest.approx(found.reach[0]) and seen[8, 0] == pytest.approx(-found.reach[0])
    assert 7 < found.reach[0] < 9, "five times as far as the farther twentieth, which begins at 1.6 deviations"
    assert seen[9, 2] == 0


def test_heavy_tails_are_cut_whichever_way_they_point():
    tails = np.random.default_rng(0).standard_t(1.5, size=(2000, 2))
    tails[:, 1] = -np.abs(tails[:, 1])
    found = statistics.measure(ArrayInputs(tails.astype(np.float32)), "rows")
    assert min(found.reach) > 0 and (np.array(found.std) < 0.65 * tails.std(axis=0)).all()


def test_logarithms_may_lie_far_from_all_others_too():
    rows = np.exp(2 * np.random.default_rng(0).normal(size=(2000, 1)))
    rows[0] = 1e30
    found = statistics.measure(ArrayInputs(rows.astype(np.float32)), "rows")
    assert found.least == (pytest.approx(rows.min()),)
    assert found.std == (pytest.approx(2, rel=0.03),) and found.reach[0] > 0


def test_what_is_missing_does_not_count():
    rows = np.random.default_rng(0).normal(7, 2, size=(999, 3)).astype(np.float32)
    rows[np.random.default_rng(1).random(rows.shape) < 0.3] = np.nan
    rows[:500, 1] = np.nan
    rows[:, 2] = np.nan
    found = statistics.measure(ArrayInputs(rows), "rows")
    wide = rows[:, :2].astype(np.float64)
    np.testing.assert_allclose(found.mean, [*np.nanmean(wide, axis=0), 0], rtol=1e-12)
    np.testing.assert_allclose(found.std, [*np.nanstd(wide, axis=0), 1], rtol=1e-12)
    assert found.least == ()


def test_rows_without_any_value_are_refused():
    with pytest.raises(PencilError, match="no example has a value"):
        statistics.measure(ArrayInputs(np.full((9, 2), np.nan, dtype=np.float32)), "rows")


def test_skewed_features_may_have_gaps():
    rows = np.exp(2 * np.random.default_rng(0).normal(size=(500, 1))).astype(np.float32)
    rows[::3] = np.nan
    assert statistics.measure(ArrayInputs(rows), "rows").least == (float(np.nanmin(rows)),)


def test_what_is_held_does_not_grow_with_the_rows(monkeypatch):
    monkeypatch.setattr(spaced, "_CHUNK_BYTES", 2**16)
    monkeypatch.setattr(statistics, "_SOME", 100)
    most = []
    for count in (20_000, 80_000):
        inputs = ArrayInputs(np.random.default_rng(0).random((count, 40), dtype=np.float32))
        tracemalloc.start()
        statistics.measure(inputs, "rows")
        most.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert most[1] < most[0] + 2**20, "a view of each chunk would hold 9 MiB more"


@pytest.mark.parametrize(("values", "most"), [(2**24, 150), (30 * 40, 60), (30 * 5, 15)])
def test_of_many_rows_some_tell_how_far_values_lie(monkeypatch, values, most):
    monkeypatch.setattr(statistics, "_SOME", 100)
    monkeypatch.setattr(statistics, "_SOME_VALUES", values)
    monkeypatch.setattr(statistics, "_FEW", 10)
    looked_at = []

    def nanquantile(sample, *arguments, **more):
        looked_at.append(sample.copy())
        return quantile(sample, *arguments, **more)

    quantile = np.nanquantile
    monkeypatch.setattr(np, "nanquantile", nanquantile)
    rows = np.arange(5003.0)[:, None] + np.zeros(30)
    statistics.measure(ArrayInputs(rows.astype(np.float32)), "rows")
    (sample,) = looked_at
    assert most / 2 < len(sample) <= most
    assert len(np.unique(np.diff(sample[:, 0]))) == 1 and sample[0, 0] == 0, "evenly spaced, across all chunks"
