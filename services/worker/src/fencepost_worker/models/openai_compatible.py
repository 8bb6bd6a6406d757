"""Any OpenAI-compatible endpoint, from configuration alone: streaming chat completions with tools.

httpx and our own reader instead of a vendor's SDK: the SDK's line decoder and its assembly of calls get in
the way of cases ST-1, ST-4 and ST-5, and cost 50 MB (ADR). Nothing is retried here: an attempt is a row of
`agent.model_calls`, and a second one is the ledger's decision.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import httpx
from fencepost_contracts import canonical
from fencepost_runtime.http import http_client
from fencepost_runtime.secret_sources import SecretMissing, SecretsUnavailable

from fencepost_worker.models.port import (
    CallDelta,
    FinishDelta,
    Message,
    ModelDelta,
    ModelFailed,
    ModelRequest,
    TextDelta,
    UsageDelta,
)
from fencepost_worker.models.sse import LineTooLong, data_of

RETRYABLE: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
READ_SECONDS: Final = 60.0  # silence between two chunks; a dead stream looks like a thinking one
DONE: Final = "[DONE]"


KeyNow = Callable[[], Awaitable[str]]


class OpenAICompatible:
    """One endpoint and model. url: up to and without `/chat/completions`."""

    provider = "openai_compatible"

    def __init__(self, url: str, name: str, key: str | None = None, key_now: KeyNow | None = None) -> None:
        """key_now: reads the key at each call, for one that is rotated while we run; before `key`."""
        self.name = name
        self._key_now = key_now
        self.endpoint = public_endpoint(url)
        self._path = url.rstrip("/") + "/chat/completions"
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = http_client(timeout_seconds=READ_SECONDS, headers=headers)

    async def close(self) -> None:
        await self._client.aclose()

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        """Deltas as they come. Raises ModelFailed with the provider's code and whether a retry can help."""
        names = WireNames(tool.name for tool in request.tools)
        try:
            async with asyncio.timeout(request.timeout_seconds):
                headers = {"Authorization": f"Bearer {await self._key_now()}"} if self._key_now else None
                async with self._client.stream(
                    "POST", self._path, json=_body(request, names), headers=headers
                ) as response:
                    if response.status_code != 200:
                        raise await _refused(response)
                    async for text in data_of(response.aiter_bytes()):
                        if text.strip() == DONE:
                            return
                        for delta in _deltas(_event(text), names):
                            yield delta
        except (SecretMissing, SecretsUnavailable) as error:  # nothing was sent
            raise ModelFailed("secret_missing", str(error)) from None
        except TimeoutError:
            raise ModelFailed("timeout", f"no whole answer within {request.timeout_seconds:g} s") from None
        except httpx.TimeoutException as error:
            raise ModelFailed("timeout", type(error).__name__) from error
        except httpx.HTTPError as error:
            raise ModelFailed("unreachable", type(error).__name__) from error
        except (UnicodeDecodeError, LineTooLong) as error:
            raise ModelFailed("protocol_error", type(error).__name__) from error


class WireNames:
    """Tool names for a wire that allows no dots; what comes back is looked up, never rebuilt by a rule."""

    def __init__(self, names: Any) -> None:
        self._out: dict[str, str] = {}
        self._back: dict[str, str] = {}
        for name in names:
            wire = name.replace(".", "__")
            while wire in self._back:
                wire += "_"
            self._out[name], self._back[wire] = wire, name

    def out(self, name: str) -> str:
        return self._out.get(name, name.replace(".", "__"))

    def back(self, wire: str | None) -> str | None:
        return self._back.get(wire, wire) if wire else None


def public_endpoint(url: str) -> str:
    """The address without credentials, query and fragment: what a manifest may hold."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))


def _body(request: ModelRequest, names: WireNames) -> dict[str, Any]:
    tools = [
        {
            "type": "function",
            "function": {
                "name": names.out(t.name),
                "description": t.description,
                "parameters": dict(t.schema),
            },
        }
        for t in request.tools
    ]
    body: dict[str, Any] = {
        "model": request.model,
        "messages": [_message(m, names) for m in request.messages],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": request.max_output_tokens,
    }
    if tools:
        body["tools"] = tools
    return body


def _message(message: Message, names: WireNames) -> dict[str, Any]:
    body: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.calls:
        body["content"] = message.text or None
        body["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": names.out(call.name),
                    "arguments": json.dumps(canonical.plain(dict(call.arguments)), ensure_ascii=False),
                },
            }
            for call in message.calls
        ]
    if message.call_id is not None:
        body["tool_call_id"] = message.call_id
    return body


def _event(text: str) -> Mapping[str, Any]:
    try:
        event = json.loads(text)
    except ValueError:
        raise ModelFailed("protocol_error", "an event of the stream is no JSON") from None
    if not isinstance(event, dict):
        raise ModelFailed("protocol_error", "an event of the stream is no object")
    if event.get("error"):
        raise _stream_error(event["error"])
    return event


def _stream_error(error: Any) -> ModelFailed:
    """An error after the first byte: the status line said 200 and can't take it back (case ST-4)."""
    body = error if isinstance(error, dict) else {"message": str(error)}
    code = body.get("code") or body.get("type") or "unknown"
    status = code if isinstance(code, int) else int(code) if str(code).isdigit() else None
    retryable = status is None or status in RETRYABLE
    return ModelFailed(
        "provider_error", str(body.get("message", ""))[:300], retryable, provider_code=str(code)
    )


def _deltas(event: Mapping[str, Any], names: WireNames) -> list[ModelDelta]:
    """The deltas of one event. The last event of many providers has no choices and the usage."""
    found: list[ModelDelta] = []
    choices = event.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        if not isinstance(choice, dict) or choice.get("index", 0) not in (0, None):
            continue
        delta = choice.get("delta") or choice.get("message") or {}
        found += [TextDelta(text) for text in _texts(delta.get("content")) if text]
        for place, call in enumerate(delta.get("tool_calls") or ()):
            found.append(_call(call, names, place))
        if choice.get("finish_reason"):
            found.append(FinishDelta(str(choice["finish_reason"])))
    usage = event.get("usage")
    if isinstance(usage, dict):
        found.append(
            UsageDelta(int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0))
        )
    return found


def _texts(content: Any) -> Sequence[str]:
    """The answer's text; reasoning parts stay out of it."""
    if isinstance(content, str):
        return (content,)
    if isinstance(content, list):
        return [
            str(p.get("text", ""))
            for p in content
            if isinstance(p, dict) and p.get("type") in ("text", "output_text")
        ]
    return ()


def _call(call: Any, names: WireNames, place: int) -> CallDelta:
    if not isinstance(call, dict):
        raise ModelFailed("protocol_error", "a tool call is no object")
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    index = call.get("index")
    arguments = function.get("arguments")
    if arguments is not None and not isinstance(arguments, str | dict):
        raise ModelFailed("protocol_error", "a call's arguments are neither text nor object")
    name = function.get("name")
    return CallDelta(
        index if isinstance(index, int) else None,
        str(call["id"]) if call.get("id") else None,
        names.back(name) if isinstance(name, str) else None,
        arguments,
    )


async def _refused(response: httpx.Response) -> ModelFailed:
    await response.aread()
    status = response.status_code
    code: str | None = None
    try:
        error = response.json().get("error")
        code = str(error.get("code") or error.get("type")) if isinstance(error, dict) else None
    except (ValueError, AttributeError):
        pass
    after = response.headers.get("retry-after", "")
    return ModelFailed(
        "provider_error",
        f"HTTP {status}",
        status in RETRYABLE,
        provider_code=code or str(status),
        retry_after=float(after) if after.isdigit() else None,
    )
