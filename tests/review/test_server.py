"""What the page asks and gets: pages, examples, decisions and their undoing."""

import io
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from PIL import Image

from pencil.results.decisions import Action
from pencil.review.desk import open_desk

from .conftest import Client, serving


def test_suspects_come_first_and_lowest_quality_first(client: Client) -> None:
    page = client.get("/api/page")
    assert page["total"] == 10 and {item["decision"] for item in page["items"]} == {"relabel", "review"}
    qualities = [item["quality"] for item in client.get("/api/page?decision=any")["items"]]
    assert qualities == sorted(qualities) and len(qualities) == 30


def test_a_picture_is_the_example_of_its_row(client: Client, make: Callable[..., Path]) -> None:
    x = np.load(make().parent / "run-data.npz")["x"]  # The same for every run of this size.
    for path in ("/image", "/thumbnail"):
        for row in (0, 7, 29):
            status, headers, content = client.ask("GET", f"{path}?row={row}")
            assert (status, headers["content-type"]) == (200, "image/png")
            assert np.array_equal(np.asarray(Image.open(io.BytesIO(content))), x[row])


def test_filters(client: Client) -> None:
    def rows(query: str) -> list[int]:
        return [item["row"] for item in client.get(f"/api/page?{query}")["items"]]

    assert rows("given=0&corrected=1") == list(range(0, 30, 3)) and rows("given=1") == []
    assert rows("decision=review") == [3, 9, 15, 21, 27] and rows("decision=keep&limit=200&given=2") == list(
        range(2, 30, 3)
    )
    assert rows("find=URE-0001&decision=any") == [12, 15, 18, 10, 11, 13, 14, 16, 17, 19]
    assert rows("decision=any&low=0.5&limit=3") == [1, 2, 4] and rows("high=0.104") == [0]
    assert rows("find=nothing") == []


def test_ids_of_other_scripts_are_found(make: Callable[..., Path]) -> None:
    ids = ["cafe\u0301.png", "می\u200cروم.png", "a\u00a0b.png"]
    with serving(make(count=3, ids=ids)) as server:
        for text, row in (("CAFÉ", 0), ("cafe\u0301", 0), ("می\u200cروم", 1), ("a\u00a0b", 2)):
            found = server.client.get(f"/api/page?decision=any&find={quote(text)}")["items"]
            assert [item["row"] for item in found] == [row]


def test_a_page_of_another_run_is_refused(client: Client) -> None:
    body = b'{"row": 0, "label": 1, "reviewer": "me", "key": "stale"}'
    assert client.ask("POST", "/api/decide", body, Pencil_Run="another")[0] == 409
    assert client.ask("GET", "/api/changes?since=0", Pencil_Run="another")[0] == 409
    assert client.get("/api/summary")["sequence"] == 0


def test_pages_go_on_by_rank_whatever_was_decided(make: Callable[..., Path]) -> None:
    with serving(make()) as server:
        client = server.client
        first = client.get("/api/page?status=open&limit=4")
        assert [item["row"] for item in first["items"]] == [0, 3, 6, 9] and first["total"] == 10
        for number, row in enumerate((0, 3, 6)):
            client.post("/api/decide", row=row, label=0, key=f"a{number}")
        after = client.get(f"/api/page?status=open&limit=4&from={first['items'][-1]['rank'] + 1}")
        assert [item["row"] for item in after["items"]] == [12, 15, 18, 21]
        assert (after["total"], after["begin"]) == (7, 1)
        before = client.get(f"/api/page?status=open&limit=4&before={after['items'][0]['rank']}")
        assert [item["row"] for item in before["items"]] == [9]
        assert [item["row"] for item in client.get("/api/page?status=decided")["items"]] == [0, 3, 6]


def test_decide_skip_undo_and_a_second_browser(make: Callable[..., Path]) -> None:
    with serving(make()) as server:
        client = server.client
        client.post("/api/decide", row=0, label=1, key="a", reviewer="one")
        client.post("/api/decide", row=3, label=2, key="b", reviewer="two")
        client.post("/api/decide", row=6, label=None, key="c", reviewer="one")
        changes = client.get("/api/changes?since=1")
        assert changes["changes"] == [{"row": 3, "state": 2}, {"row": 6, "state": -1}]
        assert (changes["sequence"], changes["decided"], changes["skipped"]) == (3, 2, 1)
        # Each takes back its own: first the skip of "one", then its label; "two" keeps what it decided.
        assert client.post("/api/undo", reviewer="one", key="d")["row"] == 6
        assert client.post("/api/undo", reviewer="one", key="e")["state"] == -2
        assert client.post("/api/undo", reviewer="one", key="f")["row"] is None
        assert client.get("/api/changes?since=3")["changes"] == [{"row": 6, "state": -2}, {"row": 0, "state": -2}]
        assert client.get("/api/summary")["decided"] == 1


def test_one_example_in_full(client: Client) -> None:
    example = client.get("/api/example?row=3")
    assert (example["id"], example["given"], example["corrected"], example["num_changes"]) == ("picture-00003", 0, 1, 1)
    assert example["top"][0] == [1, 0.9] and len(example["top"]) == 3


def test_a_table_shows_its_values(tmp_path: Path) -> None:
    from .conftest import make_run

    lines = [f"r{n},{n * 0.5},{'red' if n % 2 else 'blue'},{n % 3}" for n in range(30)]
    (tmp_path / "plants.csv").write_text("\n".join(["id,height,colour,label", *lines]))
    run = make_run(tmp_path / "run", ids=[f"r{n}" for n in range(30)], source=str(tmp_path / "plants.csv"))
    with serving(run) as server:
        client = server.client
        assert client.get("/api/summary")["kind"] == "rows"
        assert client.get("/api/example?row=3")["values"] == [["height", "1.5"], ["colour", "red"]]
        assert client.get("/api/page")["items"][0]["values"] == [["height", "0"], ["colour", "blue"]]
        assert client.ask("GET", "/image?row=3")[0] == 500


@pytest.mark.parametrize("moment", [1, 2])
def test_what_is_decided_while_someone_asks_for_changes_is_told_next(
    make: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, moment: int
) -> None:
    desk = open_desk(make())
    read, reads = desk._store.since, []

    def since(sequence: int) -> list[Action]:
        found = read(sequence)
        reads.append(sequence)
        if len(reads) == moment:
            desk._store.decide("picture-00003", 1, reviewer="another", key="k")
            if not desk._guard.locked():
                desk.catch_up()
        return found

    monkeypatch.setattr(desk._store, "since", since)
    first = desk.changes(0)
    assert [*first["changes"], *desk.changes(first["sequence"])["changes"]] == [{"row": 3, "state": 1}]
    desk.close()
