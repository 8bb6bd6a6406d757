"""What the wake-up suite runs on: an adapter against its real server, and an ear that remembers."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self
from uuid import UUID, uuid4

import psycopg
from confluent_kafka import Producer
from fencepost_contracts.wake import WakeType, topic_of
from fencepost_runtime.wake import (
    Hint,
    PoisonRecord,
    WakeListener,
    WakeMessage,
    WakeOptions,
    WakePublisher,
    make_listener,
    make_publisher,
)

from tests.support.eventually import eventually

MODULE = "companion"
AT = datetime(2026, 3, 4, 10, 0, tzinfo=UTC)
TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def message(run_id: UUID | None = None, module: str = MODULE, **fields: Any) -> WakeMessage:
    kind = fields.pop("event_type", WakeType.REQUESTED)
    return WakeMessage(uuid4(), kind, module, run_id or uuid4(), AT, **fields)


class Ear:
    """Runs a listener and remembers what it told. `async with` waits until it hears."""

    def __init__(self, listener: WakeListener) -> None:
        self.listener = listener
        self.hints: list[Hint] = []
        self.poison: list[PoisonRecord] = []
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self.listener.run(self.hints.append, self.poison.append))
        async with asyncio.timeout(30):
            await self.listener.ready()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        assert self._task is not None
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    @property
    def run_ids(self) -> set[UUID]:
        return {hint.run_id for hint in self.hints}

    async def hears(self, *run_ids: UUID, within: float = 20.0) -> None:
        await eventually(lambda: set(run_ids) <= self.run_ids, timeout=within)


@dataclass
class WakeBench:
    """One adapter on its server. `hears`: whether hints come at all (`none` has none)."""

    options: WakeOptions
    hears: bool = True
    opened: list[WakePublisher] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.options.adapter

    def publisher(self) -> WakePublisher:
        publisher = make_publisher(self.options)
        self.opened.append(publisher)
        return publisher

    def ear(self, modules: Sequence[str] = (MODULE,), **changes: Any) -> Ear:
        from dataclasses import replace

        return Ear(make_listener(replace(self.options, **changes), modules))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for publisher in self.opened:
            await publisher.close()

    async def inject(self, values: Sequence[bytes | None]) -> None:
        """Put raw records on the module's topic, all on one partition, past our own writer."""
        topic = topic_of(MODULE, self.options.topic_prefix)
        if self.name == "kafka":
            await asyncio.to_thread(self._produce, topic, values)
        else:
            async with await psycopg.AsyncConnection.connect(
                self.options.listen_url or "", autocommit=True
            ) as connection:
                for value in values:
                    text = (value or b"").decode("latin-1").replace("\x00", "")
                    await connection.execute("SELECT pg_notify(%s, %s)", (topic, text))

    def _produce(self, topic: str, values: Sequence[bytes | None]) -> None:
        producer = Producer({"bootstrap.servers": self.options.kafka_bootstrap})
        for value in values:
            producer.produce(topic, value=value, partition=0)
        assert producer.flush(10) == 0


class LoopWatch:
    """The longest time the event loop didn't come round; a blocking client shows here."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._watch())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            before = loop.time()
            await asyncio.sleep(0.01)
            self.longest = max(self.longest, loop.time() - before)
