"""A training that tests start as a process: python lightning_training.py OUT [--devices N] [--kill STEP] [--resume]"""

import argparse
import inspect
import os
import signal
from pathlib import Path

import torch
from lightning.pytorch import Callback, LightningModule, Trainer, seed_everything
from lightning.pytorch.callbacks import ModelCheckpoint
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from pencil import PencilCallback
from pencil.integrations.lightning import WithIndex

EXAMPLES, CLASSES, BATCH = 96, 3, 16
EPOCHS = (2, 3, 1)


class Classifier(LightningModule):
    def __init__(self, dataset):
        super().__init__()
        self.dataset = dataset
        self.network = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, CLASSES))

    def train_dataloader(self):
        # Lightning's own sampler shuffles; with this one two processes have the halves of one process's batches.
        count, rank = self.trainer.world_size, self.trainer.global_rank
        sampler = DistributedSampler(self.dataset, count, rank, shuffle=False)
        return DataLoader(self.dataset, batch_size=BATCH // count, sampler=sampler)

    def training_step(self, batch, batch_number):
        x, _, index = batch
        return self.pencil.loss(self.network(x), index)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.2, momentum=0.9)


class Kill(Callback):
    """Ends the process as a power cut would, in the middle of an epoch."""

    def __init__(self, step):
        self.step = step

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if trainer.global_step == self.step:
            os.kill(os.getpid(), signal.SIGKILL)


def main(arguments=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--kill", type=int, default=0)
    parser.add_argument("--resume", action="store_true")
    asked = parser.parse_args(arguments)
    torch.set_num_threads(1)
    seed_everything(0, verbose=False)
    truth = torch.arange(EXAMPLES) % CLASSES
    x = torch.randn(EXAMPLES, 4) + 3 * torch.nn.functional.one_hot(truth, 4)
    noisy = torch.where(torch.rand(EXAMPLES) < 0.3, (truth + 1) % CLASSES, truth)
    pencil = PencilCallback(noisy, CLASSES, epochs=EPOCHS, label_step="20 -> 5")
    saving = ModelCheckpoint(asked.out, save_last=True, every_n_epochs=1)
    trainer = Trainer(
        max_epochs=pencil.num_epochs,
        callbacks=[pencil, saving, Kill(asked.kill)],
        accelerator="cpu",
        devices=asked.devices,
        strategy="ddp" if asked.devices > 1 else "auto",
        use_distributed_sampler=False,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    module = Classifier(WithIndex(TensorDataset(x, noisy)))
    # Lightning before 2.6 reads checkpoints as it likes.
    safely = {"weights_only": True} if "weights_only" in inspect.signature(trainer.fit).parameters else {}
    trainer.fit(module, ckpt_path=asked.out / "last.ckpt" if asked.resume else None, **safely)
    learned = {**pencil.table.state_dict(), **module.state_dict(), "truth": truth}
    torch.save(learned, asked.out / f"learned-{trainer.global_rank}.pt")


if __name__ == "__main__":
    main()
