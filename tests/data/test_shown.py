"""What a person sees of a row."""

import numpy as np

from pencil.data.shown import named_values


def test_a_number_that_is_missing_is_called_so() -> None:
    assert named_values(np.array([1.5, np.nan], np.float32), ["a", "b"]) == [("a", "1.5"), ("b", "missing")]
