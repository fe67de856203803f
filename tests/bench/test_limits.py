"""What a step must do at least is counted layer by layer."""

import pytest
import torch
from torch import nn

from pencil import backbones
from pencil.bench.limits import Speeds, Work, count_work, measure_speeds
from pencil.types import InputSpec


def test_flops_and_bytes_of_a_small_network() -> None:
    network = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 4 * 4, 5)
    )
    work = count_work(network, (2, 3, 4, 4), torch.bfloat16)
    convolution, linear = 2 * (2 * 16) * (9 * 3) * 8, 2 * 2 * 128 * 5
    # The images need no gradient, so the first layer has one product fewer.
    assert work.flops == 2 * convolution + 3 * linear
    activations = 3 * 2 * ((2 * 3 * 16 + 2 * 8 * 16) + (2 * 128 + 2 * 5))
    assert work.bytes == activations + 6 * 4 * (9 * 3 * 8 + 2 * 8 + 128 * 5 + 5)


@pytest.mark.parametrize("backbone", ["preact_resnet32", "resnet9", "resnet34"])
def test_networks_with_kernels_of_their_own_are_counted(backbone: str) -> None:
    network = backbones.create(backbone, InputSpec("images", (3, 32, 32)), 10)
    assert count_work(network, (4, 3, 32, 32), torch.bfloat16).flops > 10**9


def test_limits_are_the_measured_speeds_over_the_work() -> None:
    limits = Speeds(flops=1e12, bytes=1e9).limits(Work(flops=10**10, bytes=10**6), batch_size=4)
    assert limits == {"limit by bytes moved": pytest.approx(4000), "limit by FLOPs": pytest.approx(400)}


def test_speeds_are_measured() -> None:
    speeds = measure_speeds(torch.device("cpu"), torch.float32)
    # Between a slow toy and the fastest machine there is.
    assert 1e8 < speeds.flops < 1e15 and 1e8 < speeds.bytes < 1e13
