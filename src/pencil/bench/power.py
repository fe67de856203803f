"""How a GPU is doing: its clock and its power, beside what they may be."""

import shutil
import subprocess

QUERY = "--query-gpu=clocks.sm,clocks.max.sm,power.draw,power.limit"


def condition() -> str | None:
    """Say it of the GPU that takes most power; nothing where there is none that tells."""
    command = shutil.which("nvidia-smi")
    if command is None:
        return None
    try:
        asked = [command, QUERY, "--format=csv,noheader,nounits"]
        told = subprocess.run(asked, capture_output=True, text=True, timeout=10, check=True).stdout
        several = [[float(number) for number in line.split(",")] for line in told.splitlines() if line.strip()]
        clock, most, power, limit = max(several, key=lambda one: one[2])
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return f"{clock:,.0f} of {most:,.0f} MHz, {power:,.0f} of {limit:,.0f} W"
