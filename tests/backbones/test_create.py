"""Names become networks, and what does not fit is refused in one line."""

import sys
from pathlib import Path
from types import ModuleType

import pytest
from torch import nn

from pencil import backbones, plugins
from pencil.errors import PencilError
from pencil.types import InputSpec

IMAGES = InputSpec("images", (3, 32, 32))
ROWS = InputSpec("rows", (20,))


@pytest.mark.parametrize("name", [name for name in plugins.names("pencil.backbones") if name != "mlp"])
def test_rows_are_refused_by_convolutions(name: str) -> None:
    with pytest.raises(
        PencilError, match=f"^{name} takes images, but .* rows of 20 numbers; use the backbone mlp"
    ) as e:
        backbones.create(name, ROWS, 4)
    assert "\n" not in str(e.value)


def test_images_too_small_are_refused() -> None:
    with pytest.raises(PencilError, match="resnet50 takes images of at least 32 × 32 pixels, but these are 28 × 31"):
        backbones.create("resnet50", InputSpec("images", (1, 28, 31)), 4)


def test_unknown_names_and_options_are_answered_with_the_nearest() -> None:
    with pytest.raises(PencilError, match=r'no backbone "resnet43"\. Did you mean "resnet34"'):
        backbones.create("resnet43", IMAGES, 4)
    with pytest.raises(PencilError, match=r'mlp has no option "hiden"\. Did you mean "hidden"'):
        backbones.create("mlp", ROWS, 4, {"hiden": 3})
    with pytest.raises(PencilError, match='preact_resnet32 has no option "hidden"'):
        backbones.create("preact_resnet32", IMAGES, 4, {"hidden": 3})


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [("mlp", "hidden", 0), ("mlp", "depth", -1), ("mlp", "depth", "two"), ("small_cnn", "width", 0.5)],
)
def test_options_that_make_no_network_are_refused(name: str, option: str, value: object) -> None:
    with pytest.raises(PencilError, match=option):
        backbones.create(name, IMAGES, 4, {option: value})


def test_options_reach_the_network() -> None:
    network = backbones.create("mlp", ROWS, 4, {"hidden": 8, "depth": 1})
    # 20·8 + 8 and 8·4 + 4.
    assert sum(p.numel() for p in network.parameters()) == 204


def test_a_users_own_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from torch import nn\n"
        "def make(spec, num_classes, bias=True): return nn.Linear(spec.shape[0], num_classes, bias=bias)\n"
        "def wrong(spec, num_classes): return 3\n"
    )
    network = backbones.create(f"{file}:make", ROWS, 4, {"bias": False})
    assert isinstance(network, nn.Linear) and network.bias is None
    with pytest.raises(PencilError, match="returned a int"):
        backbones.create(f"{file}:wrong", ROWS, 4)


def test_timm_missing_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(PencilError, match=r"timm:resnet18 needs timm.*pip install pencil-labels\[vision\]"):
        backbones.create("timm:resnet18", IMAGES, 4)


def test_timm_gets_classes_channels_and_options(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, object] = {}

    def create_model(name: str, **options: object) -> nn.Module:
        if name != "resnet18":
            raise RuntimeError(f"Unknown model ({name})")
        asked.update(options)
        return nn.Identity()

    timm = ModuleType("timm")
    timm.create_model = create_model  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "timm", timm)
    backbones.create("timm:resnet18", IMAGES, 4, {"pretrained": True})
    assert asked == {"num_classes": 4, "in_chans": 3, "pretrained": True}
    with pytest.raises(PencilError, match="timm cannot make resnet19: Unknown model"):
        backbones.create("timm:resnet19", IMAGES, 4)
    with pytest.raises(PencilError, match="takes images"):
        backbones.create("timm:resnet18", ROWS, 4)


def test_the_default_follows_the_data() -> None:
    assert backbones.default("", ROWS, photographs=False) == ("mlp", None)
    assert backbones.default("", IMAGES, photographs=False) == ("small_cnn", None)
    assert backbones.default("preact_resnet32", IMAGES, photographs=False) == ("preact_resnet32", None)
    name, warning = backbones.default("", InputSpec("images", (3, 224, 224)), photographs=True)
    assert name == "resnet50"
    assert warning is not None and "backbone_options.weights=FILE" in warning and "timm:NAME" in warning
    assert "data.options.size" not in warning, "what came as arrays has the size it has"
    _, warning = backbones.default("", InputSpec("images", (3, 224, 224)), photographs=True, resizable=True)
    assert warning is not None and "--set data.options.size=64" in warning
    assert backbones.default("resnet50", IMAGES, photographs=True)[1], "whoever names it, it is from scratch"
    assert backbones.default("resnet50", IMAGES, photographs=True, weights=True) == ("resnet50", None)
