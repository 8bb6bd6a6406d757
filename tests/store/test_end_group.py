"""Endings in a group: what one run's own ending writes, under the same fence, and no more than it knows."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from fencepost_domain.artifact import ArtifactStatus
from fencepost_domain.decision import Decision, Finalization, FinalMessage
from fencepost_domain.endings import decide_finalize
from fencepost_domain.fence import Fence
from fencepost_domain.vocabulary import Reason, RunStatus
from fencepost_store.artifacts import NewArtifact, add_artifact
from fencepost_store.checkpoints import GroupConnection, NewCheckpoint
from fencepost_store.claims import Claim
from fencepost_store.end_group import RunEnding, end_group
from fencepost_store.integrity import check_invariants
from fencepost_store.record import record
from fencepost_store.runs import lock_run

from tests.support.postgres import Database
from tests.support.worker_runs import Runs, opened_runs

USAGE = {"model_calls": 0, "input_tokens": 0, "output_tokens": 0}
HELD = NewCheckpoint("", "c9", None, "msgpack", b'\x80\\"x', '{"step": 5}')
COMPARED = (
    "SELECT status, revision, lease_owner, lease_expires_at, claim_nonce, pause_asked, event_seq,"
    " finished_at IS NOT NULL FROM agent.runs WHERE id = %s",
    "SELECT seq, type, actor, schema_version FROM agent.run_events WHERE run_id = %s ORDER BY seq",
    "SELECT status, reason, code, node, explanation, decided_by, evidence, left_undone, unconfirmed_effects,"
    " usage FROM agent.finalizations WHERE run_id = %s",
    "SELECT author, text, artifacts, seq FROM agent.messages WHERE run_id = %s ORDER BY seq",
    "SELECT kind, data - 'run_id' - 'message_id' - 'conversation_id' FROM agent.feed"
    " WHERE data ->> 'run_id' = %s::text ORDER BY id",
    "SELECT c.holder_run_id, c.next_seq FROM agent.conversations c JOIN agent.runs r"
    " ON r.conversation_id = c.id WHERE r.id = %s",
)


@pytest.fixture
async def runs(database: Database) -> AsyncIterator[Runs]:
    async with opened_runs(database, lease=timedelta(seconds=30)) as opened:
        yield opened


@pytest.fixture
async def line(database: Database) -> AsyncIterator[GroupConnection]:
    connection = GroupConnection(database.dsn("worker"))
    yield connection
    await connection.drop()


def decision(claim: Claim, **more: Any) -> Decision:
    said = 'the "text" \\ of {it}, with NULL\nand é 漢'
    finalization = Finalization(
        RunStatus.SUCCEEDED, Reason.ACCEPTANCE_MET, said, "termination",
        evidence={"a": said}, left_undone=("x,y",), usage=dict(USAGE),
    )  # fmt: skip
    message = FinalMessage(uuid4(), said, ("artifact",))
    return decide_finalize(
        claim.run, claim.fence, finalization=replace(finalization, **more), message=message
    )


async def ended(line: GroupConnection, runs: Runs, *endings: RunEnding) -> dict[UUID, str]:
    answers, _ = await end_group(line, endings, runs.ids)
    return dict(answers)


async def rows(runs: Runs, run_id: UUID) -> list[Any]:
    return [await runs.fetch(query, run_id) for query in COMPARED]


async def test_it_writes_what_a_run_ended_by_itself_has(runs: Runs, line: GroupConnection) -> None:
    grouped, alone = await runs.claimed(uuid4()), await runs.claimed(uuid4())
    assert await ended(line, runs, RunEnding(grouped.fence, decision(grouped), (HELD,))) == {
        grouped.run.id: "written"
    }
    async with runs.worker.transaction() as tx:
        locked = await lock_run(tx, alone.run.id)
        await record(tx, locked.run, decision(alone))
    assert await rows(runs, grouped.run.id) == await rows(runs, alone.run.id)
    [(body,)] = await runs.fetch("SELECT body FROM langgraph.checkpoints WHERE run_id = %s", grouped.run.id)
    assert body == HELD.body
    assert await check_invariants(runs.database.dsn("reconciler")) == []


async def test_the_files_a_run_made_come_with_its_message_either_way(
    runs: Runs, line: GroupConnection
) -> None:
    grouped, alone = await runs.claimed(uuid4()), await runs.claimed(uuid4())
    silent = FinalMessage(uuid4(), "done")
    for claim in (grouped, alone):
        run, made = claim.run, [uuid4() for _ in range(3)]
        async with runs.worker.transaction() as tx:
            for file, status in zip(made, ("verified", "draft", "rejected"), strict=True):
                new = NewArtifact(
                    file, run.tenant_id, run.user_id, "a.md", "text/markdown", 1, b"0" * 32,
                    ArtifactStatus(status), origin="tool", run_id=run.id,
                )  # fmt: skip
                await add_artifact(tx, new)
        ended_so = replace(decision(claim), message=replace(silent, id=uuid4()))
        if claim is grouped:
            assert await ended(line, runs, RunEnding(claim.fence, ended_so)) == {run.id: "written"}
        else:
            async with runs.worker.transaction() as tx:
                await record(tx, (await lock_run(tx, run.id)).run, ended_so)
        [(told,)] = await runs.fetch(
            "SELECT artifacts FROM agent.messages WHERE run_id = %s AND author = 'assistant'", run.id
        )
        assert told == sorted(map(str, made[:2]))


async def test_i05_each_part_of_the_fence_refuses_its_own_run_only(runs: Runs, line: GroupConnection) -> None:
    good = await runs.claimed(uuid4())
    owner, revision, status, expiry = [await runs.claimed(uuid4()) for _ in range(4)]
    await runs.run(
        "UPDATE agent.runs SET status = 'cancelling', stop = 'cancel', drain_until = clock_timestamp(),"
        " revision = revision + 1 WHERE id = %s",
        status.run.id,
    )
    await runs.run("UPDATE agent.runs SET lease_expires_at = clock_timestamp() WHERE id = %s", expiry.run.id)
    fences = {
        owner.run.id: replace(owner.fence, owner="slot-x:boot"),
        revision.run.id: replace(revision.fence, revision=revision.fence.revision + 1),
        status.run.id: replace(status.fence, revision=status.fence.revision + 1),
        expiry.run.id: expiry.fence,
    }

    def ending(claim: Claim, fence: Fence) -> RunEnding:
        return RunEnding(fence, decision(claim), (HELD,))

    claims = [owner, revision, status, expiry]
    answers = await ended(
        line, runs, ending(good, good.fence), *(ending(one, fences[one.run.id]) for one in claims)
    )
    assert answers == {good.run.id: "written", **{one.run.id: "lost" for one in claims}}
    for one in claims:
        assert await runs.fetch("SELECT 1 FROM agent.finalizations WHERE run_id = %s", one.run.id) == []
        assert await runs.fetch("SELECT 1 FROM langgraph.checkpoints WHERE run_id = %s", one.run.id) == []


async def test_the_same_ending_again_is_found_not_repeated(runs: Runs, line: GroupConnection) -> None:
    claim = await runs.claimed(uuid4())
    ending = RunEnding(claim.fence, decision(claim))
    assert await ended(line, runs, ending) == {claim.run.id: "written"}
    before = await rows(runs, claim.run.id)
    assert await ended(line, runs, ending) == {claim.run.id: "written"}
    assert await rows(runs, claim.run.id) == before
    assert await ended(line, runs, RunEnding(claim.fence, decision(claim))) == {claim.run.id: "lost"}


async def test_what_it_cannot_vouch_for_is_left_alone(runs: Runs, line: GroupConnection) -> None:
    usage, effect = await runs.claimed(uuid4()), await runs.claimed(uuid4())
    await runs.run(
        "INSERT INTO agent.effects (effect_key, run_id, root_run_id, tenant_id, index, n, tool, class, state,"
        " arguments_hash, request) SELECT 'k', id, id, tenant_id, 0, 1, 't', 'local', 'completed', '', ''"
        " FROM agent.runs WHERE id = %s",
        effect.run.id,
    )
    told = RunEnding(usage.fence, decision(usage, usage={**USAGE, "model_calls": 1}))
    answers = await ended(line, runs, told, RunEnding(effect.fence, decision(effect)))
    assert answers == {usage.run.id: "differs", effect.run.id: "differs"}
    assert await runs.status(usage.run.id) == await runs.status(effect.run.id) == "running"


async def test_a_row_that_another_holds_is_busy(runs: Runs, line: GroupConnection) -> None:
    held, free = await runs.claimed(uuid4()), await runs.claimed(uuid4())
    async with runs.worker.transaction() as tx:
        await lock_run(tx, held.run.id)
        answers = await ended(
            line, runs, RunEnding(held.fence, decision(held)), RunEnding(free.fence, decision(free))
        )
    assert answers == {held.run.id: "busy", free.run.id: "written"}


async def test_ac4_the_next_run_of_the_conversation_is_told(runs: Runs, line: GroupConnection) -> None:
    first = await runs.claimed(uuid4())
    following = await runs.queued(conversation_id=first.run.conversation_id)
    answers, has_hint = await end_group(line, [RunEnding(first.fence, decision(first))], runs.ids)
    assert answers == {first.run.id: "written"}
    assert has_hint
    hints = await runs.fetch("SELECT event_type FROM agent.outbox WHERE run_id = %s ORDER BY id", following)
    assert [kind for (kind,) in hints] == ["agent.run.requested.v1", "agent.run.resumable.v1"]


async def test_an_ending_with_more_than_an_ending_is_refused(runs: Runs) -> None:
    claim = await runs.claimed(uuid4())
    with pytest.raises(ValueError, match="group"):
        RunEnding(claim.fence, decision(claim, unconfirmed_effects=({"effect_key": "k"},)))
    with pytest.raises(ValueError, match="group"):
        RunEnding(claim.fence, replace(decision(claim), message=None))
