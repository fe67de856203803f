"""The default, whole, does what it is for: whatever it is taught to be careful about, it corrects labels."""

import html
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

import pencil
from pencil.report import make_report
from pencil.results.read import read_run
from pencil.results.summary import in_words


def test_most_wrong_labels_of_the_demo_are_corrected() -> None:
    result = pencil.fit(
        "digits", noise="symmetric:0.4", seed=0, device="cpu", settings={"backbone_options": {"width": 16}}
    )
    labels, test = result.summary["label_accuracy"], result.summary["test_accuracy"]
    assert labels["given"] < 67
    assert labels["corrected"] > 95
    assert test["last"] > 95
    assert "caution" not in result.summary


def test_a_network_that_cannot_know_says_so(tmp_path: Path) -> None:
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    blurred = (x + np.random.default_rng(0).normal(0, 16, x.shape)).astype(np.float32)
    result = pencil.fit(blurred, y, seed=0, device="cpu", epochs=(6, 8, 1), out=tmp_path / "run")
    assert result.history[-1]["held_out_accuracy"] < 50 and result.summary["num_changed"]
    rows = result.labels.filter(pc.equal(result.labels["split"], "train"))
    changed = pc.sum(pc.not_equal(rows["given"], rows["corrected"])).as_py()
    assert changed == result.history[-1]["relabelled"], "it has no say in what labels end as"
    words = result.summary["caution"]
    assert ("careful", words) in in_words(result.summary)
    page = html.unescape(make_report(read_run(tmp_path / "run")).html)
    assert words in page and "can be replaced unseen" not in page


def test_labels_of_pure_chance_are_not_corrected_without_a_word() -> None:
    """Equal rows with unlike labels: held-out labels are met by chance alone, and nothing is to be learned."""
    rng = np.random.default_rng(0)
    x, y = np.repeat(rng.normal(size=(20, 4)), 15, axis=0).astype(np.float32), rng.integers(3, size=300)
    result = pencil.fit(x, y, device="cpu")
    assert result.summary["num_changed"], "else another caution speaks"
    assert "nothing shows that the network knows its task" in result.summary.get("caution", "")
    held_out = result.labels.filter(pc.equal(result.labels["split"], "held-out"))
    assert "relabel" not in held_out["decision"].to_pylist()


def test_what_was_only_held_out_is_not_changed_unseen_where_no_label_moved() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(3000) % 10
    x = (rng.normal(size=(3000, 30)) + 1.2 * np.eye(30)[y]).astype(np.float32)
    result = pencil.fit(x, y, seed=0, device="cpu", epochs=(1, 1, 1))
    assert result.history[-1]["held_out_accuracy"] < 60 and not result.history[-1]["relabelled"]
    assert "training moved none of the others" in result.summary["caution"]
    held_out = result.labels.filter(pc.equal(result.labels["split"], "held-out"))
    assert "relabel" not in held_out["decision"].to_pylist() and "review" in held_out["decision"].to_pylist()


def test_the_noise_of_labels_that_only_were_held_out_is_theirs() -> None:
    result = pencil.fit(
        "digits", method="cross_entropy", noise="symmetric:0.4", seed=0, device="cpu", backbone="mlp", epochs=8
    )
    assert 30 < result.summary["estimated_noise_rate"] < 55
