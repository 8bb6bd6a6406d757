"""Edited arguments: the editor is their author, and approves exactly them (design 02 §4)."""

from typing import Any

from fencepost_store.claims import Claim

from tests.support.gateway import ENTRY, Served, code
from tests.support.lives import USER

ADD = "life.add_ledger_entry"
EDITED = {**ENTRY, "amount": "1200.00"}


async def edited(
    served: Served, *, by: str = USER, arguments: Any = EDITED, **more: Any
) -> tuple[Claim, Any, str]:
    """A run whose action was approved with other arguments."""
    held = await served.bound()
    action = await served.prepared(held, ADD, ENTRY)
    interrupt = await served.asked(held, [action])
    resolution = {"decision": "approve", "arguments": arguments}
    await served.decided(interrupt, resolution, by=by, **more)
    return await served.again(held.run.id), action, str(interrupt)


async def test_an_edit_by_the_requester_is_approved_at_once_and_done_as_edited(served: Served) -> None:
    held, first, interrupt = await edited(served)
    assert code(await served.commit(held, first)) == "not_approved"
    action = await served.prepared(held, ADD, EDITED, n=2, edited_by=interrupt)
    assert action["status"] == "approved"
    answer = (await served.commit(held, action)).json()
    assert answer["result"]["entry"]["amount"] == "1200.00"
    [row] = await served.lives.sql("SELECT author, decided_by, decision FROM agent.actions WHERE n = 2")
    assert row == {"author": USER, "decided_by": USER, "decision": "approve"}
    assert await served.lives.violations() == []


async def test_other_arguments_than_the_edited_ones_are_not_approved_by_the_edit(served: Served) -> None:
    held, _, interrupt = await edited(served)
    answer = await served.prepare(held, ADD, {**ENTRY, "amount": "1.00"}, n=2, edited_by=interrupt)
    assert (answer.status_code, code(answer)) == (409, "not_approved")


async def test_an_edit_of_one_action_approves_no_other(served: Served) -> None:
    held, _, interrupt = await edited(served)
    answer = await served.prepare(held, ADD, EDITED, index=5, edited_by=interrupt)
    assert code(answer) == "not_approved"


async def test_an_approval_without_an_edit_approves_no_edit(served: Served) -> None:
    held = await served.bound()
    action = await served.prepared(held, ADD, ENTRY)
    interrupt = await served.asked(held, [action])
    await served.decided(interrupt, {"decision": "approve"})
    held = await served.again(held.run.id)
    answer = await served.prepare(held, ADD, EDITED, n=2, edited_by=str(interrupt))
    assert code(answer) == "not_approved"


async def test_another_runs_approval_approves_nothing(served: Served) -> None:
    _, _, interrupt = await edited(served)
    other = await served.bound()
    answer = await served.prepare(other, ADD, EDITED, edited_by=interrupt)
    assert code(answer) == "not_approved"


async def test_an_edit_that_breaks_the_schema_is_refused(served: Served) -> None:
    held, _, interrupt = await edited(served, arguments={**ENTRY, "amount": "a lot"})
    answer = await served.prepare(held, ADD, {**ENTRY, "amount": "a lot"}, n=2, edited_by=interrupt)
    assert code(answer) == "calls_refused"


async def test_where_four_eyes_decide_the_editor_is_not_the_second_pair(served: Served) -> None:
    held = await served.bound()
    await served.lives.sql(
        "INSERT INTO agent.settings (tenant_id, user_id, body)"
        """ VALUES (%s, '', '{"approval": {"four_eyes": ["medium"]}}')""", held.run.tenant_id
    )  # fmt: skip
    await served.lives.sql(
        "INSERT INTO agent.principals (tenant_id, user_id, roles) VALUES (%s, 'boss', '{approver}')",
        held.run.tenant_id,
    )
    action = await served.prepared(held, ADD, ENTRY)
    interrupt = await served.asked(held, [action])
    await served.decided(interrupt, {"decision": "approve", "arguments": EDITED}, by="boss")
    held = await served.again(held.run.id)
    asked_again = await served.prepared(held, ADD, EDITED, n=2, edited_by=str(interrupt))
    assert asked_again["status"] == "prepared"
    [row] = await served.lives.sql("SELECT author, decision FROM agent.actions WHERE n = 2")
    assert row == {"author": "boss", "decision": None}
    second = await served.asked(held, [asked_again])
    await served.decided(second, {"decision": "approve"}, by="boss")  # the author again: the api would refuse
    held = await served.again(held.run.id)
    assert code(await served.commit(held, asked_again)) == "approval_revoked"
    assert await served.attempts() == 0


async def test_four_eyes_hold_at_commit_too(served: Served) -> None:
    held = await served.bound()
    await served.lives.sql(
        "INSERT INTO agent.settings (tenant_id, user_id, body)"
        """ VALUES (%s, '', '{"approval": {"four_eyes": ["medium"]}}')""", held.run.tenant_id
    )  # fmt: skip
    action = await served.prepared(held, ADD, ENTRY)
    held = await served.approved(held, action)
    assert code(await served.commit(held, action)) == "approval_revoked"


async def test_a_stranger_nobody_ever_saw_approves_nothing_by_editing(served: Served) -> None:
    held, _, interrupt = await edited(served, by="stranger", roles=())
    action = await served.prepared(held, ADD, EDITED, n=2, edited_by=interrupt)
    assert action["status"] == "prepared"
