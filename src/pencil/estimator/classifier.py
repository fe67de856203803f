"""PencilClassifier: scikit-learn's fit and predict, for labels that are partly wrong."""

import copy
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from pencil.backbones import Own
from pencil.config import merge
from pencil.data import from_arrays
from pencil.data.as_given import as_tensors
from pencil.data.tensors import plain
from pencil.estimator.errors import InvalidInput, value_errors
from pencil.estimator.inputs import Scale, readable, refuse_masked
from pencil.estimator.training import probabilities, train
from pencil.run.planning.refuse import refuse_no_group

PARAMETERS = {
    "method": "method",
    "recipe": "recipe",
    "backbone": "backbone",
    "seed": "random_state",
    "hardware.device": "device",
    "hardware.precision": "precision",
}
"""Settings that a classifier has parameters for."""

GAPS = {"ensure_all_finite": "allow-nan"}
"""Values of rows may be missing; those of images and of raw inputs may not, which is said where they are read."""


class PencilClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A neural network that is trained on partly wrong labels and corrects them on the way.

    X holds rows [n, d] or images [n, H, W], [n, H, W, C] or [n, C, H, W] (0 to 255 or 0 to 1), as a NumPy array, a
    torch tensor, a pandas data frame or lists. Rows get a perceptron, images a convolutional network. NaN in rows is a
    value that is missing.

    Parameters
    ----------
    method : name of a method, e.g. "pencil" or "cross_entropy".
    recipe : name of the settings to start from; "auto" suits any data and noise.
    backbone : name of a network, "timm:NAME" or "file.py:factory", a torch.nn.Module whose weights training starts
        from, or a function (spec, num_classes) that makes one; None chooses by the shape of X.
    raw : True where X holds neither rows nor images, but numbers [n, …] of any shape, such as tokens or series, which
        the backbone gets as they are: whole numbers as integers.
    epochs : how long to train: a total that the method's phases share, one number for each phase, or None for the
        recipe's. With a total, labels take larger steps in fewer epochs, so that they can move as far.
    device : "auto" (a GPU for images where there is one, else the CPU), "cpu", "cuda", …, or a torch.device.
    precision : "auto", "32-true", "64-true" or "bf16-mixed".
    random_state : seed or random state that network, order and augmentation follow from.
    verbose : 0 for silence, 1 for a line every few seconds, 2 for a line every epoch.
    settings : further settings, as in a run's config.toml: {"optimizer": {"batch_size": 32}}.

    Attributes
    ----------
    classes_ : [C] the labels as given in y, sorted.
    n_features_in_ : number of columns of X (of images, the length of their first axis).
    label_distributions_ : [n, C] what is believed of each training label, y^d.
    corrected_labels_ : [n] the most probable class of each training example, as in `classes_`.
    label_quality_ : [n] 0 (the given label is surely wrong) to 1 (surely right).
    pred_probs_ : [n, C] the network's predictions for the training examples, averaged over label learning: what
        cleanlab's functions take. The network has seen these examples; cross_val_predict gives predictions of
        networks that have not, at the cost of several trainings.
    model_ : the trained network; it takes prepared inputs.
    summary_ : the run in a few numbers, as in result.json.
    """

    def __init__(
        self,
        method: str = "pencil",
        *,
        recipe: str = "auto",
        backbone: str | Own | None = None,
        raw: bool = False,
        epochs: int | Sequence[int] | None = None,
        device: str | torch.device = "auto",
        precision: str = "auto",
        random_state: Any = None,
        verbose: int = 0,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.method = method
        self.recipe = recipe
        self.backbone = backbone
        self.raw = raw
        self.epochs = epochs
        self.device = device
        self.precision = precision
        self.random_state = random_state
        self.verbose = verbose
        self.settings = settings

    def fit(self, X: Any, y: Any) -> Self:
        """Train on X and its partly wrong labels y."""
        refuse_masked(X=X, y=y)
        noted = copy.copy(self)  # Where this fit fails, the columns of the one before count.
        x, given = validate_data(noted, plain(X), plain(y), dtype="numeric", allow_nd=True, **GAPS)
        check_classification_targets(given)
        encoder = LabelEncoder().fit(given)
        if len(encoder.classes_) < 2:
            raise InvalidInput(f"y has only 1 class ({encoder.classes_[0]}); training needs at least two.")
        scale = None if x.ndim == 2 or self.raw else Scale.of(x)
        with value_errors():
            names = [str(name) for name in encoder.classes_]
            # Rows as they are: it is told of digits that 32 bits would lose.
            inputs = x if scale is None else scale.read(x)
            dataset = from_arrays(inputs, encoder.transform(given), class_names=names, raw=self.raw)
            learned = train(dataset, self._asked(scale), self.epochs, self.verbose)
        # All at the end: where a later fit fails, what was learned before still goes together.
        validate_data(self, plain(X), skip_check_array=True)
        self.classes_, self._shape, self._scale = encoder.classes_, x.shape[1:], scale
        self.model_, self._network_name, self._preparation = learned.model, learned.backbone, learned.preparation
        self.label_distributions_, self.label_quality_ = learned.distributions, learned.quality
        self.pred_probs_ = learned.pred_probs
        self.corrected_labels_ = self.classes_[learned.corrected]
        self.summary_ = learned.summary
        return self

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the probability of each class, [n, C] in the order of `classes_`."""
        check_is_fitted(self)
        refuse_masked(X=X)
        x = validate_data(self, plain(X), dtype="numeric", allow_nd=True, reset=False, **GAPS)
        if x.shape[1:] != self._shape:
            raise InvalidInput(
                f"X has examples of shape {x.shape[1:]}, but the classifier was fitted on {self._shape}."
            )
        with value_errors():
            inputs = self._inputs(x, self._scale)
            if self.raw and (inputs.dtype.kind == "i") != self._preparation.whole:
                kinds = ("whole numbers", "floats") if inputs.dtype.kind == "i" else ("floats", "whole numbers")
                raise InvalidInput(f"X holds {kinds[0]}, but the classifier was fitted on {kinds[1]}; give the same.")
            where = self._device(self._scale)
            return probabilities(self.model_, self._network_name, self._preparation, inputs, where)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each example."""
        shares = self.predict_proba(X)
        classes: NDArray[Any] = self.classes_[np.argmax(shares, axis=1)]
        return classes

    def _inputs(self, x: NDArray[Any], scale: Scale | None) -> NDArray[Any]:
        return as_tensors(x) if self.raw else readable(x, scale)

    def _asked(self, scale: Scale | None) -> dict[str, Any]:
        """Return the parameters as settings; all examples are trained on unless the user keeps some apart."""
        refuse_no_group(self.settings)
        for name in _named_by_parameters(self.settings or {}):
            raise InvalidInput(f"settings has {name}, which is the parameter {PARAMETERS[name]}; give it there.")
        own = {
            "method": self.method,
            "recipe": self.recipe,
            "backbone": self.backbone,
            "seed": self._seed(),
            "hardware": {"device": self._device(scale), "precision": self.precision},
        }
        return dict(merge({"data": {"held_out": 0.0}}, self.settings or {}, own))

    def _device(self, scale: Scale | None) -> str:
        # A step on rows is too small to be worth a GPU; who has wide rows and many of them can ask for one.
        rows = scale is None and not self.raw
        return "cpu" if self.device == "auto" and rows else str(self.device)

    def _seed(self) -> int:
        random = check_random_state(self.random_state)
        # A seed given as a number means the same as on the command line.
        return int(self.random_state if isinstance(self.random_state, Integral) else random.randint(2**31 - 1))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.input_tags.allow_nan = True
        return tags


def _named_by_parameters(settings: Mapping[str, Any]) -> list[str]:
    """Return the settings that there are parameters for: what they say would count, and the settings for nothing."""
    hardware = settings.get("hardware")
    names = [*settings, *(f"hardware.{name}" for name in (hardware if isinstance(hardware, Mapping) else ()))]
    return [name for name in names if name in PARAMETERS]
