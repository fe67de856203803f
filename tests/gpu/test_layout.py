"""How images lie in memory on a real GPU: networks that count on planes get planes; others are as right on pixels."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import pencil
from pencil.data import from_arrays
from pencil.run.finished.predict import predict_run
from pencil.run.training import layout

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here"),
]


class Picture(nn.Module):
    """Finds classes in images of 16 × 16, and notes how those it has seen lay in memory."""

    def __init__(self, flat: Callable[[Tensor], Tensor], colours: int) -> None:
        super().__init__()
        self.kernels, self.last, self.flat = nn.Conv2d(colours, 8, 3, padding=1), nn.Linear(8 * 256, 4), flat
        self.together: set[bool] = set()

    def forward(self, images: Tensor) -> Tensor:
        self.together.add(images.is_contiguous(memory_format=torch.channels_last))
        said: Tensor = self.last(self.flat(torch.relu(self.kernels(images))))
        return said


def viewed(planes: Tensor) -> Tensor:
    return planes.view(len(planes), -1)


def flattened(planes: Tensor) -> Tensor:
    return planes.flatten(1)


def _pictures(colours: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    clean = rng.integers(0, 4, 1200)
    images = rng.integers(0, 60, (1200, 16, 16, colours)) + 40 * clean[:, None, None, None]
    noisy = np.where(rng.random(1200) < 0.3, rng.integers(0, 4, 1200), clean)
    return images.astype(np.uint8), noisy, clean


@pytest.mark.parametrize("colours", [1, 3])
@pytest.mark.parametrize(("flat", "together"), [(viewed, False), (flattened, True)])
def test_labels_are_corrected_whatever_a_network_does_with_planes(
    flat: Callable[[Tensor], Tensor], together: bool, colours: int
) -> None:
    made: list[Picture] = []

    def network(spec: Any, num_classes: int) -> Picture:
        made.append(Picture(flat, colours))
        return made[-1]

    images, noisy, clean = _pictures(colours)
    result = pencil.fit(from_arrays(images, noisy, clean=clean), backbone=network, device="cuda")
    right = result.summary["label_accuracy"]
    assert right["corrected"] > right["given"] + 15
    assert all(value.is_contiguous() for value in result.model.state_dict().values()), "as safetensors wants it"
    if colours > 1:
        # The first ones are tried out.
        assert made[-1].together == {together}
    assert (result.predict(images) == clean).mean() > 0.9


@pytest.mark.parametrize("backbone", ["small_cnn", "preact_resnet18", "resnet9"])
def test_predictions_on_pixels_are_those_on_planes(
    backbone: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    images, noisy, _ = _pictures(3)
    np.savez(tmp_path / "new.npz", x=images)
    pencil.fit(images, noisy, backbone=backbone, epochs=[2, 2, 1], device="cuda", out=tmp_path / "run")
    pixels = predict_run(tmp_path / "run", tmp_path / "new.npz", device="cuda").probabilities
    monkeypatch.setattr(layout, "_faster_together", lambda device: False)
    planes = predict_run(tmp_path / "run", tmp_path / "new.npz", device="cuda").probabilities
    assert pixels == pytest.approx(planes, abs=0.05)
    assert pixels.std() > 0.05, "so that they say anything"
