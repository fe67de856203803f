"""One of several processes that train at once: told what by its first argument, and when by lines on stdin."""

import json
import sys
from typing import Any

from pencil.bench.runner import Runner, random_images


def main(settings: dict[str, Any], examples: int) -> None:
    """Take a first step, say so, then train for as many seconds as each line asks and answer with the rate."""
    runner = Runner(random_images(examples, 10, 32), settings, phase="labels")
    print("ready", flush=True)
    for line in sys.stdin:
        print(runner.run(float(line)), flush=True)


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
