"""Who may talk to the review server: the token it printed, from its own page, under its own name."""

from __future__ import annotations

import ipaddress
import secrets
import socket
from collections.abc import Iterable
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
"""Only the server's own files; texts cannot become HTML or code even by mistake."""
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
METHODS = ("GET", "HEAD", "POST")
RUN = "pencil-run"
"""The header in which a page says which run it shows."""


def names_of(host: str) -> frozenset[str]:
    """Return the names under which a server that listens on this address may be asked for."""
    loopback = {"127.0.0.1", "localhost", "::1"}
    if host in loopback:
        return frozenset(loopback)
    if host in ("0.0.0.0", "::", ""):
        return frozenset({*loopback, socket.gethostname().lower(), socket.getfqdn().lower()})
    return frozenset({host.lower()})


class Guard:
    """Lets a request through only where host, origin and token are right; sets the safe headers on every answer."""

    def __init__(
        self, app: ASGIApp, *, token: str, names: Iterable[str], any_address: bool = False, run: str = ""
    ) -> None:
        self.app, self.names, self.any_address, self.run = app, frozenset(names), any_address, run
        self._token = token.encode()
        self._once: set[str] = set()

    def once(self) -> str:
        """Return a code that opens the page a single time: another user may read a browser's command line."""
        code = secrets.token_urlsafe(24)
        self._once.add(code)
        return code

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(scope, headers)
        cookie = ""
        if not refusal:
            entered = scope["path"] == "/" and self._enters(scope)
            if not entered and not self._has_cookie(headers):
                refusal = 401, "open the address that pencil review printed, with its token."
            if entered:
                cookie = self._cookie(headers["host"])
        app = PlainTextResponse(f"pencil review: {refusal[1]}\n", refusal[0]) if refusal else self.app
        await app(scope, receive, _with_headers(send, cookie))

    def _refusal(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        """Return why a request is refused whoever it is from."""
        host = headers.getlist("host")
        if len(host) != 1 or not self._is_ours(host[0]):
            return 421, "this name is not the server's."
        if scope["method"] not in METHODS:
            return 405, "there is no such request."
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{host[0]}":
            return 403, "another site may not ask."
        if scope["method"] == "POST":
            if origin is None:
                return 403, "a change must come from the page itself."
            if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
                return 415, "a change is JSON."
        # A link elsewhere may lead to the page, which needs the token; nothing else may be fetched from elsewhere.
        if scope["path"] != "/" and headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return 403, "another site may not ask."
        # A tab may outlive its server, and the next one on that port may show another run: its rows are others.
        if headers.get(RUN, self.run) != self.run:
            return 409, "the page is that of another run."
        return None

    def _is_ours(self, host: str) -> bool:
        # A name can be made to point here by whoever owns it (DNS rebinding); an address cannot.
        try:
            name = urlsplit(f"//{host}").hostname or ""
            _port(host)
        except ValueError:
            return False
        return name in self.names or (self.any_address and _is_address(name))

    def _enters(self, scope: Scope) -> bool:
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        if len(given) != 1:
            return False
        if given[0] in self._once and scope["method"] == "GET":
            self._once.discard(given[0])
            return True
        return self._is_token(given[0])

    def _has_cookie(self, headers: Headers) -> bool:
        # Split by hand: other programs of this host may have set cookies that a strict parser stops at.
        pairs = (part.strip().partition("=") for line in headers.getlist("cookie") for part in line.split(";"))
        return any(name.startswith("pencil_review") and self._is_token(value) for name, _, value in pairs)

    def _is_token(self, text: str) -> bool:
        return secrets.compare_digest(text.encode(), self._token)

    def _cookie(self, host: str) -> str:
        # Cookies are shared by all ports of a host; the port keeps two reviews apart. It is the browser's, since those
        # of two machines that are reached through tunnels may be the same.
        return f"pencil_review_{_port(host)}={self._token.decode()}; Path=/; HttpOnly; SameSite=Strict"


def _port(host: str) -> int:
    return urlsplit(f"//{host}").port or 80


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _with_headers(send: Send, cookie: str) -> Send:
    async def wrapped(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            if cookie:
                headers.append("set-cookie", cookie)
        await send(message)

    return wrapped
