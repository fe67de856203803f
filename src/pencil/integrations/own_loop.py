"""LabelTable: PENCIL's labels, loss and label step for a training loop of your own.

Shapes: N examples, B in a batch, C classes.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pencil import methods
from pencil.config import merge
from pencil.data import labels as label_values
from pencil.engine.objective import objective
from pencil.engine.settle import settle
from pencil.errors import PencilError
from pencil.integrations.asked import Asked, AskedBatches
from pencil.integrations.exchange import everyones_rows, is_alone
from pencil.integrations.own_settings import class_count, over_usual, usual_phases
from pencil.quality.score import Scores, score
from pencil.run.planning.refuse import refuse_no_group
from pencil.runtime import choose_device
from pencil.table import ExampleTable, Rows


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
    (`pencil.methods.pencil`) over `own_settings.OPTIONS`; the label step falls from `label_step` over the second
    phase, or, where none is given, from one with which labels can flip in so many epochs. Where gradients of several
    batches are accumulated, one step moves the labels of all of them.
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
        num_classes, device = class_count(num_classes), choose_device(str(device))
        refuse_no_group(options, "options", "{'anchor': 0.5}")
        values = label_values.encode(label_values.as_values(given), [str(number) for number in range(num_classes)])
        own = {"label_step": label_step} if label_step is not None else {}
        phases = usual_phases(len(values.given), num_classes, epochs)
        wanted = over_usual(merge(options or {}, own), num_classes, phases["labels"].epochs)
        self.method = methods.create("pencil", wanted, num_classes)
        self.phases = self.method.phases(phases)
        distribution = None if values.distribution is None else torch.from_numpy(values.distribution).to(device)
        self.table = ExampleTable.start(
            torch.from_numpy(values.given).to(device),
            num_classes,
            scale=self.method.label_scale,
            distribution_NC=distribution,
        )
        self.epoch, self.phase, self.eta = 0, self.phases[0], 0.0
        self._asked = AskedBatches()
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
        if logits.shape[1:] != (self.method.num_classes,):
            raise PencilError(
                f"logits have shape {tuple(logits.shape)}; give one row an example and {self.method.num_classes}"
                " columns, one a class."
            )
        if self.table.columns["given"].device != logits.device:
            self.to(logits.device)
        index_B = self._index(index, len(logits))
        rows = self.table.gather(index_B)
        label_logits_BC = rows["label_logits"].requires_grad_(self.phase.rule.uses_gradient)
        total, measured = objective(self.method, self.phase, logits, rows)
        mean = total / measured.count.clamp(min=1).squeeze(0)
        if not torch.is_grad_enabled():
            return mean  # Only measured, as in validation: there is nothing to learn from.
        if not (self.phase.rule.moves or self.phase.track_predictions):
            self._asked.add(self._batch(index_B), mean)
            return mean
        gradient_BC = torch.zeros_like(label_logits_BC)
        if self.phase.rule.uses_gradient:
            # Taken here and of the sum, so that neither loss scaling nor accumulated batches change a label's step.
            (gradient_BC,) = torch.autograd.grad(total, [label_logits_BC], retain_graph=True)
        gradient_BC = gradient_BC * measured.rescale
        learned = {"gradient_BC": gradient_BC, "logits_BC": logits.detach(), "usable_B": measured.usable_B}
        self._asked.add(self._batch(index_B, **learned), mean)
        return mean

    def labels(self, index: Tensor) -> Tensor:
        """Return ỹ of a batch, which requires grad, for a loss of your own: a mean over the batch."""
        index_B = self._index(index, len(index))
        label_logits_BC = self.table.gather(index_B)["label_logits"].requires_grad_(True)
        self._asked.add(self._batch(index_B, label_logits_BC=label_logits_BC), label_logits_BC)
        return label_logits_BC

    @property
    def is_asked(self) -> bool:
        """Whether a batch was asked about whose labels have not been moved yet."""
        return bool(self._asked)

    @torch.no_grad()
    def step(self, index: Tensor | None = None) -> None:
        """Move the labels of all batches since the last step that were learned from, where the phase lets them move.

        Learned from is a batch whose loss a backward pass went through. With `index` it is the batches up to that one,
        which need not have had its backward pass, or those that have these examples together. Each moves by its own
        gradient. Under torch.distributed all processes must call it, and each then has the labels that any of them
        moved.
        """
        batches = self._asked.take(None if index is None else self._index(index, len(index)))
        names: set[str] = set()
        for batch, gradient_BC in [(batch, batch.gradient()) for batch in batches]:
            changed = {} if gradient_BC is None else self._changed(batch, gradient_BC)
            self.table.scatter(batch.index_B, changed)
            names |= set(changed)
        if not is_alone():
            index_B = torch.cat([batch.index_B for batch in batches])
            mine = {name: self.table.columns[name].index_select(0, index_B) for name in sorted(names)}
            self.table.scatter(*everyones_rows(index_B, mine))

    def _changed(self, batch: Asked, gradient_BC: Tensor) -> Rows:
        # The rows as they are by now: an example may be in several of the batches.
        rows = self.table.gather(batch.index_B)
        logits_BC, usable_B = batch.logits_BC, batch.usable_B
        if logits_BC is None or usable_B is None:
            # With a loss of one's own the network's prediction is not known here, and is not averaged.
            rows.pop("prediction_sum")
            logits_BC, usable_B = rows["label_logits"], gradient_BC.isfinite().all(-1)
        dtype, device = gradient_BC.dtype, gradient_BC.device
        eta, epoch = torch.tensor([batch.eta], dtype=dtype, device=device), torch.tensor([batch.epoch], device=device)
        changed, *_ = settle(batch.phase, rows, gradient_BC, logits_BC.to(dtype), eta, epoch, usable_B)
        return changed

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
        for name in ("epoch", "label_logits"):
            if name not in state:
                raise PencilError(f"the state lacks {name}; give what state_dict returned.")
        self.table.load({name: column for name, column in state.items() if name != "epoch"})
        self._asked = AskedBatches()
        self.start_epoch(int(state["epoch"]))

    def _batch(self, index_B: Tensor, **more: Tensor) -> Asked:
        return Asked(index_B, self.phase, self.epoch, self.eta, **more)

    def _index(self, index: Tensor, count: int) -> Tensor:
        given = torch.as_tensor(index)
        whole = not (given.dtype == torch.bool or given.is_floating_point() or given.is_complex())
        if given.numel() and not whole:
            raise PencilError(
                f"index holds values of type {given.dtype}; give whole numbers, the positions of the batch's examples"
                " in the training set."
            )
        if given.shape != (count,):
            raise PencilError(f"index has shape {tuple(given.shape)} for {count} examples; give one number each.")
        index_B = given.to(torch.int64)  # Not every whole type can be compared.
        # On a GPU the device refuses such an index by itself; to ask it here would wait for all that runs there.
        if given.numel() and given.device.type != "cuda":
            for number in (int(end) for end in index_B.aminmax()):
                if not 0 <= number < len(self):
                    raise PencilError(f"index holds {number}; the examples of this table are 0 to {len(self) - 1}.")
        return index_B.to(self.table.columns["given"].device)
