"""A run folder from a stranger, whose settings name code: no command may import it."""

import re
from pathlib import Path

from . import process
from .runs import Kind, digits, unbroken

NAMED = {"backbone": "evil.py:build", "method": "evil.py:Method", "source": "evil.py:read", "noise": "evil.py:spoil"}


def check(place: Path) -> int:
    """Make a run, put code's names into its settings, and use it in every way there is; return how often."""
    mark, data = place / "mark", digits(place / "digits.npz", count=60)
    run = unbroken(Kind("cross_entropy", "dense", "1"), data, place)
    (place / "evil.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    (run / "checksums.json").unlink()
    config, tried = (run / "config.toml").read_text(), 0
    for setting, name in NAMED.items():
        code = name.replace("evil.py", str(place / "evil.py"))
        (run / "config.toml").write_text(re.sub(rf"(?m)^{setting} = .*$", f'{setting} = "{code}"', config, count=1))
        assert code in (run / "config.toml").read_text(), setting
        for command in _commands(run, place):
            child = process.finish(*command, log=place / "stranger.log")
            assert child.status in (0, 2), f"{setting}: {command[0]}: {child.text()[-1000:]}"
            assert not mark.exists(), f"{command[0]} ran the code that a stranger's run names as its {setting}"
            tried += 1
    return tried


def _commands(run: Path, place: Path) -> list[tuple[object, ...]]:
    return [
        ("train", "--resume", "--out", run),
        ("train", "--from", run, "--out", place / "child"),
        ("predict", run, place / "digits.npz"),
        ("labels", run),
        ("report", run),
        ("export", run, "--to", "csv", "--out", place / "exported"),
        ("review", run, "--no-open", "--port", "70000"),
    ]
