"""FiftyOne's own importer reads the exported folder, where it is installed."""

from pathlib import Path

import pytest

from pencil.export.write import export_run
from pencil.results.read import read_run

from .conftest import CLASSES

# Its package starts a database server, which few machines can install; the importer does without.
importers = pytest.importorskip("fiftyone.utils.data.importers")


def test_its_importer_finds_every_image_with_its_final_class(photo_run: Path, tmp_path: Path) -> None:
    export_run(photo_run, "fiftyone", tmp_path / "out")
    importer = importers.FiftyOneImageClassificationDatasetImporter(dataset_dir=str(tmp_path / "out"))
    importer.setup()
    with importer:
        found = {Path(path).name[:7]: (path, label.label) for path, _, label in importer}
    assert importer.get_dataset_info()["classes"] == list(CLASSES)
    assert len(found) == len(read_run(photo_run).labels) == 36
    assert all(Path(path).is_file() for path, _ in found.values())
    assert found["0000000"][1] == "été", "a person moved it"
