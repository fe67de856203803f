"""A finished run judges a newly labelled batch, without training: python examples/audit.py"""

import tempfile

import numpy as np
from sklearn.datasets import load_digits

import pencil
from pencil.audit import audit_run

digits = load_digits()
random = np.random.default_rng(0)
pixels = (digits.data / 16).astype(np.float32)
labels = np.where(random.random(len(pixels)) < 0.2, random.integers(10, size=len(pixels)), digits.target)
old, new = slice(0, 1400), slice(1400, None)

with tempfile.TemporaryDirectory() as place:
    np.savez(f"{place}/new.npz", x=pixels[new], y=labels[new])
    pencil.fit(pixels[old], labels[old], out=f"{place}/run", epochs=(5, 8, 3), device="cpu")
    audited = audit_run(f"{place}/run", f"{place}/new.npz")  # In the shell: pencil audit run new.npz > audit.csv

wrong, doubted = labels[new] != digits.target[new], audited.decision != "keep"
print(f"{len(wrong)} new labels: {', '.join(f'{number} {word}' for word, number in audited.counts.items())}")
found, in_vain = (100 * np.mean(doubted[these]) for these in (wrong, ~wrong))
print(f"wrong labels found: {found:.1f}%, right ones doubted: {in_vain:.1f}%")
