"""Kills aimed at what a run does to its disk: the process ends itself, the hard way, at a chosen change of a file."""

import os
import random
import signal
from dataclasses import dataclass
from typing import Any

from .runs import TRAINED_ON, Kind

OUTCOME = ("labels.parquet", "label_distributions.safetensors", "model.safetensors", "result.json", "checksums.json")


@dataclass(frozen=True)
class Aim:
    """The moment just before or after a process changes a file for the so-manieth time."""

    function: str
    """Of `os`: replace puts a finished file in its place, pwrite overwrites a row of the label table."""
    file: str
    """How the file's name ends; of rows nothing."""
    number: int
    after: bool

    def take(self) -> None:
        """Let this process be killed then."""
        real, seen = getattr(os, self.function), 0

        def aimed(*arguments: Any, **named: Any) -> Any:
            nonlocal seen
            seen += self.function == "pwrite" or str(arguments[1]).endswith(self.file)
            if seen == self.number and not self.after:
                os.kill(os.getpid(), signal.SIGKILL)
            done = real(*arguments, **named)
            if seen == self.number:
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        setattr(os, self.function, aimed)


def aims(kind: Kind, chance: random.Random) -> list[Aim]:
    """Return what a run of a kind is to be killed at, one after the other."""
    files = [("replace", ".safetensors", chance.randint(1, 4), after) for after in (False, True)]
    if kind.table == "mapped":
        files += [("replace", "journal.bin", chance.choice((1, 2)), after) for after in (False, True)]
    chance.shuffle(files)
    planned = [Aim(*file) for file in files]
    if kind.moves_rows:
        # In the second or third epoch of moving labels: rows that a checkpoint knows are overwritten by then.
        planned.insert(0, Aim("pwrite", "", TRAINED_ON + chance.randint(1, 2 * TRAINED_ON), after=True))
    return [*planned, Aim("replace", chance.choice(OUTCOME), 1, after=chance.random() < 0.5)]
