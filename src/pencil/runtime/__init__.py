"""The machine under a run: device, precision, threads, seeds, and the processes that share its work."""

from pencil.runtime.machine import (
    PRECISIONS,
    Precision,
    choose_device,
    choose_precision,
    device_name,
    idle_gpu,
    seed_for,
    undisturbed,
    use_threads,
)
from pencil.runtime.processes import ALONE, Processes, is_leader, join_processes
from pencil.runtime.shared_gpu import VISIBLE, shared_gpu, visible_gpus

__all__ = [
    "ALONE",
    "PRECISIONS",
    "VISIBLE",
    "Precision",
    "Processes",
    "choose_device",
    "choose_precision",
    "device_name",
    "idle_gpu",
    "is_leader",
    "join_processes",
    "seed_for",
    "shared_gpu",
    "undisturbed",
    "use_threads",
    "visible_gpus",
]
