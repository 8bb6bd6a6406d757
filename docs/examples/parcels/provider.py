"""A parcel service as somebody else might run it: switches for what can go wrong, a log of what it did.

    python provider.py --port 8099 --token s3cret-token

POST   /parcels               sends a parcel: {"to", "what"} -> 201 {"id", "to", "what"}; by `Idempotency-Key`
GET    /parcels/by-key/{key}  the parcel of a key, or 404
DELETE /parcels/{id}          calls a parcel back -> {"id", "called_back": true}; by `Idempotency-Key`
GET    /callbacks/by-key/{key} what was called back under a key, or 404
POST   /switch                how the next requests go (below);  GET /log  what really happened, in order

A switch is {"mode", "times"?, "seconds"?} for the next `times` POSTs and DELETEs (1): accept_then_hang,
accept_then_drop, slow, reject, limit (429 with Retry-After), error (500, nothing done); or {"no_keys",
"memory_seconds", "visible_after", "lookup_fails"} for good. Nothing but the standard library; no model of a
server.
"""

import argparse
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote


class Parcels:
    """What the service knows. `log` is the truth: one line per parcel that was really sent or called back."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.log: list[dict[str, Any]] = []
        self.parcels: list[dict[str, Any]] = []
        self.called_back: dict[str, str] = {}  # key -> parcel
        self.mode, self.times, self.seconds = "normal", 0, 0.0
        self.settings: dict[str, Any] = {
            "no_keys": False, "memory_seconds": 86_400.0, "visible_after": 0.0, "lookup_fails": False,
        }  # fmt: skip

    def switch(self, asked: dict[str, Any]) -> None:
        with self.lock:
            if "mode" in asked:
                self.mode = asked["mode"]
                self.times, self.seconds = asked.get("times", 1), float(asked.get("seconds", 1))
            self.settings |= {name: value for name, value in asked.items() if name in self.settings}

    def next_mode(self) -> tuple[str, float]:
        with self.lock:
            if self.times <= 0:
                return "normal", 0.0
            self.times -= 1
            return self.mode, self.seconds

    def send(self, key: str | None, body: dict[str, Any], raw: str) -> dict[str, Any]:
        """Send it, unless its key is still known: then the parcel that was sent for it."""
        with self.lock:
            known = self.of(key) if key and not self.settings["no_keys"] else None
            if known is not None and time.monotonic() - known["at"] < self.settings["memory_seconds"]:
                self.log.append({"what": "repeated", "key": key, "raw": raw, "id": known["id"]})
                return known
            parcel = {**body, "id": f"p{len(self.parcels) + 1}", "key": key, "at": time.monotonic()}
            self.parcels.append(parcel)
            self.log.append({"what": "sent", "key": key, "raw": raw, "id": parcel["id"]})
            return parcel

    def of(self, key: str | None) -> dict[str, Any] | None:
        return next((one for one in reversed(self.parcels) if one["key"] == key), None)

    def look(self, key: str) -> dict[str, Any] | None:
        with self.lock:
            found = self.of(key)
            self.log.append({"what": "looked", "key": key, "found": found is not None})
            if found is None or time.monotonic() - found["at"] < self.settings["visible_after"]:
                return None
            return found

    def call_back(self, parcel_id: str, key: str | None) -> bool:
        with self.lock:
            if key and key in self.called_back and not self.settings["no_keys"]:
                self.log.append({"what": "repeated", "key": key, "id": parcel_id})
                return True
            found = any(one["id"] == parcel_id for one in self.parcels)
            if found:
                self.log.append({"what": "called_back", "key": key, "id": parcel_id})
                self.called_back[key or ""] = parcel_id
            return found

    def note(self, what: str, key: str | None, raw: str) -> None:
        with self.lock:
            self.log.append({"what": what, "key": key, "raw": raw})


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    parcels: Parcels
    token: str

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
        body = json.loads(raw or "{}")
        if self.path == "/switch":
            self.parcels.switch(body)
            return self.answer(200, self.parcels.settings)
        if not self.is_allowed():
            return self.answer(401, {"detail": "who are you?"})
        key = self.headers.get("idempotency-key")
        mode, seconds = self.parcels.next_mode()
        if self.refuses(mode, seconds, key, raw):
            return None
        sent = self.parcels.send(key, body, raw)
        if self.hangs_up(mode, seconds):
            return None
        return self.answer(201, {name: sent[name] for name in ("id", "to", "what") if name in sent})

    def refuses(self, mode: str, seconds: float, key: str | None, raw: str) -> bool:
        """Before anything is done; a slow one is done after its time."""
        if mode == "slow":
            time.sleep(seconds)
        if mode not in ("reject", "limit", "error"):
            return False
        self.parcels.note(mode, key, raw)
        status = {"reject": 422, "limit": 429, "error": 500}[mode]
        self.answer(status, {"detail": f"not now: {mode}"}, seconds if mode == "limit" else None)
        return True

    def hangs_up(self, mode: str, seconds: float) -> bool:
        """It is done, and nobody is told."""
        if mode == "accept_then_hang":
            time.sleep(seconds)
        if mode not in ("accept_then_drop", "accept_then_hang"):
            return False
        self.close_connection = True
        self.connection.close()
        return True

    def do_GET(self) -> None:
        if self.path == "/log":
            return self.answer(200, self.parcels.log)
        if not self.is_allowed():
            return self.answer(401, {"detail": "who are you?"})
        if self.parcels.settings["lookup_fails"]:
            return self.answer(503, {"detail": "out of order"})
        key = unquote(self.path.rpartition("/")[2])
        if self.path.startswith("/callbacks/"):
            parcel_id = self.parcels.called_back.get(key)
            return self.answer(200 if parcel_id else 404, {"id": parcel_id, "called_back": bool(parcel_id)})
        found = self.parcels.look(key)
        if found is None:
            return self.answer(404, {"detail": "no parcel of this key"})
        return self.answer(200, {name: found[name] for name in ("id", "to", "what") if name in found})

    def do_DELETE(self) -> None:
        if not self.is_allowed():
            return self.answer(401, {"detail": "who are you?"})
        parcel_id, key = unquote(self.path.rpartition("/")[2]), self.headers.get("idempotency-key")
        mode, seconds = self.parcels.next_mode()
        if self.refuses(mode, seconds, key, parcel_id):
            return None
        found = self.parcels.call_back(parcel_id, key)
        if self.hangs_up(mode, seconds):
            return None
        return self.answer(200 if found else 404, {"id": parcel_id, "called_back": found})

    def is_allowed(self) -> bool:
        return not self.token or self.headers.get("authorization") == f"Bearer {self.token}"

    def answer(self, status: int, body: Any, retry_after: float | None = None) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        if retry_after is not None:
            self.send_header("retry-after", str(int(retry_after)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """`/log` says it better."""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    arguments.add_argument("--port", type=int, default=8099)
    arguments.add_argument("--token", default="")
    asked = arguments.parse_args()
    Handler.parcels, Handler.token = Parcels(), asked.token
    server = ThreadingHTTPServer(("127.0.0.1", asked.port), Handler)
    server.daemon_threads = True
    print(f"parcels at http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
