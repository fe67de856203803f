"""A folder that FiftyOne reads as fiftyone.types.FiftyOneImageClassificationDataset.

out/data/0000001_tom.jpg
out/labels.json     {"classes": [names], "labels": {"0000001_tom": number of the class, or null}}
"""

from pathlib import Path
from typing import Any

from pencil.export.labels import Labels
from pencil.results.documents import write_json

FOLDER = True


def write(labels: Labels, out: Path, wanted: Any) -> int:
    """Put all images into one folder and their final classes beside it."""
    images, data = wanted.images(labels), out / "data"
    data.mkdir()
    final = labels.whole("final").tolist()
    targets = {images.put(row, data).stem: label if label >= 0 else None for row, label in enumerate(final)}
    write_json(out / "labels.json", {"classes": list(labels.classes), "labels": targets})
    return len(targets)
