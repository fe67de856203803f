"""resnet50 starts from published weights, or says why it cannot."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from pencil import backbones
from pencil.backbones._weights import read
from pencil.errors import PencilError
from pencil.types import InputSpec

PHOTOS = InputSpec("images", (3, 64, 64))
Weights = dict[str, Tensor]


@pytest.fixture(scope="module")
def published() -> Weights:
    torch.manual_seed(1)
    return backbones.create("resnet50", PHOTOS, 6).state_dict()


def start(file: Path, num_classes: int = 6, spec: InputSpec = PHOTOS) -> Weights:
    return backbones.create("resnet50", spec, num_classes, {"weights": str(file)}).state_dict()


def test_names_are_those_of_published_weights(published: Weights) -> None:
    # 53 convolutions, 53 batch norms of 5 tensors, one classifier of 2.
    assert len(published) == 53 + 53 * 5 + 2
    assert published["conv1.weight"].shape == (64, 3, 7, 7)
    assert published["layer1.0.downsample.0.weight"].shape == (256, 64, 1, 1)
    assert published["layer3.5.conv3.weight"].shape == (1024, 256, 1, 1)
    assert published["layer4.2.bn3.running_var"].shape == (2048,)
    assert published["fc.weight"].shape == (6, 2048)


@pytest.mark.parametrize("suffix", ["safetensors", "pth"])
def test_round_trip(tmp_path: Path, published: Weights, suffix: str) -> None:
    file = tmp_path / f"resnet50.{suffix}"
    save_file(published, file) if suffix == "safetensors" else torch.save(published, file)
    loaded = start(file)
    assert all(torch.equal(loaded[name], tensor) for name, tensor in published.items())


def test_other_classes_get_a_fresh_classifier(tmp_path: Path, published: Weights) -> None:
    save_file(published, tmp_path / "w.safetensors")
    torch.manual_seed(7)
    loaded = start(tmp_path / "w.safetensors", num_classes=3)
    torch.manual_seed(7)
    fresh = backbones.create("resnet50", PHOTOS, 3).state_dict()
    assert torch.equal(loaded["fc.weight"], fresh["fc.weight"])
    assert torch.equal(loaded["layer4.2.conv3.weight"], published["layer4.2.conv3.weight"])


def test_files_without_classifier_or_step_counters_load(tmp_path: Path, published: Weights) -> None:
    old = {k: v for k, v in published.items() if not k.startswith("fc.") and "num_batches" not in k}
    torch.save(old, tmp_path / "w.pth")
    assert torch.equal(start(tmp_path / "w.pth")["bn1.weight"], published["bn1.weight"])


def test_another_networks_weights_are_refused(tmp_path: Path, published: Weights) -> None:
    torch.save({k: v for k, v in published.items() if not k.startswith("layer4")}, tmp_path / "short.pth")
    with pytest.raises(PencilError, match=r"short.pth is for another network: it lacks layer4\.0\.conv1\.weight"):
        start(tmp_path / "short.pth")
    torch.save(published | {"layer5.weight": torch.zeros(1)}, tmp_path / "long.pth")
    with pytest.raises(PencilError, match=r"it has layer5\.weight, this one has not"):
        start(tmp_path / "long.pth")
    torch.save(published, tmp_path / "colour.pth")
    with pytest.raises(PencilError, match=r"its conv1\.weight is 64 × 3 × 7 × 7, this one's is 64 × 1 × 7 × 7"):
        start(tmp_path / "colour.pth", spec=InputSpec("images", (1, 64, 64)))


def test_files_that_are_no_weights_are_refused_in_one_line(tmp_path: Path) -> None:
    class Surprise:
        def __reduce__(self) -> tuple[object, ...]:
            return (print, ("this must never run",))

    (tmp_path / "empty.pth").touch()
    (tmp_path / "text.pth").write_text("hello")
    (tmp_path / "text.safetensors").write_text("hello")
    torch.save(Surprise(), tmp_path / "code.pth")
    torch.save([1, 2], tmp_path / "list.pth")
    for name in ("absent.pth", "empty.pth", "text.pth", "text.safetensors", "code.pth", "list.pth"):
        with pytest.raises(PencilError, match=name) as error:
            read(tmp_path / name)
        assert "\n" not in str(error.value)
