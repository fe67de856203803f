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
        changing = self.changing
        before = [tensor.clone() for tensor in changing]
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            # Compilation, autotuning and lazy initialisation happen here, outside of the capture.
            for _ in range(WARM_UPS):
                step(size)
                _restore(changing, before)
        torch.cuda.current_stream().wait_stream(stream)
        with torch.cuda.graph(self.graph):
            step(size)
        # Capturing runs nothing on the device, but the host-side generators may have moved.
        _restore(changing, before)

    def __call__(self) -> None:
        self.graph.replay()


@torch.no_grad()
def _restore(tensors: list[Tensor], values: list[Tensor]) -> None:
    for tensor, value in zip(tensors, values, strict=True):
        tensor.copy_(value)
