"""Options in messages are those of the shell there, and arguments in Python."""

import ast
import re
import shlex
from pathlib import Path

import pytest

import pencil
from pencil.config import override
from pencil.data.request import Request
from pencil.errors import PencilError
from pencil.spelling import columns_named, shell, spelled

SAID = {
    "a already holds a run; choose another --out, or go on with --resume.": "a already holds a run; choose another out,"
    " or go on with resume=True.",
    "use --device cpu.": "use device cpu.",
    "leave it (--set data.options.ignore=a,b).": 'leave it (settings={"data": {"options": {"ignore": "a,b"}}}).',
    "so with --set data.options.size=64 --set teaching.mixup=0.": 'so with settings={"data": {"options": {"size": 64}}}'
    ' settings={"teaching": {"mixup": 0}}.',
    "give --set transition=FILE.npy, or": 'give settings={"options": {"transition": "FILE.npy"}}, or',
    "(--set phases.PHASE.lr=…).": '(settings={"phases": {"PHASE": {"lr": …}}}).',
    "--set data.augment.flip=true mirrors them.": 'settings={"data": {"augment": {"flip": True}}} mirrors them.',
    "use another --set optimizer.batch_size.": 'use another settings={"optimizer": {"batch_size": …}}.',
    "go on with: pencil train --resume --out run": "go on with: pencil train --resume --out run",
    "leave --budget out. See: pencil train --from a": "leave budget out. See: pencil train --from a",
    'there is no column "--out" and no a--out.': 'there is no column "--out" and no a--out.',
}

OF_PYTHON = (
    *("audit.py", "backbones", "config", "data", "engine", "estimator", "integrations", "methods", "plugins.py"),
    *("quality", "results", "run", "runtime", "table"),
)
OF_THE_SHELL_ALONE = {"document.py": {"--set"}, "watch.py": {"--watch"}, "queue.py": {"--parallel"}}


@pytest.mark.parametrize("line", SAID)
def test_options_are_called_what_the_reader_calls_them(line):
    assert spelled(line) == str(PencilError(line)) == SAID[line]
    with shell():
        assert str(PencilError(line)) == line
    assert str(PencilError(str(PencilError(line)))) == SAID[line], "said again, as a part of another"


@pytest.mark.parametrize("names", [["a"], ["b c", "d"], ["Doe, John"], ["1.5"], ["true"], [" x "], ["it's"], ["é"]])
def test_columns_are_named_so_that_they_are_found_again(names):
    option, assignment = shlex.split(columns_named("ignore", names))
    assert option == "--set"
    assert Request(options=override(assignment)["data"]["options"]).texts("ignore") == tuple(names)
    said = spelled(f"leave it out ({columns_named('ignore', names)}).")
    settings = ast.literal_eval(said.removeprefix("leave it out (settings=").removesuffix(")."))
    assert Request(options=settings["data"]["options"]).texts("ignore") == tuple(names)


@pytest.mark.parametrize("part", OF_PYTHON)
def test_no_error_of_python_is_left_with_an_option_of_the_shell(part):
    place = Path(pencil.__file__).parent / part
    for file in [place] if place.is_file() else place.rglob("*.py"):
        for call in ast.walk(ast.parse(file.read_text())):
            if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("Error"):
                said = spelled("".join(_texts(call)))
                left = set(re.findall(r"(?<![\w-])--[a-z]+", re.sub(r"pencil (train|predict) .*", "", said)))
                assert left <= OF_THE_SHELL_ALONE.get(file.name, set()), file


def _texts(call):
    return [part.value for part in ast.walk(call) if isinstance(part, ast.Constant) and isinstance(part.value, str)]
