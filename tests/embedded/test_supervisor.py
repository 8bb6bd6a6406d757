"""The embedded mode with stub services: one mesh a folder, nobody left behind, gone on where it was."""

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest
from fencepost.profile import find
from fencepost_cli.embedded import child
from fencepost_cli.embedded.child import ChildFailed
from fencepost_cli.embedded.files import Lock
from fencepost_cli.embedded.postgres import running_server
from fencepost_cli.embedded.probe import is_ready
from fencepost_cli.embedded.supervisor import AlreadyRunning, Embedded
from fencepost_runtime.sockets import bind

from tests.embedded.support import alive, data_folder, stub_mesh
from tests.support.eventually import eventually


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with data_folder() as made:
        yield made


@pytest.fixture(scope="module")
async def mesh(folder: Path) -> AsyncIterator[Embedded]:
    async with stub_mesh(folder / "shared") as running:
        yield running


@pytest.fixture
def own_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with data_folder() as made:
        yield made


async def test_it_is_up_with_a_private_profile(mesh: Embedded) -> None:
    profile = find(data_dir=mesh.data_dir)
    assert profile.url == mesh.url
    assert profile.token.count(".") == 2
    assert profile.token not in repr(profile)
    assert await is_ready(mesh.plan.api_port)


async def test_its_database_is_found_from_the_folder_alone(mesh: Embedded, own_folder: Path) -> None:
    found = running_server(mesh.data_dir)
    assert found is not None
    with psycopg.connect(found.dsn("postgres")) as connection:
        connection.execute("SELECT")
    assert running_server(own_folder) is None


async def test_every_secret_is_readable_by_its_owner_alone(mesh: Embedded) -> None:
    private = [*mesh.identity.folder.iterdir(), *mesh.data_dir.glob("*.admin-password")]
    private.append(mesh.data_dir / "profile.json")
    assert len(private) >= 11
    assert {stat.S_IMODE(path.stat().st_mode) for path in private} == {0o600}


async def test_a_second_one_on_the_same_folder_is_told_where_the_first_is(mesh: Embedded) -> None:
    with pytest.raises(AlreadyRunning) as refused:
        async with stub_mesh(mesh.data_dir):
            pass
    assert mesh.url in str(refused.value)
    assert str(os.getpid()) in str(refused.value)
    assert await is_ready(mesh.plan.api_port), "the first one must not be disturbed"


async def test_a_service_that_dies_is_started_again(mesh: Embedded) -> None:
    first = mesh.pid("worker")
    mesh.children["worker"].send(signal.SIGKILL)
    await mesh.wait_ready("worker", after=first)
    assert mesh.pid("worker") not in (first, None)
    assert await is_ready(mesh.children["worker"].port)


async def test_one_that_worked_and_is_killed_at_each_start_is_not_given_up(
    mesh: Embedded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody shoots faster than it starts; the mesh does not end for that."""
    monkeypatch.setattr(child, "LONGEST_PAUSE_SECONDS", 0.1)
    worker = mesh.children["worker"]
    for _ in range(child.FAILED_STARTS + 1):
        shot = worker.pid
        worker.send(signal.SIGKILL)
        await eventually(lambda before=shot: worker.pid not in (before, None))
    await mesh.wait_ready("worker", after=shot)


async def test_a_service_killed_on_purpose_stays_down_until_started(mesh: Embedded) -> None:
    starts = mesh.children["worker"].starts
    await mesh.kill("worker")
    assert mesh.pid("worker") is None
    await mesh.start("worker", {"FENCEPOST_EXTRA": "1"})
    assert mesh.children["worker"].starts == starts + 1
    assert "FENCEPOST_EXTRA" in (mesh.logs / "worker.log").read_text()


async def test_a_call_during_a_restart_waits_and_is_answered(mesh: Embedded) -> None:
    first = mesh.pid("api")
    mesh.children["api"].send(signal.SIGKILL)
    await eventually(lambda: not alive(first))
    assert await is_ready(mesh.plan.api_port), "the supervisor holds the address meanwhile"


async def test_a_service_that_is_down_on_purpose_refuses_calls(mesh: Embedded) -> None:
    await mesh.kill("api")
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", mesh.plan.api_port)
    await mesh.start("api")
    assert await is_ready(mesh.plan.api_port)


async def test_one_more_of_a_kind_gets_its_own_name_port_and_log(mesh: Embedded) -> None:
    await mesh.start_service("reconciler", "reconciler-2")
    assert await is_ready(mesh.children["reconciler-2"].port)
    assert (mesh.logs / "reconciler-2.log").exists()


async def test_no_service_is_told_anothers_secret(mesh: Embedded) -> None:
    told = mesh.children["api"].spec.env
    admin, worker = mesh.postgres.admin_password, mesh.identity.database_passwords()["fencepost_worker"]
    assert not [name for name, value in told.items() if admin in value or worker in value]
    assert "FENCEPOST_SERVICE_SECRET_FILE" not in told


async def test_a_killed_postgres_comes_back_with_its_rows(mesh: Embedded) -> None:
    with psycopg.connect(mesh.postgres.dsn("postgres"), autocommit=True) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    first = mesh.pid("postgres")
    await mesh.kill("postgres")

    def answer() -> object:
        try:
            with psycopg.connect(mesh.postgres.dsn("postgres"), connect_timeout=2) as connection:
                return connection.execute("SELECT answer FROM kept").fetchone()
        except psycopg.OperationalError:
            return None

    assert await eventually(answer, timeout=30) == (42,)
    assert mesh.pid("postgres") != first


async def test_a_postgres_killed_while_it_recovers_is_started_once_more(mesh: Embedded) -> None:
    killed: set[int | None] = {None}
    for _ in range(3):

        def another() -> int | None:
            pid = mesh.pid("postgres")
            return pid if pid not in killed and pid is not None and alive(pid) else None

        pid = await eventually(another, every=0.005)
        killed.add(pid)
        await mesh.kill("postgres")

    def answers() -> bool:
        try:
            with psycopg.connect(mesh.postgres.dsn("postgres"), connect_timeout=2) as connection:
                return connection.execute("SELECT true").fetchone() == (True,)
        except psycopg.Error:
            return False

    assert await eventually(answers, timeout=30.0)


async def test_a_slot_that_a_zombie_holds_is_not_used_twice(own_folder: Path) -> None:
    (own_folder / "slots").mkdir()
    held_by_a_zombie = Lock(own_folder / "slots" / "worker-0.lock")
    async with stub_mesh(own_folder, services=("worker",)) as mesh:
        assert "slot=worker-1" in (mesh.logs / "worker.log").read_text()
        own = own_folder / "slots" / "worker-1.lock"
        with pytest.raises(RuntimeError, match="is held"):
            Lock(own)
    Lock(own).release()
    held_by_a_zombie.release()


async def test_the_schema_is_brought_up_once_and_again_when_a_password_changed(own_folder: Path) -> None:
    for lost in (None, None, "db-fencepost_api"):
        if lost:
            (own_folder / "secrets" / lost).unlink()
        async with stub_mesh(own_folder, services=(), migrations=True) as mesh:
            stamp = (mesh.postgres.directory / "schema").stat().st_mtime_ns
            with psycopg.connect(mesh.dsn("api")) as connection:
                connection.execute("SELECT FROM agent.runs")
        if lost is None:
            before = stamp
    assert stamp > before


async def test_it_ends_in_order_and_goes_on_where_it_was(own_folder: Path) -> None:
    async with stub_mesh(own_folder) as mesh:
        url, pids = mesh.url, [mesh.pid(name) for name in ("api", "worker", "postgres")]
        with psycopg.connect(mesh.postgres.dsn("postgres"), autocommit=True) as connection:
            connection.execute("CREATE TABLE kept ()")
    assert not [pid for pid in pids if alive(pid)]
    assert "ended in order" in (own_folder / "logs" / "api.log").read_text()
    async with stub_mesh(own_folder) as mesh:
        assert mesh.url == url
        with psycopg.connect(mesh.postgres.dsn("postgres")) as connection:
            connection.execute("SELECT FROM kept")
        assert (mesh.logs / "api.log.1").exists()


@pytest.mark.parametrize(("code", "starts"), [(78, 1), (1, 4)])
async def test_what_never_starts_is_given_up_with_its_last_words(
    own_folder: Path, code: int, starts: int
) -> None:
    mesh = stub_mesh(own_folder, services=("api",), env={"STUB_EXIT": str(code)})
    with pytest.raises(ChildFailed) as failed:
        async with mesh:
            pass
    assert mesh.children["api"].starts == starts
    for said in (f"exit code {code}", "last words", str(mesh.logs / "api.log")):
        assert said in str(failed.value)
    assert not mesh.postgres.running


async def test_a_taken_port_is_said_in_plain_words(own_folder: Path) -> None:
    with bind("127.0.0.1", 0) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ChildFailed, match=f"port {port} is taken"):
            async with stub_mesh(own_folder, port=port):
                pass


SUPERVISOR = """
import asyncio, json, sys
from pathlib import Path
sys.path.insert(0, ".")
from tests.embedded.support import stub_mesh
async def main():
    async with stub_mesh(Path(sys.argv[1])) as mesh:
        print(json.dumps([mesh.pid(name) for name in ("api", "worker", "postgres")]), flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
"""


async def test_a_supervisor_killed_with_sigkill_leaves_nobody(own_folder: Path) -> None:
    with subprocess.Popen(  # noqa: ASYNC220 - read in a thread
        [sys.executable, "-c", SUPERVISOR, str(own_folder)], stdout=subprocess.PIPE, text=True
    ) as supervisor:
        assert supervisor.stdout
        pids = json.loads(await asyncio.to_thread(supervisor.stdout.readline))
        assert all(map(alive, pids))
        supervisor.kill()
    await eventually(lambda: not [pid for pid in pids if alive(pid)])
    async with stub_mesh(own_folder) as mesh:
        assert await is_ready(mesh.plan.api_port)
