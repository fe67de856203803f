"""Options in messages: `--out` and `--set KEY=VALUE` to who works in the shell, arguments to who calls from Python."""

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

_SAME = ("backbone", "budget", "device", "epochs", "method", "noise", "out", "precision", "root", "source", "split")
_ARGUMENTS = {name: name for name in _SAME}
_ARGUMENTS |= {"from": "start_from", "resume": "resume=True", "download": "download=True"}
"""What options are called in Python, where they are called anything."""
_COMMAND = re.compile(r"\bpencil (?:audit|export|labels|predict|report|review|runs|sweep|train) .*")
_SETTING = re.compile(r"(?<![^\s(])--set ((?:'[^']*'|\"'\")+|[\w.]+[.=]\S*[^\s;,.)])")
_OPTION = re.compile(rf"(?<![^\s(])--({'|'.join(_ARGUMENTS)})\b")
_PLAIN = re.compile(r"(?!(?:true|false|inf|nan)$)[^\W\d][\w ./-]*(?<! )")
"""Names of columns that are what they say as the value of an option."""

_in_shell = False


@contextmanager
def shell() -> Iterator[None]:
    """Let messages speak to who works in the shell."""
    global _in_shell
    before, _in_shell = _in_shell, True
    try:
        yield
    finally:
        _in_shell = before


def spelled(line: str) -> str:
    """Return a message of ours, which has options as the shell does, with what its reader calls them.

    A command in it is one for the shell, whoever reads it.
    """
    if _in_shell:
        return line
    said = _COMMAND.split(line, maxsplit=1)[0]
    return _OPTION.sub(lambda found: _ARGUMENTS[found[1]], _SETTING.sub(_argument, said)) + line[len(said) :]


def columns_named(option: str, names: Sequence[str]) -> str:
    """Return the setting by which an option of the data names columns."""
    value = ",".join(names) if all(map(_PLAIN.fullmatch, names)) else json.dumps(list(names), ensure_ascii=False)
    return f"--set {shlex.quote(f'data.options.{option}={value}')}"


def _argument(found: re.Match[str]) -> str:
    key, _, value = "".join(shlex.split(found[1])).partition("=")
    path = key.split(".") if "." in key else ["options", key]
    shown = {"true": "True", "false": "False"}.get(value, value or "…")
    if not re.fullmatch(r"…|True|False|[0-9.]+|\[.*\]", shown):
        shown = json.dumps(shown, ensure_ascii=False)
    for part in reversed(path):
        shown = f"{{{json.dumps(part)}: {shown}}}"
    return f"settings={shown}"
