"""scikit-learn's own checks of an estimator, every one of them."""

from collections.abc import Callable

from sklearn.utils.estimator_checks import parametrize_with_checks

from pencil import PencilClassifier

QUICK = PencilClassifier(
    epochs=(6, 4, 2), device="cpu", random_state=0, settings={"backbone_options": {"hidden": 32, "depth": 1}}
)


@parametrize_with_checks([QUICK])
def test_scikit_learn_accepts_it(estimator: PencilClassifier, check: Callable[[PencilClassifier], None]) -> None:
    check(estimator)
