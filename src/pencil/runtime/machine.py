"""Device, precision, threads, and seeds derived from one seed."""

import contextlib
import hashlib
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from pencil.allowance import processors
from pencil.errors import PencilError, did_you_mean


@dataclass(frozen=True)
class Precision:
    """Type of the parameters, and of the forward pass where it is lower."""

    name: str
    dtype: torch.dtype
    forward_dtype: torch.dtype | None = None

    def of(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return inputs as the network's parameters are; whole numbers stay as they are."""
        return inputs.to(self.dtype) if inputs.is_floating_point() else inputs

    @contextlib.contextmanager
    def forward(self, device: torch.device) -> Iterator[None]:
        """Run the network's forward pass in this precision."""
        if self.forward_dtype is None:
            yield
            return
        with torch.autocast(device.type, dtype=self.forward_dtype):
            yield


PRECISIONS = {
    "32-true": Precision("32-true", torch.float32),
    "64-true": Precision("64-true", torch.float64),
    "bf16-mixed": Precision("bf16-mixed", torch.float32, torch.bfloat16),
}


def choose_device(name: str) -> torch.device:
    """Return the device of that name; auto takes a GPU where there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        raise PencilError(f'there is no device "{name}".{did_you_mean(name, ["auto", "cpu", "cuda", "mps"])}') from None
    usable = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not usable.get(device.type, False):
        raise PencilError(f"this machine or this build of torch has no {device.type} device; use --device cpu.")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise PencilError(f"there is no {name}: this machine has {torch.cuda.device_count()} GPUs, counted from 0.")
    return device


def idle_gpu(device: torch.device) -> str | None:
    """Say so where a GPU is built in but a run that could have used it computes on the CPU."""
    if device.type != "cpu" or not Path("/dev/nvidia0").exists():
        return None
    if torch.version.cuda is None:
        return "this machine has a GPU, but torch is installed without support for it; computing on the CPU."
    return "this machine has a GPU, but torch cannot use it (driver, or a sharing service down?); computing on the CPU."


def choose_precision(name: str, device: torch.device) -> Precision:
    """Return the precision of that name; auto takes bf16 where a GPU computes it."""
    if name == "auto":
        fast = device.type == "cuda" and torch.cuda.is_bf16_supported()
        name = "bf16-mixed" if fast else "32-true"
    if name not in PRECISIONS:
        raise PencilError(f'there is no precision "{name}".{did_you_mean(name, ["auto", *PRECISIONS])}')
    if name == "64-true" and device.type == "mps":
        raise PencilError("mps has no 64-bit numbers; use --precision 32-true.")
    return PRECISIONS[name]


def use_threads(count: int) -> int:
    """Set the number of CPU threads (0: as many as this process may run on) and return it."""
    if count < 0:
        raise PencilError(f"hardware.threads is {count}; give 0 or more.")
    torch.set_num_threads(count or min(processors(), torch.get_num_threads()))
    return torch.get_num_threads()


class _Turns:
    """Trainings of several threads take turns: they all draw from the one random state that torch has."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        if hasattr(os, "register_at_fork"):
            # The thread that trains is none of a new process's, and would never let go there.
            os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        self.lock = threading.RLock()


_TURNS = _Turns()


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Leave torch as it was: a training must not change what its caller draws or computes next.

    Nor must the caller's modes change the training: it needs gradients, and puts tensors on devices by itself. One that
    another thread begins waits for its end.
    """
    with _TURNS.lock, _torch_as_it_was():
        yield


@contextlib.contextmanager
def _torch_as_it_was() -> Iterator[None]:
    threads, tuned, used = torch.get_num_threads(), torch.backends.cudnn.benchmark, _gpu_in_use()
    elsewhere = torch.get_default_device().type != "cpu"
    try:
        with contextlib.ExitStack() as modes:
            modes.enter_context(torch.random.fork_rng(devices=range(torch.cuda.device_count()) if used else ()))
            modes.enter_context(torch.inference_mode(False))
            modes.enter_context(torch.enable_grad())
            if elsewhere:
                modes.enter_context(torch.device("cpu"))
            yield
    finally:
        torch.set_num_threads(threads)
        torch.backends.cudnn.benchmark = tuned
        if _gpu_in_use() and not used:
            # What was drawn there would have followed from the caller's seed.
            torch.cuda.manual_seed_all(torch.initial_seed())


def _gpu_in_use() -> bool:
    return bool(torch.cuda.is_initialized())  # type: ignore[no-untyped-call]


def seed_for(*parts: int | str) -> int:
    """Return a 63-bit seed for one purpose, e.g. seed_for(seed, "order", epoch)."""
    text = "/".join(str(part) for part in parts).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") >> 1


def device_name(device: torch.device) -> str:
    """Return the device in words."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    if device.type == "cpu":
        return f"CPU, {torch.get_num_threads()} threads"
    return device.type
