"""How fast a review of many suspects is.

    python benchmarks/review.py            measure (a minute), write the record and the table in docs/howto/review.md
    python benchmarks/review.py --page     write the table again from the record

Makes a run folder with that many suspects, starts `pencil review` on it, and measures over HTTP, one request after
another, as one person's browser would: the time until the first page is there (page, files, summary, items), the time
of further pages and filters, of a thumbnail, and of a decision until it is confirmed to be on disk.
"""

import argparse
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
from generated import Generated

from pencil.results.arrays import write_arrays
from pencil.results.atomic import write_atomic
from pencil.results.documents import write_classes
from pencil.results.environment import environment
from pencil.results.folder import RunFolder
from pencil.results.labels_table import build_labels, write_labels

ROOT = Path(__file__).parents[1]
COUNT, SEED = 100_000, 0
RECORD = ROOT / "reference" / "review" / f"suspects-{COUNT}.json"
PAGE = ROOT / "docs" / "howto" / "review.md"
PART = Generated("speed", "reference/review by benchmarks/review.py")
SHOWN = {
    "first_page_again": "first page again",
    "page": "another page",
    "search": "search by id",
    "pair": "one pair of classes",
    "thumbnail": "thumbnail",
    "example": "one example",
    "decision": "a decision, until it is on disk",
}
CLASSES = tuple(f"class {number}" for number in range(100))
FILES = ("/", "/main.js", "/api.js", "/chooser.js", "/dom.js", "/filters.js", "/grid.js", "/keys.js", "/single.js",
         "/state.js", "/review.css", "/icon.svg")  # fmt: skip


def make_run(folder: Path, count: int) -> None:
    """Write a run of 32 × 32 images, all of them suspects."""
    rng = np.random.default_rng(SEED)
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


def conduct(count: int, folder: str) -> dict[str, Any]:
    """Make the run, serve it, ask, and return the record."""
    begun, before = time.perf_counter(), os.getloadavg()[0]
    with tempfile.TemporaryDirectory(dir=folder) as place:
        run = Path(place).resolve() / "run"
        make_run(run, count)
        started = time.perf_counter()
        command = [sys.executable, "-m", "pencil", "review", str(run), "--no-open", "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            line = server.stdout.readline()
            ready = round(time.perf_counter() - started, 2)
            try:
                found = measure(Browser(line.split()[1]), count)
            finally:
                server.terminate()
    return {
        "study": "review",
        "suspects": count,
        "seed": SEED,
        "ready_s": ready,
        **found,
        "seconds": round(time.perf_counter() - begun, 1),
        "load_average": {"before": round(before, 1), "after": round(os.getloadavg()[0], 1)},
        "environment": environment({"cpus": os.cpu_count()}),
        "command": f"python benchmarks/review.py --count {count}",
    }


def table(record: dict[str, Any]) -> str:
    """Return the table of the page, with a line on how it was measured."""
    lines = ["| | median | 95th percentile |", "|---|---|---|"]
    lines.append(f"| first page, server just started | {record['first_page']:.0f} ms | |")
    for key, title in SHOWN.items():
        lines.append(f"| {title} | {record[key]['median_ms']:.1f} ms | {record[key]['p95_ms']:.1f} ms |")
    load, facts = record["load_average"], record["environment"]
    note = (
        f"`{record['command']}`, one request after another over HTTP; {facts['platform']}, {facts['cpus']} CPUs, load"
        f" average {load['before']} before and {load['after']} after; the server is ready {record['ready_s']:.1f} s"
        " after its start. Record: `reference/review`."
    )
    return "\n".join(lines) + f"\n\n{note}\n"


def main(arguments: Sequence[str]) -> None:
    """Measure, unless only the page is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=COUNT, help="suspects")
    parser.add_argument("--folder", default=".", help="where the run is made: on a disk, not in memory")
    parser.add_argument(
        "--record", type=Path, default=RECORD, help="file to write; the page is made of the default one"
    )
    parser.add_argument("--page", action="store_true", help="measure nothing")
    asked = parser.parse_args(arguments)
    if not asked.page:
        text = json.dumps(conduct(asked.count, asked.folder), indent=2, sort_keys=True) + "\n"
        print(text, end="")
        asked.record.parent.mkdir(parents=True, exist_ok=True)
        asked.record.write_text(text, encoding="utf-8")
    if asked.record == RECORD:
        PAGE.write_text(PART.put(PAGE.read_text(encoding="utf-8"), table(json.loads(RECORD.read_text()))))


if __name__ == "__main__":
    main(sys.argv[1:])
