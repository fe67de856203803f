"""One training step, on tensors alone: the same code runs eagerly, compiled, captured and in several processes.

Shapes: B examples, C classes.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from pencil.data.transforms.augment import Prepare, draw
from pencil.engine.distortion import DISTORTIONS
from pencil.engine.feed import Feed
from pencil.engine.low import LowWeights, descend, look
from pencil.engine.meters import batch_sums
from pencil.engine.objective import Measured, joined, objective
from pencil.engine.settle import settle
from pencil.engine.share import sum_gradients
from pencil.engine.state import State
from pencil.errors import PencilError
from pencil.kernels import largest
from pencil.losses import mix
from pencil.runtime import ALONE, Precision, Processes
from pencil.table import ExampleTable, Rows
from pencil.types import Phase

Wrap = Callable[[Any], Any]
MIXING = 3
"""The stream of draws that says how much of its partner is mixed into an example."""


class TooLarge(Exception):
    """The memory does not hold the forward and backward pass of so many examples; nothing has been changed yet."""


class Step:
    """The step of one phase: gather, prepare, forward, loss, backward, optimizer, label rule, scatter, count."""

    def __init__(
        self,
        state: State,
        phase: Phase,
        feed: Feed,
        prepare: Prepare,
        precision: Precision,
        *,
        processes: Processes = ALONE,
        wrap: Wrap | None = None,
        low: LowWeights | None = None,
    ) -> None:
        wrap = wrap or (lambda function: function)
        self.state, self.phase, self.feed, self.precision = state, phase, feed, precision
        self.processes, self.low = processes, low
        self.parameters = [p for group in state.optimizer.param_groups for p in group["params"]]
        self.model: nn.Module = wrap(low.network if low else state.model)
        self.look, self.descend = wrap(look), wrap(descend)
        self.prepare, self.seed = wrap(prepare), prepare.seed
        self.objective = wrap(lambda *arguments: objective(state.method, phase, *arguments))
        distortion = DISTORTIONS.get(prepare.preparation.kind) if state.distorted else None
        self.strength = state.teaching.distortion
        self.distort = wrap(distortion.distort) if distortion else None
        # Where labels stay and nothing is recorded of predictions, nobody asks the teacher.
        self.taught = state.average is not None and (phase.rule.moves or phase.track_predictions)
        self.teacher: nn.Module | None = wrap(state.average.network) if state.average and self.taught else None
        self.found = torch.zeros(1, dtype=torch.float32, device=state.device)
        # Compiled, all columns are read at once, and written. What other tables do besides is not for the compiler.
        self.dense = type(state.table) is ExampleTable
        self.begin, self.end = wrap(self._begin), wrap(self._end)

    def __call__(self, size: int) -> None:
        """Train on the next `size` examples of the epoch's order; with none left, still take part in the sums."""
        if size == 0:
            self._rest()
            return
        index_B, rates, rows = self.begin(size)
        self.state.lr.copy_(rates[0, 0])
        rows = rows if self.dense else self.state.table.gather(index_B)
        rows["label_logits"].requires_grad_(self.phase.rule.uses_gradient)

        known_BC, measured = self._learn(self.feed.raw(index_B), index_B, rows)
        self.state.meters.name_parts(tuple(measured.parts))
        self._update_network(measured.count)

        label_logits_BC = rows["label_logits"]
        # Not decorated by it: all that is would count as one function, which the compiler gives up after eight.
        with torch.no_grad():
            changed, label_B = self.end(
                index_B, rows | {"label_logits": label_logits_BC.detach()}, label_logits_BC.grad, known_BC, rates[1],
                measured.usable_B, measured.parts, measured.rescale,
            )  # fmt: skip
        if not self.dense:
            self.state.table.scatter(index_B, changed)
        self.state.meters.count(label_B)

    def _begin(self, size: int) -> tuple[Tensor, Tensor, Rows]:
        """Return the examples of the step, the rates of network and labels, and what the table knows of them."""
        clock = self.state.clock
        index_B = clock.order.index_select(0, clock.position + clock.offsets[:size])
        self.found.zero_()
        return index_B, self._rates(), self.state.table.gather(index_B) if self.dense else {}

    def _rates(self) -> Tensor:
        return self.state.clock.rates.index_select(1, self.state.clock.step)

    def _end(
        self, index_B: Tensor, rows: Rows, gradient_BC: Tensor | None, known_BC: Tensor, label_step: Tensor,
        usable_B: Tensor, parts: dict[str, Tensor], rescale: float,
    ) -> tuple[Rows, Tensor]:  # fmt: skip
        """Move the labels, count, turn the clock; return rows that are still to be written, and the labels' classes."""
        state, like = self.state, rows["label_logits"]
        gradient_BC = torch.zeros_like(like) if gradient_BC is None else gradient_BC * rescale
        changed, counts, label_B = settle(
            self.phase, rows, gradient_BC, known_BC.to(like), label_step.to(like), state.clock.epoch, usable_B
        )
        # Every process skips the same updates; one of them counts.
        counts["skipped"] = self.found.sum() * float(self.processes.leads)
        state.meters.add(batch_sums(counts, parts))
        state.clock.position.add_(len(index_B))
        state.clock.step.add_(1)
        if not self.dense:
            return changed, label_B
        state.table.scatter(index_B, changed)
        return {}, label_B

    def _learn(self, raw: Tensor, index_B: Tensor, rows: Rows) -> tuple[Tensor, Measured]:
        """Forward pass, loss and backward pass: of the whole batch, or in parts where the memory holds no more.

        The loss is a sum, so the parts' gradients add up to the whole batch's.
        """
        size = len(raw)
        part = min(self.state.micro_batch or size, size)
        # A captured pass needs no copy: one that fails is undone as a whole.
        captured = raw.is_cuda and torch.cuda.is_current_stream_capturing()
        spare = [] if captured else [buffer.clone() for buffer in self.state.model.buffers()]
        try:
            if part == size:
                return self._learn_part(raw, index_B, rows)
            cuts = [slice(start, start + part) for start in range(0, size, part)]
            return joined([self._learn_part(raw[c], index_B[c], {k: v[c] for k, v in rows.items()}) for c in cuts])
        except torch.cuda.OutOfMemoryError:
            pass
        # Behind the handler, whose error would keep the memory of the failed pass.
        for buffer, before in zip(self.state.model.buffers(), spare, strict=False):
            if buffer.shape == before.shape:  # One of another shape is made anew for each batch.
                buffer.copy_(before)
        self._forget_gradients()
        raise TooLarge

    def _learn_part(self, raw: Tensor, index_B: Tensor, rows: Rows) -> tuple[Tensor, Measured]:
        """Return what is predicted of the examples, by the teacher where there is one, and what the loss came to."""
        inputs = self.precision.of(self.prepare(raw, index_B, self.state.clock.epoch))
        teacher_BC = self._teach(inputs)
        share_B = self._partner_share(index_B)
        if self.distort is not None:
            inputs = self.distort(inputs, self.strength, self.seed, self.state.clock.epoch, index_B)
        with self.precision.forward(self.state.device):
            logits_BC = self.model(mix(inputs, share_B))
        loss, measured = self.objective(logits_BC, rows, teacher_BC, share_B)
        if not loss.requires_grad:
            raise PencilError("the method's loss has no gradient; compute it from batch.logits, without detaching it.")
        loss.backward()
        return logits_BC.detach() if teacher_BC is None else teacher_BC, measured

    @torch.no_grad()
    def _teach(self, inputs: Tensor) -> Tensor | None:
        """Return the averaged network's outputs for the examples as they are."""
        if self.teacher is None:
            return None
        with self.precision.forward(self.state.device):
            outputs_BC: Tensor = self.teacher(inputs)
        return outputs_BC

    def _partner_share(self, index_B: Tensor) -> Tensor | None:
        mixup = self.state.teaching.mixup
        if not mixup or not self.phase.mixed:
            return None
        return draw(self.seed, self.state.clock.epoch, index_B, MIXING).to(self.precision.dtype) * (mixup / 2**33)

    def _rest(self) -> None:
        self.state.lr.copy_(self._rates()[0, 0])
        self.found.zero_()
        self._update_network(torch.zeros(1, dtype=self.precision.dtype, device=self.state.device))
        self.state.clock.step.add_(1)

    def _update_network(self, count: Tensor) -> None:
        if self.low is None:
            self._update(count)
        else:
            self._update_both(self.low, count)
        self._forget_gradients()
        if self.state.average is not None:
            self.state.average.follow()

    def _update_both(self, low: LowWeights, count: Tensor) -> None:
        """Update the weights in 32 bits and their copies, by the copies' gradients."""
        optimizer = self.state.optimizer
        moving, group = low.moving(optimizer), optimizer.param_groups[0]
        numbers = group["momentum"], group["weight_decay"], group["nesterov"]
        with torch.no_grad():
            self.look(largest([gradient for each in moving for gradient in each.gradients]), self.found)
            self.descend(moving, count, self.state.lr, self.found, *numbers)

    def _update(self, count: Tensor) -> None:
        optimizer = self.state.optimizer
        if self.processes.count > 1:
            sum_gradients(self.parameters, count, self.processes)
        gradients = [parameter.grad for parameter in self.parameters if parameter.grad is not None]
        # The fused update is skipped on the device, without asking the host, where a gradient is not finite.
        mean = count.clamp(min=1).reciprocal().to(torch.float32)
        if count.dtype == torch.float64:
            # The check below multiplies by 32 bits only.
            torch._foreach_div_(gradients, count.clamp(min=1).squeeze(0))
            mean = torch.ones_like(mean)
        torch._amp_foreach_non_finite_check_and_unscale_(gradients, self.found, mean)
        optimizer.grad_scale = None  # type: ignore[attr-defined]
        optimizer.found_inf = self.found  # type: ignore[attr-defined]
        optimizer.step()

    def _forget_gradients(self) -> None:
        self.state.optimizer.zero_grad(set_to_none=True)
        if self.low is not None:
            self.low.forget_gradients()
