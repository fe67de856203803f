"""One training step, on tensors alone: the same code runs eagerly, compiled, captured and in several processes.

Shapes: B examples, C classes.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from pencil.data.augment import Prepare, draw
from pencil.data.distort import distort
from pencil.engine.feed import Feed
from pencil.engine.meters import batch_sums
from pencil.engine.objective import Measured, joined, objective
from pencil.engine.settle import settle
from pencil.engine.state import State
from pencil.losses import mix
from pencil.runtime import ALONE, Precision, Processes
from pencil.table import ExampleTable, Rows
from pencil.types import Phase

Wrap = Callable[[Any], Any]
SECOND_VIEW = 2**30
"""Added to the epoch, gives draws of an augmentation that no epoch has."""
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
    ) -> None:
        wrap = wrap or (lambda function: function)
        self.state, self.phase, self.feed, self.precision = state, phase, feed, precision
        self.processes = processes
        self.parameters = [p for group in state.optimizer.param_groups for p in group["params"]]
        self.model: nn.Module = wrap(state.model)
        self.prepare, self.seed = wrap(prepare), prepare.seed
        self.objective = wrap(lambda *arguments: objective(state.method, phase, *arguments))
        are_images = prepare.preparation.kind == "images"
        self.views = state.teaching.views if are_images else 1
        self.distortion = state.teaching.distortion if are_images and state.distorted else 0.0
        self.distort = wrap(distort)
        # Where labels stay and nothing is recorded of predictions, nobody asks the teacher.
        self.taught = state.average is not None and (phase.rule.moves or phase.track_predictions)
        self.teacher: nn.Module | None = wrap(state.average.network) if state.average and self.taught else None
        self.found = torch.zeros(1, device=state.device)
        self.settle = wrap(self._settle)
        # A compiled gathering takes all columns at once; what other tables do besides is not for the compiler.
        self.gather = wrap(state.table.gather) if type(state.table) is ExampleTable else state.table.gather

    def __call__(self, size: int) -> None:
        """Train on the next `size` examples of the epoch's order; with none left, still take part in the sums."""
        if size == 0:
            self._rest()
            return
        state, clock = self.state, self.state.clock
        index_B = clock.order.index_select(0, clock.position + clock.offsets[:size])
        rates = clock.rates.index_select(1, clock.step)
        rows: Rows = self.gather(index_B)
        rows["label_logits"].requires_grad_(self.phase.rule.uses_gradient)

        known_BC, measured = self._learn(self.feed.raw(index_B), index_B, rows)
        self._update_network(rates[0], measured.count)

        changed, sums, label_B = self._update_labels(rows, known_BC, measured, rates[1])
        state.table.scatter(index_B, changed)
        state.meters.add(sums, tuple(measured.parts), label_B)
        clock.position += size
        clock.step += 1

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
            buffer.copy_(before)
        self.state.optimizer.zero_grad(set_to_none=True)
        raise TooLarge

    def _learn_part(self, raw: Tensor, index_B: Tensor, rows: Rows) -> tuple[Tensor, Measured]:
        """Return what is predicted of the examples, by the teacher where there is one, and what the loss came to."""
        inputs = self.prepare(raw, index_B, self.state.clock.epoch).to(self.precision.dtype)
        teacher_BC = self._teach(raw, inputs, index_B)
        share_B = self._partner_share(index_B)
        if self.distortion:
            inputs = self.distort(inputs, self.distortion, self.seed, self.state.clock.epoch, index_B)
        with self.precision.forward(self.state.device):
            logits_BC = self.model(mix(inputs, share_B))
        loss, measured = self.objective(logits_BC, rows, teacher_BC, share_B)
        loss.backward()
        return logits_BC.detach() if teacher_BC is None else teacher_BC, measured

    @torch.no_grad()
    def _teach(self, raw: Tensor, inputs: Tensor, index_B: Tensor) -> Tensor | None:
        """Return the averaged network's outputs for the examples as they are, over all views of them."""
        if self.teacher is None:
            return None
        if self.views == 1:
            with self.precision.forward(self.state.device):
                outputs: Tensor = self.teacher(inputs)
            return outputs
        again = self.prepare(raw, index_B, self.state.clock.epoch + SECOND_VIEW).to(self.precision.dtype)
        with self.precision.forward(self.state.device):
            both_2BC = self.teacher(torch.cat([inputs, again]))
        first_BC, second_BC = both_2BC.float().log_softmax(-1).chunk(2)
        return torch.logaddexp(first_BC, second_BC)

    def _partner_share(self, index_B: Tensor) -> Tensor | None:
        mixup = self.state.teaching.mixup
        if not mixup or not self.phase.mixed:
            return None
        return draw(self.seed, self.state.clock.epoch, index_B, MIXING).to(self.precision.dtype) * (mixup / 2**33)

    def _rest(self) -> None:
        clock = self.state.clock
        for parameter in self.parameters:
            parameter.grad = torch.zeros_like(parameter)
        rates = clock.rates.index_select(1, clock.step)
        self._update_network(rates[0], torch.zeros(1, dtype=self.precision.dtype, device=self.state.device))
        clock.step += 1

    def _update_network(self, lr: Tensor, count: Tensor) -> None:
        optimizer = self.state.optimizer
        self.state.lr.copy_(lr.squeeze(0))
        gradients = [parameter.grad for parameter in self.parameters if parameter.grad is not None]
        if self.processes.count > 1:
            self.processes.sum(count, *gradients)
        # The fused update is skipped on the device, without asking the host, where a gradient is not finite.
        self.found.zero_()
        mean = count.clamp(min=1).reciprocal().to(torch.float32)
        if count.dtype == torch.float64:
            # The check below multiplies by 32 bits only.
            torch._foreach_div_(gradients, count.clamp(min=1).squeeze(0))
            mean = torch.ones_like(mean)
        torch._amp_foreach_non_finite_check_and_unscale_(gradients, self.found, mean)
        optimizer.grad_scale = None  # type: ignore[attr-defined]
        optimizer.found_inf = self.found  # type: ignore[attr-defined]
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if self.state.average is not None:
            self.state.average.follow()

    @torch.no_grad()
    def _update_labels(
        self, rows: Rows, logits_BC: Tensor, measured: Measured, step: Tensor
    ) -> tuple[Rows, Tensor, Tensor]:
        label_logits_BC = rows["label_logits"]
        gradient_BC = label_logits_BC.grad
        rows = rows | {"label_logits": label_logits_BC.detach()}
        dtype = label_logits_BC.dtype
        gradient_BC = torch.zeros_like(label_logits_BC) if gradient_BC is None else gradient_BC * measured.rescale
        result: tuple[Rows, Tensor, Tensor] = self.settle(
            self.found, measured.parts, rows, gradient_BC, logits_BC.to(dtype), step.to(dtype), self.state.clock.epoch,
            measured.usable_B,
        )  # fmt: skip
        return result

    def _settle(self, found: Tensor, parts: dict[str, Tensor], *arguments: Any) -> tuple[Rows, Tensor, Tensor]:
        changed, counts, label_B = settle(self.phase, *arguments)
        # Every process skips the same updates; one of them counts.
        counts["skipped"] = found.sum() * float(self.processes.leads)
        return changed, batch_sums(counts, parts), label_B
