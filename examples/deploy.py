"""From a run to a network that ONNX Runtime computes, without pencil: python examples/deploy.py"""

import json
import tempfile
from pathlib import Path

import onnxruntime
from sklearn.datasets import load_digits

import pencil
from pencil.export.network import export_network

with tempfile.TemporaryDirectory() as place:
    run, file = Path(place) / "run", Path(place) / "network.onnx"
    pencil.fit("digits", noise="symmetric:0.4", backbone="mlp", epochs=(6, 8, 4), device="cpu", out=run)
    export_network(run, "onnx", file)  # in the shell: pencil export run --onnx --out network.onnx

    session = onnxruntime.InferenceSession(file)
    classes = json.loads(session.get_modelmeta().custom_metadata_map["classes"])
    digits = load_digits()
    pixels = (digits.images * (255 / 16)).round().astype("uint8")[..., None]
    logits, probabilities = session.run(None, {"input": pixels})
    right = [classes[found] == str(truth) for found, truth in zip(probabilities.argmax(1), digits.target, strict=True)]
    print(f"ONNX Runtime recognises {100 * sum(right) / len(right):.1f}% of the digits")
