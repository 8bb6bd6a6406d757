"""Asynchronous tools: an HTTP operation that starts a task, and the operations by which it is followed.

The start's answer names the task, and the task's own state decides what became of it. Who runs it may say
early that it ended (a signed callback); that makes us ask at once, and is believed no further.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any, Final

import httpx
from fencepost.authoring import Plan
from fencepost_contracts import canonical
from fencepost_contracts.http_tools import HttpCall
from fencepost_contracts.sources import TaskRules, ToolSource, at_pointer
from fencepost_contracts.tools import Tool
from fencepost_domain.effect import Heard
from fencepost_runtime.keys import KeyRing
from fencepost_runtime.secrets import mask_registered
from fencepost_store.tasks import CANCELLED

from fencepost_tool_gateway import callbacks
from fencepost_tool_gateway.executors.http import HttpExecutor, TooLarge, as_object
from fencepost_tool_gateway.executors.port import Call, Looked, Sending, Told
from fencepost_tool_gateway.secrets import SecretMissing

CALLBACK: Final = "fencepost-callback"  # where a terminal event may be told, with the token beside it
CALLBACK_TOKEN: Final = "fencepost-callback-token"  # noqa: S105 - a header's name
LONGEST_WORDS: Final = 300


class TaskExecutor:
    """Implements executors.port.Outside for tools with a `task`; the requests themselves are HTTP's."""

    def __init__(self, http: HttpExecutor) -> None:
        self._http = http
        self.callback_url: str | None = None  # absent: nobody can tell us, and polling alone finds the end
        self.keys: KeyRing | None = None

    def runs(self, tool: Tool) -> bool:
        return tool.source is not None and tool.source.task is not None

    async def plan(self, call: Call) -> Plan:
        return await self._http.plan(call)

    def request(self, call: Call, key: str) -> bytes:
        return self._http.request(call, key)

    async def send(self, sending: Sending) -> Told:
        """Start the task: accepted with its name, or what a start can end as."""
        source, rules = _rules(sending.tool)
        told = await self._http.send(self._with_callback(sending))
        if told.heard is not Heard.COMPLETED:
            return told
        ended = _ended(rules, source, told.result)
        if ended is not None:
            return ended
        name = at_pointer(told.result, rules.id)
        if not isinstance(name, str | int) or str(name) == "":
            return Told(Heard.UNKNOWN, code="answer_unclear", detail=f"{source.name} named no task")
        return Told(Heard.ACCEPTED, external_id=str(name)[:LONGEST_WORDS])

    async def lookup(self, sending: Sending) -> Looked:
        return await self._http.lookup(sending)

    async def follow(self, tool: Tool, name: str, seconds: float) -> Told | None:
        """How a task ended; None while it runs, or can't be asked after now."""
        source, rules = _rules(tool)
        answer = await self._ask(source.status, rules, name, seconds)
        return _ended(rules, source, answer) if answer is not None else None

    async def cancel(self, tool: Tool, name: str, seconds: float) -> bool:
        """Ask it to stop. False: it can't be asked, or there was no answer."""
        source, rules = _rules(tool)
        return await self._ask(source.cancel, rules, name, seconds) is not None

    async def _ask(self, block: HttpCall | None, rules: TaskRules, name: str, seconds: float) -> Any:
        if block is None:
            return None
        try:
            async with asyncio.timeout(seconds):
                status, value = await self._http.ask(block, {rules.id_argument: name}, seconds)
        except (SecretMissing, TimeoutError, TooLarge, httpx.HTTPError):
            return None
        return value if 200 <= status < 300 and value is not None else None

    def _with_callback(self, sending: Sending) -> Sending:
        """The stored request with what is put in at the send, and stored nowhere."""
        if self.callback_url is None or self.keys is None:
            return sending
        stored = json.loads(sending.request)
        stored["headers"] |= {
            CALLBACK: f"{self.callback_url.rstrip('/')}{callbacks.PATH}/{sending.key}",
            CALLBACK_TOKEN: callbacks.token(self.keys, sending.key),
        }
        request = canonical.dumps(stored)
        return Sending(sending.tool, sending.key, request, sending.attempt, sending.seconds)

    async def close(self) -> None:
        return None


def _rules(tool: Tool) -> tuple[ToolSource, TaskRules]:
    assert tool.source is not None and tool.source.task is not None  # runs() said so
    return tool.source, tool.source.task


def _ended(rules: TaskRules, source: ToolSource, answer: Any) -> Told | None:
    """What a task's document says of its end; None while it says another word."""
    word = at_pointer(answer, rules.state)
    if word in rules.done:
        return Told(Heard.COMPLETED, mask_registered(as_object(at_pointer(answer, rules.result))))
    if word in rules.cancelled:
        return Told(Heard.REJECTED, code=CANCELLED, detail=f"{source.name} stopped it")
    if word in rules.failed:
        said = at_pointer(answer, rules.error)
        words = mask_registered(said if isinstance(said, str) else json.dumps(said))[:LONGEST_WORDS]
        return Told(Heard.REJECTED, code="task_failed", detail=f"{source.name}: {words}")
    return None
