"""CIFAR-100: 50,000 training and 10,000 test photographs of 32×32 pixels in a hundred classes, or twenty."""

from pencil.data.dataset import Dataset, Preparation
from pencil.data.request import Request
from pencil.data.sources import _cifar

LAYOUT = _cifar.Layout(
    title="CIFAR-100",
    url="https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
    md5="03b5dce01913d631647c71ecec9e9cb8",
    binary_folder="cifar-100-binary",
    binary_files=(("train.bin",), ("test.bin",)),
    binary_names="{}_label_names.txt",
    label_bytes=2,
    pickle_folder="cifar-100-python",
    pickle_files=(("train",), ("test",)),
    pickle_names="meta",
)


def read(request: Request) -> Dataset:
    """Read the folder `cifar-100-binary` or `cifar-100-python`, or its parent; `coarse` gives the 20 superclasses."""
    request.check_options("cifar100", ("coarse",))
    coarse = request.flag("coarse")
    folder, binary = _cifar.find_folder(LAYOUT, request)
    train, test = (_cifar.read_part(LAYOUT, folder, binary=binary, test=test) for test in (False, True))
    names = _cifar.read_names(LAYOUT, folder, binary=binary, key="coarse_label_names" if coarse else "fine_label_names")
    column = 0 if coarse else 1
    return Dataset(
        name="cifar100-coarse" if coarse else "cifar100",
        class_names=names or tuple(str(number) for number in range(20 if coarse else 100)),
        train=_cifar.examples(train, column, "train"),
        test=_cifar.examples(test, column, "test"),
        preparation=Preparation("images", (32, 32, 3), crop=32, pad=4, flip=True),
        default_backbone="resnet34",
    )
