"""cleanlab itself takes the exported table, and a run's distributions as predicted probabilities."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from pencil.export.labels import read_labels
from pencil.export.write import export_run
from pencil.results.read import read_run

pytest.importorskip("cleanlab")


def test_cleanlab_trains_on_what_the_table_does_not_doubt(photo_run: Path, tmp_path: Path) -> None:
    from cleanlab.classification import CleanLearning

    export_run(photo_run, "cleanlab", tmp_path / "issues.csv")
    issues = pd.read_csv(tmp_path / "issues.csv")
    given = read_labels(photo_run).whole("given")
    assert issues["is_label_issue"].dtype == bool and issues["given_label"].tolist() == given.tolist()
    inputs = np.random.default_rng(0).normal(size=(len(given), 2))
    learner = CleanLearning(LogisticRegression()).fit(inputs, given, label_issues=issues)
    trusted = ~issues["is_label_issue"].to_numpy()
    assert 0 < trusted.sum() < len(given)
    found = learner.get_label_issues()
    assert found[["is_label_issue", "given_label", "predicted_label", "label_quality"]].equals(
        issues[["is_label_issue", "given_label", "predicted_label", "label_quality"]]
    )
    plain = LogisticRegression().fit(inputs[trusted], given[trusted])
    assert np.allclose(learner.clf.coef_, plain.coef_)


def test_cleanlab_takes_learned_distributions_as_probabilities(photo_run: Path) -> None:
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores

    labels, run = read_labels(photo_run), read_run(photo_run)
    given = labels.whole("given")
    probabilities = np.asarray(run.distributions)
    scores = get_label_quality_scores(given, probabilities)
    assert np.allclose(scores, probabilities[np.arange(len(given)), given])
    assert find_label_issues(given, probabilities).shape == given.shape
