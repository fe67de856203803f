"""Captures a step as one CUDA graph, so that a step costs the host a single launch."""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

WARM_UPS = 3


class CapturedStep:
    """A step of fixed size that replays a graph; `changing` lists every tensor that a step changes."""

    def __init__(self, step: Callable[[int], None], size: int, changing: Iterable[Tensor]) -> None:
        self.graph = torch.cuda.CUDAGraph()
        # A graph remembers addresses, not tensors: whatever the step reads must live as long as the graph.
        self.step, self.changing = step, list(changing)
        # A clone of what has a gradient would keep alive a graph of another stream, and no capture may wait for that.
        before = [tensor.detach().clone() for tensor in self.changing]
        try:
            self._capture(size, before)
        finally:
            # Neither a warm-up nor one that failed half-way may leave a trace: the caller then tries another step.
            torch.cuda.synchronize()
            _restore(self.changing, before)

    def _capture(self, size: int, before: list[Tensor]) -> None:
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            # Compilation, autotuning and lazy initialisation happen here, outside of the capture.
            for _ in range(WARM_UPS):
                self.step(size)
                # The next one must read the same examples: a position past the end is no example.
                _restore(self.changing, before)
        torch.cuda.current_stream().wait_stream(stream)
        with torch.cuda.graph(self.graph):
            self.step(size)

    def __call__(self) -> None:
        self.graph.replay()


@torch.no_grad()
def _restore(tensors: list[Tensor], values: list[Tensor]) -> None:
    for tensor, value in zip(tensors, values, strict=True):
        tensor.copy_(value)
