"""One suite over the wake-up adapters, each on its real server (design 02 §3).

What is asked of all: answers in order, hints for what was sent, no record that blocks, no outage that
blocks, parks or ends anything.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
from fencepost_contracts.wake import WakeType
from fencepost_runtime.wake import Delivered, Hint, Refused, WakeOptions, make_listener

from tests.conformance.wake_bench import AT, MODULE, TRACEPARENT, WakeBench, message
from tests.support.eventually import eventually
from tests.support.kafka import WakeNames

KAFKA = pytest.param("kafka", marks=pytest.mark.kafka)


@pytest.fixture(params=[KAFKA, "postgres", "none"])
async def wake(request: pytest.FixtureRequest, wake_names: WakeNames) -> AsyncIterator[WakeBench]:
    """Every adapter."""
    async with WakeBench(_options(request, wake_names), hears=request.param != "none") as bench:
        yield bench


@pytest.fixture(params=[KAFKA, "postgres"])
async def hearing(request: pytest.FixtureRequest, wake_names: WakeNames) -> AsyncIterator[WakeBench]:
    """The adapters that have something to hear."""
    async with WakeBench(_options(request, wake_names)) as bench:
        yield bench


def _options(request: pytest.FixtureRequest, names: WakeNames) -> WakeOptions:
    if request.param == "kafka":
        bootstrap = request.getfixturevalue("kafka_broker").bootstrap
        return WakeOptions(
            "kafka",
            kafka_bootstrap=bootstrap,
            topic_prefix=names.topic_prefix,
            group_prefix=names.group_prefix,
        )
    if request.param == "postgres":
        dsn = request.getfixturevalue("empty_database").dsn()
        return WakeOptions("postgres", listen_url=dsn, listen_url_is_direct=True)
    return WakeOptions("none")


async def test_each_message_is_answered_in_order_and_heard(wake: WakeBench) -> None:
    kinds = (WakeType.REQUESTED, WakeType.RESUMABLE, WakeType.CANCEL)
    batch = [message(event_type=kind) for kind in kinds]
    async with wake.ear() as ear:
        assert await wake.publisher().publish(batch) == [Delivered()] * 3

        if not wake.hears:
            assert ear.hints == []
            return
        await ear.hears(*(sent.run_id for sent in batch))
        told = {(hint.module, hint.run_id, hint.event_type) for hint in ear.hints}
        assert told == {(MODULE, sent.run_id, sent.event_type) for sent in batch}


async def test_an_empty_batch_asks_nothing_of_the_server(wake: WakeBench) -> None:
    assert await wake.publisher().publish([]) == []


async def test_many_runs_of_several_modules_reach_their_own_module(hearing: WakeBench) -> None:
    batch = [message(module=("life", "work")[index % 2]) for index in range(600)]
    async with hearing.ear(["life", "work"]) as ear:
        assert await hearing.publisher().publish(batch) == [Delivered()] * len(batch)

        await ear.hears(*(sent.run_id for sent in batch))
        assert {(hint.run_id, hint.module) for hint in ear.hints} == {(m.run_id, m.module) for m in batch}


async def test_a_message_sent_again_is_the_same_hint_again(hearing: WakeBench) -> None:
    """Redelivery changes nothing: a hint has no content that a second one could add to."""
    sent = message()
    publisher = hearing.publisher()
    async with hearing.ear() as ear:
        for _ in range(2):
            assert await publisher.publish([sent]) == [Delivered()]
        await eventually(lambda: len(ear.hints) >= 2)
        assert set(ear.hints) == {Hint(MODULE, sent.run_id, WakeType.REQUESTED)}


async def test_ev_7_a_row_too_large_for_the_broker_leaves_the_next_one_alone(wake: WakeBench) -> None:
    """1.5 MB against a limit of 1 MB: refused for good, said so, and the others are out at once."""
    large, small = message(detail={"text": "x" * 1_500_000}), message()
    async with wake.ear() as ear:
        answers = await wake.publisher().publish([large, small])

        assert answers[1] == Delivered()
        if wake.name == "kafka":
            assert isinstance(answers[0], Refused)
            assert answers[0].permanent
            assert "large" in answers[0].reason.lower()
        else:
            assert answers[0] == Delivered()  # only the run's id travels
        if wake.hears:
            await ear.hears(small.run_id)


BAD_RECORDS = [b"\xff\xfe\x00", None, b'{"run_id":null}', b"[]"]


async def test_kf_3_what_cannot_be_read_is_kept_and_skipped(hearing: WakeBench) -> None:
    newer = json.dumps(_event(type="agent.run.requested.v2")).encode()
    foreign = json.dumps(_event(data={"module": "life", "run_id": str(uuid4())})).encode()
    bad = [*BAD_RECORDS, newer, foreign]
    unknown_run, valid = message(), message()
    publisher = hearing.publisher()
    async with hearing.ear() as ear:
        await hearing.inject(bad)
        await publisher.publish([unknown_run, valid])

        await ear.hears(valid.run_id, unknown_run.run_id, within=10)  # an unknown run is the claim's to drop
        await eventually(lambda: len(ear.poison) == len(bad) == ear.listener.stats.poison)
        assert all(record.reason for record in ear.poison)
        assert {record.topic for record in ear.poison} == {f"{hearing.options.topic_prefix}.{MODULE}"}
        if hearing.name == "kafka":
            assert [(kept.partition, kept.offset) for kept in ear.poison] == [
                (0, at) for at in range(len(bad))
            ]
            assert [kept.value for kept in ear.poison] == bad

    async with hearing.ear() as restarted:
        after = message()
        await publisher.publish([after])
        await restarted.hears(after.run_id)
        assert restarted.poison == []


async def test_a_handler_that_raises_costs_a_count_not_the_listener(hearing: WakeBench) -> None:
    ear = hearing.ear()
    heard = ear.hints

    class Breaks(list):  # type: ignore[type-arg]
        def append(self, hint: Hint) -> None:
            heard.append(hint)
            raise ValueError("a bug in the worker")

    ear.hints = Breaks()
    async with ear:
        first, second = message(), message()
        publisher = hearing.publisher()
        for sent in (first, second):
            await publisher.publish([sent])
        await eventually(lambda: {first.run_id, second.run_id} <= {hint.run_id for hint in heard})
        assert ear.listener.stats.handler_errors == 2


async def test_a_paused_listener_leaves_hints_alone_and_hears_again_after(hearing: WakeBench) -> None:
    """No free slot: nothing is told. A second listener, of another group, shows that the hint was out."""
    publisher = hearing.publisher()
    async with (
        hearing.ear() as full,
        hearing.ear(group_prefix=f"{hearing.options.group_prefix}-witness") as witness,
    ):
        before, between, after = message(), message(), message()
        await publisher.publish([before])
        await full.hears(before.run_id)
        full.listener.pause()

        await publisher.publish([between])
        await witness.hears(between.run_id)
        assert between.run_id not in full.run_ids

        full.listener.resume()
        await publisher.publish([after])
        await full.hears(after.run_id)
        assert full.listener.stats.connections == 1


async def test_two_listeners_in_a_group_leave_nothing_unheard(hearing: WakeBench) -> None:
    """Kafka deals each hint to one of them; Postgres tells both, and the claim picks."""
    publisher = hearing.publisher()
    async with hearing.ear() as one, hearing.ear() as two:
        batch = [message() for _ in range(200)]
        assert await publisher.publish(batch) == [Delivered()] * len(batch)
        await eventually(lambda: {sent.run_id for sent in batch} <= one.run_ids | two.run_ids, timeout=20)
        if hearing.name == "kafka":
            assert one.run_ids
            assert two.run_ids
            assert len(one.hints) + len(two.hints) == len(batch)


async def test_a_listener_that_is_cancelled_ends_at_once(wake: WakeBench) -> None:
    ear = await wake.ear().__aenter__()
    async with asyncio.timeout(20):
        await ear.close()


async def test_trace_context_travels_in_the_headers(hearing: WakeBench) -> None:
    async with hearing.ear() as ear:
        sent = message(traceparent=TRACEPARENT)
        await hearing.publisher().publish([sent])
        await ear.hears(sent.run_id)
        # A NOTIFY carries many runs, so no trace of one.
        assert ear.hints[0].traceparent == (TRACEPARENT if hearing.name == "kafka" else None)


async def test_without_a_database_url_the_postgres_adapter_is_silent() -> None:
    listener = make_listener(WakeOptions("postgres"), [MODULE])
    await listener.ready()


def _event(**changes: object) -> dict[str, object]:
    data = {"module": MODULE, "run_id": str(uuid4())}
    return {"specversion": "1.0", "id": str(uuid4()), "source": "/test", "type": WakeType.REQUESTED,
            "time": AT.isoformat(), "data": data} | changes  # fmt: skip
