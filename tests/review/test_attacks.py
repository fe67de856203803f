"""Nobody gets in who was not given the token, and nothing but the run's examples gets out."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .conftest import Client, serving

HOSTILE = ("<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>", "{{ 7 * 7 }}' \" & \u202e")
IDS = [f"../../etc/passwd/{number}<svg onload=alert(3)>" for number in range(30)]
DECIDE = json.dumps({"row": 0, "label": 1, "reviewer": "me", "key": "attack"}).encode()


@pytest.fixture(scope="module")
def attacked(make: Callable[..., Path]) -> Iterator[Client]:
    with serving(make(classes=HOSTILE, ids=IDS)) as server:
        yield server.client


PATHS = ("/", "/main.js", "/api/summary", "/api/page", "/api/example?row=0", "/api/changes?since=0", "/image?row=0")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "cookie", [None, "", "pencil_review=", "pencil_review_1=wrong", "x=\u00e9; pencil_review=\u00e9"]
)
def test_every_address_needs_the_token(attacked: Client, path: str, cookie: str | None) -> None:
    status, headers, content = attacked.ask("GET", path, Cookie=cookie)
    assert status == 401 and b"token" in content and "set-cookie" not in headers


@pytest.mark.parametrize("token", ["", "wrong", "%00", "a&token=b"])
def test_a_wrong_token_opens_nothing(attacked: Client, token: str) -> None:
    status, headers, _ = attacked.ask("GET", f"/?token={token}", Cookie=None)
    assert status == 401 and "set-cookie" not in headers


def test_the_token_becomes_a_cookie_that_scripts_and_other_sites_do_not_see(attacked: Client) -> None:
    query = attacked.address.partition("/?")[2]
    status, headers, _ = attacked.ask("GET", f"/?{query}", Cookie=None)
    assert status == 200
    assert {"HttpOnly", "SameSite=Strict"} <= {part.strip() for part in headers["set-cookie"].split(";")}
    # In the address of anything else the token counts for nothing: it would end up in logs and links.
    assert attacked.ask("GET", f"/api/summary?{query}", Cookie=None)[0] == 401


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil", "", "[", "10.0.0.1", "localhost:x"],
)
def test_another_host_name_is_refused(attacked: Client, host: str) -> None:
    for path in PATHS:
        assert attacked.ask("GET", path, Host=host)[0] == 421


def test_a_missing_host_is_refused(attacked: Client) -> None:
    assert attacked.ask("GET", "/", Host=None)[0] in (400, 421)


def test_local_names_and_forwarded_ports_are_served(attacked: Client) -> None:
    for host in ("localhost", "LOCALHOST:1234", "127.0.0.1:9", "[::1]:80"):
        assert attacked.ask("GET", "/api/summary", Host=host)[0] == 200


def test_reviews_through_tunnels_to_the_same_port_elsewhere_keep_their_cookies(attacked: Client) -> None:
    query = attacked.address.partition("/?")[2]
    hosts = ("localhost:9000", "localhost:9001", "127.0.0.1")
    cookies = [attacked.ask("GET", f"/?{query}", Cookie=None, Host=host)[1]["set-cookie"] for host in hosts]
    assert [cookie.partition("=")[0].rpartition("_")[2] for cookie in cookies] == ["9000", "9001", "80"]
    for cookie in cookies:
        assert attacked.ask("GET", "/api/summary", Cookie=cookie.partition(";")[0])[0] == 200


def test_cookies_of_other_programs_do_not_lock_out(attacked: Client) -> None:
    cookie = f'other={{"a": [1, 2]}}; =; x; {attacked.cookie}; pencil_review_9=stale'
    assert attacked.ask("GET", "/api/summary", Cookie=cookie)[0] == 200


FOREIGN = [
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": None},
    {"Origin": "http://127.0.0.1"},
    {"Origin": "https://127.0.0.1"},
    {"Sec_Fetch_Site": "cross-site"},
    {"Sec_Fetch_Site": "same-site"},
    {"Content_Type": "text/plain"},
    {"Content_Type": "application/x-www-form-urlencoded"},
    {"Cookie": None},
    {"Host": "evil.example"},
]


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
def test_a_cross_site_post_changes_nothing(attacked: Client, headers: dict[str, str | None]) -> None:
    for path in ("/api/decide", "/api/undo"):
        status, _, _ = attacked.ask("POST", path, DECIDE, **headers)
        assert status in (401, 403, 415, 421)
    assert attacked.get("/api/summary")["sequence"] == 0


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "CONNECT"])
def test_other_methods_are_refused(attacked: Client, method: str) -> None:
    assert attacked.ask(method, "/api/summary")[0] in (400, 405)


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/page/index.html", "/index.html", "/..%5c..%5cconfig.toml",
        "/config.toml", "/image/../config.toml", "//etc/passwd", "/decisions.sqlite", "/main.js/../../__init__.py",
        "/main.js%00.png", "/app.py", "/.git/config",
    ],
)  # fmt: skip
def test_no_path_leads_out(attacked: Client, path: str) -> None:
    assert attacked.ask("GET", path)[0] == 404


ROWS = [
    "",
    "-1",
    "30",
    "1e3",
    "0x1",
    "\u0663",
    "../../etc/passwd",
    "%2e%2e%2f",
    "0%00",
    "9" * 40,
    "0;id",
    " 1",
    "+1",
    "True",
]


@pytest.mark.parametrize("row", ROWS)
def test_only_the_rows_of_the_run_are_served(attacked: Client, row: str) -> None:
    from urllib.parse import quote

    for path in ("/image", "/thumbnail", "/api/example"):
        status, _, content = attacked.ask("GET", f"{path}?row={quote(row, safe='%')}")
        assert status == 400 and b"whole number" in content


WRONG = [
    {"row": True}, {"row": "0"}, {"row": 30}, {"row": -1}, {"label": 3}, {"label": 1.0}, {"label": [1]},
    {"reviewer": ""}, {"reviewer": {"a": 1}}, {"reviewer": "a\0"}, {"reviewer": None},
    {"key": "\ud800"}, {"key": "k" * 201},
]  # fmt: skip
BODIES = [b"", b"[]", b"null", b"{", b"\xff", b"[" * 4000, b'{"row": 0}', b" " * 5000]
BODIES += [json.dumps(json.loads(DECIDE) | wrong).encode() for wrong in WRONG]


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body[:70])
def test_a_malformed_decision_changes_nothing(attacked: Client, body: bytes) -> None:
    status, _, content = attacked.ask("POST", "/api/decide", body)
    assert status == 400 and "error" in json.loads(content)
    assert attacked.get("/api/summary")["sequence"] == 0


@pytest.mark.parametrize(
    "query", ["decision=all'--", "status=x", "given=99", "low=nan", "high=2", "limit=201", "from=-1", "find=%00"]
)
def test_a_malformed_filter_is_refused(attacked: Client, query: str) -> None:
    assert attacked.ask("GET", f"/api/page?{query}")[0] == 400


@pytest.mark.parametrize("path", [*PATHS, "/nothing", "/image?row=x"])
def test_every_answer_is_locked_down(attacked: Client, path: str) -> None:
    for cookie in (attacked.cookie, None):
        _, headers, _ = attacked.ask("GET", path, Cookie=cookie)
        policy = headers["content-security-policy"]
        for rule in ("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"):
            assert rule in policy
        assert "unsafe" not in policy and "*" not in policy
        assert headers["x-content-type-options"] == "nosniff" and headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "no-referrer" and "access-control-allow-origin" not in headers


def test_hostile_names_are_data_not_markup(attacked: Client) -> None:
    _, headers, page = attacked.ask("GET", "/")
    assert headers["content-type"].startswith("text/html")
    assert b"onerror" not in page and b"alert(" not in page
    status, headers, content = attacked.ask("GET", "/api/page?decision=any")
    assert (status, headers["content-type"]) == (200, "application/json")
    assert {item["id"] for item in json.loads(content)["items"]} == set(IDS)
    assert tuple(attacked.get("/api/summary")["classes"]) == HOSTILE


def test_a_hostile_folder_name_is_escaped(tmp_path: Path) -> None:
    from .conftest import make_run

    run = make_run(tmp_path / "<img src=x onerror=alert(1)>")
    with serving(run) as server:
        _, _, page = server.client.ask("GET", "/")
    assert b"<img" not in page and b"&lt;img src=x" in page
