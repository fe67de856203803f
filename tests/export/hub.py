"""A small hub on this machine: it takes what `push_to_hub` uploads, and keeps the files in a folder."""

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

COMMIT = "0" * 40
REPOSITORY = "/datasets/me/animals"


@contextmanager
def local_hub(folder: Path) -> Iterator[str]:
    """Yield the address of a hub with one empty repository, me/animals."""
    handler = type("Handler", (_Handler,), {"folder": folder, "uploaded": {}})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class _Handler(BaseHTTPRequestHandler):
    folder: Path
    uploaded: dict[str, bytes]

    def do_GET(self) -> None:
        if "/resolve/" in self.path or "/tree/" in self.path:
            self._answer({"error": "the repository is empty"}, 404)
        else:
            self._answer({"id": "me/animals", "sha": COMMIT, "siblings": []})

    do_HEAD = do_GET

    def do_PUT(self) -> None:
        self.uploaded[self.path.rpartition("/")[2]] = self._body()
        self._answer({})

    def do_POST(self) -> None:
        body = self._body()
        if "/preupload/" in self.path:
            asked = json.loads(body)["files"]
            self._answer({"files": [{"path": file["path"], **_how(file["path"])} for file in asked]})
        elif self.path.endswith("/objects/batch"):
            objects = json.loads(body)["objects"]
            self._answer({"transfer": "basic", "objects": [one | self._actions(one["oid"]) for one in objects]})
        elif "/commit/" in self.path:
            for line in body.splitlines():
                self._keep(**json.loads(line))
            told = {"commitOid": COMMIT, "commitUrl": f"{self._address}{REPOSITORY}/commit/{COMMIT}", "hookOutput": ""}
            self._answer(told)
        else:
            self._answer({"url": f"{self._address}{REPOSITORY}", "name": "", "id": ""})

    def _keep(self, key: str, value: dict[str, Any]) -> None:
        if key == "header":
            return
        file = self.folder / value["path"]
        file.parent.mkdir(parents=True, exist_ok=True)
        content = self.uploaded[value["oid"]] if key == "lfsFile" else base64.b64decode(value["content"])
        file.write_bytes(content)

    def _actions(self, name: str) -> dict[str, Any]:
        return {"actions": {"upload": {"href": f"{self._address}/upload/{name}"}}}

    @property
    def _address(self) -> str:
        return f"http://{self.headers['Host']}"

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers["Content-Length"] or 0))

    def _answer(self, content: dict[str, Any], code: int = 200) -> None:
        data = json.dumps(content).encode()
        self.send_response(code)
        if code == 404:
            self.send_header("X-Error-Code", "EntryNotFound")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *words: object) -> None:
        """Stay silent."""


def _how(path: str) -> dict[str, Any]:
    """Say how a file is uploaded: data as large files, the rest in the commit itself."""
    return {"uploadMode": "lfs" if path.endswith(".parquet") else "regular", "shouldIgnore": False}
