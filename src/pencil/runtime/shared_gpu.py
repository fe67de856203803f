"""Several runs at once: on a GPU each, or beside each other by NVIDIA's multi-process service (MPS) if installed."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator

import torch

VISIBLE = "CUDA_VISIBLE_DEVICES"
"""Which GPUs a process sees: what CUDA itself looks for in the environment."""
LIMIT = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"
"""How much of the GPU's processors a run may use at a time: what MPS itself looks for in the environment."""


def visible_gpus() -> list[str]:
    """Return what the GPUs that this process sees are called in `VISIBLE`."""
    named, count = os.environ.get(VISIBLE), torch.cuda.device_count()
    return named.split(",")[:count] if named else [str(place) for place in range(count)]


def percent(runs: int) -> int:
    """Return how much of a GPU's processors each of several runs may use at a time.

    Twice its fair share, so that one uses what others leave; at most half, so that kernels of two lie side by side.
    Two alone do best without a limit (docs/decisions/0011).
    """
    return 100 if runs <= 2 else min(50, max(200 // runs, 1))


@contextlib.contextmanager
def shared_gpu(runs: int) -> Iterator[dict[str, str]]:
    """Let runs share a GPU; yield what each must find in its environment.

    MPS is left on where it was on before, or where others have come to use it.
    """
    control = shutil.which("nvidia-cuda-mps-control")
    if runs < 2 or control is None:
        yield {}
        return
    started = subprocess.run([control, "-d"], capture_output=True, check=False).returncode == 0
    try:
        yield {LIMIT: os.environ.get(LIMIT, str(percent(runs)))}
    finally:
        if started and not _users(control):
            _tell(control, "quit")


def _users(control: str) -> list[str]:
    """Return the processes that use MPS now. One whose MPS goes stands still, and new ones find no GPU."""
    servers = _tell(control, "get_server_list").split()
    return [user for server in servers for user in _tell(control, f"get_client_list {server}").split()]


def _tell(control: str, command: str) -> str:
    told = subprocess.run([control], input=f"{command}\n", capture_output=True, check=False, text=True)
    return told.stdout
