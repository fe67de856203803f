"""Tasks for Label Studio, with the run's labels as predictions and people's decisions as annotations.

out/tasks.json       one task an example: data, predictions, annotations (Label Studio's "Basic JSON" of tasks)
out/interface.xml    the labelling interface that the tasks belong to
out/images/          what they show; serve it with LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT=out and
                     LABEL_STUDIO_LOCAL_FILES_SERVING_ENABLED=true, and add out/images as local storage
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import quoteattr

from pencil.data.located import Located, read_dataset
from pencil.data.shown import values
from pencil.errors import PencilError
from pencil.export.labels import Labels
from pencil.results.atomic import write_atomic
from pencil.results.documents import write_json

FOLDER = True
CONTROL, VERSION = "label", "pencil"
"""Names of the choice in the interface, and of the model that predicted."""
SHOWN = ("index", "id", "given_name", "quality", "decision", "split")
"""Columns that Label Studio's data manager can sort and filter by."""
NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What the production Char of XML 1.0 leaves out."""


def write(labels: Labels, out: Path, wanted: Any) -> int:
    """Write the interface and a task for every example."""
    kind = "image" if labels.kind == "images" else "text"
    seen = _texts(labels, wanted) if kind == "text" else _addresses(labels, out, wanted)
    rows = labels.values(*SHOWN, "corrected_name", "confidence")
    final = labels.final["final_name"].to_pylist()
    tasks = []
    for row, shown, person, name in zip(rows, seen, labels.by_person.tolist(), final, strict=True):
        result = _choice(row["corrected_name"], kind)
        predicted = {"model_version": VERSION, "score": row["confidence"], "result": result}
        task: dict[str, Any] = {
            "data": {kind: shown} | {column: row[column] for column in SHOWN},
            "predictions": [predicted],
        }
        if person:
            task["annotations"] = [{"result": _choice(name, kind)}]
        tasks.append(task)
    write_json(out / "tasks.json", tasks)
    write_atomic(out / "interface.xml", interface(labels.classes, kind).encode())
    return len(tasks)


def interface(classes: Sequence[str], kind: str) -> str:
    """Return the labelling interface: what is shown, and a choice of one class."""
    if odd := [name for name in classes if NOT_IN_XML.search(name)]:
        raise PencilError(f"the class {odd[0]!r} has signs that XML cannot hold; rename it.")
    tag = "Text" if kind == "text" else "Image"
    choices = "\n".join(f"    <Choice value={quoteattr(name)}/>" for name in classes)
    return (
        f'<View>\n  <{tag} name="{kind}" value="${kind}"/>\n'
        f'  <Choices name="{CONTROL}" toName="{kind}" choice="single">\n{choices}\n  </Choices>\n</View>\n'
    )


def _choice(name: str, kind: str) -> list[dict[str, Any]]:
    return [{"from_name": CONTROL, "to_name": kind, "type": "choices", "value": {"choices": [name]}}]


def _addresses(labels: Labels, out: Path, wanted: Any) -> list[str]:
    """Make the image files; return the addresses at which Label Studio serves them."""
    images, folder = wanted.images(labels), out / "images"
    folder.mkdir()
    names = [images.put(row, folder).name for row in range(len(labels.ids))]
    return [f"/data/local-files/?d={quote(f'images/{name}')}" for name in names]


def _texts(labels: Labels, wanted: Any) -> list[str]:
    """Write each row of a table as lines of names and values."""
    dataset = read_dataset(labels.settings.data, source=wanted.source, root=wanted.root)
    inputs, features = Located(dataset, labels.ids, whole=True), dataset.facts.get("features", ())
    pairs = (values(inputs, row, features) for row in range(len(inputs)))
    return ["\n".join(f"{name}: {value}" for name, value in row) for row in pairs]
