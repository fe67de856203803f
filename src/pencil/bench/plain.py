"""The loop a person would write by hand: PENCIL's label learning in plain PyTorch, 32 bits, nothing captured.

It is what the engine is measured against, and it trains the same thing. Shapes: B examples, C classes.
"""

import time

import torch
from torch import Tensor, nn
from torch.nn.functional import log_softmax, one_hot

from pencil.data.transforms.augment import Prepare


class PlainLoop:
    """Data on the device, labels in one tensor, an optimizer, a for loop."""

    def __init__(self, model: nn.Module, prepare: Prepare, inputs: Tensor, given_N: Tensor, classes: int) -> None:
        self.model, self.prepare, self.inputs = model, prepare, inputs
        self.given_NC = one_hot(given_N, classes).float()
        self.labels_NC = 10 * self.given_NC
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
        self.epoch = torch.zeros(1, dtype=torch.int64, device=inputs.device)

    def run(self, seconds: float, batch_size: int) -> float:
        """Train for a while and return the images per second."""
        synchronise(self.inputs.device)
        started, seen = time.perf_counter(), 0
        while time.perf_counter() - started < seconds:
            order = torch.randperm(len(self.inputs), device=self.inputs.device)
            for index_B in torch.split(order, batch_size):
                self._step(index_B)
                seen += len(index_B)
                if time.perf_counter() - started >= seconds:
                    break
            self.epoch += 1
        synchronise(self.inputs.device)
        return seen / (time.perf_counter() - started)

    def _step(self, index_B: Tensor) -> None:
        labels_BC = self.labels_NC[index_B].requires_grad_()
        logits_BC = self.model(self.prepare(self.inputs[index_B], index_B, self.epoch))
        log_f, log_y = log_softmax(logits_BC, -1), log_softmax(labels_BC, -1)
        classes = logits_BC.shape[1]
        loss = (log_f.exp() * (log_f - log_y)).mean()
        loss = loss - 0.1 * (self.given_NC[index_B] * log_softmax(log_y.exp(), -1)).sum(-1).mean()
        loss = loss - 0.8 / classes * (log_f.exp() * log_f).sum(-1).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        assert labels_BC.grad is not None
        self.labels_NC[index_B] = labels_BC.detach() - 400 * labels_BC.grad


def synchronise(device: torch.device) -> None:
    """Wait until the device has done what was asked of it."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
