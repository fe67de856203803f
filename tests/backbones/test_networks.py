"""What every backbone promises, and the sizes that the paper's networks have."""

from copy import deepcopy
from functools import cache

import pytest
import torch
from torch import nn

from pencil import backbones, plugins
from pencil.errors import PencilError
from pencil.types import InputSpec

NAMES = plugins.names("pencil.backbones")
SMALL = InputSpec("images", (3, 32, 32))
ROWS = InputSpec("rows", (20,))


def count(network: nn.Module) -> int:
    return sum(parameter.numel() for parameter in network.parameters())


def created(name: str) -> nn.Module:
    """A network for small images and five classes."""
    return deepcopy(_created(name))


@cache
def _created(name: str) -> nn.Module:
    torch.manual_seed(0)
    return backbones.create(name, SMALL, 5)


def test_all_backbones_are_found() -> None:
    assert {"mlp", "preact_resnet18", "preact_resnet32", "preact_resnet34", "resnet34", "resnet50", "small_cnn"} <= set(
        NAMES
    )


@pytest.mark.parametrize(
    ("name", "shape", "num_classes", "parameters"),
    [
        # Stem 864; stages 92 800, 353 472 and 1 411 456, the latter two with a projection; final norm 256;
        # classifier 1 290.
        ("preact_resnet32", (3, 32, 32), 10, 1_860_138),
        # Stem 1 728; stages 221 952, 1 116 032, 6 821 632 and 13 112 832; final norm 1 024; classifier 5 130.
        ("preact_resnet34", (3, 32, 32), 10, 21_280_330),
        # The published ResNet-34 has 21 797 672 at 1000 classes; less 7 680 in the stem and 461 700 in the classifier.
        ("resnet34", (3, 32, 32), 100, 21_328_292),
        # The published number of torchvision's resnet50.
        ("resnet50", (3, 64, 64), 1000, 25_557_032),
        # 20·256 + 256, 256·256 + 256 and 256·4 + 4.
        ("mlp", (20,), 4, 72_196),
    ],
)
def test_parameter_count(name: str, shape: tuple[int, ...], num_classes: int, parameters: int) -> None:
    spec = InputSpec("rows" if len(shape) == 1 else "images", shape)
    assert count(backbones.create(name, spec, num_classes)) == parameters


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("channels", [1, 3])
def test_gives_one_logit_a_class(name: str, channels: int) -> None:
    network = backbones.create(name, InputSpec("images", (channels, 40, 32)), 7)
    assert network(torch.randn(2, channels, 40, 32)).shape == (2, 7)


@pytest.mark.parametrize("name", NAMES)
def test_a_small_step_downhill_lowers_the_loss(name: str) -> None:
    network = created(name)
    torch.manual_seed(0)
    x, y = torch.randn(4, 3, 32, 32), torch.arange(4)
    before = nn.functional.cross_entropy(network(x), y)
    before.backward()
    gradients = [parameter.grad for parameter in network.parameters()]
    assert all(gradient is not None and gradient.abs().sum() > 0 for gradient in gradients)
    torch.optim.SGD(network.parameters(), lr=1e-3).step()
    assert nn.functional.cross_entropy(network(x), y) < before


@pytest.mark.parametrize("name", NAMES)
def test_same_seed_same_weights(name: str) -> None:
    def weights(seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        return nn.utils.parameters_to_vector(backbones.create(name, SMALL, 5).parameters())

    first = weights(3)
    assert torch.equal(first, weights(3))
    assert not torch.equal(first, weights(4))


@pytest.mark.parametrize("name", NAMES)
def test_memory_format_does_not_change_the_answer(name: str) -> None:
    network = created(name).double().eval()
    torch.manual_seed(0)
    x = torch.randn(2, 3, 32, 32, dtype=torch.float64)
    expected = network(x)
    network = network.to(memory_format=torch.channels_last)
    torch.testing.assert_close(network(x.to(memory_format=torch.channels_last)), expected)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_forward_is_one_graph(name: str) -> None:
    explanation = torch._dynamo.explain(created(name))(torch.randn(2, 3, 32, 32))
    assert explanation.graph_break_count == 0


@pytest.mark.parametrize("name", ["preact_resnet32", "preact_resnet34"])
def test_pre_activated_networks_can_start_as_torch_0_4_1_does(name: str) -> None:
    """Its layers' reset_parameters: weights and biases uniform within ±1/√fan_in, scales of BN uniform from 0 to 1."""
    torch.manual_seed(0)
    network = backbones.create(name, SMALL, 10, {"start": "torch-0.4.1"})
    for module in network.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            drawn = [module.weight] if module.bias is None else [module.weight, module.bias]
            bound = module.weight[0].numel() ** -0.5
            assert 0.8 * bound < torch.cat([each.flatten() for each in drawn]).abs().max() <= bound
            # The standard deviation of a uniform draw, to a tenth.
            assert module.weight.std().item() == pytest.approx(bound / 3**0.5, rel=0.1)
    norms = [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]
    scales = torch.cat([norm.weight.detach() for norm in norms])
    assert 0 <= scales.min() < 0.05 and 0.95 < scales.max() <= 1
    assert not any(norm.bias.any() for norm in norms)


@pytest.mark.parametrize("name", ["preact_resnet32", "preact_resnet34"])
def test_a_start_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(PencilError, match=rf'{name} has no start "torch"\. Did you mean "torch-0\.4\.1"'):
        backbones.create(name, SMALL, 10, {"start": "torch"})


@pytest.mark.parametrize("normalised", [True, False])
def test_preact_resnet34_can_leave_its_last_features_as_they_are(normalised: bool) -> None:
    torch.manual_seed(0)
    network = backbones.create("preact_resnet34", SMALL, 10, {"final_norm": normalised})
    seen: list[torch.Tensor] = []
    network.get_submodule("classifier").register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    network(torch.randn(2, 3, 32, 32))
    # A scale and a shift for each of 512 channels; what is activated is never below zero.
    assert count(network) == 21_280_330 - (0 if normalised else 2 * 512)
    assert bool((seen[0] < 0).any()) is not normalised


@pytest.mark.parametrize("side", [8, 12, 28, 32, 64])
def test_small_cnn_ends_on_at_most_four_pixels_a_side(side: int) -> None:
    network = backbones.create("small_cnn", InputSpec("images", (1, side, side)), 10)
    features = network.get_submodule("blocks")(torch.zeros(1, 1, side, side))
    assert 1 < features.shape[-1] <= 4


def test_small_cnn_learns_the_digits_within_seconds() -> None:
    from sklearn.datasets import load_digits

    digits = load_digits()
    x = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 8 - 1
    y = torch.tensor(digits.target)
    torch.manual_seed(0)
    order = torch.randperm(len(y))
    train, test = order[:1400], order[1400:]
    network = backbones.create("small_cnn", InputSpec("images", (1, 8, 8)), 10)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9)
    for _ in range(4):
        for rows in train.split(64):
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(x[rows]), y[rows]).backward()
            optimizer.step()
    network.eval()
    assert (network(x[test]).argmax(1) == y[test]).float().mean() > 0.95
