"""A transformers image classifier from a local folder learns from noisy labels: python examples/pretrained_network.py

In the shell: pencil train photos/ --backbone transformers:FOLDER --out run (or timm:NAME with the extra `vision`)
"""

import tempfile

import numpy as np
from sklearn.datasets import load_digits
from transformers import ResNetConfig, ResNetForImageClassification

import pencil

pixels, truth = (array[:600] for array in (load_digits().images, load_digits().target))
random = np.random.default_rng(0)
noisy = np.where(random.random(len(truth)) < 0.3, random.integers(10, size=len(truth)), truth)

with tempfile.TemporaryDirectory() as place:
    # Stands for a folder of published weights; its classifier has another size, so it starts anew.
    config = ResNetConfig(num_channels=1, embedding_size=16, hidden_sizes=[32, 64], depths=[1, 1], num_labels=1000)
    config.layer_type, config.downsample_in_first_stage = "basic", False
    ResNetForImageClassification(config).save_pretrained(f"{place}/network")

    settings = {"data": {"augment": {"flip": False}, "held_out": 0.0}}
    result = pencil.fit(
        (pixels * 15).astype(np.uint8), noisy, backbone=f"transformers:{place}/network", epochs=(4, 8, 3),
        device="cpu", settings=settings,
    )  # fmt: skip

before, after = (100 * np.mean(labels == truth) for labels in (noisy, result.corrected_labels))
print(f"correct labels: {before:.1f}% given, {after:.1f}% after training")
