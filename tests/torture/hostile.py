"""Hostile files: all refused, nothing run, nothing written elsewhere, no memory taken for what they claim."""

import os
import traceback
from collections import Counter
from pathlib import Path

from . import strangers_run
from .exploits import exploits
from .process import bound_memory


def run(seed: int, place: Path) -> Counter[str]:
    """Try the exploits in a process that may not take much memory, then a stranger's run folder."""
    log = place / "log"
    pid = os.fork()
    if not pid:
        _bounded(place, log)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    text = log.read_text()
    assert code == 0, f"({code}) {text[-3000:]}"
    return Counter(refused=int(text), strangers_run=strangers_run.check(place))


def _bounded(place: Path, log: Path) -> None:
    try:
        bound_memory()
        log.write_text(str(refuse_all(place)))
        os._exit(0)
    except BaseException:
        log.write_text(traceback.format_exc())
        os._exit(1)


def refuse_all(place: Path) -> int:
    """Require that every exploit is refused with a line and leaves no mark; return how many there are."""
    from pencil.errors import PencilError

    inputs, cache, mark = place / "inputs", place / "cache", place / "inputs" / "mark"
    inputs.mkdir()
    cache.mkdir()
    count = 0
    for exploit in exploits(inputs, cache, mark):
        try:
            exploit.read()
        except PencilError as error:
            assert str(error), exploit.name
        else:
            # A path that an archive makes absolute is taken as one inside: no harm, and no error.
            assert exploit.name == "an archive with an absolute path", f"{exploit.name} was not refused"
        assert not mark.exists(), f"{exploit.name} got through"
        count += 1
    return count
