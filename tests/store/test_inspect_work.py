"""What `doctor` asks about work, and what it makes of the answers."""

from __future__ import annotations

from datetime import timedelta

from fencepost_cli.commands.doctor import judge
from fencepost_store.claims import register_worker
from fencepost_store.inspect import inspect_database

from tests.support.lives import AT_ONCE, Lives


async def findings(lives: Lives) -> dict[str, tuple[str, str]]:
    facts = await inspect_database(lives.database.admin)
    return {f.check: (f.answer, f.detail) for f in judge(facts)}


async def test_a_quiet_database_has_nothing_for_an_operator(lives: Lives) -> None:
    found = await findings(lives)
    assert found["workers"] == ("ok", "0 alive")
    assert found["runs"] == ("ok", "nothing waits for an operator")


async def test_each_thing_that_waits_for_an_operator_is_found(lives: Lives) -> None:
    queued = await lives.queued()
    await lives.age("agent.runs", "available_at", "id = %s", queued, by="1 minute ago")
    assert (await findings(lives))["workers"][0] == "fail"
    async with lives.worker.transaction() as tx:
        await register_worker(
            tx, slot="s", boot_id="b", modules=["life"], versions=[], alive_for=timedelta(minutes=5)
        )
    held, _ = await lives.waiting(expires_in=AT_ONCE)
    await lives.age("agent.interrupts", "expires_at", "run_id = %s", held.run.id, by="1 minute ago")
    acted = await lives.claimed()
    await lives.opened(await lives.prepared(acted))
    for state in ("unknown", "needs_human"):
        await lives.sql("UPDATE agent.effects SET state = %s", state)
    await lives.sql("UPDATE agent.runs SET attempt = 4 WHERE id = %s", acted.run.id)
    found = await findings(lives)
    assert found["workers"] == ("ok", "1 alive")
    warned = {check for check, (answer, _) in found.items() if answer == "warn"}
    assert warned >= {"sweeps", "effects", "attempts"}
    assert found["effects"][1].startswith("1 effects")
