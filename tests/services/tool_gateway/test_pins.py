"""What sources declare gets into a catalog when an operator accepted it, and is refused when it changed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest_asyncio
from fencepost_store import pins
from fencepost_tool_gateway.egress import Egress
from fencepost_tool_gateway.world import outside_world

from tests.support.fixed_secrets import FixedSecrets
from tests.support.gateway import Served, code, serving
from tests.support.lives import Lives
from tests.support.mcp import Wiki, by_stdio
from tests.support.openapi import HELPDESK, TICKETS, helpdesk

OPEN, ADD, SEARCH = "helpdesk.open_ticket", "helpdesk.add_page", "helpdesk.search"
TITLE = {"title": "the printer burns"}


def contract(wiki: Wiki) -> str:
    command = ", ".join(f'"{word}"' for word in wiki.endpoint["command"])
    source = f"  - name: wiki\n    tools: all\n    mcp: {{command: [{command}]}}\n"
    return HELPDESK.replace("sources:\n", "sources:\n" + source)


@pytest_asyncio.fixture
async def wiki(tmp_path: Path) -> Wiki:
    return by_stdio(tmp_path / "wiki")


@pytest_asyncio.fixture
async def pinned(lives: Lives, tmp_path: Path, wiki: Wiki) -> AsyncIterator[Served]:
    """A gateway with the module helpdesk, whose sources were looked at and nothing accepted."""
    helpdesk(tmp_path / "modules", contract=contract(wiki), server="https://tickets.example")
    world = outside_world(FixedSecrets(tickets_token="s3cret-token"), Egress())
    async with serving(lives, dirs=[tmp_path / "modules"], outside=world) as served:
        await served.catalogs.look(lives.gateway)
        yield served


async def decide(served: Served, *tools: str, wanted: pins.Wanted = "accepted") -> None:
    """An operator's word on what was seen last of these tools; the gateway takes it up."""
    async with served.lives.api.transaction() as tx:
        for tool in tools:
            newest = next(pin for pin in await pins.list_pins(tx, "helpdesk") if pin.tool == tool)
            assert await pins.decide_pin(
                tx, module="helpdesk", tool=tool, fingerprint=newest.fingerprint, wanted=wanted, who="user:op"
            )
    await served.catalogs.follow(served.lives.gateway)


def offered(served: Served) -> list[str]:
    return [tool.name for tool in served.catalogs.now("helpdesk").tools]


async def test_what_was_only_seen_is_in_no_catalog(pinned: Served) -> None:
    assert offered(pinned) == []
    async with pinned.lives.api.transaction() as tx:
        seen = {pin.tool: pin.status for pin in await pins.list_pins(tx)}
    assert seen == dict.fromkeys([OPEN, ADD, SEARCH, "helpdesk.find_tickets"], "seen")
    held = await pinned.bound(module="helpdesk")
    assert code(await pinned.prepare(held, OPEN, TITLE)) == "calls_refused"


async def test_accepted_is_published_and_mcp_is_high_and_opaque(pinned: Served) -> None:
    await decide(pinned, OPEN, ADD)
    assert offered(pinned) == [ADD, OPEN]
    held = await pinned.bound(module="helpdesk")
    page = await pinned.prepared(held, ADD, {"title": "Home"})
    assert (page["risk"], page["effect_class"], page["approval"]) == ("high", "external_opaque", True)
    ticket = await pinned.prepared(held, OPEN, TITLE, index=1)
    assert (ticket["risk"], ticket["effect_class"]) == ("medium", "external_idempotent")


async def test_a_changed_description_or_schema_is_refused_until_accepted(pinned: Served, wiki: Wiki) -> None:
    await decide(pinned, ADD)
    held = await pinned.bound(module="helpdesk")
    action = await pinned.prepared(held, ADD, {"title": "Home"})
    wiki.switch(description=True)
    await look_now(pinned)
    refused = await pinned.prepare(held, ADD, {"title": "Other"}, index=1)
    assert [one["code"] for one in refused.json()["refusals"]] == ["tool_changed"]
    held = await pinned.approved(held, action)
    committed = await pinned.commit(held, action)
    assert (committed.status_code, code(committed)) == (409, "tool_changed")
    assert wiki.calls() == [] and await pinned.attempts() == 0
    await decide(pinned, ADD)
    newer = await pinned.bound(module="helpdesk", text="again")
    tool = pinned.catalogs.now("helpdesk").tool(ADD)
    assert tool is not None and "IGNORE ALL" in tool.description, "what an operator accepted, word for word"
    assert (await pinned.prepare(newer, ADD, {"title": "Home"})).status_code == 200
    assert code(await pinned.commit(held, action)) == "tool_changed", "the run's own pin is the old one"


async def look_now(served: Served) -> None:
    served.catalogs.pinning.forget_looks()
    await served.catalogs.look(served.lives.gateway)


async def test_a_revoked_pin_is_refused_to_runs_in_flight_too(pinned: Served) -> None:
    await decide(pinned, OPEN)
    held = await pinned.bound(module="helpdesk")
    await decide(pinned, OPEN, wanted="revoked")
    assert offered(pinned) == []
    refused = await pinned.prepare(held, OPEN, TITLE)
    assert [one["code"] for one in refused.json()["refusals"]] == ["tool_changed"]


async def test_a_changed_document_waits_for_acceptance_and_comes_back(pinned: Served, tmp_path: Path) -> None:
    await decide(pinned, OPEN)
    first = pinned.catalogs.now("helpdesk").fingerprint
    held = await pinned.bound(module="helpdesk")
    await rewrite(pinned, tmp_path, TICKETS.replace("maxLength: 200", "maxLength: 20"))
    refused = await pinned.prepare(held, OPEN, TITLE)
    assert [one["code"] for one in refused.json()["refusals"]] == ["tool_changed"]
    await rewrite(pinned, tmp_path, TICKETS)
    assert (await pinned.prepare(held, OPEN, TITLE)).status_code == 200, "it says again what was accepted"
    await rewrite(pinned, tmp_path, TICKETS.replace("maxLength: 200", "maxLength: 20"))
    await decide(pinned, OPEN)
    second = pinned.catalogs.now("helpdesk").fingerprint
    await rewrite(pinned, tmp_path, TICKETS)
    await decide(pinned, OPEN)
    third = pinned.catalogs.now("helpdesk").fingerprint
    assert len({first, second, third}) == 3, "what is accepted anew is published anew"
    rows = await pinned.lives.sql(
        "SELECT fingerprint FROM agent.catalogs WHERE module = 'helpdesk' ORDER BY in_force_at DESC LIMIT 1"
    )
    assert rows[0]["fingerprint"] == third


async def rewrite(served: Served, tmp_path: Path, document: str) -> None:
    text = document.replace("SERVER", "https://tickets.example")
    (tmp_path / "modules/helpdesk/tickets.yaml").write_text(text)
    await served.catalogs.reload(served.lives.gateway)
    await look_now(served)


async def test_a_server_that_is_away_stops_nothing_else(pinned: Served, wiki: Wiki, tmp_path: Path) -> None:
    await decide(pinned, OPEN, ADD)
    broken: dict[str, Any] = {"command": ["/nowhere/wiki"]}
    text = contract(Wiki(wiki.folder, broken))
    (tmp_path / "modules/helpdesk/contract.yaml").write_text(text)
    await served_again(pinned)
    assert OPEN in offered(pinned)


async def served_again(served: Served) -> None:
    await served.catalogs.reload(served.lives.gateway)
    await look_now(served)
