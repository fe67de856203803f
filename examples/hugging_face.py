"""A Hugging Face dataset gets its corrected labels as a column, ready to push: python examples/hugging_face.py"""

import tempfile

import datasets
import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

import pencil
from pencil.export.hf_dataset import add_corrected_labels

pixels, truth = (array[:600] for array in (load_digits().images, load_digits().target))
random = np.random.default_rng(0)
noisy = np.where(random.random(len(truth)) < 0.3, random.integers(10, size=len(truth)), truth)
images = [Image.fromarray((image * 15).astype(np.uint8)) for image in pixels]
features = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(names=list("0123456789"))})
dataset = datasets.Dataset.from_dict({"image": images, "label": noisy}, features)

with tempfile.TemporaryDirectory() as place:
    # A dataset on disk or on the hub: pencil train hf:NAME --out run
    settings = {"data": {"augment": {"flip": False}}}
    pencil.fit(dataset, out=f"{place}/run", epochs=(4, 7, 2), device="cpu", settings=settings)
    corrected = add_corrected_labels(dataset, f"{place}/run")  # then: corrected.push_to_hub(NAME)

print(corrected.features["corrected_label"], corrected[0]["label_source"])
before, after = (100 * np.mean(np.array(corrected[name]) == truth) for name in ("label", "corrected_label"))
print(f"correct labels: {before:.1f}% given, {after:.1f}% after training")
