"""Kernels in CUDA C++ as libraries that run on the CPU."""

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from pencil.kernels import _conv64, _norm_cuda, _nvrtc

EMULATOR = Path(__file__).parent / "emulated.hpp"
Build = Callable[[str, dict[str, int]], ctypes.CDLL]
Launch = Callable[..., None]
WAYS = ["plain", "relu", "relu, two gradients", "relu, added", "relu, added, two gradients"]
"""Of the normalisation."""
NORM_CALL = """
#include <utility>
template <class... A, size_t... I> void pass(void (*kernel)(A...), void** args, std::index_sequence<I...>) {
    kernel(*(A*)args[I]...);
}
template <class... A> int run(void (*kernel)(A...), int threads, int count, int across, int down, void** args) {
    if (count != sizeof...(A)) return 1;
    launch(across, down, 1, threads, [=] { pass(kernel, args, std::index_sequence_for<A...>()); });
    return 0;
}
"""
CONV_CALL = """
extern "C" int shared_bytes() { return SHARED_BYTES; }
extern "C" const char* run(int programs, unsigned seed, bool waits, const u16* image, const u16* kernel, u16* out,
                           float* partial, int batch, const u16* x, const u16* other, u16* y, const float* moments,
                           const float* weight, const float* bias, float* running_mean, float* running_var,
                           long long* batches, double momentum, double eps) {
    late = waits;
    return launch_in_disorder(programs, THREADS, seed, [=] {
        conv64(image, kernel, out, partial, batch, x, other, y, moments, weight, bias, running_mean, running_var,
               batches, momentum, eps);
    });
}
"""


class OnGPU(Tensor):
    """An image that says it lies on a GPU."""

    is_cuda = True


def asked_for(takes: Callable[[Tensor, Tensor], bool], monkeypatch: pytest.MonkeyPatch, *what: Any) -> list[bool]:
    """Return whether wgmma was asked for, once images of a shape and type and weights of a shape were taken."""
    asked: list[bool] = []
    monkeypatch.setattr(_nvrtc, "_works", lambda wgmma: not asked.append(wgmma))
    shape, kernel, dtype, taken = what
    image = torch.empty(shape, dtype=dtype)
    assert takes(image.as_subclass(OnGPU), torch.empty(kernel)) == taken
    assert not takes(image, torch.empty(kernel)), "not on a GPU"
    return asked


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


def _norm_kernels() -> list[dict[str, int]]:
    made = _norm_cuda.constants
    several = [made(1), made(2, backward=True), made(2, backward=True, relu=True)]
    several += [made(2, relu=relu, add=add) for relu, add in ((False, False), (True, False), (True, True))]
    return several + [made(1, backward=True, relu="relu" in way, add="added" in way, both="two" in way) for way in WAYS]


def _norm_text(name: str, known: dict[str, int]) -> str:
    """One kernel in a namespace of its own, and a function that runs it."""
    before = "".join(f"#define {key} {value}\n" for key, value in known.items())
    after = "".join(f"#undef {key}\n" for key in known)
    kernel, source = _norm_cuda.name_of(known), _nvrtc.source("norm.cu").replace('extern "C" ', "")
    call = f"run({name}::{kernel}, {known['THREADS']}, count, across, down, args)"
    return (
        f"{before}namespace {name} {{\n{source}}}\n{after}"
        f'extern "C" int run_{name}(int count, int across, int down, void** args) {{ return {call}; }}\n'
    )


@pytest.fixture(scope="session")
def emulated_norm(build: Build) -> Launch:
    """What stands in for the launch of a kernel; all are built at once, since reading the headers takes longest."""
    kernels = _norm_kernels()
    library = build("".join([NORM_CALL, *(_norm_text(f"kernel{n}", known) for n, known in enumerate(kernels))]), {})

    def launch(known: dict[str, int], device: Any, grid: tuple[int, int], args: list[Any]) -> None:
        kinds: dict[type, Any] = {int: ctypes.c_int, float: ctypes.c_double}
        held = [ctypes.c_void_p(a.data_ptr()) if isinstance(a, Tensor) else kinds[type(a)](a) for a in args]
        pointers = (ctypes.c_void_p * len(held))(*[ctypes.cast(ctypes.byref(one), ctypes.c_void_p) for one in held])
        assert library[f"run_kernel{kernels.index(known)}"](len(held), *grid, pointers) == 0

    return launch


@pytest.fixture(scope="session")
def emulated_conv64(build: Build) -> Launch:
    """What stands in for the launch of the kernel."""
    text = f"{_nvrtc.source('conv64.cu')}{CONV_CALL}"

    def launch(
        known: dict[str, int], grid: int, device: Any, args: list[Any], seed: int = 1, late: bool = True
    ) -> None:
        library = build(text, known)
        library.run.restype = ctypes.c_char_p
        assert library.shared_bytes() == _conv64.shared_bytes(known["WIDTH"], norm=bool(known["NORM"]))
        kinds = {int: ctypes.c_int, float: ctypes.c_double}
        given = [kinds[type(arg)](arg) if type(arg) in kinds else ctypes.c_void_p(arg.data_ptr()) for arg in args]
        wrong = library.run(grid, seed, ctypes.c_bool(late), *given)
        assert wrong is None, wrong

    return launch
