"""PencilCallback with Lightning's own Trainer: phases, checkpoints, a kill, two processes."""

import importlib.util
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning.pytorch import LightningModule, Trainer
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

from pencil import PencilCallback, PencilError
from pencil.integrations.lightning import WithIndex

from ..warm import WarmProcess, warm_pair

SCRIPT = Path(__file__).with_name("lightning_training.py")
_spec = importlib.util.spec_from_file_location(SCRIPT.stem, SCRIPT)
assert _spec is not None and _spec.loader is not None
TRAINING = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(TRAINING)
X, Y = torch.randn(12, 4), torch.arange(12) % 3


class Classifier(LightningModule):
    def __init__(self, *, asks: bool = True) -> None:
        super().__init__()
        self.network, self.asks = torch.nn.Linear(4, 3), asks
        self.seen: list[tuple[str, float]] = []

    def training_step(self, batch: Any, batch_number: int) -> Tensor:
        x, y, index = batch
        self.seen.append((self.pencil.phase.name, self.pencil.eta))
        logits: Tensor = self.network(x)
        return self.pencil.loss(logits, index) if self.asks else torch.nn.functional.cross_entropy(logits, y)

    def validation_step(self, batch: Any, batch_number: int) -> None:
        # A shared step that asks for the loss again must not move labels.
        self.pencil.loss(self.network(batch[0]), batch[-1])

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


def fit(module: LightningModule, callback: PencilCallback, folder: Path, **more: Any) -> None:
    loader = DataLoader(WithIndex(TensorDataset(X, Y)), batch_size=12)
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    settings = {"max_epochs": callback.num_epochs, **quiet, "enable_model_summary": False} | more
    Trainer(callbacks=[callback], accelerator="cpu", default_root_dir=folder, **settings).fit(module, loader, loader)


def learned(folder: Path, rank: int = 0) -> dict[str, Tensor]:
    found: dict[str, Tensor] = torch.load(folder / f"learned-{rank}.pt", weights_only=True)
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tensor]:
    """What one process learns without being disturbed."""
    folder = tmp_path_factory.mktemp("whole")
    TRAINING.main([str(folder)])
    return learned(folder)


def test_phases_follow_the_trainers_epochs(tmp_path: Path) -> None:
    module, callback = Classifier(), PencilCallback(Y, 3, epochs=(1, 2, 1), label_step="0.5 -> 0")
    fit(module, callback, tmp_path)
    assert module.seen == [("backbone", 0.0), ("labels", 0.5), ("labels", 0.25), ("tuning", 0.0)]


def test_labels_move_once_a_training_batch_and_in_their_phase_alone(tmp_path: Path) -> None:
    still = PencilCallback(Y, 3, epochs=(2, 0, 0))
    fit(Classifier(), still, tmp_path)
    assert torch.equal(still.table.distributions, PencilCallback(Y, 3).table.distributions)
    moved = PencilCallback(Y, 3, epochs=(0, 1, 0), label_step=5.0)
    fit(Classifier(), moved, tmp_path)
    assert not torch.equal(moved.table.distributions, still.table.distributions)
    assert moved.table.table.columns["predictions"].tolist() == [1] * 12


def test_labels_are_learned(whole: dict[str, Tensor]) -> None:
    corrected = whole["label_logits"].argmax(1)
    given, after = ((labels == whole["truth"]).float().mean() for labels in (whole["given"], corrected))
    assert after > given + 0.1


@pytest.mark.slow
def test_a_killed_training_goes_on_to_the_same_bits(
    whole: dict[str, Tensor], tmp_path: Path, warm_file: Callable[..., WarmProcess]
) -> None:
    # Twenty steps: in the fourth of six epochs, while labels are learned.
    assert warm_file(SCRIPT, tmp_path, "--kill", 20).wait() == -signal.SIGKILL
    saved = torch.load(tmp_path / "last.ckpt", weights_only=True)
    assert saved["epoch"] == 2
    assert not torch.equal(saved["callbacks"]["PencilCallback"]["label_logits"], whole["label_logits"])
    TRAINING.main([str(tmp_path), "--resume"])
    found = learned(tmp_path)
    assert [name for name in whole if not torch.equal(found[name], whole[name])] == []


@pytest.mark.slow
def test_two_processes_learn_what_one_learns(
    whole: dict[str, Tensor], tmp_path: Path, warm_file: Callable[..., WarmProcess]
) -> None:
    warm_pair(warm_file, SCRIPT, tmp_path, "--devices", 2)
    first, second = learned(tmp_path, 0), learned(tmp_path, 1)
    assert [name for name in first if not torch.equal(first[name], second[name])] == []
    for name in whole:
        torch.testing.assert_close(first[name], whole[name], rtol=1e-4, atol=1e-4)
    saved = torch.load(tmp_path / "last.ckpt", weights_only=True)["callbacks"]["PencilCallback"]
    assert torch.equal(saved["label_logits"], first["label_logits"]), "the checkpoint has the labels of both"


@pytest.mark.parametrize(
    ("module", "more", "message"),
    [
        (Classifier(), {"max_epochs": 2}, r"max_epochs=callback\.num_epochs"),
        (Classifier(asks=False), {}, r"did not ask for self\.pencil\.loss"),
    ],
)
def test_mistakes_are_named(module: Classifier, more: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(PencilError, match=message):
        fit(module, PencilCallback(Y, 3, epochs=(1, 1, 1)), tmp_path, **more)


def test_a_trial_run_of_a_batch_needs_no_whole_training(tmp_path: Path) -> None:
    module = Classifier()
    fit(module, PencilCallback(Y, 3, epochs=(1, 2, 1)), tmp_path, fast_dev_run=True)
    assert len(module.seen) == 1


class Choosy(Classifier):
    """Leaves out a batch, as Lightning lets a module do."""

    def training_step(self, batch: Any, batch_number: int) -> Any:
        return None if self.current_epoch == 1 else super().training_step(batch, batch_number)


def test_a_batch_that_is_left_out_moves_nothing(tmp_path: Path) -> None:
    module, callback = Choosy(), PencilCallback(Y, 3, epochs=(0, 3, 0), label_step=1.0)
    fit(module, callback, tmp_path)
    assert len(module.seen) == 2
    assert not callback.table.is_asked


def test_an_attribute_of_the_modules_own_is_not_overwritten(tmp_path: Path) -> None:
    module = Classifier()
    module.pencil = torch.nn.Linear(1, 1)
    with pytest.raises(PencilError, match="rename it"):
        fit(module, PencilCallback(Y, 3), tmp_path)


def test_a_module_is_trained_again_with_other_labels(tmp_path: Path) -> None:
    module = Classifier()
    for given in (Y, (Y + 1) % 3):
        callback = PencilCallback(given, 3, epochs=(1, 1, 1))
        fit(module, callback, tmp_path)
        assert module.pencil is callback.table


@pytest.mark.parametrize("dataset", [[{"x": X[0], "y": 1}], X])
def test_examples_that_are_no_tuples_do_not_come_apart(dataset: Any) -> None:
    with pytest.raises(PencilError, match="tuples"):
        WithIndex(dataset)[0]
