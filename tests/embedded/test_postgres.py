"""The server child: whose notes it clears, whom it may run as, what it never touches."""

import os
import shutil
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from fencepost_cli.embedded import accounts
from fencepost_cli.embedded.accounts import Account, find_binaries, place_for, server_account
from fencepost_cli.embedded.postgres import PostgresFailed, PostgresServer

from tests.embedded.support import alive, data_folder
from tests.support.eventually import eventually

as_root = pytest.mark.skipif(os.getuid() != 0, reason="only root changes accounts")


@pytest.fixture
def folder() -> Iterator[Path]:
    with data_folder() as made:
        yield made


@pytest.fixture
def server(folder: Path) -> Iterator[PostgresServer]:
    made = PostgresServer(folder / "postgres", folder / "postgres.log", durable=False)
    yield made
    made.stop()


def test_it_listens_on_loopback_with_passwords_only(server: PostgresServer) -> None:
    server.start()
    with psycopg.connect(server.dsn("postgres")) as connection:
        shown = connection.execute(
            "SELECT current_setting('listen_addresses'), current_setting('unix_socket_directories')"
        ).fetchone()
        assert shown == ("127.0.0.1", "")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(server.dsn("postgres", password="wrong"))


def test_what_is_promised_durable_is_durable(folder: Path) -> None:
    server = PostgresServer(folder / "postgres", folder / "postgres.log")
    server.start()
    with psycopg.connect(server.dsn("postgres")) as connection:
        names = ("fsync", "full_page_writes", "synchronous_commit")
        shown = [connection.execute(f"SHOW {name}").fetchone() for name in names]
    server.stop()
    assert shown == [("on",)] * 3


def test_a_note_of_a_dead_server_is_cleared_though_its_number_lives(server: PostgresServer) -> None:
    server.start()
    note = server.data / "postmaster.pid"
    content = note.read_text().splitlines()
    server.stop()
    note.write_text("\n".join([str(os.getpid()), *content[1:]]) + "\n")
    server.start()
    assert server.running


async def test_an_orphan_is_ended_before_the_next_start(server: PostgresServer, folder: Path) -> None:
    server.start()
    orphan = server.pid
    assert orphan
    os.kill(orphan, signal.SIGSTOP)  # deaf to its watchdog as well
    next_one = PostgresServer(folder / "postgres", folder / "postgres.log", durable=False)
    os.kill(orphan, signal.SIGCONT)
    next_one.start()
    await eventually(lambda: not alive(orphan))
    assert next_one.pid != orphan
    next_one.stop()


def test_a_server_that_cannot_start_says_why(folder: Path) -> None:
    server = PostgresServer(folder / "postgres", folder / "log", settings={"shared_buffers": "nonsense"})
    with pytest.raises(PostgresFailed, match="shared_buffers"):
        server.start()


@as_root
def test_a_closed_folder_is_left_closed_and_the_cluster_goes_elsewhere(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accounts, "STATE", folder / "state")
    closed = folder / "home"
    closed.mkdir(mode=0o700)
    placed = place_for(closed / "data" / "postgres", server_account())
    assert placed.is_relative_to(folder / "state")
    assert placed == place_for(closed / "data" / "postgres", server_account())
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700

    shutil.rmtree(closed / "data")
    anew = place_for(closed / "data" / "postgres", server_account())
    assert anew != placed, "who deletes the data folder starts afresh"
    assert not placed.exists()


@as_root
def test_binaries_out_of_reach_are_copied_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(accounts.BINARIES_VARIABLE, raising=False)
    monkeypatch.setattr(accounts, "CACHE", folder / "cache")
    monkeypatch.setattr(Account, "reaches", lambda self, path: "cache" in path.parts)
    first = find_binaries(server_account())
    assert first.is_relative_to(folder / "cache")
    made = first.stat().st_ino
    assert find_binaries(server_account()).stat().st_ino == made


@as_root
def test_the_server_runs_as_nobody(server: PostgresServer) -> None:
    server.start()
    assert Path(f"/proc/{server.pid}").stat().st_uid == server_account().uid
