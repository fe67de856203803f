"""Kernels for what torch and its compiler leave slow; each computes the same as plain torch, and falls back to it."""

from pencil.kernels._nvrtc import missing
from pencil.kernels.compiler import introduce_operators
from pencil.kernels.conv import BlockConv, convolved
from pencil.kernels.finite import largest
from pencil.kernels.norm import BlockNorm, NormReLU
from pencil.kernels.stem import Stem

__all__ = ["BlockConv", "BlockNorm", "NormReLU", "Stem", "convolved", "introduce_operators", "largest", "missing"]
