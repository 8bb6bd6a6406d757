"""A retry or fork doesn't do again unseen what its lineage did, or may have done (design 02 §6)."""

from __future__ import annotations

from fencepost_store.claims import Claim

from tests.support.gateway import ENTRY, Served, code

ADD = "life.add_ledger_entry"


async def descends(served: Served, held: Claim, root: Claim) -> None:
    await served.lives.sql("UPDATE agent.runs SET root_run_id = %s WHERE id = %s", root.run.id, held.run.id)


async def test_what_the_lineage_did_is_shown_and_asked_for(served: Served) -> None:
    first, action = await served.ready(ADD, ENTRY)
    assert (await served.commit(first, action)).json()["state"] == "completed"
    second = await served.bound()
    await descends(served, second, first)
    again = await served.prepared(second, ADD, ENTRY)
    assert again["approval"]
    assert [one["run_id"] for one in again["preview"]["earlier"]] == [str(first.run.id)]
    second = await served.approved(second, again)
    assert (await served.commit(second, again)).json()["state"] == "completed"
    assert await served.count("app.ledger_entries") == 2, "a person saw it and said yes"
    assert await served.lives.violations() == []


async def test_what_only_reads_is_read_again_and_asks_nobody(served: Served) -> None:
    first = await served.bound()
    asked = await served.prepared(first, "life.summarize_ledger", {})
    assert (await served.commit(first, asked)).json()["state"] == "completed"
    second = await served.bound()
    await descends(served, second, first)
    again = await served.prepared(second, "life.summarize_ledger", {})
    assert not again["approval"] and again["preview"]["earlier"] == []


async def test_what_was_done_since_the_preview_is_asked_anew(served: Served) -> None:
    first, action = await served.ready(ADD, ENTRY)
    second, again = await served.ready(ADD, ENTRY)
    await descends(served, second, first)
    assert (await served.commit(first, action)).json()["state"] == "completed"
    assert code(await served.commit(second, again)) == "precondition_changed"
    assert await served.count("app.ledger_entries") == 1


async def test_what_may_have_been_done_is_waited_for(served: Served) -> None:
    first, action = await served.ready(ADD, ENTRY)
    second, again = await served.ready(ADD, ENTRY)
    await descends(served, second, first)
    assert (await served.commit(first, action)).json()["state"] == "completed"
    await served.lives.sql("ALTER TABLE agent.effects DISABLE TRIGGER effects_transition")
    await served.lives.sql("UPDATE agent.effects SET state = 'unknown' WHERE run_id = %s", first.run.id)
    refused = await served.commit(second, again)
    assert code(refused) == "reconcile" and refused.json()["effect"]["run_id"] == str(first.run.id)
