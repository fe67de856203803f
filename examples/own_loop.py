"""PENCIL in ten lines of your own training loop: python examples/own_loop.py"""

import torch
from sklearn.datasets import load_digits

import pencil

torch.manual_seed(0)
digits = load_digits()
x, truth = torch.tensor(digits.data / 16, dtype=torch.float32), torch.tensor(digits.target)
wrong = torch.rand(len(truth)) < 0.3
noisy = torch.where(wrong, torch.randint(10, truth.shape), truth)

model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
table = pencil.LabelTable(noisy, num_classes=10, epochs=(6, 12, 3))
for epoch in range(table.num_epochs):
    table.start_epoch(epoch)
    for index in torch.randperm(len(x)).split(64):
        optimizer.zero_grad()
        table.loss(model(x[index]), index).backward()
        optimizer.step()
        table.step(index)

before, after = (100 * (labels == truth).float().mean() for labels in (noisy, table.corrected))
print(f"correct labels: {before:.1f}% given, {after:.1f}% after training")
