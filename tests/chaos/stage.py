"""The mesh under chaos: two workers, two reconcilers, and a line of ours before Postgres."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import psycopg
from fencepost_cli.embedded.supervisor import Embedded
from fencepost_contracts.wake import topic_of
from fencepost_runtime.failpoints import Action, arm

from tests.chaos.clocks import Clocks
from tests.chaos.proxy import Line, line_to
from tests.chaos.schedule import SERVICES, Fault

SLOWED: Final = 0.06  # seconds a chunk on a slow line
POISON: Final = ("\xff\xfe", "", '{"runs": 7}', '{"specversion":"9","data":null}')
MODULE: Final = "life"


@dataclass
class Stage:
    """Does what a fault says. `crashes` counts processes ended by us, the failpoints' included."""

    mesh: Embedded
    line: Line
    clocks: Clocks
    failpoints: Path
    crashes: int = 0
    postgres_ended: int = 0
    armed: int = 0
    _begun: list[asyncio.Task[None]] = field(default_factory=list)
    _broker_turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def play(self, faults: list[Fault], say: Callable[[str], None]) -> None:
        """Each fault at its time, whatever the others still do; returns when the last one is over."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        for fault in faults:
            await asyncio.sleep(max(began + fault.at - loop.time(), 0.0))
            say(str(fault))
            self._begin(self._do(fault))
        await asyncio.gather(*self._begun)  # a fault that could not be done is an error of ours

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        self._begun.append(asyncio.ensure_future(work))

    async def _do(self, fault: Fault) -> None:
        name = fault.kind.replace(".", "_")
        await getattr(self, f"_{name}")(fault)

    # ── processes ───────────────────────────────────────────────────────────────────────────────────

    async def _kill(self, fault: Fault) -> None:
        self.crashes += self._send(fault.target, signal.SIGKILL)

    async def _terminate(self, fault: Fault) -> None:
        self._send(fault.target, signal.SIGTERM)

    async def _freeze(self, fault: Fault) -> None:
        pid = self.mesh.children[fault.target].pid
        self._send(fault.target, signal.SIGSTOP)
        await asyncio.sleep(fault.lasts)
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    async def _failpoint(self, fault: Fault) -> None:
        arm(self.failpoints, fault.target, Action.KILL)
        self.armed += 1

    def _send(self, name: str, number: signal.Signals) -> bool:
        child = self.mesh.children[name]
        if child.pid is None:
            return False
        with suppress(ProcessLookupError):
            child.send(number)
        return True

    # ── Postgres ────────────────────────────────────────────────────────────────────────────────────

    async def _postgres_kill(self, _: Fault) -> None:
        await self._end_postgres(signal.SIGKILL)

    async def _postgres_restart(self, _: Fault) -> None:
        await self._end_postgres(signal.SIGINT)

    async def _end_postgres(self, number: signal.Signals) -> None:
        pid = self.mesh.pid("postgres")
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, number)
                self.postgres_ended += 1

    async def _postgres_cut(self, _: Fault) -> None:
        self.line.cut()

    async def _postgres_hang(self, fault: Fault) -> None:
        self.line.set("hang")
        await asyncio.sleep(fault.lasts)
        self.line.set("open")

    async def _postgres_slow(self, fault: Fault) -> None:
        self.line.delay = SLOWED
        await asyncio.sleep(fault.lasts)
        self.line.delay = 0.0

    # ── hints and clocks ────────────────────────────────────────────────────────────────────────────

    async def _hints_twice(self, _: Fault) -> None:
        """What was sent in the last minute is sent again, by whatever adapter there is."""
        await self._sql(
            "UPDATE agent.outbox SET published_at = NULL"
            " WHERE published_at > clock_timestamp() - interval '1 minute'"
        )

    async def _hints_poison(self, _: Fault) -> None:
        if self.mesh.broker is not None:
            await asyncio.to_thread(_poison_topic, self.mesh.broker.bootstrap)
            return
        for payload in POISON:
            await self._sql("SELECT pg_notify(%s, %s)", topic_of(MODULE), payload)

    async def _kafka_stop(self, fault: Fault) -> None:
        broker = self.mesh.broker
        if broker is None or not broker.can_stop:
            return
        async with self._broker_turn:  # the next one waits until it is up again
            await asyncio.to_thread(broker.stop)
            await asyncio.sleep(fault.lasts)
            await asyncio.to_thread(broker.start)

    async def _clock(self, fault: Fault) -> None:
        name, jump = fault.target.split()
        self.clocks.jump(name, int(jump))
        await asyncio.sleep(fault.lasts)
        self.clocks.jump(name, 0)

    async def _sql(self, statement: str, *params: object) -> None:
        """Past the line, as the owner; while the server is down it is left out."""
        with suppress(psycopg.Error):
            async with await psycopg.AsyncConnection.connect(
                self.mesh.dsn(), connect_timeout=2
            ) as connection:
                await connection.execute(statement, params)  # type: ignore[arg-type]

    def disarm(self) -> None:
        """Take back what nobody has reached."""
        for path in self.failpoints.iterdir():
            if ".hit." not in path.name:
                path.unlink(missing_ok=True)

    def failpoints_hit(self) -> int:
        return len(list(self.failpoints.glob("*.hit.*")))


def _poison_topic(bootstrap: str) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": bootstrap, "message.timeout.ms": 3_000})
    for payload in (*(text.encode("latin-1") for text in POISON), None):
        producer.produce(topic_of(MODULE), payload)
    producer.flush(4)


def _through(dsn: str, port: int) -> str:
    parts = urlsplit(dsn)
    login = parts.netloc.rpartition("@")[0]
    return urlunsplit(parts._replace(netloc=f"{login}@127.0.0.1:{port}"))


@asynccontextmanager
async def staged(folder: Path, model_url: str, *, kafka: bool) -> AsyncIterator[Stage]:
    """Everything up, at default settings, on real durability."""
    failpoints = folder / "failpoints"
    failpoints.mkdir(parents=True, exist_ok=True)
    clocks = Clocks(folder / "clocks", SERVICES)
    env = {"FENCEPOST_MODEL_URL": model_url, "FENCEPOST_MODEL_NAME": "scripted"}
    mesh = Embedded(folder, kafka=kafka, failpoints=failpoints, env=env, services=())
    async with mesh, line_to(lambda: ("127.0.0.1", mesh.postgres.port)) as line:

        async def start(name: str) -> None:
            kind = name.partition("-")[0]
            dsn = _through(mesh.dsn(kind), line.port)
            urls = {"FENCEPOST_DATABASE_URL": dsn, "FENCEPOST_DATABASE_DIRECT_URL": dsn}
            await mesh.start_service(kind, name, {**urls, **clocks.environment(name)})

        await asyncio.gather(*(start(name) for name in SERVICES))
        yield Stage(mesh, line, clocks, failpoints)
