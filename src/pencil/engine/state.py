"""All that changes while training: network, optimizer, method, example table, clock and meters."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pencil.config import OptimizerSettings, TeachingSettings
from pencil.engine.average import Average
from pencil.engine.guard import Guard
from pencil.engine.meters import Meters
from pencil.errors import PencilError
from pencil.methods import Method
from pencil.table import ExampleTable, MappedTable


class Clock:
    """Where in training we are, as tensors that a captured step reads and moves."""

    def __init__(self, device: torch.device, examples: int, steps: int) -> None:
        self.epoch = torch.zeros(1, dtype=torch.int64, device=device)
        self.position = torch.zeros(1, dtype=torch.int64, device=device)
        """Examples of this epoch already seen."""
        self.step = torch.zeros(1, dtype=torch.int64, device=device)
        self.order = torch.zeros(examples, dtype=torch.int64, device=device)
        """This epoch's order of the examples."""
        self.rates = torch.zeros(2, steps, dtype=rate_dtype(device), device=device)
        """[learning rate, label step] for each step of the epoch."""
        self.offsets = torch.arange(examples, device=device)


def statistics(network: nn.Module) -> dict[str, Tensor]:
    """Return the running statistics in a network's state; buffers outside of it may be made anew for each batch."""
    kept = network.state_dict().keys()
    return {name: b for name, b in network.named_buffers() if name in kept and b.is_floating_point()}


def rate_dtype(device: torch.device) -> torch.dtype:
    """Return the type of learning rates: the fused update of a GPU reads 32 bits."""
    return torch.float64 if device.type == "cpu" else torch.float32


@dataclass
class State:
    """The state of a run. Everything here is in a checkpoint, or derived from the seed and the clock."""

    model: nn.Module
    method: Method
    table: ExampleTable
    optimizer_settings: OptimizerSettings
    device: torch.device
    steps: int
    teaching: TeachingSettings = TeachingSettings()  # noqa: RUF009 (a frozen record)
    micro_batch: int = 0
    """Examples that go through the network at once, where the memory holds no whole batch; 0: all of a batch."""
    distorted: bool = False
    """Whether the network learns distorted examples by now."""
    clock: Clock = field(init=False)
    meters: Meters = field(init=False)
    lr: Tensor = field(init=False)
    optimizer: torch.optim.SGD = field(init=False)
    spare: dict[str, Tensor] = field(init=False)
    """Copy of the network's running statistics from the start of the epoch."""
    best: dict[str, Tensor] = field(init=False)
    """The weights that did best on the held-out labels, and how well; empty where the method asks for none."""
    average: Average | None = field(init=False)
    guard: Guard | None = field(init=False)

    def __post_init__(self) -> None:
        self.clock = Clock(self.device, len(self.table), self.steps)
        self.meters = Meters(self.device, self.table.num_classes, self.method.most_parts)
        self.lr = torch.zeros((), dtype=rate_dtype(self.device), device=self.device)
        self.optimizer = self._new_optimizer()
        self.spare = {k: b.clone() for k, b in statistics(self.model).items()}
        self.best = {}
        if self.method.keeps_best:
            self.best = {f"model.{k}": v.detach().clone() for k, v in self.model.state_dict().items()}
            self.best["score"] = torch.full((), -inf, dtype=torch.float64, device=self.device)
        epochs = self.teaching.average_epochs
        self.average = Average(self.model, epochs * self.steps) if epochs else None
        # Labels in a file cannot be copied aside each epoch.
        guarded = self.teaching.guard and not isinstance(self.table, MappedTable)
        self.guard = Guard(self.learning()) if guarded else None

    @property
    def network(self) -> nn.Module:
        """The network whose predictions count: the averaged one, where one is kept."""
        return self.average.network if self.average else self.model

    def _new_optimizer(self) -> torch.optim.SGD:
        s = self.optimizer_settings
        parameters = [*self.model.parameters(), *self.method.parameters()]
        optimizer = torch.optim.SGD(
            parameters,
            lr=self.lr,
            momentum=s.momentum,
            nesterov=s.nesterov,
            weight_decay=s.weight_decay,
            fused=True,
        )
        if s.momentum:
            for parameter in parameters:
                # A zero buffer gives the same first step as none, and the captured step can already refer to it.
                optimizer.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter)
        return optimizer

    def renew_network(self, weights: Mapping[str, Tensor]) -> None:
        """Put other weights into the network and forget all momentum."""
        self.model.load_state_dict(weights)
        if self.average:
            self.average.restart()
        for kept in self.optimizer.state.values():
            for momentum in kept.values():  # None where the optimizer has no momentum.
                momentum.zero_()
        if self.best:
            self.best["score"].fill_(-inf)

    def return_to_best(self) -> None:
        """Go on from the best weights, where any were measured."""
        if self.best and self.best["score"].isfinite():
            self.renew_network({k.removeprefix("model."): v for k, v in self.best.items() if k != "score"})
            if self.guard:
                self.guard.take(self.learning())

    @torch.no_grad()
    def keep_best(self, score: float) -> None:
        """Remember the weights where they do better on the held-out labels than those of this network before."""
        if self.best and score > self.best["score"].item():
            self.best["score"].fill_(score)
            for name, value in self.network.state_dict().items():
                self.best[f"model.{name}"].copy_(value)

    @contextmanager
    def best_weights(self) -> Iterator[None]:
        """Put the best weights into the network for a while; until an epoch was measured they are those it has."""
        if not self.best or not self.best["score"].isfinite():
            yield
            return
        now = {name: value.clone() for name, value in self.network.state_dict().items()}
        self.network.load_state_dict({name: self.best[f"model.{name}"] for name in now})
        try:
            yield
        finally:
            self.network.load_state_dict(now)

    def spare_buffers(self) -> None:
        """Keep a copy of the running statistics of the network, as an epoch begins."""
        for name, buffer in statistics(self.model).items():
            self.spare[name].copy_(buffer)

    def mend_buffers(self) -> bool:
        """Put statistics that are no longer finite back to the kept copy; say whether there were any."""
        mended = [self._mend(statistics(network)) for network in {self.model, self.network}]
        return any(mended)

    def _mend(self, found: Mapping[str, Tensor]) -> bool:
        # A mask may be infinite by itself: what is as it was has not been spoiled.
        spoiled = [name for name, b in found.items() if not bool((b.isfinite() | (b == self.spare[name])).all())]
        for name in spoiled:
            found[name].copy_(self.spare[name])
        return bool(spoiled)

    def learning(self) -> dict[str, Tensor]:
        """Return the tensors by name that training moves from step to step: weights, momentum and labels."""
        named = {f"model.{k}": v for k, v in self.model.state_dict().items()}
        named |= {f"method.{k}": v for k, v in self.method.state_dict().items()}
        named |= {f"average.{k}": v for k, v in (self.average.tensors() if self.average else {}).items()}
        named |= {f"table.{k}": v for k, v in self.table.state().items()}
        for number, parameter in enumerate(self.optimizer.param_groups[0]["params"]):
            for key, value in self.optimizer.state[parameter].items():
                named[f"optimizer.{number}.{key}"] = value
        return named

    def tensors(self) -> dict[str, Tensor]:
        """Return every tensor of the state by name."""
        named = self.learning()
        named |= {f"best.{k}": v for k, v in self.best.items()}
        named |= {f"guard.{k}": v for k, v in (self.guard.tensors() if self.guard else {}).items()}
        named["clock.position"], named["clock.step"] = self.clock.position, self.clock.step
        named["meters"], named["meters.labels"] = self.meters.sums, self.meters.labels
        named |= {f"spare.{k}": v for k, v in self.spare.items()}
        return named

    def export(self) -> dict[str, NDArray[np.generic]]:
        """Return the state as arrays, with the random-number state of this moment."""
        arrays = {k: v.detach().cpu().contiguous().numpy() for k, v in self.tensors().items()}
        arrays["random.cpu"] = torch.get_rng_state().numpy()
        if self.device.type == "cuda":
            arrays["random.cuda"] = torch.cuda.get_rng_state(self.device).numpy()
        return arrays

    def restore(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        """Take over a checkpoint, in place."""
        saved = {self._named_now(k): torch.from_numpy(np.array(v)) for k, v in arrays.items()}
        self.table.load({k.removeprefix("table."): v for k, v in saved.items() if k.startswith("table.")})
        for name in ("given", "clean"):
            label_N = self.table.columns.get(name)
            if label_N is not None and bool(((label_N < -1) | (label_N >= self.method.num_classes)).any()):
                raise PencilError(f"the checkpoint's column {name} holds labels that are no class of this run.")
        if self.guard:
            kept = {k.removeprefix("guard.good."): v for k, v in saved.items() if k.startswith("guard.good.")}
            self.guard.good = {k: v.to(self.device) for k, v in kept.items()}
            # Checkpoints of before it was kept have the best accuracy so far.
            saved.setdefault("guard.right", saved["guard.highest"][0])
        for name, here in self.tensors().items():
            if name not in saved or saved[name].shape != here.shape:
                raise PencilError(
                    f"the checkpoint does not fit this network: {name} is missing or of another shape; resume with the "
                    f"settings the run was started with."
                )
            here.data.copy_(saved[name])
        torch.set_rng_state(saved["random.cpu"])
        if self.device.type == "cuda" and "random.cuda" in saved:
            torch.cuda.set_rng_state(saved["random.cuda"], self.device)

    def _named_now(self, name: str) -> str:
        """Return what a tensor of a checkpoint is called now."""
        place, found, own = name.partition("method.")
        return f"{place}{found}{self.method.renamed.get(own, own)}" if place in ("", "guard.good.") else name
