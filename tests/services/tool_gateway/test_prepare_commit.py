"""Prepare, approve, commit: one action in, one row out, told by events (I10 to I13)."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest
from fencepost_domain.vocabulary import RunMode
from sqlalchemy import text

from tests.support.gateway import ENTRY, REMINDER, Served, code, serving
from tests.support.lives import RIVAL

CREATE, ADD = "life.create_reminder", "life.add_ledger_entry"


async def test_an_approved_reminder_is_written_once_and_told(served: Served) -> None:
    held, action = await served.ready(CREATE, REMINDER, locale="zh-CN")
    assert action["approval"] and action["risk"] == "medium"
    assert "2031年3月5日（周三）" in action["preview"]["text"] and "北京时间" in action["preview"]["text"]
    assert action["change"]["before"] is None and action["change"]["after"]["title"] == "交周报"

    answer = (await served.commit(held, action)).json()
    assert answer["state"] == "completed" and not answer["replayed"]
    assert answer["result"]["reminder"]["title"] == "交周报"

    [row] = await served.lives.sql("SELECT * FROM app.reminders")
    assert row["origin_effect_key"] == f"{held.run.id}:action:0:commit"
    assert row["next_at"].isoformat().startswith("2031-03-05T")
    assert row["conversation_id"] == held.run.conversation_id
    [effect] = await served.lives.sql("SELECT state, attempts, result FROM agent.effects")
    assert (effect["state"], effect["attempts"]) == ("completed", 1)
    types = await served.lives.event_types(held.run.id)
    assert [t for t in types if t.startswith("action.")] == ["action.prepared", "action.committed"]
    assert await served.lives.violations() == []


async def test_an_amount_is_exact_and_stated_in_words(served: Served) -> None:
    held, action = await served.ready(ADD, ENTRY, locale="en")
    assert "1,234.50 US dollars (USD)" in action["preview"]["text"]
    assert "Monday, 30 November 2026" in action["preview"]["text"]
    assert (await served.commit(held, action)).json()["result"]["entry"]["amount"] == "1234.50"
    [row] = await served.lives.sql("SELECT amount::text, currency, user_id FROM app.ledger_entries")
    assert row == {"amount": "1234.500000", "currency": "USD", "user_id": held.run.user_id}


async def test_prepare_changes_nothing_in_the_world_and_says_the_same_twice(served: Served) -> None:
    held = await served.bound()
    first = await served.prepare(held, CREATE, REMINDER)
    again = await served.prepare(held, CREATE, dict(reversed(REMINDER.items())))
    assert again.json()["replayed"] and not first.json()["replayed"]
    assert first.json()["actions"] == again.json()["actions"]
    assert "token_mac" not in first.text and await served.count("app.reminders") == 0
    assert (await served.lives.event_types(held.run.id)).count("action.prepared") == 1


async def test_a_dry_prepare_writes_no_row_and_gives_no_token(served: Served) -> None:
    held = await served.bound()
    call = {"index": 0, "n": 1, "tool": CREATE, "arguments": REMINDER}
    answer = await served.post("prepare", held.fence, {"calls": [call], "dry": True})
    assert answer.json()["actions"][0]["token_id"] is None
    assert await served.count("agent.actions") == 0


async def test_another_call_under_the_same_n_is_refused(served: Served) -> None:
    held = await served.bound()
    await served.prepared(held, CREATE, REMINDER)
    answer = await served.prepare(held, CREATE, {**REMINDER, "title": "another"})
    assert (answer.status_code, code(answer)) == (409, "prepare_differs")


async def test_n_plus_one_withdraws_n_with_its_token_and_its_open_question(served: Served) -> None:
    held = await served.bound()
    first = await served.prepared(held, CREATE, REMINDER)
    interrupt = await served.asked(held, [first])
    await served.lives.sql(
        "UPDATE agent.runs SET status='queued', waiting_on=NULL, revision=revision+1 WHERE id=%s", held.run.id
    )
    held = await served.again(held.run.id)
    second = await served.prepared(held, CREATE, {**REMINDER, "title": "交月报"}, n=2)
    assert code(await served.commit(held, first)) == "withdrawn"
    assert code(await served.prepare(held, CREATE, REMINDER, n=1)) == "withdrawn"
    [row] = await served.lives.sql("SELECT status FROM agent.interrupts WHERE id=%s", interrupt)
    assert row["status"] == "withdrawn"
    assert code(await served.commit(held, second)) == "not_approved"
    assert await served.attempts() == 0
    types = await served.lives.event_types(held.run.id)
    assert types.count("action.withdrawn") == 1 and types.count("interrupt.withdrawn") == 1


async def test_after_an_attempt_n_plus_one_is_for_reconciliation(served: Served) -> None:
    held, action = await served.ready(CREATE, REMINDER)
    await served.commit(held, action)
    answer = await served.prepare(held, CREATE, {**REMINDER, "title": "again"}, n=2)
    assert (answer.status_code, code(answer)) == (409, "reconcile")


async def test_i12_nothing_of_medium_risk_happens_without_an_approval(served: Served) -> None:
    held = await served.bound()
    action = await served.prepared(held, ADD, ENTRY)
    assert code(await served.commit(held, action)) == "not_approved"
    assert await served.attempts() == 0


async def test_i12_an_approval_that_expired_opens_no_attempt_even_if_no_sweep_ran(served: Served) -> None:
    held, action = await served.ready(ADD, ENTRY)
    await served.lives.age("agent.interrupts", "expires_at", "run_id = %s", held.run.id)
    assert code(await served.commit(held, action)) == "approval_expired"
    assert await served.attempts() == 0


async def test_i12_a_question_nobody_answered_in_time_opens_no_attempt(served: Served) -> None:
    held = await served.bound()
    action = await served.prepared(held, ADD, ENTRY)
    await served.asked(held, [action], expires_in=timedelta(microseconds=1))
    await served.lives.sql(
        "UPDATE agent.runs SET status='queued', waiting_on=NULL, revision=revision+1 WHERE id=%s", held.run.id
    )
    assert code(await served.commit(await served.again(held.run.id), action)) == "approval_expired"


async def test_i12_an_answer_does_not_approve_what_was_prepared_after_the_question(served: Served) -> None:
    held = await served.bound()
    first = await served.prepared(held, CREATE, REMINDER)
    interrupt = await served.asked(held, [first])
    await served.decided(interrupt, {"decision": "approve"})
    held = await served.again(held.run.id)
    other = await served.prepared(held, CREATE, {**REMINDER, "title": "something else"}, n=2)
    # A worker gone wrong: its role may set these two columns.
    async with served.lives.worker.transaction() as tx:
        await tx.connection.execute(
            text("UPDATE agent.actions SET status='approved', interrupt_id=:i WHERE run_id=:r AND n=2"),
            {"i": interrupt, "r": held.run.id},
        )
    assert code(await served.commit(held, other)) == "not_approved"
    assert await served.attempts() == 0


async def test_i13_rejected_means_zero_attempts(served: Served) -> None:
    held = await served.bound()
    action = await served.prepared(held, ADD, ENTRY)
    held = await served.approved(held, action, decision="reject")
    assert code(await served.commit(held, action)) == "rejected"
    assert await served.attempts() == 0 and await served.count("app.ledger_entries") == 0


async def test_i13_sixteen_commits_at_once_over_two_gateways_are_one_row(served: Served) -> None:
    held, action = await served.ready(ADD, ENTRY)
    async with serving(served.lives) as other:
        both = (served, other)
        answers = await asyncio.gather(*(both[i % 2].commit(held, action) for i in range(16)))
    done = [answer.json() for answer in answers if answer.status_code == 200]
    busy = [answer for answer in answers if answer.status_code == 503]
    assert len(done) + len(busy) == 16 and len(done) >= 1
    assert sum(not one["replayed"] for one in done) == 1
    assert len({json.dumps(one["result"], sort_keys=True) for one in done}) == 1
    assert await served.count("app.ledger_entries") == 1 and await served.attempts() == 1
    assert await served.lives.violations() == []


async def test_two_actions_of_one_sentence_have_a_decision_each(served: Served) -> None:
    held = await served.bound()
    calls = [
        {"index": 0, "n": 1, "tool": CREATE, "arguments": REMINDER},
        {"index": 1, "n": 1, "tool": ADD, "arguments": ENTRY},
    ]
    actions = (await served.post("prepare", held.fence, {"calls": calls})).json()["actions"]
    decisions = [{"index": 0, "decision": "approve"}, {"index": 1, "decision": "reject"}]
    await served.decided(await served.asked(held, actions), {"decisions": decisions})
    held = await served.again(held.run.id)
    assert (await served.commit(held, actions[0])).json()["state"] == "completed"
    assert code(await served.commit(held, actions[1])) == "rejected"


async def test_what_was_done_can_be_read_under_any_fence_of_the_run_and_nothing_new_starts(
    served: Served,
) -> None:
    held, action = await served.ready(CREATE, REMINDER)
    first = (await served.commit(held, action)).json()
    await served.lives.age("agent.runs", "lease_expires_at", "id = %s", held.run.id)
    again = (await served.commit(held, action)).json()
    assert again["replayed"] and again["result"] == first["result"]
    assert code(await served.prepare(held, ADD, ENTRY, index=1)) == "fence_lost"
    assert await served.attempts() == 1


@pytest.mark.parametrize("owner", [RIVAL, "nobody"])
async def test_i05_a_lost_fence_opens_no_attempt(served: Served, owner: str) -> None:
    held, action = await served.ready(CREATE, REMINDER)
    lost = f"{held.run.id}/{owner}/{held.run.revision}"
    answer = await served.post("commit", lost, {k: action[k] for k in ("index", "n", "token_id")})
    assert (answer.status_code, code(answer)) == (409, "fence_lost")
    older = f"{held.run.id}/{held.fence.owner}/{held.run.revision - 1}"
    answer = await served.post("commit", older, {k: action[k] for k in ("index", "n", "token_id")})
    assert code(answer) == "fence_lost"
    assert await served.attempts() == 0


async def test_i22_after_the_cancels_commit_no_attempt_is_opened(served: Served) -> None:
    held, action = await served.ready(CREATE, REMINDER)
    await served.lives.cancel(held.run.id)
    assert code(await served.commit(held, action)) == "fence_lost"
    assert code(await served.prepare(held, ADD, ENTRY, index=1)) == "fence_lost"
    assert await served.attempts() == 0 and await served.count("app.reminders") == 0


@pytest.mark.parametrize("said", [None, 1])
async def test_i15_a_commit_needs_the_gates_yes_for_this_revision(served: Served, said: int | None) -> None:
    """No answer, or one for an earlier claim, lets nothing start; the yes for this one does."""
    held, action = await served.ready(CREATE, REMINDER)
    assert held.run.revision > 1
    await served.lives.sql("UPDATE agent.runs SET gate_revision = %s WHERE id = %s", said, held.run.id)
    assert code(await served.commit(held, action)) == "fence_lost"
    assert await served.attempts() == 0
    await served.lives.sql("UPDATE agent.runs SET gate_revision = revision WHERE id = %s", held.run.id)
    assert (await served.commit(held, action)).json()["state"] == "completed"


async def test_after_the_deadline_nothing_is_started(served: Served) -> None:
    held, action = await served.ready(CREATE, REMINDER, deadline=timedelta(hours=1))
    await served.lives.age("agent.runs", "deadline_at", "id = %s", held.run.id)
    assert code(await served.commit(held, action)) == "fence_lost"
    assert await served.attempts() == 0


async def test_the_lookup_says_what_the_ledger_says(served: Served) -> None:
    held, action = await served.ready(CREATE, REMINDER)
    before = (await served.post("lookup", held.fence, {"index": 0})).json()
    assert before["state"] == "absent"
    await served.commit(held, action)
    after = (await served.post("lookup", held.fence, {"index": 0})).json()
    assert after["state"] == "completed" and after["n"] == 1 and after["result"]
    cancel = (await served.post("cancel", held.fence, {"index": 0})).json()
    assert cancel == {"outcome": "too_late", "state": "completed"}
    assert (await served.post("cancel", held.fence, {"index": 7})).json()["outcome"] == "nothing"


async def test_the_lineages_limit_of_actions_holds(served: Served) -> None:
    held = await served.bound(budget={"actions": 1})
    listing: list[Any] = [await served.prepared(held, "life.list_reminders", {}, index=i) for i in range(2)]
    assert (await served.commit(held, listing[0])).json()["state"] == "completed"
    assert code(await served.commit(held, listing[1])) == "budget_exhausted"
    assert await served.attempts() == 1


async def test_a_simulation_is_refused_at_the_door(served: Served) -> None:
    held = await served.bound(mode=RunMode.SIMULATION)
    answer = await served.prepare(held, CREATE, REMINDER)
    assert (answer.status_code, code(answer)) == (403, "simulation")


async def test_i13_an_action_a_person_refused_is_not_proposed_again(served: Served) -> None:
    held = await served.bound()
    action = await served.prepared(held, ADD, ENTRY)
    held = await served.approved(held, action, decision="reject")
    assert code(await served.prepare(held, ADD, {**ENTRY, "amount": "1"}, n=2)) == "rejected"
