"""What methods share that are told the transition matrix."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from pencil.errors import PencilError
from pencil.methods._contract import Known
from pencil.methods._once import TrainedOnce
from pencil.transition import check_transition, read_transition


@dataclass(frozen=True, kw_only=True)
class TransitionOptions:
    """Where the matrix comes from."""

    transition: str = ""
    """T from a file, FILE.npy or FILE.csv, true classes in rows; without one it is that of the injected noise."""


class GivenTransition(TrainedOnce):
    """Trains once, with T, T_ij = P(ŷ = j | y = i), from a file or of the injected noise."""

    Options: ClassVar[type] = TransitionOptions

    def __init__(self, options: Mapping[str, Any], num_classes: int) -> None:
        super().__init__(options, num_classes)
        self.register_buffer("matrix", self.prepare_matrix(torch.eye(num_classes, dtype=torch.float64)))
        self.matrix: Tensor

    def inform(self, known: Known) -> None:
        transition = self._from_file() if self.options.transition else known.transition
        if transition is None:
            raise PencilError(
                "this method must be told the transition matrix, which is known only of injected noise (--noise); "
                "give --set transition=FILE.npy, or take forward_estimated, which estimates it."
            )
        self.matrix.copy_(self.prepare_matrix(transition))

    def _from_file(self) -> Tensor:
        path = Path(self.options.transition)
        if not path.is_file():
            wrong = "a folder" if path.is_dir() else "which does not exist"
            raise PencilError(f"options.transition is {path}, {wrong}; give FILE.npy or FILE.csv.")
        transition = read_transition(path)
        check_transition(transition, self.num_classes, f"the transition matrix in {path}")
        return torch.from_numpy(transition)

    def prepare_matrix(self, transition_CC: Tensor) -> Tensor:
        """Return the matrix that the loss needs of T, or refuse T."""
        raise NotImplementedError
