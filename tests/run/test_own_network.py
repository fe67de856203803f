"""A network that is given in Python, and inputs that are neither rows nor images."""

import copy
import json
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import TensorDataset

import pencil
from pencil import PencilError, plugins
from pencil.backbones.small_cnn import SmallCNN
from pencil.config import read_toml
from pencil.data import from_arrays
from pencil.export.network import export_network
from pencil.export.write import export_run
from pencil.review.desk import open_desk
from pencil.run.finished.predict import predict_run
from pencil.run.train import Interrupted
from pencil.run.training import build, layout

from ..warm import WarmProcess, warm_pair
from .test_fit import Stopping

CPU = {"hardware": {"device": "cpu", "threads": 1}, "optimizer": {"batch_size": 64}}
LENGTH, WORDS = 12, 40


class Reader(nn.Module):
    """Looks words up and averages them."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, 16)
        self.last = nn.Linear(16, 3)

    def forward(self, tokens: Tensor) -> Tensor:
        assert tokens.dtype == torch.int64
        said: Tensor = self.last(self.words(tokens).mean(1))
        return said


def sentences(count: int = 300) -> tuple[Any, Any, Any]:
    """Return tokens, true classes and labels of which a quarter is drawn anew; each class has a word of its own."""
    rng = np.random.default_rng(0)
    true = rng.integers(0, 3, count)
    tokens = rng.integers(3, WORDS, (count, LENGTH))
    for _ in range(3):
        tokens[np.arange(count), rng.integers(0, LENGTH, count)] = true
    return tokens, true, np.where(rng.random(count) < 0.25, rng.integers(0, 3, count), true)


def reader() -> Reader:
    torch.manual_seed(0)
    return Reader()


def test_words_are_corrected_by_a_network_of_ones_own(tmp_path: Path) -> None:
    tokens, true, noisy = sentences(600)
    network = reader()
    before = copy.deepcopy(network.state_dict())
    result = pencil.fit(tokens, noisy, raw=True, backbone=network, out=tmp_path / "run", settings=CPU, epochs=60)
    assert (result.corrected_labels == true).mean() > 0.97 > 0.9 > (noisy == true).mean()
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items()), "it is left alone"
    assert isinstance(result.model, Reader)
    saved = read_toml(tmp_path / "run" / "config.toml")
    assert saved["backbone"] == "<Reader>" and saved["data"]["options"] == {"raw": True}


def test_training_starts_from_the_weights_that_are_given(quick: dict[str, Any]) -> None:
    x, y = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32), np.arange(200) % 2
    still = {**CPU, "optimizer": {"batch_size": 64, "weight_decay": 0.0}, "phases": {"training": {"lr": "0"}}}
    network = nn.Linear(4, 2)
    result = pencil.fit(x, y, backbone=network, method="cross_entropy", settings=still, epochs=1)
    assert torch.equal(result.model.weight, network.weight)  # type: ignore[arg-type]


def test_a_function_makes_the_network(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(200, 5, 4)).astype(np.float32)
    seen = []

    def make(spec: Any, num_classes: int, *, hidden: int = 8) -> nn.Module:
        seen.append(spec)
        layers = nn.Linear(math.prod(spec.shape), hidden), nn.ReLU(), nn.Linear(hidden, num_classes)
        return nn.Sequential(nn.Flatten(), *layers)

    how = {"settings": {**CPU, "backbone_options": {"hidden": 3}}, "epochs": (1, 1, 1)}
    result = pencil.fit(x, np.arange(200) % 2, raw=True, backbone=make, out=tmp_path / "run", **how)
    assert seen[0].kind == "tensors" and seen[0].shape == (5, 4)
    assert result.model[1].out_features == 3  # type: ignore[index]
    with pytest.raises(PencilError, match='<make> has no option "width"'):
        pencil.fit(x, np.arange(200) % 2, raw=True, backbone=make, settings={"backbone_options": {"width": 3}})


def test_a_stopped_run_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    tokens, _, noisy = sentences()
    dataset = TensorDataset(torch.from_numpy(tokens), torch.from_numpy(noisy))
    how: dict[str, Any] = {"raw": True, "backbone": reader()}
    whole = pencil.fit(dataset, out=tmp_path / "whole", settings=CPU, epochs=(2, 2, 2), **how)
    steps = math.ceil(len(tokens) * 0.9 / 64)
    with pytest.raises(Interrupted):
        pencil.fit(dataset, out=tmp_path / "run", settings=CPU, epochs=(2, 2, 2), progress=Stopping(3 * steps), **how)
    with pytest.raises(PencilError, match=r"network of the run in .* was given in Python; give it again"):
        pencil.fit(dataset, out=tmp_path / "run", resume=True, raw=True)
    with pytest.raises(PencilError, match=r"started with other settings \(backbone\)"):
        pencil.fit(dataset, out=tmp_path / "run", resume=True, raw=True, backbone=nn.Linear(LENGTH, 3))
    for _ in range(2):  # To its end, and once more when it is finished.
        resumed = pencil.fit(dataset, out=tmp_path / "run", resume=True, backbone=reader())
        for name, value in whole.model.state_dict().items():
            assert torch.equal(resumed.model.state_dict()[name], value), name
        np.testing.assert_array_equal(resumed.label_distributions, whole.label_distributions)


@pytest.fixture(scope="module")
def read_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run on tokens in a file."""
    place = tmp_path_factory.mktemp("tokens")
    tokens, _, noisy = sentences()
    np.savez(place / "tokens.npz", x=tokens, y=noisy, texts=[f"sentence {number}" for number in range(300)])
    pencil.fit(place / "tokens.npz", raw=True, backbone=reader(), out=place / "run", settings=CPU, epochs=(2, 2, 2))
    return place / "run"


def test_new_examples_are_predicted(read_once: Path) -> None:
    tokens, _, noisy = sentences(20)
    found = predict_run(read_once, from_arrays(tokens, noisy, raw=True), backbone=reader(), device="cpu")
    assert found.probabilities.shape == (20, 3)
    again = predict_run(read_once, read_once.parent / "tokens.npz", backbone=reader(), device="cpu")
    assert len(again.ids) == 300
    floats = from_arrays(tokens.astype(np.float32), noisy, raw=True)
    rows = from_arrays(tokens, noisy)
    for other, words in ((floats, "has tensors, the run"), (rows, "has rows, the run")):
        with pytest.raises(PencilError, match=f"arrays {words} was trained on tensors of whole numbers"):
            predict_run(read_once, other, backbone=reader())
    for missing in ("", nn.Linear(LENGTH, 3)):
        with pytest.raises(PencilError, match=r"network, <Reader>, was given in Python; give it there again"):
            predict_run(read_once, floats, backbone=missing)


def test_a_run_starts_from_it(read_once: Path, tmp_path: Path) -> None:
    source = read_once.parent / "tokens.npz"
    with pytest.raises(PencilError, match=r"was given in Python; give it again"):
        pencil.fit(source, start_from=read_once, out=tmp_path / "next")
    result = pencil.fit(source, start_from=read_once, out=tmp_path / "next", backbone=reader(), epochs=(0, 1, 1))
    assert len(result.history) == 2


def test_people_see_its_texts_and_numbers(read_once: Path, tmp_path: Path) -> None:
    desk = open_desk(read_once)
    tokens, _, _ = sentences()
    row = desk.index.table["id"].to_pylist().index(from_arrays(tokens, np.arange(300) % 3, raw=True).train.ids[7])
    shown = desk.item(row)["values"]
    assert shown[:3] == [["text", "sentence 7"], ["1", str(tokens[7, 0])], ["2", str(tokens[7, 1])]]
    export_run(read_once, "label_studio", tmp_path / "tasks")
    tasks = json.loads((tmp_path / "tasks" / "tasks.json").read_text())
    assert f"text: sentence 7\n1: {tokens[7, 0]}\n" in "".join(task["data"]["text"] for task in tasks)


def test_its_network_is_exported(read_once: Path, tmp_path: Path) -> None:
    tokens, _, noisy = sentences(9)
    assert export_network(read_once, "torch_export", tmp_path / "network.pt2", backbone=reader()) is not None
    with torch.no_grad():
        found = torch.export.load(tmp_path / "network.pt2").module()(torch.from_numpy(tokens))[1]
    wanted = predict_run(read_once, from_arrays(tokens, noisy, raw=True), backbone=reader(), device="cpu")
    np.testing.assert_allclose(found.numpy(), wanted.probabilities, atol=1e-5)


class Looked(nn.Module):
    """Looks words up, and adds what it finds."""

    def __init__(self, *, sparse: bool = False, forgetful: bool = False) -> None:
        super().__init__()
        self.words, self.forgetful = nn.Embedding(WORDS, 3, sparse=sparse), forgetful

    def forward(self, tokens: Tensor) -> Tensor:
        found: Tensor = self.words(tokens).sum(1)
        return found.detach() if self.forgetful else found


def uncopyable() -> nn.Module:
    network = Looked()
    network.kept = network(torch.zeros(1, LENGTH, dtype=torch.int64))  # type: ignore[assignment]
    return network


def traced() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return torch.jit.trace(Looked(), torch.zeros(2, LENGTH, dtype=torch.int64))  # type: ignore[no-untyped-call]


class Noted(Looked):
    """Keeps something beside its tensors in its state."""

    def get_extra_state(self) -> Any:
        return {"kept": 3}

    def set_extra_state(self, state: Any) -> None:
        """Nothing is done with it."""


def broken(spec: Any, num_classes: int) -> nn.Module:
    raise KeyError("width")


class Centred(Looked):
    """Subtracts the mean of what it has seen, as networks may keep it."""

    def __init__(self, *, kept: bool = True, replaces: bool = False, sparse: bool = False) -> None:
        super().__init__()
        mean = torch.zeros(3).to_sparse() if sparse else torch.zeros(3)
        self.register_buffer("mean", mean, persistent=kept)
        self.replaces = replaces

    def forward(self, tokens: Tensor) -> Tensor:
        found = super().forward(tokens)
        if self.training and self.replaces:
            self.mean = 0.9 * self.mean + 0.1 * found.detach().mean(0)
        elif self.training:
            self.mean.lerp_(found.detach().mean(0), 0.1)
        return found - self.mean


class Bounded(Looked):
    """Keeps its weights small, as networks of few examples do."""

    def forward(self, tokens: Tensor) -> Tensor:
        self.words.weight.data = torch.renorm(self.words.weight.data, p=2, dim=0, maxnorm=2)
        return super().forward(tokens)


def projecting(spec: Any, num_classes: int) -> nn.Module:
    network = Looked()
    network.register_buffer("projection", torch.randn(3), persistent=False)
    return network


class Turned(nn.Module):
    """Turns pairs of inputs by fixed angles, as networks do that tell places apart by rotations."""

    def __init__(self, *, turns: bool = False, complex_logits: bool = False) -> None:
        super().__init__()
        angles = torch.polar(torch.ones(LENGTH // 2), torch.arange(LENGTH // 2) + 1.0)
        self.register_parameter("learned", nn.Parameter(angles) if turns else None)
        self.register_buffer("angles", angles)
        self.last, self.complex_logits = nn.Linear(LENGTH, 3), complex_logits

    def forward(self, tokens: Tensor) -> Tensor:
        pairs = torch.view_as_complex(tokens.float().reshape(len(tokens), -1, 2)) * self.angles
        logits: Tensor = self.last(torch.view_as_real(pairs).flatten(1).to(self.last.weight.dtype) / WORDS)
        return logits + 0j if self.complex_logits else logits


@pytest.mark.parametrize("precision", ["32-true", "64-true"])
def test_complex_numbers_of_a_network_keep_their_imaginary_part(precision: str, tmp_path: Path) -> None:
    tokens, _, noisy = sentences(60)
    own = Turned()
    how: Any = {"raw": True, "settings": CPU, "precision": precision}
    trained = pencil.fit(tokens, noisy, backbone=own, epochs=[1, 1, 1], out=tmp_path / "run", **how)
    assert torch.equal(trained.model.angles, own.angles)
    again = predict_run(tmp_path / "run", from_arrays(tokens, noisy, raw=True), backbone=own)
    with torch.no_grad():
        expected = trained.model(torch.from_numpy(tokens)).softmax(-1)
    assert np.allclose(again.probabilities, expected, atol=1e-4)


@pytest.mark.parametrize(
    ("backbone", "words"),
    [
        (3, "backbone is a int; give a network's name, a torch.nn.Module, or a function"),
        (None, "no network is usual for inputs that are taken as they are; give one by backbone"),
        ("mlp", "the network mlp cannot take inputs of shape .2, 12., numbers as they are: RuntimeError"),
        ("small_cnn", "small_cnn takes images, but these examples are tensors of 12 numbers; give a network of your"),
        (Reader, r"<Reader> cannot be called with \(spec, num_classes\): TypeError"),
        (nn.Linear, r"<Linear> cannot be called with \(spec, num_classes\): TypeError"),
        (broken, r"<broken> cannot be called with \(spec, num_classes\): KeyError: 'width'"),
        (lambda spec, num_classes: None, "<lambda> returned a NoneType, not a torch.nn.Module"),
        (
            nn.Embedding(WORDS, 3),
            r"<Embedding> turns inputs of shape \[2, 12\] into \[2, 12, 3\]; it must give \[2, 3\]",
        ),
        (nn.LSTM(LENGTH, 3), "<LSTM> cannot take inputs of shape"),
        (
            Looked(sparse=True),
            "gradient of words.weight in the network <Looked> is sparse; make",
        ),
        (Looked().requires_grad_(False), "<Looked> has no parameter that may learn; let some require a gradient"),
        (Looked(forgetful=True), "logits of the network <Looked> have no gradient"),
        (nn.Sequential(nn.Flatten(), nn.LazyLinear(3)), "<Sequential> has lazy layers; call it on an example once"),
        (Turned(turns=True), "<Turned> has complex parameters; keep their real and imaginary parts apart"),
        (Turned(complex_logits=True), "<Turned> gives complex numbers; let it return logits that are real"),
        (Looked().to("meta"), "<Looked> is on the device meta, without numbers"),
        (Noted(), "the state of the network <Noted> has a dict, _extra_state; keep tensors alone"),
        (Bounded(), r"<Bounded> puts another tensor in the place of words.weight .*; let it write into the one it has"),
        (Centred(replaces=True), "<Centred> puts another tensor in the place of mean when it is called"),
        (Centred(kept=False), "<Centred> changes its buffer mean as it learns, .*; register it with persistent=True"),
        (Centred(sparse=True), "the tensor mean of the network <Centred> is sparse; keep it dense"),
        (projecting, "buffer projection of the network <projecting> is another each time it is made, .* persistent"),
        (traced(), "parameters of the network <TopLevelTracedModule> cannot learn in a copy"),
        (uncopyable(), r"<Looked> cannot be copied \(.*\); give a function"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_written(backbone: Any, words: str, tmp_path: Path) -> None:
    tokens, _, noisy = sentences(60)
    with pytest.raises(PencilError, match=words):
        pencil.fit(tokens, noisy, raw=True, backbone=backbone, out=tmp_path / "run", settings=CPU)
    assert not (tmp_path / "run").exists()


def normalised() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))


@pytest.mark.parametrize(("count", "size"), [(61, 20), (61, 60), (60, 1)])
def test_a_network_that_needs_others_beside_an_example_is_refused_where_one_is_left_alone(
    count: int, size: int, tmp_path: Path
) -> None:
    x, y = np.random.default_rng(0).normal(size=(count, 4)).astype(np.float32), np.arange(count) % 2
    how: Any = {"epochs": [1, 1, 1], "held_out": 0.0}
    settings = {**CPU, "optimizer": {"batch_size": size}}
    words = f"{count} training examples in batches of {size} have it: Expected more than 1 value"
    with pytest.raises(PencilError, match=words):
        pencil.fit(x, y, backbone=normalised(), out=tmp_path / "run", settings=settings, **how)
    assert not (tmp_path / "run").exists()
    pencil.fit(x[:60], y[:60], backbone=normalised(), settings=CPU, **how)


class Squeezing(nn.Linear):
    """Takes one example alone for none."""

    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input.squeeze())


def test_a_network_that_squeezes_predicts_one_example_and_is_refused_where_it_would_learn_one_alone(
    tmp_path: Path,
) -> None:
    x, y = np.random.default_rng(0).normal(size=(61, 4)).astype(np.float32), np.arange(61) % 2
    how: Any = {"epochs": [1, 1, 1], "held_out": 0.0, "backbone": Squeezing(4, 2)}
    words = (
        r"turns one example alone, as 61 training examples in batches of 20 have it, into \[2\]; it must give \[1, 2\]"
    )
    with pytest.raises(PencilError, match=words):
        pencil.fit(x, y, settings={**CPU, "optimizer": {"batch_size": 20}}, **how)
    pencil.fit(x, y, settings=CPU, out=tmp_path / "run", **how)
    one, two = (predict_run(tmp_path / "run", from_arrays(x[:n], y[:n]), backbone=Squeezing(4, 2)) for n in (1, 2))
    np.testing.assert_allclose(one.probabilities, two.probabilities[:1], rtol=1e-6)


class Picture(nn.Module):
    """Finds classes in images of 8 × 8, and notes how those it has seen lay in memory."""

    def __init__(self, flat: Callable[[Tensor], Tensor], colours: int = 3) -> None:
        super().__init__()
        self.kernels, self.last, self.flat = nn.Conv2d(colours, 4, 3, padding=1), nn.Linear(4 * 64, 2), flat
        self.together: list[bool] = []

    def forward(self, images: Tensor) -> Tensor:
        self.together.append(images.is_contiguous(memory_format=torch.channels_last))
        said: Tensor = self.last(self.flat(self.kernels(images)))
        return said


def viewed(planes: Tensor) -> Tensor:
    return planes.view(len(planes), -1)


def flattened(planes: Tensor) -> Tensor:
    return planes.flatten(1)


@pytest.mark.parametrize("colours", [1, 3])
@pytest.mark.parametrize("given", ["function", "the same each time", "plug-in"])
@pytest.mark.parametrize(("flat", "together"), [(viewed, False), (flattened, True)])
def test_pixels_lie_together_where_a_network_manages(
    flat: Callable[[Tensor], Tensor], together: bool, given: str, colours: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layout, "_faster_together", lambda device: True)
    x = np.random.default_rng(0).integers(0, 256, (60, 8, 8, colours), dtype=np.uint8)
    made: list[Picture] = []
    built: list[bool] = []

    def network(spec: Any, num_classes: int) -> Picture:
        if given != "the same each time" or not made:
            made.append(Picture(flat, colours))
        return made[-1]

    def with_pixels_together(network: nn.Module) -> nn.Module:
        built.append(True)
        return lay_out(network)

    lay_out = build.with_pixels_together
    monkeypatch.setattr(build, "with_pixels_together", with_pixels_together)
    if given == "plug-in":
        entry = SimpleNamespace(load=lambda: network)
        monkeypatch.setattr(plugins, "entry_points", lambda group, name: [entry] if name == "picture" else [])
    backbone = "picture" if given == "plug-in" else network
    result = pencil.fit(x, np.arange(60) % 2, backbone=backbone, epochs=[1, 1, 1], settings=CPU)
    assert bool(built) == together
    if colours > 1 and given != "the same each time":
        # The first ones are tried out.
        assert set(max(made, key=lambda one: len(one.together)).together) == {together}
    assert result.model.kernels.weight.is_contiguous(), "as safetensors wants it"
    assert len(result.predict(x)) == 60


@pytest.mark.parametrize("together", [False, True])
def test_a_built_in_network_predicts_on_pixels_as_it_is_fastest(
    together: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(layout, "_faster_together", lambda device: together)
    x, y = np.random.default_rng(0).integers(0, 256, (60, 8, 8, 3), dtype=np.uint8), np.arange(60) % 2
    np.savez(tmp_path / "new.npz", x=x)
    network = {"backbone": "small_cnn", "epochs": [1, 1, 1]}
    result = pencil.fit(x, y, out=tmp_path / "run", settings=CPU, **network)
    assert all(value.is_contiguous() for value in result.model.state_dict().values()), "as safetensors wants it"
    classifier = pencil.PencilClassifier(device="cpu", **network).fit(x, y)
    seen: list[bool] = []
    forward = SmallCNN.forward

    def look(self: SmallCNN, images: Tensor) -> Tensor:
        seen.append(images.is_contiguous(memory_format=torch.channels_last))
        return forward(self, images)

    monkeypatch.setattr(SmallCNN, "forward", look)
    result.predict(x)
    predict_run(tmp_path / "run", tmp_path / "new.npz")
    classifier.predict_proba(x)
    assert seen == [together] * 3


def test_images_that_become_one_pixel_are_not_learned_alone() -> None:
    images, y = np.zeros((41, 8, 8), np.uint8), np.arange(41) % 2
    settings = {**CPU, "optimizer": {"batch_size": 20}}
    with pytest.raises(PencilError, match="the network preact_resnet18 cannot learn from one example alone"):
        pencil.fit(images, y, backbone="preact_resnet18", epochs=[1, 1, 1], held_out=0.0, settings=settings)


class Repeating(nn.Linear):
    """Has a buffer that repeats one number, and one of whole numbers."""

    def __init__(self) -> None:
        super().__init__(LENGTH, 3)
        self.register_buffer("scale", torch.full((1,), 0.1).expand(LENGTH))
        self.register_buffer("places", torch.arange(3)[:, None].expand(3, 4))

    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input.to(self.weight.dtype) * self.scale)


@pytest.mark.parametrize("make", [Repeating, lambda: nn.Sequential(Repeating().double()), lambda: Repeating().half()])
def test_a_network_is_brought_to_the_precision_wherever_it_is_used(
    make: Callable[[], nn.Module], tmp_path: Path
) -> None:
    tokens, _, noisy = sentences(60)
    own, x = make(), tokens.astype(np.float32)
    how: Any = {"raw": True, "settings": CPU, "epochs": [1, 1, 1], "backbone": own}
    trained = pencil.fit(x, noisy, out=tmp_path / "run", **how).model
    predicted = predict_run(tmp_path / "run", from_arrays(x, noisy, raw=True), backbone=own).probabilities
    with torch.no_grad():
        assert np.allclose(predicted, trained(torch.from_numpy(x)).softmax(-1), atol=1e-6)
    pencil.fit(x, noisy, start_from=tmp_path / "run", **how)


def test_a_compiled_network_is_given_again(tmp_path: Path) -> None:
    tokens, _, noisy = sentences(60)
    own = torch.compile(reader(), backend="eager")
    trained = pencil.fit(tokens, noisy, raw=True, backbone=own, settings=CPU, epochs=[1, 1, 1], out=tmp_path / "run")
    again = pencil.fit(tokens, noisy, backbone=own, resume=True, out=tmp_path / "run")
    assert np.array_equal(again.corrected_labels, trained.corrected_labels)


class TwoOutputs(nn.Linear):
    """Gives more than logits while it trains, as networks with auxiliary heads do."""

    def forward(self, input: Tensor) -> Any:
        logits = super().forward(input)
        return (logits, logits) if self.training else logits


def test_rows_for_a_network_that_looks_words_up_name_the_remedy() -> None:
    tokens, _, noisy = sentences(60)
    with pytest.raises(PencilError, match=r"rows with standardised numbers \(raw=True gives numbers as they are\)"):
        pencil.fit(tokens, noisy, backbone=reader(), settings=CPU)
    with pytest.raises(PencilError, match=r"<TwoOutputs> gives a tuple; let it return the logits alone"):
        pencil.fit(tokens, noisy, backbone=TwoOutputs(LENGTH, 3), settings=CPU)
    mixed = {**CPU, "teaching": {"mixup": 0.5, "average_epochs": 2.0}}
    with pytest.raises(PencilError, match="whole numbers that are taken as they are cannot be mixed"):
        pencil.fit(tokens, noisy, raw=True, backbone=reader(), settings=mixed)


@pytest.mark.parametrize("precision", ["32-true", "64-true", "bf16-mixed"])
def test_series_train_in_any_precision(precision: str) -> None:
    series = np.random.default_rng(0).normal(size=(150, 7, 2))
    make: Callable[..., nn.Module] = lambda spec, classes: nn.Sequential(nn.Flatten(), nn.Linear(14, classes))  # noqa: E731
    result = pencil.fit(
        series, np.arange(150) % 3, raw=True, backbone=make, precision=precision, settings=CPU, epochs=(1, 1, 1)
    )
    assert np.isfinite(result.label_distributions).all()


@pytest.mark.slow
def test_processes_start_from_one_network(tmp_path: Path, warm_file: Callable[..., WarmProcess]) -> None:
    warm_pair(warm_file, Path(__file__).parent / "own_network_script.py", tmp_path)
    (given, one), (other, two) = (torch.load(tmp_path / f"{rank}.pt") for rank in range(2))
    assert not torch.equal(given["0.weight"], other["0.weight"]), "each was given another"
    assert all(torch.equal(value, two[name]) for name, value in one.items())
    first, second = (np.load(tmp_path / f"{rank}.npy") for rank in range(2))
    assert len(first) == 120 and np.array_equal(first, second), "both have the labels, of a finished run too"


def test_what_a_network_writes_into_its_own_tensors_is_learned_and_averaged() -> None:
    tokens, _, noisy = sentences(60)
    settings = {**CPU, "teaching": {"average_epochs": 1.0}}
    trained = pencil.fit(tokens, noisy, raw=True, backbone=Centred(), settings=settings, epochs=(1, 1, 1)).model
    assert trained.mean.abs().min() > 0  # type: ignore[union-attr, operator]


class Masked(Looked):
    """Leaves words out by a mask of infinity, and counts those of a batch in a tensor made for it."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mask", torch.full((LENGTH, LENGTH), -torch.inf).triu(1))
        self.register_buffer("ones", torch.zeros(0), persistent=False)

    def forward(self, tokens: Tensor) -> Tensor:
        self.ones = torch.ones(len(tokens), 1)
        said: Tensor = (self.mask.softmax(-1) @ self.words(tokens)).mean(1) * self.ones
        return said


def weighed(spec: Any, num_classes: int) -> nn.Module:
    network = reader()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        torch.nn.utils.weight_norm(network.last)
    return network


@pytest.mark.parametrize("backbone", [Masked(), weighed])
def test_masks_of_infinity_tensors_made_for_a_batch_and_computed_weights_are_averaged(
    backbone: Any, tmp_path: Path
) -> None:
    tokens, _, noisy = sentences(60)
    trained = pencil.fit(
        tokens, noisy, raw=True, backbone=backbone, settings=CPU, epochs=(1, 2, 1), out=tmp_path / "run"
    )
    assert not any(record["nonfinite"] for record in trained.history)
    assert "running statistics" not in (tmp_path / "run/log.txt").read_text()


def test_what_is_frozen_stays() -> None:
    tokens, _, noisy = sentences()
    network = reader()
    network.words.requires_grad_(False)
    trained = pencil.fit(tokens, noisy, raw=True, backbone=network, settings=CPU, epochs=(1, 1, 1)).model
    assert torch.equal(trained.words.weight, network.words.weight)  # type: ignore[union-attr, arg-type]
    assert not torch.equal(trained.last.weight, network.last.weight)  # type: ignore[union-attr, arg-type]
