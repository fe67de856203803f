"""A decision that was confirmed is never lost."""

import json
import threading
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path

from pencil.results.decisions import Decisions, read_standing

from .conftest import Client, serving

IN_FLIGHT = 200


def test_a_killed_server_loses_nothing_that_it_confirmed(make: Callable[..., Path]) -> None:
    run = make(count=300)
    confirmed: dict[int, tuple[int, int]] = {}
    enough = threading.Event()

    def decide(client: Client, row: int) -> None:
        body = json.dumps({"row": row, "label": row % 3, "reviewer": "me", "key": f"key-{row}"}).encode()
        try:
            status, _, content = client.ask("POST", "/api/decide", body)
        except (OSError, HTTPException):
            return
        assert status == 200
        confirmed[row] = (json.loads(content)["recorded"], row % 3)
        if len(confirmed) >= IN_FLIGHT // 4:
            enough.set()

    with serving(run) as server:
        threads = [threading.Thread(target=decide, args=(server.client, row)) for row in range(IN_FLIGHT)]
        for thread in threads:
            thread.start()
        assert enough.wait(20)
        server.process.kill()
        for thread in threads:
            thread.join()
    assert len(confirmed) >= IN_FLIGHT // 4
    with Decisions(run / "decisions.sqlite") as store:
        found = {action.sequence: action for action in store.since(0)}
    for row, (sequence, label) in confirmed.items():
        assert (found[sequence].id, found[sequence].label) == (f"picture-{row:05d}", label)


def test_a_new_server_goes_on_where_the_killed_one_was(make: Callable[..., Path]) -> None:
    run = make()
    with serving(run) as server:
        first = server.client.post("/api/decide", row=3, label=2, key="first")
        server.process.kill()
        server.process.wait()
        with serving(run) as again:
            summary = again.client.get("/api/summary")
            assert (summary["decided"], summary["sequence"]) == (1, first["sequence"])
            # The page repeats what was never answered; what had been recorded is not recorded twice.
            assert again.client.post("/api/decide", row=3, label=2, key="first")["recorded"] == first["recorded"]
            assert again.client.get("/api/example?row=3")["state"] == 2
    assert read_standing(run / "decisions.sqlite").labels() == {"picture-00003": 2}


def test_a_second_review_of_the_same_run_is_refused(make: Callable[..., Path]) -> None:
    run = make()
    with serving(run):
        try:
            with serving(run):
                raise AssertionError("two reviews of one run")
        except AssertionError as error:
            assert "is in use by process" in str(error)
