"""Tokens: what was signed is what is carried out, and nothing else (case AP-5)."""

from dataclasses import replace
from uuid import uuid4

from fencepost_runtime.keys import KeyRing
from fencepost_tool_gateway import tokens

from tests.support.gateway import ENTRY, KEYS, REMINDER, SECRET, Served, code, serving
from tests.support.lives import Lives

CREATE, ADD = "life.create_reminder", "life.add_ledger_entry"
OLD, NEW = b"1" * 32, b"2" * 32


CHANGES = (
    """arguments = '{"amount":"9999","currency":"USD"}'""",
    "arguments_hash = repeat('0', 64)",
    "tool = 'life.cancel_reminder'",
    "tool_version = '2'",
    "approval = false",
    "risk = 'low'",
    "effect_class = 'none'",
    "author = 'somebody'",
    "catalog_fp = repeat('0', 64)",
    """change = change || '{"summary": "harmless"}'""",
    """preview = preview || '{"text": "harmless"}'""",
    """precondition = '{"version": 2}'""",
    "token_expires_at = token_expires_at + interval '1 year'",
    "token_mac = decode(repeat('00', 32), 'hex')",
    "token_mac = ''",
)


async def test_ap5_a_row_changed_in_the_database_is_refused(served: Served) -> None:
    held = await served.bound()
    actions = [await served.prepared(held, ADD, ENTRY, index=i) for i in range(len(CHANGES))]
    held = await served.approved(held, *actions)
    for action, change in zip(actions, CHANGES, strict=True):
        await served.lives.sql(f"UPDATE agent.actions SET {change} WHERE index = %s", action["index"])
        answer = await served.commit(held, action)
        assert (answer.status_code, code(answer)) == (409, "tampered"), change
    assert await served.attempts() == 0 and await served.count("app.ledger_entries") == 0


async def test_ap5_a_token_is_good_for_its_own_action_only(served: Served) -> None:
    held = await served.bound()
    one = await served.prepared(held, CREATE, REMINDER)
    two = await served.prepared(held, ADD, ENTRY, index=1)
    held = await served.approved(held, one, two)
    other = await served.bound()
    for fence, swapped in (
        (held, {**one, "token_id": two["token_id"]}),
        (held, {**two, "token_id": one["token_id"]}),
        (held, {**one, "token_id": str(uuid4())}),
    ):
        answer = await served.commit(fence, swapped)
        assert (answer.status_code, code(answer)) == (403, "token_refused")
    assert (await served.commit(other, one)).status_code == 404
    assert await served.attempts() == 0


async def test_ap5_a_mac_moved_between_rows_is_refused(served: Served) -> None:
    held = await served.bound()
    one = await served.prepared(held, ADD, ENTRY)
    two = await served.prepared(held, ADD, {**ENTRY, "amount": "9"}, index=1)
    held = await served.approved(held, one, two)
    await served.lives.sql(
        "UPDATE agent.actions a SET token_mac = b.token_mac FROM agent.actions b"
        " WHERE a.run_id = b.run_id AND a.index = 0 AND b.index = 1"
    )
    assert code(await served.commit(held, one)) == "tampered"


async def test_ap5_rotation_keeps_open_approvals_and_retiring_a_key_ends_them_cleanly(lives: Lives) -> None:
    async with serving(lives, keys=KeyRing("k1", {"k1": OLD})) as served:
        held = await served.bound()
        actions = [await served.prepared(held, ADD, ENTRY, index=i) for i in range(2)]
        held = await served.approved(held, *actions)
    async with serving(lives, keys=KeyRing("k2", {"k2": NEW, "k1": OLD})) as served:
        assert (await served.commit(held, actions[0])).json()["state"] == "completed"
        newer = await served.prepared(held, ADD, ENTRY, index=2)
        [row] = await lives.sql("SELECT token_key_id FROM agent.actions WHERE index = 2")
        assert row["token_key_id"] == "k2"
    async with serving(lives, keys=KeyRing("k2", {"k2": NEW})) as served:
        answer = await served.commit(held, actions[1])
        assert (answer.status_code, code(answer)) == (409, "token_expired")
        assert code(await served.commit(held, newer)) == "not_approved"
    assert (await lives.sql("SELECT count(*) AS n FROM agent.effect_attempts"))[0]["n"] == 1


async def test_an_old_token_is_prepared_again(served: Served) -> None:
    held = await served.bound()
    action = await served.prepared(held, "life.list_reminders", {})
    await served.lives.sql("UPDATE agent.actions SET token_expires_at = now() - interval '1 s'")
    stored = await served.lives.prepared_as_stored(held)
    signed = tokens.sign(KEYS, stored, held.run.user_id)
    await served.lives.sql("UPDATE agent.actions SET token_mac = %s", signed.token_mac)
    assert code(await served.commit(held, action)) == "token_expired"
    again = await served.prepared(held, "life.list_reminders", {}, n=2)
    assert (await served.commit(held, again)).json()["state"] == "completed"


STRANGERS = (
    b"",
    b"Bearer ",
    b"Bearer k\xe9",
    b"Bearer " + b"x" * 10_000,
    b"Basic abc",
    b"Bearer " + SECRET.encode() + b"=",
    SECRET.encode(),
    b"bearer " + SECRET.encode(),
    b"\xff\xfe",
)


async def test_ap5_a_stranger_is_told_401_never_500(served: Served) -> None:
    for shown in STRANGERS:
        for method, path in (("POST", "actions/prepare"), ("GET", "modules/life/catalog"), ("GET", "no")):
            headers = [(b"authorization", shown)]
            answer = await served.client.request(method, f"/internal/{path}", headers=headers)
            assert (answer.status_code, code(answer)) == (401, "unauthenticated"), shown


async def test_ap5_what_is_signed_has_boundaries_purpose_and_key_id(served: Served) -> None:
    held = await served.bound()
    await served.prepared(held, CREATE, REMINDER)
    action = await served.lives.prepared_as_stored(held)
    assert tokens.message(action, "user-1") != tokens.message(action, "user-11")
    assert tokens.PURPOSE.encode() in tokens.message(action, "u") and b"k1" in tokens.message(action, "u")
    one = tokens.message(replace(action, tool="1", tool_version="23"), "u")
    two = tokens.message(replace(action, tool="12", tool_version="3"), "u")
    assert one != two
