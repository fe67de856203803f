"""PencilCallback: PENCIL for a LightningModule that exists already.

    class Classifier(LightningModule):
        def training_step(self, batch, batch_number):
            x, _, index = batch                          # from DataLoader(WithIndex(dataset), …)
            return self.pencil.loss(self(x), index)      # was: cross_entropy(self(x), y)

    pencil = PencilCallback(noisy_labels, num_classes=10, epochs=(20, 40, 20))
    Trainer(max_epochs=pencil.num_epochs, callbacks=[pencil]).fit(module, loader)
    pencil.table.corrected, pencil.table.distributions, pencil.table.quality

Learned labels are in Lightning's checkpoints; with several processes each has the labels of all.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils.data import Dataset

from pencil.errors import PencilError
from pencil.integrations.own_loop import LabelTable

try:
    from lightning.pytorch import Callback
except ImportError:
    try:
        from pytorch_lightning import Callback
    except ImportError as error:
        raise PencilError("PencilCallback needs Lightning: pip install pencil-labels[lightning]") from error

ATTRIBUTE = "pencil"


class PencilCallback(Callback):  # type: ignore[misc]
    """Gives the module a `LabelTable` as `self.pencil`, chooses phases and moves labels; takes its arguments."""

    def __init__(
        self,
        given: Any,
        num_classes: int,
        *,
        epochs: Sequence[int] | None = None,
        label_step: str | float | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.table = LabelTable(given, num_classes, epochs=epochs, label_step=label_step, options=options)

    @property
    def num_epochs(self) -> int:
        """Epochs of all phases together, for the Trainer's max_epochs."""
        return self.table.num_epochs

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Hand the labels to the module, and refuse a training that ends before they are learned."""
        # The labels of an earlier training make room; a Trainer takes no two of these callbacks.
        if not isinstance(getattr(pl_module, ATTRIBUTE, self.table), LabelTable):
            raise PencilError(f"the module has an attribute {ATTRIBUTE} of its own; rename it for PencilCallback.")
        setattr(pl_module, ATTRIBUTE, self.table)
        last = trainer.max_epochs
        tried = trainer.fast_dev_run  # A few batches, to see whether all of it runs.
        if stage == "fit" and not tried and last is not None and 0 <= last < self.num_epochs:
            raise PencilError(
                f"the Trainer stops after {last} epochs, but PENCIL's phases take {self.num_epochs};"
                " give Trainer(max_epochs=callback.num_epochs), or the callback other epochs."
            )

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Choose the phase."""
        self.table.start_epoch(trainer.current_epoch)
        pl_module.log("label_step", float(self.table.eta), rank_zero_only=True)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Move the labels of the batch, unless training_step left it out by returning nothing."""
        if not self.table.is_asked:
            if not outputs and pl_module.automatic_optimization:
                return
            raise PencilError(f"training_step did not ask for self.{ATTRIBUTE}.loss(logits, index); return that loss.")
        self.table.step()

    def state_dict(self) -> dict[str, torch.Tensor]:
        """Return the labels, for Lightning's checkpoint."""
        return {name: value.cpu() for name, value in self.table.state_dict().items()}

    def load_state_dict(self, state_dict: Mapping[str, torch.Tensor]) -> None:
        """Take the labels over from Lightning's checkpoint."""
        self.table.load_state_dict(state_dict)


class WithIndex(Dataset[Any]):
    """A map-style dataset whose examples end with their index, as PENCIL needs it: (x, y) becomes (x, y, index)."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        example = self.dataset[index]
        # Of a dictionary only the names would be left, and a tensor would come apart.
        if not isinstance(example, (tuple, list)):
            kind = type(example).__name__
            raise PencilError(
                f"WithIndex takes examples that are tuples, (x, y), not a {kind}; add the index yourself."
            )
        return (*example, index)
