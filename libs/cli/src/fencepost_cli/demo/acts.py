"""The acts of the demo: each kills a process where it hurts most, and counts what is left."""

from __future__ import annotations

from fencepost.views import View

from fencepost_cli.console import say
from fencepost_cli.demo.stage import Stage, expect
from fencepost_cli.render import event_line

BEFORE_COMMIT = "gateway.business.before_commit"
AFTER_COMMIT = "gateway.business.after_commit"
BEFORE_RESPONSE = "api.resolve.before_response"


async def reminder_through_three_crashes(stage: Stage) -> View:
    """The worker dies while a person thinks, the api after the yes, the gateway inside the transaction."""
    run = await stage.ask("明天上午九点提醒我交周报", zone="Asia/Shanghai")
    await stage.crash("worker", "it waits for the approval; the next one takes over where it was")
    stage.kill_at(BEFORE_RESPONSE, "the decision is stored, the client hasn't heard it")
    stage.kill_at(BEFORE_COMMIT, "the reminder is written but not committed")
    await stage.decide(run, "approve")
    expect(stage.was_hit(BEFORE_RESPONSE), "the api did not die after storing the decision")
    say("  the client repeated its decision under the same key and got the stored one")
    ended = await stage.ended(run)
    expect(stage.was_hit(BEFORE_COMMIT), "the gateway did not die before its COMMIT")
    expect(ended["status"] == "succeeded", f"the run ended as {ended['status']}")
    return ended


async def entry_whose_answer_is_lost(stage: Stage) -> View:
    """The worker dies after the gateway's COMMIT, before it has the answer."""
    run = await stage.ask("paid $1,234.50 for the hotel", zone="America/New_York")
    stage.block_at(AFTER_COMMIT)
    await stage.decide(run, "approve")
    await stage.hit(AFTER_COMMIT)
    await stage.crash("worker", "the entry is committed, the worker doesn't know")
    stage.let_go(AFTER_COMMIT)
    ended = await stage.ended(run)
    expect(ended["status"] == "succeeded", f"the run ended as {ended['status']}")
    return ended


async def rejected_run(stage: Stage) -> View:
    run = await stage.ask("remind me tomorrow at 8 to call Bob", zone="America/New_York")
    await stage.decide(run, "reject")
    ended = await stage.ended(run)
    expect(ended["finalization"]["reason"] == "approval_rejected", "a rejected run must say so")
    return ended


async def reminder_that_fires(stage: Stage) -> None:
    """Due in five seconds, under two reconcilers: it fires once."""
    say("\n  a second reconciler is started")
    await stage.mesh.start_service("reconciler", "reconciler-2")
    run = await stage.ask("remind me in 5 seconds to stretch", zone="America/New_York")
    await stage.decide(run, "approve")
    await stage.ended(run)

    async def fired() -> bool:
        return bool(await _due_messages(stage))

    await stage.until(fired, "the reminder did not fire")
    for message in await _due_messages(stage):
        say(f"  fired: {message['text']}")


async def _due_messages(stage: Stage) -> list[View]:
    """What reminders said, in all of the tenant's conversations."""
    found: list[View] = []
    for conversation in await stage.list("/v1/conversations"):
        messages = await stage.list(f"/v1/conversations/{conversation['id']}/messages")
        found += [m for m in messages if m["author"] == "reminder"]
    return found


async def reckoning(stage: Stage, reminder: View) -> None:
    """A timeline of the first run, and what is there now: one of each, none of the rejected."""
    say("\nThe first run, event by event:")
    from fencepost.requests import run_events

    for event in (await stage.client.page(run_events(reminder["id"]))).items:
        say(event_line(event))
    reminders = await stage.list("/v1/reminders", limit=100)
    report = [r for r in reminders if "周报" in r["title"]]
    stretch = [r for r in reminders if "stretch" in r["title"]]
    entries = await stage.list("/v1/ledger-entries")
    say("\nWhat is there after it all:")
    for r in report:
        say(f"  reminder      {r['title']}  {r.get('next_at') or r.get('due_at')}")
    for e in entries:
        about = e.get("description") or e.get("category") or ""
        say(f"  ledger entry  {e['amount']} {e['currency']}  {about}")
    expect(len(report) == 1, f"one reminder was approved, {len(report)} are there")
    expect(len(entries) == 1, f"one entry was approved, {len(entries)} are there")
    expect(
        len(reminders) == 2 and len(stretch) == 1, f"two reminders were approved, {len(reminders)} are there"
    )
    due = await _due_messages(stage)
    expect(len(due) == 1, f"one reminder was due, {len(due)} messages are there")
    say(f"  fired         {len(due)} time, under two reconcilers")
