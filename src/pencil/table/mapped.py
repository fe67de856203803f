"""An example table whose labels live in a file: millions of examples with a thousand classes on any machine.

Rows never touched stay implicit as K·ŷ. The next batches' rows are read ahead and changed rows are written behind by
threads of their own, so that a step only sees two buffers that never move. Shapes: N examples, B of a batch, C classes.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pencil.errors import PencilError
from pencil.table.columns import Rows, narrow_columns
from pencil.table.dense import ExampleTable
from pencil.table.file_rows import FileRows

AHEAD = 4
"""Batches whose rows are read before they are needed."""
OF_THE_FILE = ("generation", "touched", "checksums")
"""Columns that say which state the file is in; a step does not see them."""


class MappedTable(ExampleTable):
    """Narrow columns in memory, labels in a file."""

    own_column = "touched"

    def __init__(
        self, columns: Mapping[str, Tensor], num_classes: int, *, scale: float, folder: Path, batch_size: int
    ) -> None:
        super().__init__(columns)
        self._num_classes, self.scale = num_classes, scale
        given = self.columns["given"]
        self.given_N = given.cpu().numpy()
        like = torch.zeros(0, dtype=self.dtype).numpy()
        self.rows = FileRows(folder, len(given), num_classes, like.dtype)
        self.columns["generation"] = torch.zeros(1, dtype=torch.int64)
        self.columns["touched"] = torch.from_numpy(self.rows.touched)
        self.columns["checksums"] = torch.from_numpy(self.rows.checksums)
        self.incoming = torch.zeros(batch_size, num_classes, dtype=self.dtype, device=given.device)
        self.outgoing = torch.zeros_like(self.incoming)
        self.reader = ThreadPoolExecutor(2, thread_name_prefix="labels-ahead")
        self.writer = ThreadPoolExecutor(1, thread_name_prefix="labels-behind")
        self.coming: deque[tuple[NDArray[np.int64], Future[NDArray[Any]]]] = deque()
        self.batches: Iterator[Tensor] = iter(())
        self.pending: deque[Future[None]] = deque()
        self.present: NDArray[np.int64] | None = None
        self.moves = False

    @classmethod
    def start(  # type: ignore[override]
        cls,
        given_N: Tensor,
        num_classes: int,
        *,
        scale: float,
        folder: Path,
        batch_size: int,
        distribution_NC: Tensor | None = None,
        trusted_N: Tensor | None = None,
        clean_N: Tensor | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> "MappedTable":
        """Make the table of a new run from the given labels."""
        if distribution_NC is not None:
            raise PencilError("soft labels and votes need a table in memory; use --set hardware.table=dense or top.")
        columns = narrow_columns(given_N, given_N >= 0, trusted_N=trusted_N, clean_N=clean_N, dtype=dtype)
        return cls(columns, num_classes, scale=scale, folder=folder, batch_size=batch_size)

    @property
    def num_classes(self) -> int:
        return self._num_classes

    def gather(self, index_B: Tensor) -> Rows:
        """Return the rows of these examples; their labels were brought in by `stage`."""
        narrow = {k: v for k, v in self.columns.items() if k not in OF_THE_FILE}
        rows = {name: column.index_select(0, index_B) for name, column in narrow.items()}
        rows["label_logits"] = self.incoming[: len(index_B)].clone()
        return rows

    def scatter(self, index_B: Tensor, rows: Rows) -> None:
        """Write rows back; labels go out by `collect`."""
        rows = dict(rows)
        # All that goes out is written: a rule that leaves labels alone must not send those of another batch.
        self.outgoing[: len(index_B)].copy_(rows.pop("label_logits", self.incoming[: len(index_B)]))
        super().scatter(index_B, rows)

    def assign(self, index_B: Tensor, label_logits_BC: Tensor) -> None:
        """Give examples other label logits, straight in the file."""
        self.rows.write(index_B.cpu().numpy(), label_logits_BC.cpu().numpy())

    def start_epoch(self, batches: Sequence[Tensor], *, moves: bool) -> None:
        """Learn which rows the coming steps need, and whether they will change."""
        self.settle()
        self.moves = moves
        self.batches = iter(batches)
        self.coming.clear()
        self._read_ahead()

    def stage(self) -> None:
        """Bring in the labels of the next step."""
        self.present, ready = self.coming.popleft()
        rows_BC = torch.from_numpy(ready.result())
        self.incoming[: len(rows_BC)].copy_(_pinned(rows_BC, self.incoming), non_blocking=True)
        self._read_ahead()

    def collect(self) -> None:
        """Take the changed labels of the last step and write them behind it."""
        if not self.moves or self.present is None:
            return
        while len(self.pending) > AHEAD:
            self.pending.popleft().result()
        index, done = self.present, None
        rows_BC = self.outgoing[: len(index)].to("cpu", non_blocking=True, copy=True)
        if self.outgoing.is_cuda:
            done = torch.cuda.Event()  # type: ignore[no-untyped-call]
            done.record()
        self.pending.append(self.writer.submit(self._write, index, rows_BC, done))

    def settle(self) -> None:
        """Wait until all changed labels are in the file."""
        while self.pending:
            self.pending.popleft().result()

    def before_save(self) -> None:
        """Make the file safe; the checkpoint that is written next belongs to the next generation."""
        self.settle()
        self.rows.synchronise()
        self.columns["generation"] += 1

    def after_save(self) -> None:
        """The checkpoint is on disk: from here on it can be rolled back to."""
        self.rows.begin(int(self.columns["generation"].item()))

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Take over the columns of a checkpoint and roll the file back to it."""
        super().load({name: value for name, value in state.items() if name not in OF_THE_FILE[1:]})
        touched, checksums = (state[name].cpu().numpy() for name in OF_THE_FILE[1:])
        self.rows.roll_back(int(state["generation"].item()), touched, checksums)

    def distributions(self, rows: slice = slice(None)) -> Tensor:
        """Return y^d of a slice of the examples, where batches are."""
        self.settle()
        index = np.arange(len(self))[rows]
        return torch.from_numpy(self._rows(index)).to(self.incoming.device).softmax(-1)

    def _rows(self, index_B: NDArray[np.int64]) -> NDArray[Any]:
        rows_BC, touched_B = self.rows.read(index_B)
        implicit = np.flatnonzero(~touched_B & (self.given_N[index_B] >= 0))
        rows_BC[implicit, self.given_N[index_B[implicit]]] = self.scale
        return rows_BC

    def _write(self, index_B: NDArray[np.int64], rows_BC: Tensor, done: Any) -> None:
        if done is not None:
            done.synchronize()
        self.rows.write(index_B, rows_BC.numpy())

    def _read_ahead(self) -> None:
        for batch in islice(self.batches, AHEAD - len(self.coming)):
            index = batch.numpy()
            self.coming.append((index, self.reader.submit(self._rows, index)))


def _pinned(rows: Tensor, like: Tensor) -> Tensor:
    return rows.pin_memory() if like.is_cuda else rows
