"""What was measured, as a record."""

import platform
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pencil.results.environment import environment


def rate_text(rate: float) -> str:
    """Write a rate; a small one with as many digits as still say something."""
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}" if rate >= 1 else f"{rate:.2g}"


@dataclass
class Report:
    """Rates in images per second, how they compare, and what they cost."""

    backbone: str
    device: str = ""
    options: str = ""
    """What was asked for besides the backbone, as on the command line."""
    rates: dict[str, float] = field(default_factory=dict)
    ratios: dict[str, float] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    megabytes: dict[str, float] = field(default_factory=dict)
    work: dict[str, float] = field(default_factory=dict)
    """What a step must compute and move at least, and what the device does in a second."""
    notes: list[str] = field(default_factory=list)

    def record(self) -> dict[str, Any]:
        """Return the report as a record for reference/bench."""
        return {
            "study": "bench",
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "backbone": self.backbone,
            "images_per_second": _rounded(self.rates["PENCIL label learning"]),
            "rates": {name: _rounded(rate) for name, rate in self.rates.items()},
            "ratios": {name: round(ratio, 4) for name, ratio in self.ratios.items()},
            "seconds": {name: round(value, 2) for name, value in self.seconds.items()},
            "megabytes": {name: round(value, 1) for name, value in self.megabytes.items()},
            "work": {name: round(value, 3) for name, value in self.work.items()},
            "notes": self.notes,
            "environment": environment({"device": self.device, "machine": platform.machine()}),
            "command": f"pencil bench --backbone {self.backbone} {self.options}".strip(),
        }


def _rounded(rate: float) -> float:
    return round(rate, 1 if rate >= 10 else 4)
