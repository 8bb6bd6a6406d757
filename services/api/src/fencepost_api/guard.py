"""The outermost layer: request ids, limits, security headers, one log line, and no exception's text.

Plain ASGI, because it also stands around streams: nothing here buffers an answer.
"""

from __future__ import annotations

import re
from typing import Any, Final

from fencepost_domain.errors import FencepostError
from fencepost_domain.ports import Clock, Ids
from fencepost_runtime.http import request_id
from fencepost_runtime.logging import get_logger, log_context
from fencepost_runtime.telemetry import tracer
from opentelemetry.propagate import extract
from opentelemetry.trace import SpanKind
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fencepost_api.context import Limits
from fencepost_api.problems import Refusal, internal, respond, tell

log = get_logger(__name__)

SECURITY_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}
UPLOADS: Final = "/v1/artifacts"
WRAPPING: Final = 16_384  # boundaries, headers and fields of a multipart body
_QUIET: Final = frozenset({"/healthz", "/readyz"})
_LENGTH: Final = re.compile(rb"[0-9]{1,18}")


class Guard:
    """Wraps the whole application."""

    def __init__(self, app: ASGIApp, *, clock: Clock, ids: Ids, limits: Limits) -> None:
        self.app, self.clock, self.ids, self.limits = app, clock, ids, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        identity = request_id(headers.get("x-request-id"), self.ids)
        scope.setdefault("state", {})["request_id"] = identity
        caller = extract(headers)
        with (
            log_context(request_id=identity),
            tracer().start_as_current_span(scope["method"], caller, kind=SpanKind.SERVER) as span,
        ):
            await self._serve(scope, receive, send, identity)
            if span.is_recording():
                route = _route(scope)
                span.update_name(f"{scope['method']} {route}")
                span.set_attributes({"http.request.method": scope["method"], "http.route": route})

    async def _serve(self, scope: Scope, receive: Receive, send: Send, identity: str) -> None:
        started = self.clock.monotonic()
        status, complete = 0, False

        async def send_told(message: Message) -> None:
            nonlocal status, complete
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-Id"] = identity
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
            elif not message.get("more_body", False):
                complete = True
            await send(message)

        limited = _Limited(scope, receive, body_limit(scope, self.limits))
        try:
            check_head(scope, self.limits)
            await self.app(scope, limited.receive, send_told)
        except FencepostError as error:
            if status:
                raise
            await respond(tell(error), identity)(scope, receive, send_told)
        except Exception:
            log.exception("request.failed", method=scope["method"], path=scope["path"])
            if status and not complete:
                raise  # the server cuts the connection: half an answer must not look like a whole one
            if not status:
                await respond(internal(), identity)(scope, receive, send_told)
        finally:
            if scope["path"] not in _QUIET:
                self._log(scope, status, started)

    def _log(self, scope: Scope, status: int, started: float) -> None:
        """The route's template and never the query: tickets travel there."""
        took = round((self.clock.monotonic() - started) * 1000, 1)
        log.info("http.request", method=scope["method"], route=_route(scope), status=status, ms=took)


def _route(scope: Scope) -> str:
    return getattr(scope.get("route"), "path", None) or "(none)"


def body_limit(scope: Scope, limits: Limits) -> int:
    """Of a file with its wrapping where files are taken in; of JSON everywhere else."""
    if scope["method"] == "POST" and scope["path"] == UPLOADS:
        return limits.artifact_bytes + WRAPPING
    return limits.body_bytes


def check_head(scope: Scope, limits: Limits) -> None:
    """Sizes that are known before a byte of the body is read."""
    if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > limits.path_bytes:
        raise Refusal("uri_too_long", f"At most {limits.path_bytes} bytes.")
    if sum(len(name) + len(value) for name, value in scope["headers"]) > limits.header_bytes:
        raise Refusal("headers_too_large", f"At most {limits.header_bytes} bytes in all.")
    if "\x00" in scope["path"]:
        raise Refusal("not_found", "Not found.")
    for name, value in scope["headers"]:
        if name == b"content-length":
            if not _LENGTH.fullmatch(value):
                raise Refusal("invalid_header", "Content-Length is not a number.")
            if int(value) > (most := body_limit(scope, limits)):
                raise _too_large(most)


def _too_large(limit: int) -> Refusal:
    return Refusal("body_too_large", f"At most {limit} bytes.", headers={"Connection": "close"})


class _Limited:
    """Counts what arrives, for bodies that name no length; refuses before the whole is read."""

    def __init__(self, scope: Scope, receive: Receive, limit: int) -> None:
        self._receive, self._limit, self._seen = receive, limit, 0

    async def receive(self) -> Message:
        message: Any = await self._receive()
        if message["type"] == "http.request":
            self._seen += len(message.get("body", b""))
            if self._seen > self._limit:
                raise _too_large(self._limit)
        return message  # type: ignore[no-any-return]
