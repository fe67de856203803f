"""Label Studio's own library takes the exported interface, tasks, predictions and decisions, where it is there."""

import json
from pathlib import Path
from typing import Any

import pytest

from pencil.export.write import export_run

# It wants an older NumPy than the lock has, so that `make test` checks the export by its documented form alone.
sdk = pytest.importorskip("label_studio_sdk.label_interface")


@pytest.mark.parametrize("kind", ["photo_run", "table_run"])
def test_tasks_are_valid(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    export_run(request.getfixturevalue(kind), "label_studio", tmp_path / "out")
    interface: Any = sdk.LabelInterface((tmp_path / "out" / "interface.xml").read_text(encoding="utf-8"))
    interface.validate()
    tasks = json.loads((tmp_path / "out" / "tasks.json").read_text(encoding="utf-8"))
    for task in tasks:
        assert interface.validate_task({"data": task["data"]})
        assert all(interface.validate_prediction(prediction) for prediction in task["predictions"])
        assert all(interface.validate_annotation(annotation) for annotation in task.get("annotations", ()))
    tasks[0]["predictions"][0]["result"][0]["value"]["choices"] = ["no such class"]
    assert not interface.validate_prediction(tasks[0]["predictions"][0])
