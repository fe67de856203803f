"""A damaged run is named in one error."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pencil.errors import PencilError

from .conftest import MakeRun, report_of


@pytest.mark.parametrize("file", ["result.json", "labels.parquet", "classes.json", "history.jsonl", "config.toml"])
def test_garbage_is_named(make_run: MakeRun, file: str) -> None:
    folder = make_run()
    (folder.path / file).write_bytes(b"\x00garbage\n{}\n")
    with pytest.raises(PencilError, match=file):
        report_of(folder)


@pytest.mark.parametrize("file", ["result.json", "labels.parquet", "classes.json", "config.toml"])
def test_a_missing_file_is_named(make_run: MakeRun, file: str) -> None:
    folder = make_run()
    (folder.path / file).unlink()
    with pytest.raises(PencilError, match=file):
        report_of(folder)


@pytest.mark.parametrize(
    "fields", [{}, {"num_changed": "many"}, {"environment": []}], ids=["empty", "no number", "no table"]
)
def test_a_summary_that_lacks_something_is_named(make_run: MakeRun, fields: dict[str, object]) -> None:
    folder = make_run()
    whole = json.loads(folder.result.read_text())
    folder.result.write_text(json.dumps(whole | fields if fields else {}))
    with pytest.raises(PencilError, match=r"result\.json is damaged"):
        report_of(folder)


def test_labels_of_unknown_classes_are_named(make_run: MakeRun) -> None:
    folder = make_run()
    folder.classes.write_text('["only", "two"]')
    with pytest.raises(PencilError, match=r"labels\.parquet is damaged"):
        report_of(folder)


def test_labels_that_are_no_numbers_are_named(make_run: MakeRun) -> None:
    folder = make_run()
    table = pq.read_table(folder.labels)
    words = pa.array(["x"] * table.num_rows)
    pq.write_table(table.set_column(table.column_names.index("given"), "given", words), folder.labels)
    with pytest.raises(PencilError, match=r"labels\.parquet is damaged"):
        report_of(folder)
