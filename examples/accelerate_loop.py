"""PENCIL in a loop that Accelerate runs, on one process or several.

python examples/accelerate_loop.py
torchrun --nproc-per-node 2 examples/accelerate_loop.py
"""

import shutil
import tempfile

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

import pencil

accelerator = Accelerator(cpu=True)
torch.manual_seed(0)
digits = load_digits()
x, truth = torch.tensor(digits.data[:900] / 16, dtype=torch.float32), torch.tensor(digits.target[:900])
noisy = torch.where(torch.rand(len(truth)) < 0.3, torch.randint(10, truth.shape), truth)

model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
loader = DataLoader(TensorDataset(x, torch.arange(len(x))), batch_size=64 // accelerator.num_processes, shuffle=True)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

# Every process has the labels of all examples: step() shares what any of them moved.
table = pencil.LabelTable(noisy, num_classes=10, epochs=(6, 12, 3))
accelerator.register_for_checkpointing(table)
for epoch in range(table.num_epochs):
    table.start_epoch(epoch)
    for batch, index in loader:
        optimizer.zero_grad()
        accelerator.backward(table.loss(model(batch), index))
        optimizer.step()
        table.step(index)

# The labels are in Accelerate's checkpoints.
[place] = broadcast_object_list([tempfile.mkdtemp() if accelerator.is_main_process else None])
learned = table.distributions
accelerator.save_state(place)
accelerator.wait_for_everyone()
table.load_state_dict(pencil.LabelTable(noisy, num_classes=10).state_dict())
accelerator.load_state(place)
assert torch.equal(table.distributions, learned)

same = accelerator.gather(table.distributions.sum(0, keepdim=True).double())
assert torch.equal(same, same[:1].expand_as(same)), "all processes have the same labels"
before, after = (100 * (labels == truth).float().mean() for labels in (noisy, table.corrected))
accelerator.print(f"correct labels: {before:.1f}% given, {after:.1f}% after training")
if accelerator.is_main_process:
    shutil.rmtree(place)
accelerator.end_training()
