"""Networks of transformers, with the real library, and of timm, which a small stand-in speaks for.

timm does not import without torchvision, whose wheels do not import beside a CPU-only torch.
"""

import json
import os
import pickle
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

import pencil
from pencil import backbones
from pencil.errors import PencilError
from pencil.run.finished.predict import predict_run
from pencil.types import InputSpec

SMALL = InputSpec("images", (3, 8, 8))
ROWS = InputSpec("rows", (4,))
VIT = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16, "patch_size": 4}


def vit(folder: Path, num_classes: int = 5, **more: Any) -> nn.Module:
    """Save a small vision transformer as its library does."""
    import transformers

    config = transformers.ViTConfig(**VIT, image_size=8, num_labels=num_classes, **more)
    torch.manual_seed(7)
    network = transformers.ViTForImageClassification(config)
    network.save_pretrained(folder)
    return network


def weights(network: nn.Module) -> dict[str, torch.Tensor]:
    return {name.removeprefix("network."): value for name, value in network.state_dict().items()}


@pytest.mark.parametrize(
    ("kind", "options"),
    [("vit", VIT), ("resnet", {"embedding_size": 8, "hidden_sizes": [8, 8, 8, 8], "depths": [1, 1, 1, 1]})],
)
def test_a_kind_is_made_for_the_images_at_hand(kind: str, options: dict[str, Any]) -> None:
    network = backbones.create(f"transformers:{kind}", InputSpec("images", (1, 8, 8)), 3, options)
    logits = network(torch.zeros(2, 1, 8, 8))
    assert logits.shape == (2, 3) and logits.dtype == torch.float32
    logits.sum().backward()
    assert all(parameter.dtype == torch.float32 for parameter in network.parameters())


@pytest.mark.parametrize("form", ["safetensors", "bin"])
def test_a_folders_weights_are_taken(tmp_path: Path, form: str) -> None:
    saved = vit(tmp_path)
    if form == "bin":
        (tmp_path / "model.safetensors").unlink()
        torch.save(saved.state_dict(), tmp_path / "pytorch_model.bin")
    same, other = (weights(backbones.create(f"transformers:{tmp_path}", SMALL, count)) for count in (5, 3))
    for name, value in saved.state_dict().items():
        assert torch.equal(same[name], value)
        assert name.startswith("classifier.") or torch.equal(other[name], value)
    assert other["classifier.weight"].shape == (3, 16)


def test_a_configuration_alone_gives_fresh_weights(tmp_path: Path) -> None:
    saved = vit(tmp_path)
    network = weights(backbones.create(f"transformers:{tmp_path / 'config.json'}", SMALL, 5))
    assert {name: value.shape for name, value in network.items()} == {k: v.shape for k, v in saved.state_dict().items()}
    assert not torch.equal(network["classifier.weight"], saved.state_dict()["classifier.weight"])


def test_nothing_in_a_folder_is_executed(tmp_path: Path) -> None:
    class Harmful:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(tmp_path / "harm"),)

    vit(tmp_path / "pickle")
    (tmp_path / "pickle" / "model.safetensors").unlink()
    (tmp_path / "pickle" / "pytorch_model.bin").write_bytes(pickle.dumps(Harmful()))
    with pytest.raises(PencilError, match="cannot be read"):
        backbones.create(f"transformers:{tmp_path / 'pickle'}", SMALL, 5)
    vit(tmp_path / "code")
    config = json.loads((tmp_path / "code" / "config.json").read_text())
    config["auto_map"] = {"AutoConfig": "own.Config", "AutoModelForImageClassification": "own.Model"}
    config["model_type"] = "unheard_of"
    (tmp_path / "code" / "config.json").write_text(json.dumps(config))
    (tmp_path / "code" / "own.py").write_text(f"import os\nos.mkdir({str(tmp_path / 'harm')!r})\n")
    with pytest.raises(PencilError, match="cannot be read"):
        backbones.create(f"transformers:{tmp_path / 'code'}", SMALL, 5)
    assert not (tmp_path / "harm").exists()


def test_mistakes_are_named(tmp_path: Path) -> None:
    vit(tmp_path / "vit")
    for name, spec, options, message in (
        ("vit", ROWS, {}, "takes images"),
        ("vitt", SMALL, {}, 'Did you mean "vit"'),
        ("vit", SMALL, {"hidden_sise": 8}, 'Did you mean "hidden_size"'),
        ("vit", InputSpec("images", (3, 8, 6)), VIT, "8 × 6"),
        (str(tmp_path / "vit"), InputSpec("images", (3, 16, 16)), {}, "takes images of 8 × 8"),
        (str(tmp_path / "vit"), SMALL, {"hidden_size": 32}, "another network"),
        (str(tmp_path), SMALL, {}, "cannot be read"),
    ):
        with pytest.raises(PencilError, match=message):
            backbones.create(f"transformers:{name}", spec, 5, options)


def test_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(PencilError, match=r"pip install pencil-labels\[hf\]"):
        backbones.create("transformers:vit", SMALL, 3)


def test_a_run_is_trained_and_predicts(tmp_path: Path) -> None:
    vit(tmp_path / "vit", num_channels=1)
    random, y = np.random.default_rng(0), np.arange(24) % 2
    x = (random.integers(0, 80, (24, 8, 8, 1)) + 150 * y[:, None, None, None]).astype(np.uint8)
    np.savez(tmp_path / "images.npz", x=x, y=y)
    settings = {"backbone": f"transformers:{tmp_path / 'vit'}", "hardware": {"device": "cpu", "threads": 1}}
    result = pencil.fit(tmp_path / "images.npz", out=tmp_path / "run", settings=settings, epochs=(2, 1, 1))
    found = predict_run(tmp_path / "run", tmp_path / "images.npz", device="cpu")
    assert found.probabilities.shape == (24, 2)
    started = vit(tmp_path / "again", num_channels=1).state_dict()["vit.layernorm.weight"]
    assert not torch.equal(result.model.state_dict()["network.vit.layernorm.weight"], started), "it was trained"


class Network(nn.Module):
    """As timm's: it says which part comes last."""

    default_cfg: ClassVar = {"classifier": "head.fc"}

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.body = nn.Linear(4, 4)
        self.head = nn.ModuleDict({"fc": nn.Linear(4, num_classes)})


@pytest.fixture
def timm(monkeypatch: pytest.MonkeyPatch) -> None:
    def create_model(name: str, num_classes: int, in_chans: int, **options: Any) -> nn.Module:
        assert not options
        return Network(num_classes)

    module: Any = ModuleType("timm")
    module.create_model = create_model
    monkeypatch.setitem(sys.modules, "timm", module)


@pytest.mark.parametrize("place", ["folder", "folder/model.safetensors"])
def test_timms_networks_start_from_a_folder_or_file(timm: None, tmp_path: Path, place: str) -> None:
    saved = Network(7)
    (tmp_path / "folder").mkdir()
    save_file(saved.state_dict(), tmp_path / "folder" / "model.safetensors")
    network = backbones.create("timm:any", SMALL, 3, {"weights": str(tmp_path / place)}).state_dict()
    assert torch.equal(network["body.weight"], saved.body.weight)
    assert network["head.fc.weight"].shape == (3, 4)


def test_timms_own_checkpoint_option_is_refused(timm: None, tmp_path: Path) -> None:
    with pytest.raises(PencilError, match="option weights"):
        backbones.create("timm:any", SMALL, 3, {"checkpoint_path": "x.pth"})
    with pytest.raises(PencilError, match="holds none of"):
        backbones.create("timm:any", SMALL, 3, {"weights": str(tmp_path)})
