"""Device, precision, threads and seeds."""

import hashlib

import pytest
import torch

from pencil.errors import PencilError
from pencil.runtime import (
    PRECISIONS,
    choose_device,
    choose_precision,
    device_name,
    is_leader,
    seed_for,
    use_threads,
)

CPU = torch.device("cpu")


def test_seeds_are_the_same_everywhere_and_apart_for_each_purpose() -> None:
    # The first 8 bytes of BLAKE2b of "3/order/7", without the sign bit.
    expected = int.from_bytes(hashlib.blake2b(b"3/order/7", digest_size=8).digest(), "big") >> 1
    assert seed_for(3, "order", 7) == expected
    seeds = {seed_for(seed, what, e) for seed in range(5) for what in ("order", "epoch", "network") for e in range(50)}
    assert len(seeds) == 5 * 3 * 50
    assert all(0 <= seed < 2**63 for seed in seeds)
    torch.Generator().manual_seed(max(seeds))


def test_devices() -> None:
    assert choose_device("cpu") == CPU
    assert choose_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    with pytest.raises(PencilError, match=r'there is no device "gpu".*(Did you mean|Known)'):
        choose_device("gpu")
    with pytest.raises(PencilError, match="no meta device; use device cpu"):
        choose_device("meta")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there() -> None:
    with pytest.raises(PencilError, match="no cuda device; use device cpu"):
        choose_device("cuda")


def test_precisions() -> None:
    assert choose_precision("auto", CPU).name == "32-true"
    assert choose_precision("64-true", CPU).dtype is torch.float64
    with pytest.raises(PencilError, match=r'no precision "bf16"\. Did you mean "bf16-mixed"'):
        choose_precision("bf16", CPU)
    with pytest.raises(PencilError, match="mps has no 64-bit numbers"):
        choose_precision("64-true", torch.device("mps"))


def test_a_mixed_forward_pass_is_low_and_the_parameters_are_not() -> None:
    layer, x = torch.nn.Linear(3, 2), torch.ones(1, 3)
    with PRECISIONS["bf16-mixed"].forward(CPU):
        assert layer(x).dtype is torch.bfloat16
    with PRECISIONS["32-true"].forward(CPU):
        assert layer(x).dtype is torch.float32
    assert layer.weight.dtype is torch.float32


def test_threads() -> None:
    before = torch.get_num_threads()
    try:
        assert use_threads(1) == 1 and torch.get_num_threads() == 1
        assert use_threads(0) == 1, "0 never takes more than there were"
        with pytest.raises(PencilError, match=r"hardware\.threads is -1; give 0 or more"):
            use_threads(-1)
        assert device_name(CPU) == "CPU, 1 threads"
    finally:
        torch.set_num_threads(before)


def test_a_process_alone_leads_whatever_a_variable_of_that_name_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    monkeypatch.setenv("RANK", "3")
    assert is_leader(), "one that only numbers its own jobs would get no word and no report, and no lock on a resume"
    monkeypatch.setenv("RANK", "third")
    assert is_leader()
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("RANK", "3")
    assert not is_leader()
    monkeypatch.setenv("RANK", "0")
    assert is_leader()
