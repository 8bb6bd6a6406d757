"""Each check of the invariants finds a planted violation, and finds none in a whole mesh (design 03)."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping, Sequence

import psycopg
import pytest
from fencepost_domain.decision import Decision, NewEvent
from fencepost_domain.vocabulary import Ev
from fencepost_reconciler.loops.sign_heads import SignHeads
from fencepost_store.anchors import AnchorKey
from fencepost_store.integrity import CHECKS, CannotRead, check_invariants
from fencepost_store.record import record
from fencepost_store.runs import lock_run

from tests.support.lives import OTHER_TENANT, Lives, living
from tests.support.postgres import Cluster
from tests.support.world import World, make_world, plant

_EVENT = "UPDATE agent.run_events SET {change} WHERE run_id = %(succeeded)s AND seq = 3"
_COPY_EVENT = """
INSERT INTO agent.run_events (run_id, seq, id, tenant_id, type, schema_version, actor, at, payload_hash,
                              prev_hash, hash)
SELECT run_id, seq + 1, gen_random_uuid(), tenant_id, type, schema_version, actor, at, payload_hash,
       hash, hash
  FROM agent.run_events WHERE run_id = %(queued)s"""

# Check -> what breaks it. Where a constraint stands in the way it is dropped, in this test's database only.
PLANTS: Mapping[str, Sequence[str]] = {
    "i01_run_has_first_event": ["DELETE FROM agent.run_events WHERE run_id = %(queued)s"],
    "i01_run_has_hint": ["DELETE FROM agent.outbox WHERE run_id = %(running)s"],
    "i01_nothing_without_its_run": ["DELETE FROM agent.runs WHERE id = %(queued)s"],
    "i02_one_run_per_key": [
        "ALTER TABLE agent.runs DROP CONSTRAINT runs_one_per_idempotency_key",
        "UPDATE agent.runs SET idempotency_key = 'same' WHERE id IN (%(queued)s, %(running)s)",
    ],
    "i03_thread_is_run": [
        "ALTER TABLE langgraph.writes DROP CONSTRAINT writes_thread_is_run_check",
        "UPDATE langgraph.writes SET thread_id = gen_random_uuid()",
    ],
    "i04_lease_fits_status": [
        "ALTER TABLE agent.runs DROP CONSTRAINT runs_leased_iff_running_check",
        "UPDATE agent.runs SET lease_owner = 'zombie', lease_expires_at = now() WHERE id = %(queued)s",
    ],
    "i04_revision_counts_the_changes": [
        "UPDATE agent.runs SET revision = revision + 1 WHERE id = %(queued)s"
    ],
    "i06_one_finalization_per_end": ["DELETE FROM agent.finalizations WHERE run_id = %(succeeded)s"],
    "i06_success_is_settled": ["UPDATE agent.effects SET state = 'unknown' WHERE run_id = %(succeeded)s"],
    "i06_status_is_what_the_events_say": [
        "UPDATE agent.runs SET status = 'paused', paused_until = now() + interval '1 day'"
        " WHERE id = %(queued)s"
    ],
    "i08_somebody_looks_after_it": [
        "UPDATE agent.interrupts SET status = 'withdrawn' WHERE run_id = %(waiting)s"
    ],
    "i08_due_run_was_told": ["DELETE FROM agent.outbox WHERE run_id = %(queued)s"],
    "i10_one_open_attempt": [
        "INSERT INTO agent.effect_attempts SELECT effect_key, 2, run_id, tenant_id, executor_boot, state,"
        " request, outcome, observations, started_at, attempt_ends_at, settled_at, settled_by"
        " FROM agent.effect_attempts WHERE run_id = %(succeeded)s"
    ],
    "i10_person_gave_evidence": [
        "UPDATE agent.effects SET resolution = '{\"evidence\": \"x\"}', resolved_by = 'x'"
        " WHERE run_id = %(succeeded)s"
    ],
    "i10_nothing_unknown_is_forgotten": [
        "UPDATE agent.effects SET class = 'external_opaque' WHERE run_id = %(cancelled)s",
        "UPDATE agent.effect_attempts SET attempt_ends_at = '2020-01-01' WHERE run_id = %(cancelled)s",
    ],
    "i10_effect_fits_its_attempts": [
        "UPDATE agent.effects SET state = 'failed' WHERE run_id = %(succeeded)s"
    ],
    "i10_task_follows_its_effect": [
        "INSERT INTO agent.tasks (id, effect_key, run_id, tenant_id, tool, state, poll_at, expires_at)"
        " SELECT gen_random_uuid(), effect_key, run_id, tenant_id, tool, 'running', now(), now()"
        " FROM agent.effects WHERE run_id = %(succeeded)s"
    ],
    "i10_compensation_has_its_run": [
        "UPDATE agent.effects SET state = 'compensating' WHERE run_id = %(succeeded)s"
    ],
    "i11_business_row_has_its_effect": ["UPDATE app.reminders SET origin_effect_key = 'nobody'"],
    "i11_completion_has_its_event": [
        "UPDATE agent.run_events SET type = 'node.failed'"
        " WHERE run_id = %(succeeded)s AND type = 'action.committed'"
    ],
    "i12_attempt_was_approved": ["UPDATE agent.actions SET decision = NULL WHERE run_id = %(succeeded)s"],
    "i12_approval_is_stored": ["UPDATE agent.actions SET interrupt_id = NULL WHERE run_id = %(succeeded)s"],
    "i12_votes_make_the_decision": [
        "INSERT INTO agent.approval_votes (interrupt_id, voter, run_id, tenant_id, decision, resolution,"
        " resolution_hash, key, roles) SELECT id, 'mallory', run_id, tenant_id, 'reject',"
        """ '{"decisions": [{"index": 0, "decision": "reject"}]}', 'h', 'k', '{}' FROM agent.interrupts"""
        " WHERE run_id = %(succeeded)s"
    ],
    "i13_grant_uses_within_limits": [
        "INSERT INTO agent.grants (id, tenant_id, user_id, granted_by, granted_roles, interrupt_id, run_id,"
        " index, module, tool, tool_version, catalog_fp, risk, effect_class, uses, expires_at)"
        " SELECT gen_random_uuid(), tenant_id, user_id, user_id, '{}', id, run_id, 0, 'life', 'life.x', '1',"
        " 'f', 'medium', 'local', 1, now() + interval '1 day' FROM agent.interrupts"
        " WHERE run_id = %(succeeded)s"
    ],
    "i13_link_decided_once": [
        "INSERT INTO agent.approval_links (id, tenant_id, interrupt_id, run_id, n, approver, created_by,"
        " token_hash, expires_at, spent_at) SELECT gen_random_uuid(), tenant_id, id, run_id, 1, user_id,"
        " user_id, 'h', now() + interval '1 day', now() FROM agent.interrupts WHERE run_id = %(succeeded)s"
    ],
    "i13_rejected_is_never_tried": [
        "UPDATE agent.actions SET status = 'rejected' WHERE run_id = %(succeeded)s"
    ],
    "i15_gate_let_it_through": [
        "UPDATE agent.runs SET revision = 3 WHERE id = %(running)s",
        "INSERT INTO agent.effect_attempts (effect_key, attempt, run_id, tenant_id, executor_boot, state,"
        " request, attempt_ends_at) SELECT 'k', 1, id, tenant_id, 'b', 'unknown', '', now()"
        " FROM agent.runs WHERE id = %(running)s",
    ],
    "i16_bound_versions_exist": ["DELETE FROM agent.manifests"],
    "i17_asked_once": [
        "ALTER TABLE agent.interrupts DROP CONSTRAINT interrupts_asked_once",
        "INSERT INTO agent.interrupts (id, run_id, tenant_id, user_id, kind, index, n, status, question,"
        " expires_at) SELECT gen_random_uuid(), run_id, tenant_id, user_id, kind, index, n, 'withdrawn',"
        " question, expires_at FROM agent.interrupts WHERE run_id = %(waiting)s",
    ],
    "i17_end_asks_nothing": [
        "UPDATE agent.interrupts SET status = 'open', resolution = NULL WHERE run_id = %(succeeded)s"
    ],
    "i20_chain_verifies": [_EVENT.format(change="actor = 'user:mallory'")],
    "i20_payloads_verify": ["UPDATE agent.run_event_payloads SET payload = '{}' WHERE run_id = %(queued)s"],
    "i20_anchors_verify": [
        "INSERT INTO agent.chain_anchors (run_id, seq, tenant_id, hash, key_id, signature)"
        " SELECT run_id, seq, tenant_id, '\\x00', 'k', '' FROM agent.run_events WHERE run_id = %(queued)s"
    ],
    "i30_committed_is_what_was_checked": [
        "INSERT INTO agent.compactions (id, tenant_id, conversation_id, run_id, before_seq, from_seq,"
        " upto_seq, candidate_seq, committed_seq, source_hash, summary_hash) SELECT gen_random_uuid(),"
        " tenant_id, conversation_id, id, 9, 1, 1, 1, 2, 'h', 'h' FROM agent.runs WHERE id = %(succeeded)s"
    ],
    "i21_one_final_message": [
        "DELETE FROM agent.messages WHERE run_id = %(succeeded)s AND author = 'assistant'"
    ],
    "i22_no_attempt_after_the_stop": [
        "UPDATE agent.effect_attempts SET started_at = now() + interval '1 hour' WHERE run_id = %(cancelled)s"
    ],
    "i22_open_attempts_are_named": [
        "UPDATE agent.finalizations SET unconfirmed_effects = '[]' WHERE run_id = %(cancelled)s"
    ],
    "i23_budget_is_what_was_used": [
        "UPDATE agent.budgets SET cost = cost + 1 WHERE root_run_id = %(queued)s"
    ],
    "i27_tenants_agree": [
        f"UPDATE agent.messages SET tenant_id = '{OTHER_TENANT}'"
        " WHERE run_id = %(succeeded)s AND author = 'user'"
    ],
    "i31_fired_once": ["DELETE FROM agent.firings"],
    "i11_state_log_is_whole": ["UPDATE agent.state_events SET old_value = '7' WHERE seq = 2"],
    "i11_state_is_its_fold": ["UPDATE agent.state_heads SET body = '{\"count\": 9}'"],
    "i11_state_change_has_its_event": [
        "UPDATE agent.run_events SET type = 'node.failed' WHERE type = 'state.changed'"
    ],
    "i20_erased_is_no_loss": ["UPDATE agent.artifacts SET erased_at = now()"],
    "i29_versions_have_one_owner": ["UPDATE agent.artifacts SET user_id = 'mallory' WHERE version = 2"],
    "conversation_holder_is_at_work": ["UPDATE agent.conversations SET holder_run_id = NULL"],
    "conversation_is_in_order": ["UPDATE agent.conversations SET next_seq = next_seq + 1"],
}
_AGAIN = (
    "INSERT INTO agent.effect_attempts (effect_key, attempt, run_id, tenant_id, executor_boot, state,"
    " request, started_at, attempt_ends_at, settled_at, settled_by) SELECT effect_key, 2, run_id, tenant_id,"
    " executor_boot, '{state}', request, started_at, attempt_ends_at, settled_at, '{by}'"
    " FROM agent.effect_attempts WHERE run_id = %(succeeded)s"
)
_CLASS = "UPDATE agent.effects SET class = '{name}', attempts = 2 WHERE run_id = %(succeeded)s"
# Other ways in which one check's promise is broken: by (check, which).
MORE_PLANTS: Mapping[tuple[str, str], Sequence[str]] = {
    ("i10_one_open_attempt", "a queryable one repeated while the first may have landed"): [
        _CLASS.format(name="external_queryable"), _AGAIN.format(state="unknown", by="gateway"),
    ],
    ("i10_one_open_attempt", "an opaque one repeated while the first may have landed"): [
        _CLASS.format(name="external_opaque"), _AGAIN.format(state="unknown", by="gateway"),
    ],
    ("i10_one_open_attempt", "an opaque one called absent by a look-up"): [
        _CLASS.format(name="external_opaque"), _AGAIN.format(state="absent", by="lookup"),
    ],
    ("i10_compensation_has_its_run", "undone by nobody"): [
        "ALTER TABLE agent.effects DISABLE TRIGGER effects_transition",
        "UPDATE agent.effects SET state = 'compensated' WHERE run_id = %(succeeded)s",
    ],
    ("i10_compensation_has_its_run", "undoes what nobody ordered"): [
        "UPDATE agent.effects SET compensates = effect_key WHERE run_id = %(succeeded)s",
    ],
}  # fmt: skip
# The first is planted through the write door (its chain is whole), the second needs the keys.
APART = {"i06_events_follow_the_table", "i20_anchors_are_signed"}


@pytest.fixture(scope="module")
async def whole(postgres_cluster: Cluster, migrated_template: str) -> AsyncIterator[tuple[str, World]]:
    """The world, made once: a database that each test takes a clone of."""
    name = f"fencepost_world_{os.getpid()}"
    async with living(postgres_cluster.create(name, migrated_template)) as lives:
        made = await make_world(lives)
        assert await lives.violations() == []
    yield name, made
    postgres_cluster.drop(name)


@pytest.fixture
async def lives(postgres_cluster: Cluster, whole: tuple[str, World]) -> AsyncIterator[Lives]:
    name = f"{whole[0]}_clone"
    async with living(postgres_cluster.create(name, whole[0])) as opened:
        yield opened
    postgres_cluster.drop(name)


@pytest.fixture
def world(whole: tuple[str, World]) -> World:
    return whole[1]


def test_every_check_has_its_planted_violation() -> None:
    assert set(PLANTS) | APART == set(CHECKS)


@pytest.mark.parametrize("check", PLANTS)
async def test_a_planted_violation_is_found(lives: Lives, world: World, check: str) -> None:
    await plant(lives, world, *PLANTS[check])
    found = await lives.violations()
    assert check in {violation.check for violation in found}, found
    assert all(violation.subject and violation.detail for violation in found)


@pytest.mark.parametrize("which", MORE_PLANTS, ids=lambda which: which[1])
async def test_each_way_of_breaking_it_is_found(lives: Lives, world: World, which: tuple[str, str]) -> None:
    await plant(lives, world, *MORE_PLANTS[which])
    assert which[0] in {violation.check for violation in await lives.violations()}


async def test_an_event_that_the_table_does_not_allow_is_found(lives: Lives, world: World) -> None:
    async with lives.reconciler.transaction() as tx:
        locked = await lock_run(tx, world.queued)
        event = NewEvent(tx.ids.uuid7(), Ev.RUN_WOKEN, {"by": "nobody"})
        await record(tx, locked.run, Decision(None, events=(event,)))
    found = await lives.violations()
    assert {"i06_events_follow_the_table", "i04_revision_counts_the_changes"} <= {v.check for v in found}


I20_TEARS = {
    "changed": _EVENT.format(change="at = at + interval '1 microsecond'"),
    "missing": "DELETE FROM agent.run_events WHERE run_id = %(succeeded)s AND seq = 3",
    "missing: the head": "DELETE FROM agent.run_events"
    " WHERE run_id = %(succeeded)s AND type = 'run.finalized'",
    "added": _COPY_EVENT,
    "reordered": _EVENT.format(change="prev_hash = sha256('x')"),
    "head": "UPDATE agent.runs SET event_head = sha256('x') WHERE id = %(queued)s",
}


@pytest.mark.parametrize("tear", I20_TEARS)
async def test_i20_a_tear_in_the_chain_is_found_and_named(lives: Lives, world: World, tear: str) -> None:
    await plant(lives, world, I20_TEARS[tear])
    torn = [v for v in await lives.violations() if v.check == "i20_chain_verifies"]
    assert torn
    assert tear.partition(":")[0] in {violation.detail.partition(":")[0] for violation in torn}
    named = world.queued if tear in ("added", "head") else world.succeeded
    assert all(str(named) in violation.subject for violation in torn)


async def test_i20_erased_is_told_apart_from_missing(lives: Lives, world: World) -> None:
    forget = "DELETE FROM agent.run_event_payloads WHERE run_id = %(queued)s AND seq = 1"
    async with lives.reconciler.transaction() as tx:
        locked = await lock_run(tx, world.queued)
        await record(tx, locked.run, Decision(None, events=(NewEvent(tx.ids.uuid7(), Ev.ERASED, {}),)))
    await plant(lives, world, forget)
    assert await lives.violations() == []
    await plant(lives, world, forget.replace("queued", "waiting"))
    assert [v.check for v in await lives.violations()] == ["i20_payloads_verify"]


async def test_i20_pruned_is_told_apart_from_missing(lives: Lives, world: World) -> None:
    anchor = (
        "INSERT INTO agent.chain_anchors (run_id, seq, tenant_id, hash, key_id, signature)"
        " SELECT id, event_seq, tenant_id, event_head, 'k', '' FROM agent.runs WHERE id = %(succeeded)s"
    )
    forget = [
        f"DELETE FROM agent.{t} WHERE run_id = %(succeeded)s" for t in ("run_events", "run_event_payloads")
    ]
    await plant(lives, world, anchor, *forget)
    assert [v for v in await lives.violations() if v.invariant == "I20"] == []
    await plant(lives, world, "DELETE FROM agent.chain_anchors")
    assert "i20_chain_verifies" in {v.check for v in await lives.violations()}


async def test_i20_an_anchor_signed_by_another_is_found(lives: Lives, world: World) -> None:
    key = AnchorKey("k1", b"k" * 32)
    signing = SignHeads(lives.reconciler, key, batch=2)
    anchored = [(await signing.run_once())["anchored"] for _ in range(5)]
    assert sum(anchored) == 5
    dsn = lives.database.dsn("reconciler")
    assert await check_invariants(dsn, {"k1": key.key}) == []
    other = await check_invariants(dsn, {"k1": b"x" * 32})
    assert {v.check for v in other} == {"i20_anchors_are_signed"}
    assert len(await check_invariants(dsn, {"k2": key.key})) == 5, "a key nobody knows proves nothing"
    await plant(lives, world, "UPDATE agent.chain_anchors SET signature = '' WHERE run_id = %(queued)s")
    [forged] = await check_invariants(dsn, {"k1": key.key})
    assert str(world.queued) in forged.subject


async def test_i20_a_history_written_anew_contradicts_its_anchor(lives: Lives, world: World) -> None:
    """An owner of the database can make every hash right again, but not what was signed before."""
    await SignHeads(lives.reconciler, AnchorKey("k1", b"k" * 32)).run_once()
    rewrite = """
    WITH forged AS (
        UPDATE agent.run_events SET actor = 'user:mallory',
               hash = agent.event_hash(run_id, seq, id, type, schema_version, 'user:mallory', at,
                                       causation_id, correlation_id, payload_hash, prev_hash)
         WHERE run_id = %(queued)s RETURNING run_id, hash
    ) UPDATE agent.runs r SET event_head = forged.hash FROM forged WHERE r.id = forged.run_id"""
    await plant(lives, world, rewrite)
    assert {v.check for v in await lives.violations()} == {"i20_anchors_verify"}


async def test_a_live_runs_head_is_anchored_once_a_minute_a_finished_ones_at_once(
    lives: Lives, world: World
) -> None:
    signing = SignHeads(lives.reconciler, AnchorKey())
    assert (await signing.run_once())["anchored"] == 5
    await lives.append(world.queued)
    await lives.append(world.succeeded)  # an observation after the end
    assert (await signing.run_once())["anchored"] == 1
    await lives.age("agent.chain_anchors", "signed_at", "true", by="2 minutes ago")
    assert (await signing.run_once())["anchored"] == 1
    assert (await signing.run_once())["anchored"] == 0


async def test_the_check_reads_one_snapshot_and_changes_nothing(lives: Lives, world: World) -> None:
    """It may run while the mesh is at work: what it sees is one instant."""
    async with lives.worker.transaction() as tx:  # a claim half done
        await tx.connection.exec_driver_sql(
            "UPDATE agent.conversations SET holder_run_id = NULL WHERE holder_run_id IS NOT NULL"
        )
        assert await lives.violations() == []


async def test_a_role_that_may_not_read_everything_proves_nothing(lives: Lives, world: World) -> None:
    assert await check_invariants(lives.database.dsn("admin")) == []
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        await check_invariants(lives.database.dsn("worker"))
    await plant(lives, world, "REVOKE SELECT ON app.ledger_entries FROM fencepost_reconciler")
    with pytest.raises(CannotRead):
        await lives.violations()
