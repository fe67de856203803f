"""What is compared takes turns, so that a noisy machine disturbs all alike."""

from collections.abc import Callable
from statistics import median

from pencil.bench.report import rate_text

ROUNDS = 3
Tell = Callable[[str], None]


def take_turns(contest: dict[str, Callable[[float], float]], seconds: float, tell: Tell) -> dict[str, float]:
    """Run all in turn, several times, and return each one's median rate."""
    measured: dict[str, list[float]] = {name: [] for name in contest}
    for turn in range(ROUNDS):
        for name, run in contest.items():
            measured[name].append(run(seconds))
        tell(f"round {turn + 1} of {ROUNDS}: " + ", ".join(f"{n} {rate_text(r[-1])}/s" for n, r in measured.items()))
    return {name: median(rates) for name, rates in measured.items()}
