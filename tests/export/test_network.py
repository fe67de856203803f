"""A run's network as an ONNX file and as torch's exported program, computed with by those who read them."""

import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from numpy.typing import NDArray

import pencil
from pencil import PencilError
from pencil.export.network import export_network
from pencil.results.read import read_run
from pencil.run.finished.predict import predict_run

CPU = {"hardware": {"device": "cpu", "threads": 1}}


@pytest.fixture(scope="module")
def cnn_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with convolutions, batch norm and a crop, on images in an .npz file."""
    place = tmp_path_factory.mktemp("cnn")
    x = np.random.default_rng(0).integers(0, 256, (36, 12, 10, 3), dtype=np.uint8)
    np.savez(place / "images.npz", x=x, y=np.arange(36) % 3)
    settings = {"backbone": "small_cnn", "data": {"augment": {"crop": 8}}, **CPU}
    pencil.fit(place / "images.npz", out=place / "run", settings=settings, epochs=(1, 1, 1))
    return place / "run"


def expected(run: Path, source: Path) -> NDArray[np.float32]:
    return predict_run(run, source, device="cpu").probabilities


def by_onnx(path: Path, x: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    session = onnxruntime.InferenceSession(path)
    logits, probabilities = session.run(["logits", "probabilities"], {"input": x})
    return logits, probabilities


def by_torch(path: Path, x: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    with torch.no_grad():
        logits, probabilities = torch.export.load(path).module()(torch.from_numpy(x))
    return logits.numpy(), probabilities.numpy()


@pytest.mark.parametrize(("form", "compute"), [("onnx", by_onnx), ("torch_export", by_torch)])
def test_images_get_the_runs_own_probabilities(cnn_run: Path, tmp_path: Path, form: str, compute: Any) -> None:
    out = tmp_path / "network"
    difference = export_network(cnn_run, form, out)
    assert difference is not None and difference < 1e-5
    source = cnn_run.parent / "images.npz"
    for count in (1, 36):
        logits, probabilities = compute(out, np.load(source)["x"][:count])
        wanted = expected(cnn_run, source)[:count]
        np.testing.assert_allclose(probabilities, wanted, atol=1e-5)
        np.testing.assert_allclose(np.exp(logits) / np.exp(logits).sum(1, keepdims=True), wanted, atol=1e-5)


def test_tables_keep_the_order_of_their_columns(table_run: Path, tmp_path: Path) -> None:
    export_network(table_run, "onnx", tmp_path / "network.onnx")
    facts = {prop.key: json.loads(prop.value) for prop in onnx.load(tmp_path / "network.onnx").metadata_props}
    assert facts == {"classes": ["a", "b"], "features": ["size"]}
    lines = (table_run.parent / "table.csv").read_text().splitlines()[1:]
    x = np.array([[float(line.split(",")[1])] for line in lines], dtype=np.float32)
    found = by_onnx(tmp_path / "network.onnx", x)[1]
    np.testing.assert_allclose(found, expected(table_run, table_run.parent / "table.csv"), atol=1e-5)


@pytest.mark.parametrize(("form", "compute"), [("onnx", by_onnx), ("torch_export", by_torch)])
def test_logarithms_and_what_lies_far_are_in_it(tmp_path: Path, form: str, compute: Any) -> None:
    z = np.random.default_rng(0).normal(size=(60, 3))
    z[:, 0], z[3, 2] = np.exp(2 * z[:, 0]), -1e6
    x, source = z.astype(np.float32), tmp_path / "rows.npz"
    np.savez(source, x=x, y=np.arange(60) % 2)
    result = pencil.fit(source, out=tmp_path / "run", settings=CPU, epochs=(1, 1, 1))
    log = (result.folder / "log.txt").read_text()
    assert "the logarithms of feature 1, whose" in log and "a few values of feature 3 nearer than they are" in log
    export_network(tmp_path / "run", form, tmp_path / "network")
    found = compute(tmp_path / "network", x)[1]
    np.testing.assert_allclose(found, expected(tmp_path / "run", source), atol=1e-5)


def test_the_labels_are_not_in_it(cnn_run: Path, tmp_path: Path) -> None:
    export_network(cnn_run, "onnx", tmp_path / "network.onnx")
    model = onnx.load(tmp_path / "network.onnx")
    onnx.checker.check_model(model)
    weights = sum(array.size for array in read_run(cnn_run).weights().values())
    held = sum(int(np.prod(tensor.dims)) for tensor in model.graph.initializer)
    assert held < weights + 100, "the network's weights and a few constants"
    assert [value.name for value in model.graph.input] == ["input"]


def test_exported_programs_need_no_pencil(table_run: Path, tmp_path: Path) -> None:
    export_network(table_run, "torch_export", tmp_path / "network.pt2")
    code = (
        "import sys, torch; sys.modules['pencil'] = None; extra = {'classes.json': ''};"
        f"program = torch.export.load({str(tmp_path / 'network.pt2')!r}, extra_files=extra);"
        "print(extra['classes.json'], program.module()(torch.zeros(3, 1))[1].shape)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == '["a", "b"] torch.Size([3, 2])'


def test_what_cannot_be_written_leaves_nothing(table_run: Path, tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(PencilError, match="already exists"):
        export_network(table_run, "onnx", tmp_path / "taken")
    with pytest.raises(PencilError, match='Did you mean "onnx"'):
        export_network(table_run, "onyx", tmp_path / "new")
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(PencilError, match=r"pip install pencil-labels\[onnx\]"):
        export_network(table_run, "onnx", tmp_path / "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["taken"]


def test_a_file_that_computes_otherwise_is_refused(table_run: Path, tmp_path: Path, monkeypatch: Any) -> None:
    from pencil.export import onnx as form

    true = form.probabilities
    monkeypatch.setattr(form, "probabilities", lambda path, x: true(path, x) + 0.01)
    with pytest.raises(PencilError, match="differ"):
        export_network(table_run, "onnx", tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", ["onnx", "torch_export"])
def test_a_network_that_torch_cannot_export_is_one_line(
    table_run: Path, tmp_path: Path, form: str, monkeypatch: Any, caplog: Any, capsys: Any
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        logging.getLogger("torch.fx").warning("no code of the user's is to blame")
        print("pages of the network's graph", file=sys.stderr)
        raise RuntimeError("cannot guard\nand much more")

    monkeypatch.setattr(torch.export, "export", refuse)
    with pytest.raises(PencilError, match=r"torch cannot export this network: cannot guard$"):
        export_network(table_run, form, tmp_path / "new")
    assert (caplog.records, capsys.readouterr().err, list(tmp_path.iterdir())) == ([], "", [])
