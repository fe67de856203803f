"""LabelTable: PENCIL's labels, loss and label step for a training loop of your own.

Shapes: N examples, B in a batch, C classes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pencil import methods, recipes
from pencil.config import PhaseSettings, Schedule, merge
from pencil.data import labels as label_values
from pencil.engine.objective import objective
from pencil.engine.settle import settle
from pencil.errors import PencilError
from pencil.integrations.exchange import everyones_rows
from pencil.quality.score import Scores, score
from pencil.table import ExampleTable, Rows
from pencil.types import Phase

OPTIONS = {
    "compatibility": "code",
    "anchor": 0.5,
    "entropy_weight": 0.4,
    "label_step": "0.6 -> 0",
    "init_scale": 0.0,
    "divide_by_classes": False,
}
"""The method's options where none are given: those of the recipe "auto" need an engine that averages and mixes."""

LONGEST = 40
"""Epochs of a phase where none are given: nobody watches held-out labels here and leaves a phase in time."""


@dataclass(frozen=True, eq=False)
class _Pending:
    """What a loss leaves for the label step that follows it."""

    index_B: Tensor
    rows: Rows
    logits_BC: Tensor | None = None
    gradient_BC: Tensor | None = None
    usable_B: Tensor | None = None

    def gradient_of_mean(self) -> Tensor:
        """Return ∂ℓ/∂ỹ of each example, from the backward pass of a mean over the batch."""
        gradient_BC = self.rows["label_logits"].grad
        if gradient_BC is None:
            raise PencilError("the labels have no gradient yet; call backward on the loss before step(index).")
        return gradient_BC * len(gradient_BC)


class LabelTable:
    """The labels of N examples, and how they are learned beside a network of your own.

    table = LabelTable(noisy_labels, num_classes=10, epochs=(20, 40, 20))
    for epoch in range(table.num_epochs):
        table.start_epoch(epoch)
        for x, index in loader:
            optimizer.zero_grad()
            table.loss(model(x), index).backward()
            optimizer.step()
            table.step(index)
    table.corrected, table.distributions, table.quality

    `given` holds class numbers (−1: no label) or an [N, C] array of soft labels; `index` says which examples a batch
    has, each once. `epochs` are those of the three phases: the network learns the given labels, then labels and
    network learn together, then the network learns from the labels as they are. Options are those of the method
    (`pencil.methods.pencil`) over `OPTIONS`; the label step falls from `label_step` over the second phase.
    """

    def __init__(
        self,
        given: Any,
        num_classes: int,
        *,
        epochs: Sequence[int] | None = None,
        label_step: str | float | None = None,
        options: Mapping[str, Any] | None = None,
        device: str | torch.device = "cpu",
    ) -> None:
        values = label_values.encode(label_values.as_values(given), [str(number) for number in range(num_classes)])
        recipe = _recipe(len(values.given), num_classes)
        own = {"label_step": label_step} if label_step is not None else {}
        self.method = methods.create("pencil", merge(recipe["options"], options or {}, own), num_classes)
        self.phases = _phases(self.method, recipe["phases"], epochs)
        distribution = None if values.distribution is None else torch.from_numpy(values.distribution).to(device)
        self.table = ExampleTable.start(
            torch.from_numpy(values.given).to(device),
            num_classes,
            scale=self.method.label_scale,
            distribution_NC=distribution,
        )
        self.epoch, self.phase, self.eta = 0, self.phases[0], 0.0
        self._pending: _Pending | None = None
        self.start_epoch(0)

    def __len__(self) -> int:
        return len(self.table)

    @property
    def num_epochs(self) -> int:
        """Epochs of all phases together."""
        return sum(phase.epochs for phase in self.phases)

    def start_epoch(self, epoch: int) -> None:
        """Choose the phase and the label step η of an epoch, counted from 0; after the last the last phase goes on."""
        self.epoch, first = epoch, 0
        for phase in self.phases:
            self.phase, passed = phase, epoch - first
            if passed < phase.epochs:
                break
            first += phase.epochs
        self.eta = self.phase.label_step.at(passed, self.phase.epochs) if self.phase.label_step else 0.0

    def loss(self, logits: Tensor, index: Tensor) -> Tensor:
        """Return the mean loss of a batch in the current phase; call backward on it, scaled as you like."""
        if self.table.columns["given"].device != logits.device:
            self.to(logits.device)
        index_B = self._index(index, len(logits))
        rows = self.table.gather(index_B)
        label_logits_BC = rows["label_logits"].requires_grad_(self.phase.rule.uses_gradient)
        total, measured = objective(self.method, self.phase, logits, rows)
        mean = total / measured.count.clamp(min=1).squeeze(0)
        if not torch.is_grad_enabled():
            return mean  # Only measured, as in validation: there is nothing to learn from.
        gradient_BC = torch.zeros_like(label_logits_BC)
        if self.phase.rule.uses_gradient:
            # Taken here and of the sum, so that neither loss scaling nor accumulated batches change a label's step.
            (gradient_BC,) = torch.autograd.grad(total, [label_logits_BC], retain_graph=True)
        gradient_BC = gradient_BC * measured.rescale
        self._pending = _Pending(index_B, rows, logits.detach(), gradient_BC, measured.usable_B)
        return mean

    def labels(self, index: Tensor) -> Tensor:
        """Return ỹ of a batch, which requires grad, for a loss of your own: a mean over the batch."""
        index_B = self._index(index, len(index))
        rows = self.table.gather(index_B)
        self._pending = _Pending(index_B, rows)
        return rows["label_logits"].requires_grad_(True)

    @property
    def is_asked(self) -> bool:
        """Whether a batch was asked about whose labels have not been moved yet."""
        return self._pending is not None

    @torch.no_grad()
    def step(self, index: Tensor | None = None) -> None:
        """Move the labels of the batch that was last asked about, where the phase lets them move.

        Under torch.distributed all processes must call it, and each then has the labels that any of them moved.
        """
        pending, self._pending = self._pending, None
        if pending is None or not (index is None or torch.equal(pending.index_B, self._index(index, len(index)))):
            raise PencilError(
                "step(index) needs a call of loss(logits, index) or labels(index) for the same batch first."
            )
        rows = pending.rows | {"label_logits": pending.rows["label_logits"].detach()}
        gradient_BC, logits_BC, usable_B = pending.gradient_BC, pending.logits_BC, pending.usable_B
        if gradient_BC is None or logits_BC is None or usable_B is None:
            gradient_BC = pending.gradient_of_mean()
            # With a loss of one's own the network's prediction is not known here, and is not averaged.
            rows.pop("prediction_sum")
            logits_BC, usable_B = rows["label_logits"], gradient_BC.isfinite().all(-1)
        dtype, device = gradient_BC.dtype, gradient_BC.device
        eta, epoch = torch.tensor([self.eta], dtype=dtype, device=device), torch.tensor([self.epoch], device=device)
        changed, *_ = settle(self.phase, rows, gradient_BC, logits_BC.to(dtype), eta, epoch, usable_B)
        self.table.scatter(*everyones_rows(pending.index_B, changed))

    @property
    def distributions(self) -> Tensor:
        """[N, C] y^d, what is believed of each label."""
        return self.table.distributions()

    @property
    def corrected(self) -> Tensor:
        """[N] the most probable class of each example; the given one where it ties with others."""
        return torch.from_numpy(self._scores().corrected)

    @property
    def quality(self) -> NDArray[np.float64]:
        """[N] 0 (the given label is surely wrong) to 1 (surely right); NaN without a label."""
        return self._scores().quality

    def _scores(self) -> Scores:
        columns = {name: column.cpu().numpy() for name, column in self.table.columns.items()}
        mean = columns["prediction_sum"] / np.maximum(columns["predictions"], 1)[:, None]
        return score(self.distributions.cpu().numpy(), mean, columns["given"])

    def to(self, device: str | torch.device) -> Self:
        """Move the table to a device; it also follows the network's outputs by itself."""
        self.table.columns = {name: column.to(device) for name, column in self.table.columns.items()}
        return self

    def state_dict(self) -> dict[str, Tensor]:
        """Return the labels and all that is kept with them, as tensors by name."""
        return {**{k: v.clone() for k, v in self.table.state().items()}, "epoch": torch.tensor(self.epoch)}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Take over a saved state; go on with start_epoch."""
        self.table.load({name: column for name, column in state.items() if name != "epoch"})
        self.start_epoch(int(state["epoch"]))

    def _index(self, index: Tensor, count: int) -> Tensor:
        index_B = torch.as_tensor(index).to(self.table.columns["given"].device, torch.int64)
        if index_B.shape != (count,):
            raise PencilError(f"index has shape {tuple(index_B.shape)} for {count} examples; give one number each.")
        return index_B


def _recipe(num_examples: int, num_classes: int) -> dict[str, Any]:
    names = methods.kind("pencil").phase_names
    auto = recipes.resolve("auto", "pencil", recipes.Facts(num_examples, num_classes, "rows", names))
    return {**auto, "options": OPTIONS}


def _phases(method: methods.Method, usual: Mapping[str, Any], epochs: Sequence[int] | None) -> tuple[Phase, ...]:
    lengths = [min(phase["epochs"], LONGEST) for phase in usual.values()] if epochs is None else list(epochs)
    if len(lengths) != len(usual) or min(lengths) < 0:
        raise PencilError(f"epochs is {lengths}; give one number, 0 or more, for each phase: {', '.join(usual)}.")
    rates = [Schedule.parse(phase["lr"]) for phase in usual.values()]
    return method.phases(
        {name: PhaseSettings(epochs=n, lr=lr) for name, n, lr in zip(usual, lengths, rates, strict=True)}
    )
