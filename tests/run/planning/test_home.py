"""Files that a run's settings name are found from any folder."""

from pathlib import Path

import pytest

from pencil.config import from_document
from pencil.run.planning.home import at_home


@pytest.mark.parametrize(
    ("backbone", "found"), [("transformers:vit", "transformers:{home}/vit"), ("timm:vit", "timm:vit"), ("vit", "vit")]
)
def test_weights_matrices_and_networks_lie_where_the_run_was_started(tmp_path: Path, backbone: str, found: str) -> None:
    for name in ("vit", "start.pt", "t.npy"):
        (tmp_path / name).mkdir()
    document = {
        "method": "forward",
        "backbone": backbone,
        "backbone_options": {"weights": "start.pt", "depth": 1},
        "options": {"transition": "t.npy"},
        "data": {"noise": "matrix:t.npy"},
    }
    settings = at_home(from_document(document), [tmp_path])
    assert settings.backbone == found.format(home=tmp_path)
    assert settings.backbone_options == {"weights": str(tmp_path / "start.pt"), "depth": 1}
    assert settings.options == {"transition": str(tmp_path / "t.npy")}
    assert settings.data.noise == f"matrix:{tmp_path / 't.npy'}"


def test_settings_without_files_stay_as_they_are(tmp_path: Path) -> None:
    settings = from_document({"method": "pencil", "backbone": "mlp", "options": {"anchor": 0.5}})
    assert at_home(settings, [tmp_path]) == settings
