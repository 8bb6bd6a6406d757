"""The port to the outside (`executors.port.Outside`): one suite for HTTP, MCP by stdio and HTTP, and tasks.

What a send tells is what can be known: never a refusal for an answer that was lost, never `unknown` for what
didn't leave the house. The other side's own count says what happened.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from fencepost_contracts.declared import Pin, published
from fencepost_contracts.http_tools import HttpCall
from fencepost_contracts.loader import load_module, parse_contract
from fencepost_contracts.modules import discover_modules
from fencepost_contracts.tools import Tool
from fencepost_domain.effect import Heard, Seen
from fencepost_tool_gateway.egress import Egress
from fencepost_tool_gateway.executors.port import Call, Outside, Sending
from fencepost_tool_gateway.world import OutsideWorld, outside_world

from tests.services.tool_gateway.test_mcp import tool_of
from tests.support.fixed_secrets import FixedSecrets
from tests.support.mcp import Wiki, by_http, by_stdio
from tests.support.parcels import SECRET, SEND, TOKEN, contract, providing_parcels
from tests.support.skills import research, skill_server
from tests.unit.domain.test_waits import MARKED

KEY = "01a22ef9-30aa-7000-8000-000000000000:action:0:commit"
NOW = datetime(2026, 12, 1, tzinfo=UTC)
NOWHERE = "http://127.0.0.1:9"  # discard: nobody listens
DONE = (Heard.COMPLETED, Heard.ACCEPTED)


@dataclass(slots=True)
class Peer:
    """Somebody else's server as one kind of executor reaches it. landed: how often it really did it."""

    outside: Outside
    world: OutsideWorld
    tool: Tool
    arguments: dict[str, Any]
    hang: Callable[[], Awaitable[None]]
    landed: Callable[[], Awaitable[int]]
    away: Tool  # the same tool of a server that isn't there

    def request(self, tool: Tool | None = None, key: str = KEY) -> bytes:
        call = Call(tool or self.tool, self.arguments, MARKED, "EUR", 0, NOW, NOW)
        return self.outside.request(call, key)

    def sending(self, tool: Tool | None = None, *, seconds: float = 20.0) -> Sending:
        return Sending(tool or self.tool, KEY, self.request(tool), 1, seconds)


async def http_peer(stack: AsyncExitStack, world: OutsideWorld, folder: Path) -> Peer:
    provider = await stack.enter_async_context(providing_parcels())

    def tool(url: str) -> Tool:
        _, catalog = parse_contract(contract(url).encode(), "contract.yaml", "probe")
        found = catalog.tool("probe.queryable")
        assert found is not None
        return found

    async def hang() -> None:
        await provider.switch(mode="accept_then_hang", seconds=10)

    async def landed() -> int:
        return await provider.sent(KEY)

    return Peer(world.executors[2], world, tool(provider.url), SEND, hang, landed, tool(NOWHERE))


async def task_peer(stack: AsyncExitStack, world: OutsideWorld, folder: Path) -> Peer:
    skills = await stack.enter_async_context(skill_server())
    module = load_module(next(iter(discover_modules([research(folder, skills.url)]))))
    [(foreign, declared), *_] = module.offer.foreign("research", module.offer.operations.values())
    tool = published(foreign, Pin(foreign.name, declared, "2026-12-01T00:00:00Z"), module.offer)
    assert tool.http is not None
    away = tool.http.model_copy(update={"url": f"{NOWHERE}/reports"})

    async def hang() -> None:
        skills.lose = True

    async def landed() -> int:
        return len(skills.tasks)

    arguments = {"topic": "durable agents"}
    nowhere = tool.model_copy(update={"http": HttpCall.model_validate(away)})
    return Peer(world.tasks, world, tool, arguments, hang, landed, nowhere)


async def mcp_peer(world: OutsideWorld, wiki: Wiki, away: dict[str, Any]) -> Peer:
    tool = await tool_of(world.servers, wiki)
    assert tool.source is not None

    async def hang() -> None:
        wiki.switch(hang=True)

    async def landed() -> int:
        return len(wiki.calls())

    source = tool.source.model_copy(update={"endpoint": away})
    nowhere = tool.model_copy(update={"source": source})
    return Peer(world.servers, world, tool, {"title": "Home"}, hang, landed, nowhere)


@pytest_asyncio.fixture(params=["http", "tasks", "mcp stdio", "mcp http"])
async def peer(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Peer]:
    world = outside_world(FixedSecrets(**{SECRET: TOKEN}), Egress())
    async with AsyncExitStack() as stack:
        for executor in world.executors:
            stack.push_async_callback(executor.close)
        match request.param:
            case "http":
                yield await http_peer(stack, world, tmp_path)
            case "tasks":
                yield await task_peer(stack, world, tmp_path)
            case "mcp stdio":
                away = {"command": ["/nonexistent/server"], "env": {}}
                yield await mcp_peer(world, by_stdio(tmp_path / "wiki"), away)
            case _:
                wiki = await stack.enter_async_context(by_http(tmp_path / "wiki"))
                yield await mcp_peer(world, wiki, {"url": f"{NOWHERE}/mcp"})


async def test_one_executor_claims_a_tool(peer: Peer) -> None:
    first = next(one for one in peer.world.executors if one.runs(peer.tool))
    assert first is peer.outside


async def test_what_is_sent_lands_once_and_is_told_so(peer: Peer) -> None:
    told = await peer.outside.send(peer.sending())
    assert told.heard in DONE, told
    assert told.heard is Heard.ACCEPTED or isinstance(told.result, dict)
    assert await peer.landed() == 1


async def test_a_request_is_made_of_call_and_key_alone_and_holds_no_secret(peer: Peer) -> None:
    assert peer.request() == peer.request(), "the same bytes, whenever it is made"
    assert TOKEN.encode() not in peer.request()
    assert isinstance(peer.request(), bytes)


async def test_i10_an_answer_that_does_not_come_proves_nothing(peer: Peer) -> None:
    await peer.hang()
    told = await peer.outside.send(peer.sending(seconds=2.0))
    assert told.heard is Heard.UNKNOWN, told
    assert await peer.landed() == 1, "it was done, and nobody was told"


async def test_what_never_left_is_for_later(peer: Peer) -> None:
    told = await peer.outside.send(peer.sending(peer.away, seconds=5.0))
    assert told.heard is Heard.LATER, told
    assert told.code and await peer.landed() == 0


async def test_a_look_up_without_an_answer_is_unsure_and_changes_nothing(peer: Peer) -> None:
    seen = (await peer.outside.lookup(peer.sending(peer.away, seconds=2.0))).seen
    assert seen is Seen.UNSURE
    assert await peer.landed() == 0


async def test_a_preview_needs_nobody_there(peer: Peer) -> None:
    plan = await peer.outside.plan(Call(peer.away, peer.arguments, MARKED, "EUR", 0, NOW, NOW))
    assert plan.preview.title and plan.change.summary
