"""Tools that are one HTTP request, declared by the contract's `http:` block.

What is stored of an attempt is the request as it is sent but for the credential. What counts is what can be
known: no connection means that nothing was sent; a status that the contract lists as a refusal means that the
other side did nothing; anything else that isn't a 2xx is unknown.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

import httpx
from fencepost.authoring import Plan, listing
from fencepost_contracts import canonical
from fencepost_contracts.http_tools import Credential, HttpCall
from fencepost_contracts.tools import Tool
from fencepost_domain.effect import Heard, Seen
from fencepost_runtime.http import http_client
from fencepost_runtime.secrets import mask_registered

from fencepost_tool_gateway.egress import EgressRefused
from fencepost_tool_gateway.executors.http_request import build_lookup, build_request, resolved
from fencepost_tool_gateway.executors.port import Call, Looked, Sending, Told
from fencepost_tool_gateway.secrets import SecretMissing, Secrets

MAX_ANSWER: Final = 1_048_576  # bytes; more is no observation for a model
LONGEST_RETRY_AFTER: Final = 3600.0
TOO_MANY: Final = 429
NEVER_SENT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)


class TooLarge(Exception):
    """The answer is longer than anybody reads; what was done was done."""


class HttpExecutor:
    """One client for all peers; no redirect is followed: an allowed address must not lead to another."""

    def __init__(self, secrets: Secrets, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._secrets = secrets
        self._http = http_client(timeout_seconds=3600.0, connections=64, transport=transport)

    def runs(self, tool: Tool) -> bool:
        return tool.http is not None

    async def plan(self, call: Call) -> Plan:
        return listing(call.tool.name, call.arguments)

    def request(self, call: Call, key: str) -> bytes:
        return build_request(_block(call.tool), call.arguments, key)

    async def send(self, sending: Sending) -> Told:
        block, stored = _block(sending.tool), json.loads(sending.request)
        try:
            status, headers, body = await self._exchange(stored, block.credential, sending.seconds)
        except SecretMissing as error:
            return Told(Heard.LATER, code=error.code, detail=f"the credential {error.name} is not there")
        except EgressRefused as error:
            return Told(Heard.REJECTED, code=error.code, detail=str(error))
        except NEVER_SENT as error:
            return Told(Heard.LATER, code="not_reached", detail=f"no connection: {type(error).__name__}")
        except TimeoutError:
            return Told(Heard.UNKNOWN, code="timeout", detail="no answer within the attempt's time")
        except TooLarge:
            return Told(Heard.COMPLETED, code="answer_too_large")
        except httpx.HTTPError as error:
            return Told(Heard.UNKNOWN, code="connection_lost", detail=type(error).__name__)
        return _told(block, status, headers, body)

    async def lookup(self, sending: Sending) -> Looked:
        block = _block(sending.tool)
        if block.lookup is None:
            return Looked(Seen.UNSURE, detail="the contract has no look-up")
        stored = build_lookup(block.lookup, sending.request, sending.key)
        try:
            status, _, body = await self._exchange(stored, block.credential, sending.seconds)
        except (SecretMissing, EgressRefused, TimeoutError, TooLarge, httpx.HTTPError) as error:
            return Looked(Seen.UNSURE, detail=type(error).__name__)
        if status in block.lookup.absent:
            return Looked(Seen.ABSENT)
        if not 200 <= status < 300:
            return Looked(Seen.UNSURE, detail=f"HTTP {status}")
        value = mask_registered(_json(body))
        if block.lookup.found is not None and resolved(value, block.lookup.found) in (None, [], {}, ""):
            # Only a document that can be read can say that it isn't there.
            return (
                Looked(Seen.ABSENT)
                if isinstance(value, dict | list)
                else Looked(Seen.UNSURE, detail="no JSON")
            )
        result = as_object(resolved(value, block.lookup.result))
        return Looked(Seen.FOUND, result, _named(value, block.lookup.external_id))

    async def ask(self, block: HttpCall, arguments: Mapping[str, Any], seconds: float) -> tuple[int, Any]:
        """A question that changes nothing of ours: status and JSON (None when it is none).

        Raises SecretMissing, TimeoutError, TooLarge, httpx.HTTPError.
        """
        stored = json.loads(build_request(block, arguments, ""))
        status, _, body = await self._exchange(stored, block.credential, seconds)
        return status, _json(body)

    async def close(self) -> None:
        await self._http.aclose()

    async def _exchange(
        self, stored: dict[str, Any], credential: Credential | None, seconds: float
    ) -> tuple[int, httpx.Headers, bytes]:
        async with asyncio.timeout(seconds):
            headers = dict(stored["headers"])
            if credential is not None:
                value = await self._secrets.get(credential.secret)
                headers[credential.header] = f"{credential.scheme} {value}".strip()
            content = stored["body"].encode() if stored["body"] is not None else None
            async with self._http.stream(
                stored["method"], stored["url"], headers=headers, content=content
            ) as response:
                body = bytearray()
                async for chunk in response.aiter_bytes():
                    body += chunk
                    if len(body) > MAX_ANSWER and response.is_success:
                        raise TooLarge
                return response.status_code, response.headers, bytes(body[:MAX_ANSWER])


def _block(tool: Tool) -> HttpCall:
    assert tool.http is not None  # runs() said so
    return tool.http


def _told(block: HttpCall, status: int, headers: httpx.Headers, body: bytes) -> Told:
    if 200 <= status < 300:
        value = mask_registered(_json(body))
        result = as_object(resolved(value, block.result))
        return Told(Heard.COMPLETED, result, _named(value, block.external_id))
    detail = f"HTTP {status}"
    if status == TOO_MANY:
        return Told(
            Heard.LATER,
            code="rate_limited",
            detail=detail,
            retry_after=retry_after(headers.get("retry-after")),
        )
    if status in block.rejected:
        return Told(Heard.REJECTED, code="rejected", detail=f"{detail}{_reason(body)}")
    return Told(Heard.UNKNOWN, code="answer_unclear", detail=detail)


def as_object(value: Any) -> Any:
    """A result is an object; a list or a plain value is one under `result`. None stays: nothing to read."""
    return value if value is None or isinstance(value, dict) else {"result": value}


def _reason(body: bytes) -> str:
    """The other side's own words for a refusal, where its answer has the usual member for them."""
    value = _json(body)
    found = (
        next((value.get(name) for name in ("detail", "message", "error")), None)
        if isinstance(value, dict)
        else None
    )
    return f": {mask_registered(found)[:300]}" if isinstance(found, str) else ""


def retry_after(header: str | None) -> float | None:
    """Seconds of a Retry-After (a number, or a date by this host's clock); None when it isn't one."""
    if not header:
        return None
    try:
        seconds = float(header) if header.strip().isdigit() else _until(header)
    except (TypeError, ValueError):
        return None
    return min(max(seconds, 0.0), LONGEST_RETRY_AFTER)


def _until(header: str) -> float:
    return (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds()  # noqa: TID251 - a peer's date, for a wait


def _json(body: bytes) -> Any:
    if not body.strip():
        return {}
    try:
        return canonical.loads(body)
    except ValueError:
        return None


def _named(value: Any, place: str | None) -> str | None:
    found = resolved(value, place) if place is not None else None
    return str(found)[:300] if isinstance(found, str | int) else None
