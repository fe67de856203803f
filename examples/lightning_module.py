"""PENCIL in a LightningModule, by one callback and one changed line: python examples/lightning_module.py"""

import torch
from lightning.pytorch import LightningModule, Trainer, seed_everything
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

from pencil import PencilCallback
from pencil.integrations.lightning import WithIndex


class Classifier(LightningModule):
    def __init__(self):
        super().__init__()
        self.network = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))

    def training_step(self, batch, batch_number):
        x, _, index = batch
        return self.pencil.loss(self.network(x), index)  # was: cross_entropy(self.network(x), y)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)


if __name__ == "__main__":
    seed_everything(0, verbose=False)
    digits = load_digits()
    x, truth = torch.tensor(digits.data / 16, dtype=torch.float32), torch.tensor(digits.target)
    noisy = torch.where(torch.rand(len(truth)) < 0.3, torch.randint(10, truth.shape), truth)

    pencil = PencilCallback(noisy, num_classes=10, epochs=(6, 12, 3))
    trainer = Trainer(
        max_epochs=pencil.num_epochs, callbacks=[pencil], accelerator="cpu", devices=1, logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    trainer.fit(Classifier(), DataLoader(WithIndex(TensorDataset(x, noisy)), batch_size=64, shuffle=True))

    before, after = (100 * (labels == truth).float().mean() for labels in (noisy, pencil.table.corrected))
    print(f"correct labels: {before:.1f}% given, {after:.1f}% after training")
