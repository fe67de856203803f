"""Two processes that each make a network of their own draw; run by test_own_network.py."""

import os
import sys
from pathlib import Path

import numpy as np
import torch

import pencil

torch.manual_seed(int(os.environ["RANK"]))
x, y = np.random.default_rng(0).normal(size=(120, 4)).astype(np.float32), np.arange(120) % 2
settings = {"hardware": {"device": "cpu", "threads": 1}, "optimizer": {"batch_size": 40}}
network = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
result = pencil.fit(x, y, backbone=network, out="run", settings=settings, epochs=(1, 2, 1))
torch.save([network.state_dict(), result.model.state_dict()], Path(sys.argv[1]) / f"{os.environ['RANK']}.pt")
labels = result.corrected_labels
again = pencil.fit(x, y, backbone=network, out="run", resume=True)
assert np.array_equal(labels, again.corrected_labels)
np.save(Path(sys.argv[1]) / f"{os.environ['RANK']}.npy", labels)
