"""How fast a review of many suspects is: `python benchmarks/review.py [--count 100000] [--json FILE]`.

Makes a run folder with that many suspects, starts `pencil review` on it, and measures over HTTP, one request after
another, as one person's browser would: the time until the first page is there (page, files, summary, items), the time
of further pages and filters, of a thumbnail, and of a decision until it is confirmed to be on disk.
"""

import argparse
import http.client
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np

from pencil.results.arrays import write_arrays
from pencil.results.atomic import write_atomic
from pencil.results.documents import write_classes
from pencil.results.folder import RunFolder
from pencil.results.labels_table import build_labels, write_labels

CLASSES = tuple(f"class {number}" for number in range(100))
FILES = ("/", "/main.js", "/api.js", "/chooser.js", "/dom.js", "/filters.js", "/grid.js", "/keys.js", "/single.js",
         "/state.js", "/review.css", "/icon.svg")  # fmt: skip


def make_run(folder: Path, count: int) -> None:
    """Write a run of 32 × 32 images, all of them suspects."""
    rng = np.random.default_rng(0)
    ids = [f"photos/{number % 100:02d}/{number:08d}.jpg" for number in range(count)]
    given, corrected = rng.integers(0, 100, (2, count))
    believed = rng.dirichlet(np.ones(100), count).astype(np.float32)
    data = folder.parent / "data.npz"
    np.savez(data, x=rng.integers(0, 255, (count, 32, 32, 3), dtype=np.uint8), y=given, ids=np.array(ids))
    run = RunFolder.create(folder)
    table = build_labels(
        class_names=CLASSES, ids=ids, given=given, corrected=corrected, confidence=rng.random(count),
        entropy=rng.random(count), quality=rng.random(count) / 2, network=corrected,
        changed_at=rng.integers(0, 9, count), num_changes=rng.integers(0, 5, count),
        decision=np.where(rng.random(count) < 0.5, "review", "relabel"),
        split=np.full(count, "train"),
    )  # fmt: skip
    write_labels(run.labels, table)
    write_arrays(run.label_distributions, {"label_distributions": believed})
    write_classes(run.classes, CLASSES)
    write_atomic(run.config, f'method = "pencil"\n[data]\nsource = "{data}"\n'.encode())
    run.set_state("finished")


class Browser:
    """Asks over one kept connection, with the token's cookie."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self.host = f"127.0.0.1:{parts.port}"
        self.cookie = f"pencil_review_{parts.port}={parse_qs(parts.query)['token'][0]}"
        self.connection = http.client.HTTPConnection("127.0.0.1", parts.port)

    def ask(self, path: str, body: dict[str, Any] | None = None) -> bytes:
        headers = {"Host": self.host, "Cookie": self.cookie}
        if body is not None:
            headers |= {"Origin": f"http://{self.host}", "Content-Type": "application/json"}
        method = "GET" if body is None else "POST"
        self.connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = self.connection.getresponse()
        content = response.read()
        if response.status != 200:
            raise SystemExit(f"{path}: {response.status} {content.decode()}")
        return content


def timed(action: Callable[[int], object], times: int) -> dict[str, float]:
    """Repeat an action and return milliseconds: median, 95th percentile and the worst."""
    spent = []
    for number in range(times):
        start = time.perf_counter()
        action(number)
        spent.append(1000 * (time.perf_counter() - start))
    return {"median_ms": percentile(spent, 50), "p95_ms": percentile(spent, 95), "worst_ms": percentile(spent, 100)}


def percentile(values: list[float], share: float) -> float:
    return round(float(np.percentile(values, share)), 2)


def measure(browser: Browser, count: int) -> dict[str, Any]:
    """Do what a person does, and time it."""

    def first_page(number: int) -> None:
        for path in FILES:
            browser.ask(path)
        browser.ask("/api/summary")
        browser.ask("/api/page?decision=suspects&status=open&limit=60")

    def decide(number: int) -> None:
        body = {"row": number * 7 % count, "label": number % 100, "reviewer": "benchmark", "key": f"key-{number}"}
        browser.ask("/api/decide", body)

    step = count // 60
    return {
        "first_page": timed(first_page, 1)["worst_ms"],
        "first_page_again": timed(first_page, 20),
        "page": timed(lambda n: browser.ask(f"/api/page?status=open&limit=60&from={n * step}"), 50),
        "search": timed(lambda n: browser.ask(f"/api/page?find={n:04d}.jpg"), 50),
        "pair": timed(lambda n: browser.ask(f"/api/page?given={n}&corrected={n + 1}"), 50),
        "thumbnail": timed(lambda n: browser.ask(f"/thumbnail?row={n * step}"), 50),
        "example": timed(lambda n: browser.ask(f"/api/example?row={n * step}"), 50),
        "decision": timed(decide, 500),
        "changes": timed(lambda n: browser.ask("/api/changes?since=490"), 50),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000, help="suspects")
    parser.add_argument("--folder", help="where the run is made (a disk, not memory); default the present folder")
    parser.add_argument("--json", type=Path, help="file to write the figures to")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.folder or ".") as place:
        run = Path(place).resolve() / "run"
        make_run(run, asked.count)
        started = time.perf_counter()
        command = [sys.executable, "-m", "pencil", "review", str(run), "--no-open", "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            line = server.stdout.readline()
            ready = round(time.perf_counter() - started, 2)
            try:
                found = {"suspects": asked.count, "ready_s": ready, **measure(Browser(line.split()[1]), asked.count)}
            finally:
                server.terminate()
    found |= {"machine": platform.machine(), "cpus": os.cpu_count(), "python": platform.python_version()}
    print(json.dumps(found, indent=2))
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
