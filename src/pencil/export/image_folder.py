"""A folder of images, one folder for each class of the final labels.

out/cat/0000001_tom.jpg     links to the files they came from, or copies, or PNG files of arrays
"""

from pathlib import Path
from typing import Any

from pencil.export.labels import Labels
from pencil.export.names import class_folders

FOLDER = True


def write(labels: Labels, out: Path, wanted: Any) -> int:
    """Put each example that has a label into its class's folder; a class without any has none."""
    images = wanted.images(labels)
    folders = [out / name for name in class_folders(labels.classes)]
    count = 0
    for row, label in enumerate(labels.whole("final")):
        if label >= 0:
            folders[label].mkdir(exist_ok=True)
            images.put(row, folders[label])
            count += 1
    return count
