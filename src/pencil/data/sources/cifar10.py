"""CIFAR-10: 50,000 training and 10,000 test photographs of 32×32 pixels in ten classes."""

from pencil.data.dataset import Dataset, Preparation
from pencil.data.request import Request
from pencil.data.sources import _cifar

_BATCHES = tuple(f"data_batch_{number}" for number in range(1, 6))

LAYOUT = _cifar.Layout(
    title="CIFAR-10",
    url="https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
    md5="c32a1d4ab5d03f1284b67883e8d87530",
    binary_folder="cifar-10-batches-bin",
    binary_files=(tuple(f"{name}.bin" for name in _BATCHES), ("test_batch.bin",)),
    binary_names="batches.meta.txt",
    label_bytes=1,
    pickle_folder="cifar-10-batches-py",
    pickle_files=(_BATCHES, ("test_batch",)),
    pickle_names="batches.meta",
)
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


def read(request: Request) -> Dataset:
    """Read the folder `cifar-10-batches-bin` or `cifar-10-batches-py`, or the folder that holds it."""
    request.check_options("cifar10", ())
    folder, binary = _cifar.find_folder(LAYOUT, request)
    train, test = (_cifar.read_part(LAYOUT, folder, binary=binary, test=test) for test in (False, True))
    return Dataset(
        name="cifar10",
        class_names=_cifar.read_names(LAYOUT, folder, binary=binary, key="label_names") or CLASSES,
        train=_cifar.examples(train, 0, "train"),
        test=_cifar.examples(test, 0, "test"),
        preparation=Preparation("images", (32, 32, 3), crop=32, pad=4, flip=True),
        default_backbone="preact_resnet32",
    )
