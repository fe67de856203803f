"""PENCIL among scikit-learn's tools, and its predictions for cleanlab: python examples/estimator.py"""

import numpy as np
from cleanlab.filter import find_label_issues
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from pencil import PencilClassifier

x, truth = (array[:600] for array in load_digits(return_X_y=True))
random = np.random.default_rng(0)
noisy = np.where(random.random(len(truth)) < 0.3, random.integers(10, size=len(truth)), truth)

model = make_pipeline(MinMaxScaler(), PencilClassifier(epochs=16, random_state=0))
scores = cross_val_score(model, x, noisy, cv=2)
print(f"cross-validated accuracy, by labels of which some are wrong: {100 * scores.mean():.1f}%")

classifier = model.fit(x, noisy)[-1]
before, after = (100 * np.mean(labels == truth) for labels in (noisy, classifier.corrected_labels_))
print(f"correct labels: {before:.1f}% given, {after:.1f}% after training")
print("most doubtful examples:", np.argsort(classifier.label_quality_)[:5])

# cleanlab ranks labels by predictions: those of the fit are at hand, those of networks that were not trained on an
# example cost several trainings.
for name, pred_probs in (
    ("of the fit", classifier.pred_probs_),
    ("out of sample", cross_val_predict(model, x, noisy, cv=2, method="predict_proba")),
):
    found = find_label_issues(noisy, pred_probs)
    print(f"by predictions {name} cleanlab finds {found.sum()} issues, {np.mean((noisy != truth)[found]):.0%} real")
