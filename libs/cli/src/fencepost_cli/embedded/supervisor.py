"""The whole mesh on one machine: Postgres, migrations, the services, each a supervised child.

    async with Embedded(data_dir) as mesh:
        mesh.url, mesh.token, mesh.logs

One data folder has one living mesh at a time. A later one goes on where it was. Children end with the
supervisor, SIGKILL included: each holds a pipe that the kernel closes with us.
"""

import asyncio
import json
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from fencepost_cli.embedded.bring_up_schema import bring_up_once
from fencepost_cli.embedded.child import Child, ChildFailed, State
from fencepost_cli.embedded.files import Lock, Locked, rotate
from fencepost_cli.embedded.identity import Identity
from fencepost_cli.embedded.ports import free_port, remembered_port
from fencepost_cli.embedded.postgres import PostgresFailed, PostgresServer
from fencepost_cli.embedded.profile import Profile, write_profile
from fencepost_cli.embedded.services import COMMANDS, Plan

if TYPE_CHECKING:
    from fencepost_cli.embedded.broker import Broker

DATABASE: Final = "fencepost"
API_PORT: Final = 8080  # the first choice; another free one when it is taken
POSTGRES_STARTS: Final = 8  # in a row: each may be killed while it recovers; a broken cluster fails them all
POSTGRES_PAUSE_SECONDS: Final = 0.5
STOP_SECONDS: Final = 8.0  # a drain that takes longer is cut: the lease brings the work back

Tell = Callable[[str], None]


class AlreadyRunning(RuntimeError):
    """Another mesh lives on this data folder."""

    def __init__(self, data_dir: Path, holder: str) -> None:
        found: dict[str, object] = {}
        with suppress(ValueError):
            found = json.loads(holder)
        self.url, self.pid = found.get("url"), found.get("pid")
        where = f"at {self.url} (process {self.pid})" if self.url else f"(process {self.pid}, still starting)"
        super().__init__(f"Fencepost already runs on {data_dir} {where}")


class Embedded:
    """See the module. `services` names the kinds to start; `commands` replaces what a kind runs."""

    def __init__(
        self,
        data_dir: Path,
        *,
        port: int | None = None,
        kafka: bool = False,
        modules: Sequence[str] = (),
        failpoints: Path | None = None,
        env: Mapping[str, str] | None = None,
        tell: Tell = lambda _: None,
        services: Sequence[str] = ("gateway", "api", "reconciler", "worker"),
        commands: Mapping[str, Sequence[str]] = COMMANDS,
        migrations: bool = True,
    ) -> None:
        self.data_dir = data_dir.absolute()
        self.logs = self.data_dir / "logs"
        self.identity = Identity(self.data_dir / "secrets")
        self.children: dict[str, Child] = {}
        self._port, self._kafka, self._modules = port, kafka, tuple(modules)
        self._failpoints, self._env, self._tell = failpoints, dict(env or {}), tell
        self._services, self._commands, self._migrations = tuple(services), commands, migrations
        self._lock: Lock | None = None
        self._postgres: PostgresServer | None = None
        self._broker: Broker | None = None
        self._watch: asyncio.Task[None] | None = None
        self._plan: Plan | None = None
        self._pipe: tuple[int, int] | None = None
        self.ready = False
        self.ready = False

    # ── what callers see ────────────────────────────────────────────────────────────────────────

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.plan.api_port}"

    @property
    def token(self) -> str:
        return self.identity.mint_token()

    @property
    def plan(self) -> Plan:
        assert self._plan, "start the mesh first"
        return self._plan

    @property
    def postgres(self) -> PostgresServer:
        assert self._postgres, "start the mesh first"
        return self._postgres

    @property
    def broker(self) -> "Broker | None":
        return self._broker

    def dsn(self, role: str = "admin") -> str:
        """Of `admin`, or of a service's role: api, worker, gateway, reconciler."""
        if role == "admin":
            return self.postgres.dsn(DATABASE)
        name = f"fencepost_{role.removeprefix('fencepost_')}"
        return self.postgres.dsn(DATABASE, name, self.identity.database_passwords()[name])

    def pid(self, name: str) -> int | None:
        """Of a service, or of `postgres`; None while it is down."""
        return self.postgres.pid if name == "postgres" else self.children[name].pid

    async def start_service(
        self, kind: str, name: str | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        """Start one more (`reconciler`, `reconciler-2`) and wait until it is ready. Raises ChildFailed."""
        spec = self.plan.spec(kind, name, env)
        assert self._pipe
        child = Child(spec, self.logs / f"{spec.name}.log", self.data_dir / "slots", self._pipe[0])
        self.children[spec.name] = child
        child.start()
        await child.wait_ready()

    async def stop(self, name: str) -> None:
        """End a service in order; it stays down until start()."""
        await self.children[name].stop(STOP_SECONDS)

    async def kill(self, name: str) -> None:
        """SIGKILL; it stays down until start(). `postgres` is started again by itself."""
        if name != "postgres":
            await self.children[name].kill()
        elif pid := self.postgres.pid:
            os.kill(pid, signal.SIGKILL)

    async def start(self, name: str, env: Mapping[str, str] | None = None) -> None:
        """Start a service that is down, with more environment for this time."""
        self.children[name].start(env)
        await self.children[name].wait_ready()

    async def restart(self, name: str, env: Mapping[str, str] | None = None) -> None:
        await self.stop(name)
        await self.start(name, env)

    async def wait_ready(self, name: str, after: int | None = None) -> None:
        """Wait until a service is back; `after` is the pid that a failpoint killed. Raises ChildFailed."""
        await self.children[name].wait_ready(after)

    async def wait_failed(self) -> BaseException:
        """Return, with what it said, when a service or Postgres gave up for good."""
        while True:
            for child in self.children.values():
                if child.failure:
                    return child.failure
            if self._watch and self._watch.done() and (failure := self._watch.exception()):
                return failure
            await asyncio.sleep(0.5)

    # ── start and end ───────────────────────────────────────────────────────────────────────────

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:
            await self._end()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._end()

    async def _start(self) -> None:
        # Others may pass through, so that the server's own user reaches its folder; secrets are 0600.
        try:
            self.data_dir.mkdir(mode=0o711, parents=True, exist_ok=True)
        except OSError as error:
            made = f"FENCEPOST_DATA_DIR or --data-dir: {self.data_dir} can't be made"
            raise OSError(f"{made} ({error.strerror})") from error
        self._take_lock()
        for log in self._rotated_logs():
            rotate(log)
        self._pipe = os.pipe()
        self.identity.make()
        self._tell("starting Postgres")
        self._postgres = PostgresServer(self.data_dir / "postgres", self.logs / "postgres.log")
        broker = asyncio.create_task(self._start_broker())
        try:
            await asyncio.to_thread(self._postgres.start)
            await self._migrate()
        finally:
            await asyncio.wait([broker])
        broker.result()
        self._watch = asyncio.create_task(self._keep_postgres(self._postgres))
        self._plan = self._make_plan()
        self._tell(f"starting {', '.join(self._services)}")
        await self._start_services()
        write_profile(self.data_dir, Profile(self.url, self.token))
        assert self._lock
        self._lock.write(json.dumps({"pid": os.getpid(), "url": self.url}))
        self.ready = True
        self.ready = True

    def _take_lock(self) -> None:
        try:
            self._lock = Lock(self.data_dir / "up.lock")
        except Locked as held:
            raise AlreadyRunning(self.data_dir, held.holder) from None
        self._lock.write(json.dumps({"pid": os.getpid()}))

    def _rotated_logs(self) -> list[Path]:
        self.logs.mkdir(mode=0o700, parents=True, exist_ok=True)
        return [path for path in self.logs.glob("*.log") if path.stat().st_size]

    async def _start_broker(self) -> None:
        if self._kafka:
            from fencepost_cli.embedded.broker import start_broker  # Kafka's client only where it is used

            self._tell("starting Kafka")
            self._broker = await asyncio.to_thread(start_broker, self.data_dir / "kafka")

    async def _migrate(self) -> None:
        if not self._migrations:
            return
        self._tell("bringing the database up to date")
        passwords = self.identity.database_passwords()
        stamp = self.postgres.directory / "schema"
        await bring_up_once(stamp, self.postgres.dsn("postgres"), self.dsn(), DATABASE, passwords)

    def _make_plan(self) -> Plan:
        if self._port and not free_port(self._port):
            raise ChildFailed(f"port {self._port} is taken by somebody else; choose another or none")
        return Plan(
            data_dir=self.data_dir,
            identity=self.identity,
            database={kind: self.dsn(kind) for kind in self._commands},
            api_port=self._port or remembered_port(self.data_dir / "api-port", API_PORT),
            gateway_port=remembered_port(self.data_dir / "gateway-port"),
            kafka_bootstrap=self._broker.bootstrap if self._broker else None,
            failpoints=self._failpoints,
            env=self._env,
            commands=self._commands,
        )

    async def _start_services(self) -> None:
        workers = {f"worker-{module}": module for module in self._modules}
        starts = [self.start_service(kind) for kind in self._services if kind != "worker" or not workers]
        for name, module in workers.items():
            starts.append(self.start_service("worker", name, {"FENCEPOST_WORKER_MODULES": module}))
        await asyncio.gather(*starts)

    async def _keep_postgres(self, server: PostgresServer) -> None:
        while True:
            await asyncio.to_thread(server.wait)
            self._tell("Postgres ended; starting it again")
            await self._start_again(server)

    async def _start_again(self, server: PostgresServer) -> None:
        """One that is killed while it recovers is started once more; raises what it said in the end."""
        for remaining in reversed(range(POSTGRES_STARTS)):
            try:
                await asyncio.to_thread(server.start)
                return
            except PostgresFailed:
                if not remaining:
                    raise
            await asyncio.sleep(POSTGRES_PAUSE_SECONDS)

    async def _end(self) -> None:
        """The callers of the gateway first, then the gateway, the database last."""
        first = [child for name, child in self.children.items() if not name.startswith("gateway")]
        last = [child for name, child in self.children.items() if name.startswith("gateway")]
        for group in (first, last):
            await asyncio.gather(*(child.stop(STOP_SECONDS) for child in group), return_exceptions=True)
        if self._watch:
            self._watch.cancel()
        if self._broker:
            await asyncio.to_thread(self._broker.stop)
        if self._postgres:
            await asyncio.to_thread(self._postgres.stop)
        if self._pipe:
            for descriptor in self._pipe:
                os.close(descriptor)
            self._pipe = None
        if self._lock:
            self._lock.release()
            self._lock = None


__all__ = ["AlreadyRunning", "ChildFailed", "Embedded", "State"]
