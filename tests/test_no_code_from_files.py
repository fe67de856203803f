"""No source line loads a file in a way that could run code out of it."""

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
NEEDED = {
    "torch.load": ("weights_only", True),
    "np.load": ("allow_pickle", False),
    "numpy.load": ("allow_pickle", False),
}
FORBIDDEN = {
    "pickle.load",
    "pickle.loads",
    "pickle.Unpickler",
    "yaml.load",
    "joblib.load",
    "eval",
    "exec",
    "marshal.loads",
}
OWN_CODE = {"plugins.py"}
"""Where a user's own file is imported, because the user named it."""


def _calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def unsafe(path: Path) -> list[str]:
    found = []
    for name, call in _calls(path):
        if name in FORBIDDEN:
            found.append(f"{path.name}:{call.lineno} {name}")
        if name in NEEDED:
            word, value = NEEDED[name]
            given = {k.arg: k.value.value for k in call.keywords if isinstance(k.value, ast.Constant)}
            if given.get(word) is not value:
                found.append(f"{path.name}:{call.lineno} {name} without {word}={value}")
        if name.endswith(".exec_module") and path.name not in OWN_CODE:
            found.append(f"{path.name}:{call.lineno} {name}")
    return found


def test_every_file_is_loaded_as_data() -> None:
    assert [line for path in sorted(SOURCE.rglob("*.py")) for line in unsafe(path)] == []


def test_the_check_sees_what_it_should(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("torch.load(p)\nnp.load(p)\npickle.loads(b)\ntorch.load(p, weights_only=True)\n")
    assert [line.split(" ", 1)[1] for line in unsafe(tmp_path / "bad.py")] == [
        "torch.load without weights_only=True", "np.load without allow_pickle=False", "pickle.loads",
    ]  # fmt: skip
