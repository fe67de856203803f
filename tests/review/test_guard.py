"""The address a browser is started with works once; the printed one works as often as it is opened."""

import asyncio
from typing import Any

from starlette.responses import PlainTextResponse

from pencil.review.guard import Guard, names_of


def status(guard: Guard, query: str, host: str = "localhost") -> int:
    """Ask for the page without a cookie."""
    found: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        found.append(message)

    scope = {
        "type": "http", "method": "GET", "path": "/", "query_string": query.encode(), "server": ("127.0.0.1", 80),
        "headers": [(b"host", host.encode())],
    }  # fmt: skip
    asyncio.run(guard(scope, receive, send))
    return int(found[0]["status"])


def test_a_code_for_the_browser_opens_once() -> None:
    guard = Guard(PlainTextResponse("page"), token="secret", names=names_of("127.0.0.1"))
    code = guard.once()
    assert [status(guard, f"token={code}") for _ in range(2)] == [200, 401]
    assert [status(guard, "token=secret") for _ in range(2)] == [200, 200]


def test_addresses_but_no_foreign_names_where_every_machine_may_ask() -> None:
    everywhere = Guard(PlainTextResponse("page"), token="t", names=names_of("0.0.0.0"), any_address=True)
    assert status(everywhere, "token=t", "192.168.1.7:8571") == 200
    assert status(everywhere, "token=t", "evil.example:8571") == 421
    assert names_of("192.168.1.7") == {"192.168.1.7"}
