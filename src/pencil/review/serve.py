"""Runs the review server on this machine."""

from __future__ import annotations

import errno
import os
import secrets
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass

import uvicorn

from pencil.errors import PencilError
from pencil.review.app import make_app
from pencil.review.desk import Desk
from pencil.review.guard import Guard, names_of

PORT = 8571
"""Tried first, so that the address is the same as last time."""
EVERYWHERE = ("0.0.0.0", "::")
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Served:
    """Where the server listens."""

    host: str
    port: int
    token: str

    @property
    def address(self) -> str:
        """The address to open, token and all."""
        host = socket.gethostname() if self.host in EVERYWHERE else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/?token={self.token}"

    @property
    def local(self) -> bool:
        return self.host in LOOPBACK


def serve(
    desk: Desk,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    browser: bool = False,
    ready: Callable[[Served], None] = lambda served: None,
) -> None:
    """Serve one review until the process is asked to end; `ready` is told the address once it answers."""
    bound = listen(host, port)
    served = Served(host, bound.getsockname()[1], secrets.token_urlsafe(32))
    guard = Guard(
        make_app(desk), token=served.token, names=names_of(host), any_address=host in EVERYWHERE, run=desk.run
    )
    config = uvicorn.Config(
        guard, log_level="error", access_log=False, server_header=False, date_header=False, proxy_headers=False,
        lifespan="off", ws="none", timeout_graceful_shutdown=2,
    )  # fmt: skip
    # Connections already wait in the socket's queue, so the address can be told before the loop runs.
    ready(served)
    if browser and can_open():
        once = Served(host, served.port, guard.once())
        threading.Thread(target=webbrowser.open, args=(once.address,), daemon=True).start()
    try:
        uvicorn.Server(config).run(sockets=[bound])
    finally:
        bound.close()


def listen(host: str, port: int | None) -> socket.socket:
    """Take a port: the one that is asked for, else the usual one, else any that is free."""
    if port is not None:
        return _bind(host, port)
    try:
        return _bind(host, PORT)
    except PencilError:
        return _bind(host, 0)


def _bind(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind, protocol)
    except OSError as error:
        raise PencilError(f"{host} is no address of this machine ({error.strerror}); leave --host out.") from error
    try:
        if os.name == "posix":
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(128)
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRNOTAVAIL:
            raise PencilError(f"{host} is no address of this machine; leave --host out.") from error
        raise PencilError(f"port {port} cannot be used ({error.strerror}); give another --port.") from error
    return bound


def can_open() -> bool:
    """Say whether there is a screen to open a browser on; a text browser would take the terminal."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
