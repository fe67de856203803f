"""Convolutions with what stands around them, in tiles and in bands, against torch in 64 bits."""

import pytest
import torch
from torch import Tensor, nn

pytest.importorskip("triton", reason="triton is not installed")

from pencil.kernels import NormReLU, _bands_triton
from pencil.kernels._bands_triton import Band

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
# A GPU multiplies 32-bit numbers with 11 bits in these kernels.
TOLERANCE = 5e-3 if DEVICE == "cuda" else 1e-5


@pytest.fixture(autouse=True)
def fused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the kernels for any precision and device."""
    monkeypatch.setattr(NormReLU, "_fuses", lambda self, x: self.training)


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> list[str]:
    """Cut into bands, or leave it to tiles; return which of the kernels of bands have run."""
    bands = {32: Band(lines=2, rows=16, stages=2, warps=4)} if request.param == "bands" else {}
    ran: list[str] = []
    monkeypatch.setattr(_bands_triton, "PROGRAMS", 1)
    monkeypatch.setattr(_bands_triton, "PLANS", bands)
    monkeypatch.setattr(_bands_triton, "weight_gradient", _noted(_bands_triton.weight_gradient, "bands", ran))
    return ran


def _noted(function: object, name: str, ran: list[str]) -> object:
    def call(*arguments: object, **options: object) -> object:
        ran.append(name)
        return function(*arguments, **options)  # type: ignore[operator]

    return call


def _image(*shape: int, shift: float = 0.0) -> Tensor:
    image = torch.randn(shape, device=DEVICE) + shift
    return image.contiguous(memory_format=torch.channels_last).requires_grad_()


def _agree(ours: Tensor, theirs: Tensor) -> None:
    assert (ours.double() - theirs).norm() <= TOLERANCE * theirs.norm()


@pytest.mark.parametrize(
    ("cut", "shape", "outside", "banded", "has_added"),
    [
        ("bands", (4, 32, 6, 8), 32, True, True),
        ("bands", (4, 32, 4, 8), 32, True, False),
        ("bands", (3, 32, 2, 8), 32, False, True),  # 24 rows are no multiple of 16
        ("bands", (2, 32, 3, 8), 32, False, True),  # 3 lines are no multiple of 2
        ("bands", (2, 16, 2, 8), 16, False, True),
        ("tiles", (4, 32, 4, 8), 32, False, False),
        # In 32 bits 128 channels are more than a GPU holds at once; there they come in 16.
        ("tiles", (2, 16, 2, 3), 128 if DEVICE == "cpu" else 64, False, True),
    ],
    indirect=["cut"],
)
def test_a_unit_computes_and_learns_as_plain_layers(
    cut: list[str], shape: tuple[int, ...], outside: int, banded: bool, has_added: bool
) -> None:
    torch.manual_seed(0)
    channels = shape[1]
    norm = NormReLU(channels, device=DEVICE)
    nn.init.normal_(norm.weight)
    nn.init.normal_(norm.bias)
    conv = nn.Conv2d(channels, outside, 3, padding=1, bias=False, device=DEVICE)
    plain, convolve = nn.BatchNorm2d(channels, device=DEVICE), nn.Conv2d(channels, outside, 3, padding=1, bias=False)
    plain.load_state_dict(norm.state_dict())
    convolve.load_state_dict(conv.state_dict())
    plain, convolve = plain.double(), convolve.to(DEVICE, torch.float64)
    made = (shape[0], outside, *shape[2:])
    x, added, weight = _image(*shape, shift=3.0), _image(*made), _image(*made).detach()

    out, moments, besides = norm.then(conv, x, None, added if has_added else None, besides=True)
    expected = convolve(torch.relu(plain(x.double()))) + (added.double() if has_added else 0.0)
    _agree(out, expected)
    assert moments is not None
    _agree(moments[0], expected.mean((0, 2, 3)))
    _agree(moments[1], expected.var((0, 2, 3), unbiased=False))

    inputs = [x, added] if has_added else [x]
    seen = torch.autograd.grad((out * weight).sum() + besides.sum(), [*inputs, *norm.parameters(), conv.weight])
    wanted = torch.autograd.grad(
        (expected * weight).sum() + x.double().sum(), [*inputs, *plain.parameters(), convolve.weight]
    )
    for ours, theirs in zip(seen, wanted, strict=True):
        _agree(ours, theirs.double())
    for name, value in plain.state_dict().items():
        torch.testing.assert_close(norm.state_dict()[name].double(), value.double(), rtol=1e-5, atol=1e-5)
    assert cut == (["bands"] if banded else [])


@pytest.mark.parametrize("cut", ["bands", "tiles"], indirect=True)
def test_the_gradient_of_weights_in_16_bits_comes_in_16_bits(cut: list[str]) -> None:
    torch.manual_seed(0)
    norm, x = NormReLU(32, device=DEVICE), _image(4, 32, 4, 8)
    low = nn.Conv2d(32, 32, 3, padding=1, bias=False, device=DEVICE, dtype=torch.bfloat16)
    wide = nn.Conv2d(32, 32, 3, padding=1, bias=False, device=DEVICE)
    wide.load_state_dict(low.state_dict())

    def learned(conv: nn.Conv2d) -> tuple[Tensor, Tensor]:
        out = norm.then(conv, x, None)[0]
        return out, torch.autograd.grad(out.square().sum(), conv.weight)[0]

    (expected, gradient), (found, ours) = learned(wide), learned(low)
    assert torch.equal(found, expected)
    assert ours.dtype == torch.bfloat16
    # Triton's interpreter cuts where a GPU rounds.
    torch.testing.assert_close(ours.float(), gradient, rtol=2**-7, atol=0)
    assert cut == (["bands"] * 2 if cut else [])
