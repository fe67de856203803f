"""An example table held as dense tensors on one device."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import torch
from torch import Tensor

from pencil.errors import PencilError
from pencil.table.columns import Rows, distribution_of, narrow_columns
from pencil.table.initial import initial_label_logits


class ExampleTable:
    """Named columns of one row per example, gathered and scattered by index, saved and loaded together.

    label_logits [n, C] ỹ; given [n] the given class (−1: none) or given_distribution [n, C]; locked, labelled [n];
    anchor, weight [n]; prediction_sum [n, C] and predictions [n] (their count); changed_at, num_changes [n];
    clean [n] where the truth is known. Label rules and methods may add columns of their own.
    """

    own_column: ClassVar[str] = ""
    """A column that only the states of tables of this kind have."""

    def __init__(self, columns: Mapping[str, Tensor]) -> None:
        self.columns = dict(columns)

    @classmethod
    def start(
        cls,
        given_N: Tensor,
        num_classes: int,
        *,
        scale: float,
        distribution_NC: Tensor | None = None,
        trusted_N: Tensor | None = None,
        clean_N: Tensor | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> "ExampleTable":
        """Make the table of a new run from the given labels."""
        hard_NC = distribution_of(given_N, num_classes, dtype)
        shown_NC = hard_NC if distribution_NC is None else distribution_NC.to(dtype)
        columns = narrow_columns(given_N, shown_NC.sum(-1) > 0, trusted_N=trusted_N, clean_N=clean_N, dtype=dtype)
        columns["label_logits"] = initial_label_logits(shown_NC, scale)
        columns["prediction_sum"] = torch.zeros_like(columns["label_logits"])
        if distribution_NC is not None:
            columns["given_distribution"] = shown_NC
        return cls(columns)

    def __len__(self) -> int:
        return len(self.columns["given"])

    @property
    def num_classes(self) -> int:
        return self.columns["label_logits"].shape[1]

    @property
    def dtype(self) -> torch.dtype:
        """Type of the labels' numbers."""
        return self.columns["weight"].dtype

    def gather(self, index_B: Tensor) -> Rows:
        """Return the rows of these examples, column by column."""
        return {name: column.index_select(0, index_B) for name, column in self.columns.items()}

    def scatter(self, index_B: Tensor, rows: Rows) -> None:
        """Write rows back; an index occurs once in a batch, so the order of writes does not matter."""
        for name, values in rows.items():
            self.columns[name].index_copy_(0, index_B, values)

    def assign(self, index_B: Tensor, label_logits_BC: Tensor) -> None:
        """Give examples other label logits, before training starts."""
        self.scatter(index_B, {"label_logits": label_logits_BC})

    def lock(self, index_B: Tensor, class_B: Tensor, *, scale: float) -> None:
        """Give examples a label that is known to be right and never moves, before training starts."""
        given_BC = distribution_of(class_B, self.num_classes, self.dtype)
        self.assign(index_B, initial_label_logits(given_BC, scale))
        yes_B = torch.ones_like(index_B, dtype=torch.bool)
        self.scatter(index_B, {"given": class_B.to(torch.int32), "locked": yes_B, "labelled": yes_B})
        if "given_distribution" in self.columns:
            self.scatter(index_B, {"given_distribution": given_BC})

    def start_epoch(self, batches: Sequence[Tensor], *, moves: bool) -> None:
        """Learn which rows the coming steps need and whether labels will move; here all rows are at hand."""

    def stage(self) -> None:
        """Bring in the next step's rows; called on the host before each step."""

    def collect(self) -> None:
        """Take away the last step's changed rows; called on the host after each step."""

    def settle(self) -> None:
        """Wait until every change is where it belongs."""

    def before_save(self) -> None:
        """Get ready for a checkpoint."""

    def after_save(self) -> None:
        """A checkpoint is on disk."""

    def ensure(self, name: str, shape: tuple[int, ...], dtype: torch.dtype) -> None:
        """Add a column of zeros where it is not there yet."""
        if name not in self.columns:
            device = self.columns["given"].device
            self.columns[name] = torch.zeros(len(self), *shape, dtype=dtype, device=device)

    def distributions(self, rows: slice = slice(None)) -> Tensor:
        """Return y^d of all examples, or of a slice of them."""
        return self.columns["label_logits"][rows].softmax(-1)

    def state(self) -> dict[str, Tensor]:
        """Return all columns, for a checkpoint."""
        return dict(self.columns)

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Take over the columns of a checkpoint, in place."""
        for name, saved in state.items():
            here = self.columns.get(name)
            if here is None:
                self.columns[name] = saved.to(self.columns["given"].device)
            elif here.shape != saved.shape or here.dtype != saved.dtype:
                raise PencilError(
                    f"the checkpoint's column {name} is {saved.dtype} {tuple(saved.shape)}, this run's "
                    f"{here.dtype} {tuple(here.shape)}; resume with the data and precision the run was started with."
                )
            else:
                here.copy_(saved)
