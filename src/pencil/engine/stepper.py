"""Makes and takes the step of a phase and a batch size: captured where that is possible, in parts where it must be."""

from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import nn

from pencil.engine.capture import CapturedStep
from pencil.engine.low import LowWeights, lowered
from pencil.engine.state import State
from pencil.engine.step import Step, TooLarge, Wrap
from pencil.errors import PencilError
from pencil.kernels import introduce_operators
from pencil.runtime import Precision
from pencil.types import Phase


class MakeStep(Protocol):
    """Makes a step, compiled as `wrap` does it, perhaps with weights in 16 bits."""

    def __call__(self, wrap: Wrap | None, low: LowWeights | None = None) -> Step: ...


class Steppers:
    """The steps of the current phase by batch size; those of earlier phases are forgotten with their memory."""

    def __init__(self, state: State, full_size: int, precision: Precision, *, captured: bool) -> None:
        self.state, self.full_size, self.precision, self.captured = state, full_size, precision, captured
        self.low: LowWeights | None = None
        self.lowers = True
        self.phase: Phase | None = None
        self.made: dict[int, Callable[[], None]] = {}

    def take(self, phase: Phase, size: int, make: MakeStep, note: Callable[[str], None]) -> None:
        """Take one step; where the memory does not hold it, again in smaller parts, from here to the end."""
        while True:
            try:
                self.get(phase, size, make, note)()
                return
            except TooLarge:
                pass
            self._shrink(size, note)

    def get(self, phase: Phase, size: int, make: MakeStep, note: Callable[[str], None]) -> Callable[[], None]:
        """Return the step, made on first use."""
        if phase is not self.phase:
            self.phase, self.made = phase, {}
        if size not in self.made:
            self.made[size] = self._make(size, make, note)
        return self.made[size]

    def refresh(self) -> None:
        """Take note that weights may have been changed by others than the steps made here."""
        if self.low is not None:
            self.low.refresh()

    def low_weights(self) -> LowWeights | None:
        """Return weights in 16 bits for steps of whole batches, where something is gained by them."""
        # Parts of a batch would add up their gradients in 16 bits.
        self.lowers = self.lowers and not self.state.micro_batch
        if not self.lowers:
            self.low = None
        elif self.low is None:
            self.low = lowered(self.state.model, self.precision, self.state.device)
            self.lowers = self.low is not None
        self.refresh()
        return self.low

    def _shrink(self, size: int, note: Callable[[str], None]) -> None:
        before = min(self.state.micro_batch or size, size)
        if before == 1:
            raise PencilError("the memory does not hold one example; use a smaller network or --device cpu.")
        self.state.micro_batch = -(-before // 2)
        self.made = {}  # What the steps were made for has changed.
        if self.state.device.type == "cuda":
            torch.cuda.empty_cache()
        note(
            f"memory ran out with {before} examples at once: batches now go through the network in parts of"
            f" {self.state.micro_batch}. Updates remain those of whole batches, but what a network or method computes"
            " over a batch (batch statistics, say) is now that of a part."
        )

    def _make(self, size: int, make: MakeStep, note: Callable[[str], None]) -> Callable[[], None]:
        # Warming up changes the state and puts it back; changes still on their way to it must have arrived.
        self.state.table.settle()
        for wrap, low in self._ways(size):
            copies = [] if low is None else list(low.copies.values())
            try:
                return CapturedStep(make(wrap, low), size, [*self.state.tensors().values(), self.state.lr, *copies])
            except (TooLarge, PencilError):
                raise
            except Exception as error:
                self.state.optimizer.zero_grad(set_to_none=True)
                assert self.phase is not None
                what = f"the step of phase {self.phase.name} cannot be captured"
                if low is not None:
                    # A network may do with its weights what cannot be done in 16 bits.
                    self.lowers, self.low = False, None
                    what += " with weights in 16 bits"
                note(f"{what}: {type(error).__name__}: {_gist(error)}")
        if self.captured:
            note("running eagerly.")
            self.captured = False
        plain = make(None)
        return lambda: plain(size)

    def _ways(self, size: int) -> list[tuple[Wrap | None, LowWeights | None]]:
        """Return how a step can be captured, the fastest first."""
        if not self.captured:
            return []
        # Short batches are too few to be worth compiling.
        if size != self.full_size:
            return [(None, None)]
        low = self.low_weights()
        return [*([(_compile, low)] if low else []), (_compile, None), (_compile_network, None), (None, None)]


def _compile(function: Any) -> Any:
    introduce_operators()
    # Combo kernels join the many tiny ones: weight casts, batch-norm counters.
    return torch.compile(function, dynamic=False, options={"combo_kernels": True})


def _compile_network(function: Any) -> Any:
    return _compile(function) if isinstance(function, nn.Module) else function


def _gist(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
    return lines[0][:200] if len(lines) == 1 else f"{lines[0][:200]} … {lines[-1][:200]}"
