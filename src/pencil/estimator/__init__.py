"""PENCIL as a scikit-learn classifier."""

from pencil.estimator.classifier import PencilClassifier

__all__ = ["PencilClassifier"]
