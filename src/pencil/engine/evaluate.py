"""Predictions of a network over a whole set of examples."""

import math
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

from pencil.data.dataset import Inputs
from pencil.data.transforms.augment import Prepare
from pencil.engine.feed import ResidentFeed
from pencil.runtime import ALONE, Precision, Processes

COLDNESS = (1 / 64, 4.0)
"""Inverse temperatures that are looked at."""
HALVINGS = 12


class Evaluator:
    """Inputs of one set of examples, held on the device where they fit, and their prepared batches."""

    def __init__(
        self,
        inputs: Inputs,
        prepare: Prepare,
        precision: Precision,
        device: torch.device,
        *,
        resident: bool,
        processes: Processes = ALONE,
        held: Tensor | None = None,
    ) -> None:
        self.inputs, self.prepare, self.precision, self.device = inputs, prepare, precision, device
        self.processes = processes
        # What training already holds on the device is not held there twice.
        self.held = ResidentFeed(inputs, device).inputs if resident and held is None else held
        # Large enough to fill a GPU with small images, small enough for the memory with photographs.
        values = int(np.prod(prepare.preparation.raw_shape))
        share = -(-len(inputs) // processes.count)
        self.batch = max(1, min(2_000, 2**23 // max(values, 1), share))
        self.part = self.batch
        """Examples that go through the network at once; less than a batch once memory ran out."""

    @torch.no_grad()
    def logits(self, model: nn.Module) -> Tensor:
        """Return the network's outputs for all examples, in order."""
        was_training = model.training
        model.eval()
        starts = range(0, len(self.inputs), self.batch)
        if self.processes.count == 1:
            whole = torch.cat([self._outputs(model, start) for start in starts])
        else:
            whole = self._shared_outputs(model, starts)
        model.train(was_training)
        return whole

    @torch.no_grad()
    def blocks(self, model: nn.Module) -> Iterator[tuple[slice, Tensor]]:
        """Yield the outputs block by block, computed by this process alone."""
        model.eval()
        for start in range(0, len(self.inputs), self.batch):
            outputs = self._outputs(model, start)
            yield slice(start, start + len(outputs)), outputs

    def _outputs(self, model: nn.Module, start: int) -> Tensor:
        inputs = self.precision.of(self.prepare(self._raw(start)))
        while True:
            try:
                with self.precision.forward(self.device):
                    parts = [_of(model, part).to(self.precision.dtype) for part in torch.split(inputs, self.part)]
                return _telling(torch.cat(parts))
            except torch.cuda.OutOfMemoryError:
                if self.part == 1:
                    raise
            self.part = -(-self.part // 2)

    def _shared_outputs(self, model: nn.Module, starts: range) -> Tensor:
        """Compute every k-th part here and add up what the k processes have."""
        mine = {start: self._outputs(model, start) for start in starts[self.processes.rank :: self.processes.count]}
        shape = next(iter(mine.values()), None)
        like = self._outputs(model, 0) if shape is None else shape
        whole_NC = torch.zeros(len(self.inputs), like.shape[1], dtype=like.dtype, device=self.device)
        for start, outputs in mine.items():
            whole_NC[start : start + len(outputs)] = outputs
        self.processes.sum(whole_NC)
        return whole_NC

    def _raw(self, start: int) -> Tensor:
        stop = min(start + self.batch, len(self.inputs))
        if self.held is not None:
            return self.held[start:stop]
        return torch.from_numpy(np.array(self.inputs.read(np.arange(start, stop)))).to(self.device)


def _of(model: nn.Module, inputs: Tensor) -> Tensor:
    """Return the outputs of a network; one that squeezes takes an example alone for none, and sees it twice."""
    outputs: Tensor = model(inputs)
    return outputs if outputs.dim() == 2 else model(torch.cat([inputs, inputs]))[:1]


def _telling(logits_NC: Tensor) -> Tensor:
    """Return outputs; where they are not finite the network tells nothing, and all classes are alike.

    Training leaves such examples out. Here one of them would spoil every mean, and what is learned from it.
    """
    return torch.where(logits_NC.isfinite().all(-1, keepdim=True), logits_NC, torch.zeros_like(logits_NC))


def accuracy(logits_NC: Tensor, labels_N: Tensor) -> float:
    """Return the percentage of examples whose label is predicted; examples without one don't count."""
    known_N = labels_N >= 0
    hits = ((logits_NC.argmax(-1) == labels_N) & known_N).sum()
    return 100 * hits.item() / max(int(known_N.sum()), 1)


def mean_loss(logits_NC: Tensor, labels_N: Tensor) -> float:
    """Return the mean cross entropy against the labels that are there."""
    return float(nn.functional.cross_entropy(logits_NC.float(), labels_N.long(), ignore_index=-1))


def least_loss(logits_NC: Tensor, labels_N: Tensor) -> float:
    """Return the mean cross entropy at the temperature at which it is lowest: without what overconfidence adds."""
    known_N = labels_N >= 0
    logits_NC, labels_N = logits_NC.float()[known_N], labels_N.long()[known_N]
    right_N = logits_NC.gather(1, labels_N[:, None]).squeeze(1)
    # By the inverse temperature the loss is convex: it falls where the logits expected are below those of the labels.
    low, high = COLDNESS
    for _ in range(HALVINGS):
        middle = math.sqrt(low * high)
        expected_N = ((middle * logits_NC).softmax(-1) * logits_NC).sum(-1)
        if (expected_N - right_N).mean().item() < 0:
            low = middle
        else:
            high = middle
    return mean_loss(math.sqrt(low * high) * logits_NC, labels_N)


def predict(model: nn.Module, inputs: Inputs, prepare: Prepare, precision: Precision, device: torch.device) -> Tensor:
    """Return class probabilities for all examples, on the CPU."""
    evaluator = Evaluator(inputs, prepare, precision, device, resident=False)
    return evaluator.logits(model).softmax(-1).cpu()
