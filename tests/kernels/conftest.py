"""Kernels in CUDA C++ as libraries that run on the CPU."""

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from torch import Tensor

from pencil.kernels import _nvrtc

EMULATOR = Path(__file__).parent / "emulated.hpp"
Build = Callable[[str, dict[str, int]], ctypes.CDLL]


class OnGPU(Tensor):
    """An image that says it lies on a GPU."""

    is_cuda = True


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Compile a text behind the emulation of a GPU's threads, for some constants; the same one only once."""
    if shutil.which("g++") is None:
        pytest.skip("no C++ compiler here")
    libraries: dict[tuple[str, ...], ctypes.CDLL] = {}

    def built(text: str, constants: dict[str, int]) -> ctypes.CDLL:
        known = text, *_nvrtc.definitions(constants)
        if known not in libraries:
            folder = tmp_path_factory.mktemp("emulated")
            source, made = folder / "kernel.cpp", folder / "kernel.so"
            source.write_text(f'#include "{EMULATOR}"\n{text}', encoding="utf-8")
            options = ["-O1", "-std=c++17", "-shared", "-fPIC", "-Wno-unknown-pragmas", *known[1:]]
            subprocess.run(["g++", *options, str(source), "-o", str(made)], check=True)
            libraries[known] = ctypes.CDLL(str(made))
        return libraries[known]

    return built
