"""scikit-learn's handwritten digits: 1,797 grey images of 8×8 pixels, inside the package."""

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from pencil.data.dataset import ArrayInputs, Dataset, Examples, Preparation
from pencil.data.request import Request

_TEST_SHARE = 5
_SEED = 0


def read(request: Request) -> Dataset:
    """Give four fifths of each digit for training, one fifth for test, the same ones always."""
    request.check_options("digits", ())
    request.refuse_root("digits are inside the package")
    loaded = load_digits()
    # Pixels count 0 to 16 dark dots of a 4×4 square.
    images = np.round(loaded.images * (255 / 16)).astype(np.uint8)[..., None]
    labels = loaded.target.astype(np.int64)
    ids = np.array([f"digits/{place:04d}" for place in range(len(labels))], dtype=np.str_)
    everything = Examples(ArrayInputs(images), ids, labels, clean=labels)
    test = _choose_test(labels)
    return Dataset(
        name="digits",
        class_names=tuple(str(digit) for digit in range(10)),
        train=everything.take(np.setdiff1d(np.arange(len(labels)), test)),
        test=everything.take(test),
        preparation=Preparation("images", (8, 8, 1), crop=8, pad=1, flip=False),
        default_backbone="small_cnn",
    )


def _choose_test(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    rng = np.random.default_rng(_SEED)
    chosen = [
        rng.choice(members, size=round(len(members) / _TEST_SHARE), replace=False)
        for members in (np.flatnonzero(labels == digit) for digit in range(10))
    ]
    return np.sort(np.concatenate(chosen))
