"""PencilClassifier: what it learns, which data it takes, and how it lives among scikit-learn's tools."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pencil import PencilClassifier, PencilError

SMALL = {"backbone_options": {"hidden": 32, "depth": 1}}


def quick(**parameters: Any) -> PencilClassifier:
    return PencilClassifier(**{"epochs": 12, "random_state": 0, "settings": SMALL, "device": "cpu"} | parameters)


@pytest.fixture(scope="module")
def noisy() -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Three clouds of points; of 300 labels every fifth is wrong."""
    x, y = make_blobs(300, centers=3, n_features=4, random_state=1)
    wrong = y.copy()
    wrong[::5] = (y[::5] + 1) % 3
    return x, wrong, y


@pytest.fixture(scope="module")
def fitted(noisy: Any) -> PencilClassifier:
    return quick(epochs=40).fit(noisy[0], noisy[1])


def test_wrong_labels_are_corrected_and_told_apart(fitted: PencilClassifier, noisy: Any) -> None:
    x, wrong, truth = noisy
    assert (fitted.corrected_labels_ == truth).mean() > 0.95 > 0.8 == (wrong == truth).mean()
    assert fitted.score(x, truth) > 0.95
    assert fitted.label_quality_[::5].max() < np.delete(fitted.label_quality_, np.s_[::5]).mean()
    assert fitted.label_distributions_.shape == (300, 3)
    np.testing.assert_allclose(fitted.label_distributions_.sum(1), 1, atol=1e-5)
    assert fitted.summary_["num_changed"] == (fitted.corrected_labels_ != wrong).sum()
    assert fitted.summary_["num_examples"] == 300, "all examples are trained on"


@pytest.mark.parametrize("names", [["b", "c", "a"], [-1, 7, 3], [True, False, False], [2.0, 0.0, 1.0]], ids=str)
def test_classes_come_back_as_they_were_given(noisy: Any, names: list[Any]) -> None:
    x, wrong, _ = noisy
    y = np.array(names)[wrong]
    model = quick(epochs=3).fit(x, y)
    assert model.classes_.tolist() == sorted(set(names))
    for found in (model.predict(x), model.corrected_labels_):
        assert found.dtype == y.dtype
        assert set(found) <= set(names)
    assert model.predict_proba(x).shape == (300, len(set(names)))


def test_tensors_and_lists_are_taken_like_arrays(noisy: Any) -> None:
    x, y, _ = noisy
    expected = quick(epochs=3).fit(x, y).predict_proba(x)
    graph = torch.tensor(x, requires_grad=True)
    np.testing.assert_array_equal(quick(epochs=3).fit(graph, torch.tensor(y)).predict_proba(graph), expected)
    np.testing.assert_array_equal(quick(epochs=3).fit(x.tolist(), y.tolist()).predict_proba(x.tolist()), expected)


def test_data_frames_keep_their_column_names(noisy: Any) -> None:
    pandas = pytest.importorskip("pandas")
    x, y, _ = noisy
    frame = pandas.DataFrame(x, columns=list("abcd"))
    model = quick(epochs=3).fit(frame, pandas.Series(y))
    assert model.feature_names_in_.tolist() == list("abcd")
    np.testing.assert_array_equal(model.predict_proba(frame), quick(epochs=3).fit(x, y).predict_proba(x))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a", "c", "d"]])


def test_predictions_for_cleanlab_come_with_the_fit(fitted: PencilClassifier, noisy: Any) -> None:
    pytest.importorskip("cleanlab")
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores

    _, wrong, truth = noisy
    pred_probs = fitted.pred_probs_
    assert pred_probs.shape == (300, 3)
    np.testing.assert_allclose(pred_probs.sum(1), 1, atol=1e-5)
    found = find_label_issues(wrong, pred_probs)
    assert found[wrong != truth].mean() > 0.9 and found[wrong == truth].mean() < 0.1
    scores = get_label_quality_scores(wrong, pred_probs)
    assert scores[wrong != truth].max() < np.median(scores[wrong == truth])


def test_predictions_for_cleanlab_keep_the_order_of_the_examples(noisy: Any) -> None:
    x, wrong, truth = noisy
    model = quick(epochs=20, settings={**SMALL, "data": {"held_out": 0.3}}).fit(x, wrong)
    assert (model.pred_probs_.argmax(1) == truth).mean() > 0.9


def test_it_lives_in_pipelines_and_searches(noisy: Any) -> None:
    x, y, truth = noisy
    pipeline = make_pipeline(StandardScaler(), quick())
    assert cross_val_score(pipeline, x, y, cv=3).mean() > 0.6, "judged by labels of which 0.8 are right"
    search = GridSearchCV(
        pipeline, {"pencilclassifier__method": ["pencil", "cross_entropy"]}, cv=2, error_score="raise"
    )
    assert search.fit(x, y).score(x, truth) > 0.8
    assert clone(search.best_estimator_).get_params()["pencilclassifier__epochs"] == 12


def test_a_pickle_keeps_network_and_labels(fitted: PencilClassifier, noisy: Any) -> None:
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(noisy[0]), fitted.predict_proba(noisy[0]))
    np.testing.assert_array_equal(again.corrected_labels_, fitted.corrected_labels_)


def test_the_same_seed_gives_the_same_network_and_leaves_others_random_numbers(noisy: Any) -> None:
    x, y, _ = noisy
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    one, other, unlike = (quick(epochs=2, random_state=seed).fit(x, y).predict_proba(x) for seed in (1, 1, 2))
    assert torch.equal(torch.rand(3), expected)
    assert np.array_equal(one, other)
    assert not np.array_equal(one, unlike)


def test_trainings_in_threads_do_not_share_random_numbers(noisy: Any) -> None:
    x, y, _ = noisy
    alone = [quick(epochs=6, random_state=seed).fit(x, y).predict_proba(x) for seed in range(3)]
    before = torch.get_rng_state()
    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(lambda seed: quick(epochs=6, random_state=seed).fit(x, y).predict_proba(x), range(3)))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(np.array_equal(one, other) for one, other in zip(alone, together, strict=True))


def test_verbose_prints_lines(noisy: Any, capsys: pytest.CaptureFixture[str]) -> None:
    x, y, _ = noisy
    quick(epochs=(2, 1, 1)).fit(x, y)
    assert capsys.readouterr().out == ""
    quick(epochs=(2, 1, 1), verbose=2).fit(x, y)
    lines = [line for line in capsys.readouterr().out.splitlines() if "epoch" in line]
    assert [line.split(": ")[0] for line in lines] == [
        f"[PencilClassifier] phase {name}, epoch {number}/4"
        for number, name in enumerate(["backbone", "backbone", "labels", "tuning"], start=1)
    ]
    assert "given labels" in lines[-1] and "changed" in lines[-1]


@pytest.mark.parametrize("layout", ["grey", "last", "first", "unit", "tensor"])
def test_images_get_a_convolutional_network(layout: str) -> None:
    digits = load_digits()
    pixels, y = (digits.images[:200] * 15).astype(np.uint8), digits.target[:200]
    x: Any = {
        "grey": pixels,
        "last": pixels[..., None],
        "first": np.repeat(pixels[:, None], 3, axis=1),
        "unit": pixels / 255,
        "tensor": torch.tensor(pixels[:, None]),
    }[layout]
    model = quick(epochs=(8, 1, 4), settings={"data": {"augment": {"flip": False}}, "backbone_options": {"width": 8}})
    assert model.fit(x, y).score(x, y) > 0.5
    assert any(isinstance(part, torch.nn.Conv2d) for part in model.model_.modules())
    # One dark image alone is read on the scale of those it was fitted on.
    dark = x[:1] * 0
    np.testing.assert_allclose(model.predict_proba(dark), model.predict_proba(np.concatenate([dark, x]))[:1], atol=1e-5)


class Reader(torch.nn.Module):
    """Looks numbers up, and adds what it finds."""

    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(9, 2)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.words(tokens).sum(1)
        return found


@pytest.mark.parametrize("backbone", [Reader(), lambda spec, num_classes: Reader()], ids=["network", "function"])
def test_tokens_go_to_a_network_as_they_are(backbone: Any) -> None:
    random = np.random.default_rng(0)
    truth = np.arange(200) % 2
    tokens = np.stack([truth, *random.integers(2, 9, (3, 200))], axis=1)
    given = np.where(random.random(200) < 0.2, 1 - truth, truth)
    model = clone(quick(backbone=backbone, raw=True, settings=None, epochs=40)).fit(tokens, given)
    assert (model.corrected_labels_ == truth).mean() > 0.95 > (given == truth).mean()
    assert (model.predict(tokens) == truth).mean() > 0.95
    with pytest.raises(ValueError, match="X holds floats, but the classifier was fitted on whole numbers"):
        model.predict(tokens / 2)
    with pytest.raises(ValueError, match="rows with standardised numbers"):
        quick(backbone=backbone, settings=None).fit(tokens, given)


@pytest.mark.parametrize(
    ("given", "asked", "message"),
    [("bytes", "unit", "same scale"), ("unit", "bytes", "same scale"), ("bytes", "wide", "examples of shape")],
)
def test_images_on_another_scale_are_refused(given: str, asked: str, message: str) -> None:
    bytes_ = np.random.default_rng(0).integers(0, 255, (40, 8, 8), dtype=np.uint8)
    images = {"bytes": bytes_, "unit": bytes_ / 255, "wide": np.zeros((2, 8, 9), dtype=np.uint8)}
    model = quick(epochs=1, settings=None).fit(images[given], np.arange(40) % 2)
    with pytest.raises(ValueError, match=message):
        model.predict(images[asked])


def test_settings_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match=r"settings is 'a'; give a dict, e\.g\. \{'optimizer'"):
        quick(settings="a").fit(np.zeros((4, 2)), [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"seed": 3}, "settings has seed, which is the parameter random_state; give it there"),
        ({"backbone": "small_cnn"}, "settings has backbone, which is the parameter backbone"),
        ({"hardware": {"threads": 1, "precision": "64-true"}}, "settings has hardware.precision, .* precision; give"),
    ],
)
def test_settings_that_are_parameters_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        quick(settings=settings, epochs=1).fit(np.arange(16.0).reshape(8, 2), [0, 1] * 4)


def test_a_fit_that_fails_leaves_what_was_learned_before(noisy: Any) -> None:
    x, y, _ = noisy
    model = quick(epochs=2).fit(x, np.array(["a", "b", "c"])[y])
    before = model.predict(x)
    with pytest.raises(ValueError, match="no method"):
        model.set_params(method="nonsense").fit(x, np.array(["p", "q", "r"])[y])
    assert np.array_equal(model.predict(x), before)


@pytest.mark.parametrize("again", ["fewer columns", "other names"])
def test_a_fit_that_fails_leaves_the_columns_of_the_one_before(noisy: Any, again: str) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(noisy[0], columns=list("abcd"))
    model = quick(epochs=2).fit(frame, noisy[1])
    before = model.predict(frame)
    with pytest.raises(ValueError, match="no method"):
        model.set_params(method="nonsense").fit(
            frame[["a", "b"]] if again == "fewer columns" else frame.rename(columns=str.upper), noisy[1]
        )
    assert np.array_equal(model.predict(frame), before)
    assert model.n_features_in_ == 4 and list(model.feature_names_in_) == list("abcd")


def test_masked_values_are_refused(noisy: Any, fitted: PencilClassifier) -> None:
    x, y, _ = noisy
    hidden = np.ma.array(x, mask=x > 5)
    with pytest.raises(ValueError, match="X has masked values; fill them in, or leave out their rows"):
        quick().fit(hidden, y)
    with pytest.raises(ValueError, match=r"y has masked values; .*leave out their rows"):
        quick().fit(x, np.ma.array(y, mask=y == 0))
    with pytest.raises(ValueError, match="X has masked values"):
        fitted.predict(hidden)
    assert np.array_equal(fitted.predict(np.ma.array(x)), fitted.predict(x))


def test_values_may_be_missing_but_not_infinite(noisy: Any) -> None:
    x, y, _ = noisy
    gaps = np.where(np.random.default_rng(0).random(x.shape) < 0.1, np.nan, x)
    model = quick(epochs=2).fit(gaps, y)
    assert model.predict(gaps[:5]).shape == (5,) and np.isfinite(model.predict_proba(gaps)).all()
    for wrong in (np.full_like(x, np.inf), np.where(np.isnan(gaps), -np.inf, x)):
        with pytest.raises(ValueError, match="infinity"):
            quick().fit(wrong, y)
        with pytest.raises(ValueError, match="infinity"):
            model.predict(wrong)


def test_digits_that_32_bits_would_lose_are_told_of(noisy: Any) -> None:
    late = noisy[0] + [0, 1.7e9, 0, 0]
    with pytest.raises(ValueError, match=r"column 2 varies by [\d.]+ around [\d.]+, which 32 bits"):
        quick(epochs=3).fit(late, noisy[1])
    make_pipeline(StandardScaler(), quick(epochs=3)).fit(late, noisy[1])


@pytest.mark.parametrize(
    ("shape", "more"), [((30, 8, 8), {}), ((30, 5), {"raw": True, "backbone": torch.nn.Linear(5, 2)})]
)
def test_of_images_and_raw_inputs_nothing_may_be_missing(shape: tuple[int, ...], more: dict[str, Any]) -> None:
    x = np.random.default_rng(0).random(shape)
    x[3, 3] = np.nan
    with pytest.raises(ValueError, match=r"NaN|missing"):
        quick(epochs=1, settings=None, **more).fit(x, np.arange(30) % 2)


def test_images_beyond_any_scale_are_refused_at_fit() -> None:
    deep = np.random.default_rng(0).integers(0, 65_536, (40, 8, 8), dtype=np.uint16)
    with pytest.raises(ValueError, match=r"image values reach to 65\d+; give 0 to 255 or 0 to 1"):
        quick(epochs=1, settings=None).fit(deep, np.arange(40) % 2)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"method": "pencl"}, 'Did you mean "pencil"'),
        ({"recipe": "none"}, "no recipe"),
        ({"backbone": "small_cnn"}, "takes images"),
        ({"epochs": 0}, "at least 1"),
        ({"epochs": (1, 2)}, "3 phases"),
        ({"settings": {"optimiser": {}}}, "optimizer"),
        ({"device": "abacus"}, "no device"),
        ({"random_state": -1}, "random_state|seed|between"),
    ],
)
def test_wrong_parameters_are_value_errors_at_fit(noisy: Any, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        quick(**{"settings": None} | parameters).fit(noisy[0], noisy[1])
    assert "random_state" in parameters or isinstance(caught.value, PencilError)


def test_a_device_may_be_torchs_own(noisy: Any) -> None:
    fitted = quick(device=torch.device("cpu"), epochs=3).fit(noisy[0], noisy[1])
    assert fitted.predict(noisy[0]).shape == (len(noisy[0]),)


def test_missing_labels_are_scikit_learns_error(noisy: Any) -> None:
    x, y, _ = noisy
    with pytest.raises(ValueError, match="NaN"):
        quick().fit(x, np.where(y == 0, np.nan, y))
    with pytest.raises(ValueError, match="Unknown label type"):
        quick().fit(x, x[:, 0])
