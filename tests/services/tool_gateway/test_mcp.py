"""MCP servers behind the port: real processes of the official SDK, by stdio and by streamable HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from fencepost_contracts.declared import Foreign, Offer, Pin, published
from fencepost_contracts.sources import From, McpServer, Source
from fencepost_contracts.tools import Tool
from fencepost_domain.effect import Heard, Seen
from fencepost_tool_gateway.egress import Egress
from fencepost_tool_gateway.executors.mcp import McpExecutor
from fencepost_tool_gateway.executors.port import Sending
from fencepost_tool_gateway.mcp.reached import SourceUnavailable

from tests.support.eventually import eventually
from tests.support.fixed_secrets import FixedSecrets
from tests.support.mcp import Wiki, by_http, by_stdio
from tests.support.mcp_server import INJECTION

SECRETS = FixedSecrets(wiki_token="s3cret-wiki-token")


@pytest_asyncio.fixture(params=["stdio", "http"])
async def wiki(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Wiki]:
    if request.param == "stdio":
        yield by_stdio(tmp_path / "wiki", LANG="C", WIKI_TOKEN={"secret": "wiki_token"})
    else:
        async with by_http(tmp_path / "wiki") as served:
            yield served


@pytest_asyncio.fixture
async def executor() -> AsyncIterator[McpExecutor]:
    made = McpExecutor(SECRETS, Egress())
    yield made
    await made.close()


async def tool_of(executor: McpExecutor, wiki: Wiki, name: str = "addPage") -> Tool:
    """The tool as an operator accepted it now."""
    declared = (await executor.server(wiki.reached).declared())[name]
    source = Source(name="wiki", mcp=McpServer(command=("x",)))
    foreign = Foreign(
        f"helpdesk.{'add_page' if name == 'addPage' else name}", source, From(source="wiki", tool=name)
    )
    return published(foreign, Pin(foreign.name, declared, "2026-11-30T09:00:00Z"), Offer())


def sending(tool: Tool, seconds: float = 20.0, **arguments: Any) -> Sending:
    from fencepost_contracts import canonical

    assert tool.source is not None
    request = canonical.dumps({"tool": tool.source.target, "arguments": arguments})
    return Sending(tool, f"{uuid.uuid4()}:action:0:commit", request, 1, seconds)


async def test_a_call_under_its_pin_is_made_once_and_its_result_is_structured(
    executor: McpExecutor, wiki: Wiki
) -> None:
    tool = await tool_of(executor, wiki)
    told = await executor.send(sending(tool, title="Home"))
    assert (told.heard, told.result) == (Heard.COMPLETED, {"id": "page-1"})
    assert wiki.calls() == [{"tool": "addPage", "arguments": {"title": "Home"}}]
    assert (await executor.lookup(sending(tool, title="Home"))).seen is Seen.UNSURE


@pytest.mark.parametrize("switch", ["description", "schema", "no_output"])
async def test_what_changed_since_it_was_accepted_is_never_called(
    executor: McpExecutor, wiki: Wiki, switch: str
) -> None:
    tool = await tool_of(executor, wiki)
    wiki.switch(**{switch: True})
    told = await executor.send(sending(tool, title="Home"))
    assert (told.heard, told.code) == (Heard.REJECTED, "tool_changed")
    wiki.switch(gone=["addPage"])
    told = await executor.send(sending(tool, title="Home"))
    assert (told.heard, told.code) == (Heard.REJECTED, "tool_changed")
    wiki.switch()
    assert (await executor.send(sending(tool, title="Home"))).heard is Heard.COMPLETED, (
        "it is as accepted again"
    )
    assert len(wiki.calls()) == 1


async def test_a_tool_that_hangs_is_unknown_and_the_session_goes_on(
    executor: McpExecutor, wiki: Wiki
) -> None:
    tool = await tool_of(executor, wiki)
    wiki.switch(hang=True)
    told = await executor.send(sending(tool, seconds=1.5, title="Home"))
    assert (told.heard, told.code) == (Heard.UNKNOWN, "timeout")
    wiki.switch()
    assert (await executor.send(sending(tool, title="Home"))).heard is Heard.COMPLETED


async def test_a_server_that_dies_in_a_call_is_unknown_and_is_started_again(
    executor: McpExecutor, tmp_path: Path
) -> None:
    wiki = by_stdio(tmp_path / "wiki")
    tool = await tool_of(executor, wiki)
    wiki.switch(die=True)
    told = await executor.send(sending(tool, title="Home"))
    assert told.heard is Heard.UNKNOWN
    first = wiki.pid
    wiki.switch()
    assert (await executor.send(sending(tool, title="Home"))).heard is Heard.COMPLETED
    assert wiki.pid != first and len(wiki.calls()) == 2


async def test_a_failed_tool_says_so_in_its_own_bounded_words(executor: McpExecutor, wiki: Wiki) -> None:
    tool = await tool_of(executor, wiki)
    wiki.switch(fail=True)
    told = await executor.send(sending(tool, title="Home"))
    assert (told.heard, told.code, told.detail) == (Heard.UNKNOWN, "tool_failed", "wiki: no such space")
    assert tool.source is not None  # its author may know that its errors come before anything is done
    careful = tool.source.model_copy(update={"errors_are_refusals": True})
    told = await executor.send(sending(tool.model_copy(update={"source": careful}), title="Home"))
    assert told.heard is Heard.REJECTED


async def test_a_huge_answer_ends_the_call_not_the_gateway(executor: McpExecutor, wiki: Wiki) -> None:
    tool = await tool_of(executor, wiki, "search")
    wiki.switch(huge=True)
    told = await executor.send(sending(tool, words="x"))
    assert told.heard is Heard.UNKNOWN or len(told.result["text"]) <= 200_000
    wiki.switch()
    assert (await executor.send(sending(tool, words="x"))).result == {"text": "two pages"}


async def test_a_result_is_data_whatever_it_says(executor: McpExecutor, wiki: Wiki) -> None:
    tool = await tool_of(executor, wiki, "search")
    wiki.switch(inject=True)
    told = await executor.send(sending(tool, words="x"))
    assert told.result == {"text": INJECTION}, "handed on as an observation, nothing else"
    assert [call["tool"] for call in wiki.calls()] == ["search"]


async def test_a_result_that_is_not_what_was_declared_is_not_taken(executor: McpExecutor, wiki: Wiki) -> None:
    tool = await tool_of(executor, wiki)
    wiki.switch(wrong=True)
    told = await executor.send(sending(tool, title="Home"))
    assert told.heard is Heard.UNKNOWN or told.result != {"id": "page-1"}


async def test_a_server_that_is_away_was_sent_nothing(executor: McpExecutor, wiki: Wiki) -> None:
    tool = await tool_of(executor, wiki)
    assert tool.source is not None
    gone = (
        {"command": ["/nowhere/wiki"], "env": {}}
        if "command" in wiki.endpoint
        else {"url": "http://127.0.0.1:9/mcp"}
    )
    away = tool.model_copy(update={"source": tool.source.model_copy(update={"endpoint": gone})})
    told = await executor.send(sending(away, title="Home"))
    assert (told.heard, told.code) == (Heard.LATER, "source_unavailable")
    assert wiki.calls() == []


async def test_a_child_gets_its_own_environment_and_nothing_of_ours(
    executor: McpExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FENCEPOST_DATABASE_URL", "postgresql://gateway:pw@db/fencepost")
    wiki = by_stdio(tmp_path / "wiki", LANG="C", WIKI_TOKEN={"secret": "wiki_token"})
    await tool_of(executor, wiki)
    given = wiki.environment()
    given.pop("LC_CTYPE", None)  # Python's own
    assert set(given) == {"PATH", "LANG", "WIKI_TOKEN"} and given["WIKI_TOKEN"] == "s3cret-wiki-token"


async def test_a_missing_secret_starts_nothing(executor: McpExecutor, tmp_path: Path) -> None:
    wiki = by_stdio(tmp_path / "wiki", WIKI_TOKEN={"secret": "not_there"})
    with pytest.raises(SourceUnavailable, match="not_there"):
        await tool_of(executor, wiki)
    assert not (wiki.folder / "pid").exists()


async def test_a_deaf_child_ends_with_its_session(tmp_path: Path) -> None:
    executor = McpExecutor(SECRETS, Egress())
    wiki = by_stdio(tmp_path / "wiki")
    wiki.switch(deaf=True)
    await tool_of(executor, wiki)
    assert alive(wiki.pid)
    await executor.close()
    await eventually(lambda: not_alive(wiki.pid))


async def not_alive(pid: int) -> bool:
    return not alive(pid)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return b"Z" not in Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2][:3]
    except (ProcessLookupError, FileNotFoundError):
        return False


async def test_a_changed_list_is_heard(executor: McpExecutor, tmp_path: Path) -> None:
    wiki = by_stdio(tmp_path / "wiki")
    tool = await tool_of(executor, wiki)
    wiki.switch(notify=True)
    await executor.send(sending(tool, title="Home"))

    async def heard() -> bool:
        return executor.server(wiki.reached).changed.is_set()

    await eventually(heard)


OPENS = """
import asyncio, json, sys
from pathlib import Path
from fencepost_tool_gateway.egress import Egress
from fencepost_tool_gateway.executors.mcp import McpExecutor
from tests.support.fixed_secrets import FixedSecrets
from tests.support.mcp import Wiki

async def main():
    wiki = Wiki(Path(sys.argv[1]), json.loads(sys.argv[2]))
    await McpExecutor(FixedSecrets(), Egress()).server(wiki.reached).declared()
    print("open", flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


async def test_a_deaf_child_dies_with_a_gateway_that_is_killed(tmp_path: Path) -> None:
    wiki = by_stdio(tmp_path / "wiki")
    wiki.switch(deaf=True)
    gateway = await asyncio.create_subprocess_exec(
        sys.executable, "-c", OPENS, str(wiki.folder), json.dumps(wiki.endpoint),
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert gateway.stdout is not None
    assert await asyncio.wait_for(gateway.stdout.readline(), 40.0) == b"open\n"
    assert alive(wiki.pid)
    gateway.kill()
    await gateway.wait()
    await eventually(lambda: not_alive(wiki.pid))
