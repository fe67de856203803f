"""label_distributions.safetensors: y^d of every example, in the order of labels.parquet.

Dense [N, C], or, where that would be too large, the K strongest classes of each example: their numbers and their
probabilities. What these leave over is spread evenly over the other classes when it is read.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from pencil.results.arrays import write_arrays
from pencil.results.documents import damaged, missing

DENSE, CLASSES, PROBABILITIES, COUNT = "label_distributions", "top_classes", "top_probabilities", "num_classes"


MOST_CLASSES = 2**24


def write_distributions(path: Path, distributions_NC: NDArray[Any]) -> None:
    """Write dense distributions."""
    write_arrays(path, {DENSE: np.asarray(distributions_NC, dtype=np.float32)})


def write_top(path: Path, classes_NK: NDArray[Any], probabilities_NK: NDArray[Any], num_classes: int) -> None:
    """Write the strongest classes of each example."""
    arrays: dict[str, NDArray[Any]] = {
        CLASSES: np.asarray(classes_NK, dtype=np.int32),
        PROBABILITIES: np.asarray(probabilities_NK, dtype=np.float32),
        COUNT: np.array([num_classes], dtype=np.int64),
    }
    write_arrays(path, arrays)


def read_distributions(path: Path) -> NDArray[np.float32]:
    """Read the whole [N, C] array of label distributions."""
    return read_distribution_rows(path, 0, None)


def read_distribution_rows(path: Path, start: int, stop: int | None) -> NDArray[np.float32]:
    """Read the label distributions of some consecutive rows, without reading the others."""
    try:
        with safe_open(path, framework="np") as file:
            names = set(file.keys())
            if DENSE in names:
                rows: NDArray[np.float32] = file.get_slice(DENSE)[start:stop]
                if rows.ndim != 2 or rows.dtype.kind != "f":
                    raise damaged(path, "its distributions are no rows of numbers")
                return rows
            if not {CLASSES, PROBABILITIES, COUNT} <= names:
                raise damaged(path, f"it holds no {DENSE}")
            classes, shares = (file.get_slice(name)[start:stop] for name in (CLASSES, PROBABILITIES))
            count = int(file.get_tensor(COUNT)[0])
            whole = classes.ndim == 2 and classes.shape == shares.shape and classes.shape[1] <= count <= MOST_CLASSES
            if not whole or (classes.size and not 0 <= classes.min() <= classes.max() < count):
                raise damaged(path, "it names classes that there are none of")
            return spread(classes, shares, count)
    except FileNotFoundError:
        raise missing(path) from None
    except (OSError, SafetensorError, TypeError, IndexError) as error:
        raise damaged(path, error) from error


def spread(classes_NK: NDArray[Any], shares_NK: NDArray[Any], num_classes: int) -> NDArray[np.float32]:
    """Return dense distributions; what the kept classes leave over is shared evenly by the others."""
    others = max(num_classes - classes_NK.shape[1], 1)
    rest_N1 = np.clip(1 - shares_NK.sum(1, keepdims=True), 0, 1) / others
    dense_NC = np.repeat(rest_N1.astype(np.float32), num_classes, axis=1)
    np.put_along_axis(dense_NC, classes_NK.astype(np.int64), shares_NK.astype(np.float32), axis=1)
    return dense_NC
