"""Where a step's raw inputs come from: held on the device, or streamed to it batch by batch.

Either way they arrive as the rows of the same index, so both give the same training.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from pencil.data.dataset import Inputs


class Feed(Protocol):
    """Raw inputs of training batches."""

    def start_epoch(self, batches: Sequence[Tensor]) -> None:
        """Learn which examples the coming steps need, as index tensors on the CPU."""

    def stage(self) -> None:
        """Bring in the next step's inputs; called on the host before each step."""

    def raw(self, index_B: Tensor) -> Tensor:
        """Return the raw inputs of this step's examples, on the device."""
        ...


class ResidentFeed:
    """All inputs held on the device; nothing crosses the bus within an epoch."""

    def __init__(self, inputs: Inputs, device: torch.device) -> None:
        assert inputs.array is not None
        self.inputs = _tensor(np.ascontiguousarray(inputs.array)).to(device)

    def start_epoch(self, batches: Sequence[Tensor]) -> None:
        """Nothing to prepare."""

    def stage(self) -> None:
        """Nothing to bring in."""

    def raw(self, index_B: Tensor) -> Tensor:
        return self.inputs.index_select(0, index_B)


class StreamingFeed:
    """Inputs read by worker processes (or here) and copied to the device while the last step still computes."""

    def __init__(self, inputs: Inputs, device: torch.device, batch_size: int, workers: int) -> None:
        self.inputs, self.device, self.workers = inputs, device, workers
        example = _tensor(inputs.read(np.zeros(1, dtype=np.int64)))
        # One buffer that never moves: a captured step reads it wherever it was when captured.
        self.buffer = torch.zeros(batch_size, *example.shape[1:], dtype=example.dtype, device=device)
        self.coming: Iterator[Tensor] = iter(())
        self.left = 0

    def start_epoch(self, batches: Sequence[Tensor]) -> None:
        loader = DataLoader(
            _Batches(self.inputs, batches),
            batch_size=None,
            num_workers=self.workers,
            pin_memory=self.device.type == "cuda",
            # A generator of its own: the loader's seed must not be drawn from the network's random numbers.
            generator=torch.Generator(),
        )
        self.coming, self.left = iter(loader), len(batches)

    def stage(self) -> None:
        batch = next(self.coming)
        self.buffer[: len(batch)].copy_(batch, non_blocking=True)
        self.left -= 1
        if not self.left:
            self.coming = iter(())  # Its workers end with it; the garbage collector would wait for each of them.

    def raw(self, index_B: Tensor) -> Tensor:
        return self.buffer[: len(index_B)]


class _Batches(Dataset[Tensor]):
    def __init__(self, inputs: Inputs, batches: Sequence[Tensor]) -> None:
        self.inputs, self.batches = inputs, batches

    def __len__(self) -> int:
        return len(self.batches)

    def __getitem__(self, number: int) -> Tensor:
        if number >= len(self.batches):
            raise IndexError(number)
        return _tensor(self.inputs.read(self.batches[number].numpy()))


def _tensor(array: Any) -> Tensor:
    if not array.flags.writeable:
        array = array.copy()
    return torch.from_numpy(array)
