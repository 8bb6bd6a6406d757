"""A gateway killed or frozen at each of its failpoints: the same request again, and exactly one row."""

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from fencepost_runtime.failpoints import Action, arm, wait_hit

from tests.support.gateway import ENTRY, Process, code, process
from tests.support.lives import RIVAL, Lives

pytestmark = pytest.mark.faults

ADD = "life.add_ledger_entry"
COMMIT_POINTS = (
    "gateway.attempt.before_start",
    "gateway.attempt.after_start",
    "gateway.business.before_commit",
    "gateway.business.after_commit",
)


@pytest.fixture
async def gateway(lives: Lives, tmp_path: Path) -> AsyncIterator[Process]:
    async with process(lives, tmp_path) as running:
        yield running


async def test_i10_i11_killed_anywhere_and_asked_again_there_is_exactly_one_row(gateway: Process) -> None:
    served, lives = gateway.served, gateway.served.lives
    for number, point in enumerate(COMMIT_POINTS, start=1):
        held, action = await served.ready(ADD, ENTRY)
        arm(gateway.failpoints, point, Action.KILL)
        with pytest.raises(httpx.TransportError):
            await served.commit(held, action)
        assert await gateway.ended() == -signal.SIGKILL
        done = await served.count("app.ledger_entries") == number
        assert done is (point == "gateway.business.after_commit"), point
        assert await served.attempts() == number - (not done)
        await gateway.start()
        answer = (await served.commit(held, action)).json()
        assert answer["state"] == "completed" and answer["replayed"] is done, point
        assert await served.count("app.ledger_entries") == await served.attempts() == number
        types = await lives.event_types(held.run.id)
        assert types.count("action.committed") == 1
    assert await lives.violations() == []


async def test_killed_before_preparations_commit_nothing_remains(gateway: Process) -> None:
    served = gateway.served
    held = await served.bound()
    before = await served.lives.event_types(held.run.id)
    arm(gateway.failpoints, "gateway.prepare.before_commit", Action.KILL)
    with pytest.raises(httpx.TransportError):
        await served.prepare(held, ADD, ENTRY)
    await gateway.ended()
    assert await served.count("agent.actions") == 0
    assert await served.lives.event_types(held.run.id) == before
    await gateway.start()
    assert not (await served.prepare(held, ADD, ENTRY)).json()["replayed"]


async def test_i05_a_frozen_gateway_opens_no_attempt_for_a_run_taken_over(gateway: Process) -> None:
    """SIGSTOP past the lease, before the attempt; another worker takes the run; SIGCONT."""
    served, lives = gateway.served, gateway.served.lives
    held, action = await served.ready(ADD, ENTRY)
    arm(gateway.failpoints, "gateway.attempt.before_start", Action.STOP)
    zombie = asyncio.ensure_future(served.commit(held, action))
    await wait_hit(gateway.failpoints, "gateway.attempt.before_start")
    rival = await served.taken_over(held, RIVAL)
    gateway.signal(signal.SIGCONT)
    assert code(await zombie) == "fence_lost"
    assert await served.attempts() == 0 and await served.count("app.ledger_entries") == 0
    assert (await served.commit(rival, action)).json()["state"] == "completed"
    assert await served.count("app.ledger_entries") == 1
    assert await lives.violations() == []


async def test_i07_a_gateway_frozen_inside_its_transaction_does_not_block_the_take_over(
    gateway: Process,
) -> None:
    """Frozen with the run's row locked: the role's timeout ends its transaction, and nothing of it stays."""
    served, lives = gateway.served, gateway.served.lives
    held, action = await served.ready(ADD, ENTRY)
    arm(gateway.failpoints, "gateway.business.before_commit", Action.STOP)
    zombie = asyncio.ensure_future(served.commit(held, action))
    await wait_hit(gateway.failpoints, "gateway.business.before_commit")
    # Waits for the frozen one's lock, at most its idle_in_transaction_session_timeout.
    rival = await served.taken_over(held, RIVAL)
    gateway.signal(signal.SIGCONT)
    assert (await zombie).status_code in (409, 503)
    assert await served.attempts() == 0 and await served.count("app.ledger_entries") == 0
    assert (await served.commit(rival, action)).json()["state"] == "completed"
    assert await served.count("app.ledger_entries") == 1
    assert await lives.violations() == []


async def test_a_gateway_stops_cleanly_and_is_ready_only_with_its_schema(gateway: Process) -> None:
    client = gateway.served.client
    assert (await client.get("/healthz")).json() == {"status": "ok"}
    assert (await client.get("/readyz")).json()["checks"] == {"database": "ok"}
    gateway.signal(signal.SIGTERM)
    assert await gateway.ended() == 0


async def test_a_gateway_does_not_start_on_a_server_without_fsync_or_on_a_broken_contract(
    lives: Lives, tmp_path: Path
) -> None:
    (tmp_path / "probe").mkdir()
    (tmp_path / "probe" / "contract.yaml").write_text("version: off\n...\n")
    refused = (
        ({"FENCEPOST_ALLOW_UNSAFE_DURABILITY": "false"}, "fsync"),
        ({"FENCEPOST_MODULES_DIR": str(tmp_path)}, "contract.yaml:1: version"),
    )
    for more, words in refused:
        with pytest.raises(RuntimeError, match=words):
            async with process(lives, tmp_path, **more):
                pass
