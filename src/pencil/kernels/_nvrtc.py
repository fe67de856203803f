"""Compiles and launches kernels in CUDA C++, by the compiler that comes with torch, when they are first needed."""

import functools
import re
import threading
from importlib.resources import files
from typing import Any

import torch

Constants = dict[str, int]
INCLUDED = re.compile(r'^#include "(.+)"\n', re.MULTILINE)
PROBE = 'extern "C" __global__ void probe() {}'
_thread = threading.local()


def available(*, wgmma: bool = False) -> bool:
    """Say whether this machine can compile and run them, and is of the kind they were measured on.

    Instructions called wgmma are those of compute capability 9.0 alone.
    """
    return _works(wgmma)


# torch's compiler asks once, instead of looking at how a kernel is compiled.
available._dynamo_marked_constant = True  # type: ignore[attr-defined]


def missing() -> str | None:
    """Say in a line that they would run here, if only they could be compiled."""
    hindrance = _hindrance(wgmma=False)
    if not hindrance:
        return None
    return f"pencil's kernels for this GPU cannot be compiled ({hindrance}): training is slower than it could be."


def _works(wgmma: bool) -> bool:
    return _hindrance(wgmma) is None


@functools.cache
def _hindrance(wgmma: bool) -> str | None:
    """Return why they cannot be compiled; nothing where this is not a machine for them, None where they work."""
    if not torch.cuda.is_available() or torch.version.hip:
        return ""
    capability = torch.cuda.get_device_capability()
    if capability < (9, 0) or (wgmma and capability != (9, 0)):
        return ""
    try:
        _make_current(torch.cuda.current_device())
        _compile(PROBE, "probe", [], wgmma)
    except (AttributeError, ImportError, OSError, RuntimeError) as error:  # No compiler, no driver, another torch.
        return " ".join(f"{type(error).__name__}: {error}".split())[:200]
    return None


def source(file: str) -> str:
    """Return the text of a file of kernels, with the files of ours that it includes: the compiler sees no folder."""
    text = (files("pencil.kernels") / file).read_text(encoding="utf-8")
    return INCLUDED.sub(lambda found: source(found[1]), text)


def definitions(constants: Constants) -> list[str]:
    """Return compiler options that set the constants of a kernel."""
    return [f"-D{name}={value}" for name, value in constants.items()]


def launch(
    file: str, name: str, constants: Constants, device: int, grid: tuple[int, int], threads: int, args: list[Any],
    *, shared: int = 0, wgmma: bool = False,
) -> None:  # fmt: skip
    """Launch a kernel with so many threads a block and so many bytes of shared memory."""
    with torch.cuda.device(device):
        _make_current(device)
        kernel = _compiled(device, file, name, tuple(constants.items()), shared, wgmma)
        kernel(grid=(*grid, 1), block=(threads, 1, 1), args=args, shared_mem=shared)


@functools.cache
def processors(device: int) -> int:
    """Return how many programs of the largest kind run at once on a device."""
    return torch.cuda.get_device_properties(device).multi_processor_count


def _make_current(device: int) -> None:
    """Let this thread see what torch has on the device.

    The driver needs that, and a thread of autograd's has not got it before torch itself launches something there.
    """
    seen = _thread.__dict__.setdefault("devices", set())
    if device not in seen:
        torch.zeros(1, device=torch.device("cuda", device))
        seen.add(device)


@functools.cache
def _compiled(
    device: int, file: str, name: str, constants: tuple[tuple[str, int], ...], shared: int, wgmma: bool
) -> Any:
    kernel = _compile(source(file), name, definitions(dict(constants)), wgmma)
    if shared:
        kernel.set_shared_memory_config(shared)
    return kernel


def _compile(text: str, name: str, options: list[str], wgmma: bool) -> Any:
    capability = "90a" if wgmma else None
    return torch.cuda._compile_kernel(text, name, compute_capability=capability, nvcc_options=options)
