"""The way in to the command `pencil`, under a name that no other package has.

`pencil` is also the name of an unrelated package. Where that one lies before ours on the path, or has written its files
over ours, a command called `pencil` would fail in strange ways; this one says what is in its way.
"""

import sys
from importlib import metadata

DISTRIBUTION = "pencil-labels"
AGAIN = f"then, in the repository of {DISTRIBUTION}: pip install --force-reinstall --no-deps ."
"""How it is installed anew; no package index has it."""


def main() -> None:
    """Run the command line, unless a stranger's `pencil` is in the way."""
    if stranger := find_stranger():
        sys.stderr.write(f"pencil: {stranger}\n")
        sys.exit(2)
    if lodger := find_lodger():
        sys.stderr.write(f"pencil: {lodger}\n")
    from pencil.__main__ import start

    start()


def find_stranger() -> str:
    """Say which other package is imported as `pencil` in place of ours; nothing where it is ours."""
    import pencil

    if getattr(pencil, "DISTRIBUTION", "") == DISTRIBUTION:
        return ""
    place = getattr(pencil, "__file__", None) or next(iter(getattr(pencil, "__path__", ["?"])))
    owners = [name for name in metadata.packages_distributions().get("pencil", []) if name != DISTRIBUTION]
    if owners:
        return (
            f"another package called pencil is in the way ({place}, of {', '.join(sorted(set(owners)))});"
            f" remove it with: pip uninstall {owners[0]}; {AGAIN}"
        )
    return f"another package called pencil is in the way ({place}); rename it, or take its folder from PYTHONPATH."


def find_lodger() -> str:
    """Say whether the unrelated package `pencil` is installed in the same folder as ours, which still works."""
    try:
        other = metadata.distribution("pencil")
    except metadata.PackageNotFoundError:
        return ""
    return (
        f"the unrelated package pencil {other.version} is installed beside {DISTRIBUTION} and shares its folder; remove"
        f" it with: pip uninstall pencil; {AGAIN}"
    )
