"""A conversation's state over HTTP: now, at any instant, and how it came to be."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from fencepost.client import Client
from fencepost_domain.state import Change, Operation
from fencepost_store.state import lock_state, write_state

from tests.support.api import Served
from tests.support.gateway import code
from tests.support.lives import TENANT, Lives


async def written(lives: Lives, *changes: Change) -> UUID:
    """A conversation of the usual user with these changes, each a transaction of its own."""
    run_id = await lives.queued()
    [row] = await lives.sql("SELECT conversation_id AS id FROM agent.runs WHERE id = %s", run_id)
    conversation: UUID = row["id"]
    for change in changes:
        async with lives.gateway.transaction(TENANT) as tx:
            head = await lock_state(tx, conversation, TENANT)
            await write_state(tx, head, [change], source="tool:x.y", run_id=run_id, trace_id=None)
    return conversation


STEPS = tuple(Change("step", Operation.SET, name) for name in ("draft", "review", None))


async def test_the_state_now_and_at_an_instant(served: Served, lives: Lives) -> None:
    conversation = await written(lives, *STEPS, Change("n", Operation.INCREMENT, 1))
    client = served.as_()
    now = (await client.get(f"/v1/conversations/{conversation}/state")).json()
    assert (now["seq"], now["values"]) == (4, {"step": None, "n": 1})
    instants = await lives.sql("SELECT at FROM agent.state_events ORDER BY seq")
    for place, values in ((0, {"step": "draft"}), (1, {"step": "review"}), (2, {"step": None})):
        asked = {"at": instants[place]["at"].isoformat()}
        past = (await client.get(f"/v1/conversations/{conversation}/state", params=asked)).json()
        assert (past["seq"], past["values"]) == (place + 1, values)
    before = {"at": (instants[0]["at"] - timedelta(seconds=1)).isoformat()}
    empty = (await client.get(f"/v1/conversations/{conversation}/state", params=before)).json()
    assert (empty["seq"], empty["values"]) == (0, {})
    fresh = await client.get(f"/v1/conversations/{await written(lives)}/state")
    assert fresh.json()["values"] == {} and fresh.json()["at"] is None


async def test_changes_in_order_page_by_page_and_by_key(served: Served, lives: Lives) -> None:
    conversation = await written(lives, *STEPS, Change("n", Operation.INCREMENT, 1))
    client = served.as_()
    path = f"/v1/conversations/{conversation}/state/events"
    first = (await client.get(path, params={"limit": 3})).json()
    assert [one["seq"] for one in first["items"]] == [1, 2, 3] and first["next_cursor"] == "3"
    rest = (await client.get(path, params={"cursor": first["next_cursor"]})).json()
    assert [(one["key"], one["new"]) for one in rest["items"]] == [("n", 1)]
    of_n = (await client.get(path, params={"key": "n"})).json()["items"]
    assert [one["seq"] for one in of_n] == [4]
    told = first["items"][0]
    assert (told["old"], told["existed"], told["new"], told["exists"]) == (None, False, "draft", True)
    assert told["source"] == "tool:x.y" and UUID(told["run_id"]) and UUID(told["event_id"])
    assert [one["exists"] for one in first["items"]] == [True, True, True]  # a null is a value


@pytest.mark.parametrize(
    ("part", "asked"),
    [("", {"at": "yesterday"}), ("", {"at": "2026-03-04T10:00:00"}), ("", {"seq": "1"}),
     ("/events", {"key": "No Key"}), ("/events", {"after": "x"}), ("/events", {"limit": "0"})],
)  # fmt: skip
async def test_what_cannot_be_asked_is_refused_by_name(
    served: Served, lives: Lives, part: str, asked: dict[str, Any]
) -> None:
    conversation = await written(lives)
    answer = await served.as_().get(f"/v1/conversations/{conversation}/state{part}", params=asked)
    assert code(answer) == "invalid_request"
    assert answer.json()["errors"][0]["parameter"] in asked


async def test_another_users_state_is_not_found(served: Served, lives: Lives) -> None:
    conversation = await written(lives, *STEPS)
    for part in ("state", "state/events"):
        answer = await served.as_("mallory").get(f"/v1/conversations/{conversation}/{part}")
        assert code(answer) == "not_found"
        overseen = await served.as_("boss", "operator").get(f"/v1/conversations/{conversation}/{part}")
        assert overseen.status_code == 200


async def test_the_client_reads_every_page(served: Served, lives: Lives) -> None:
    import asyncio

    conversation = await written(lives, *(Change("n", Operation.INCREMENT, 1) for _ in range(3)))

    def read() -> tuple[Any, list[int]]:
        with Client(served.base, served.signer.token()) as client:
            seqs = [change["seq"] for change in client.state_events(conversation)]
            return client.conversation_state(conversation)["values"], seqs

    assert await asyncio.to_thread(read) == ({"n": 3}, [1, 2, 3])
