"""The test server itself: clones are apart, roles connect, waiting tells what it last saw."""

import psycopg
import pytest

from tests.support.eventually import eventually
from tests.support.postgres import Cluster, Database


def test_databases_of_two_tests_share_nothing(postgres_cluster: Cluster, empty_database: Database) -> None:
    with psycopg.connect(empty_database.dsn()) as connection:
        connection.execute("CREATE TABLE only_here ()")
    other = postgres_cluster.create("fencepost_other")
    with psycopg.connect(other.dsn()) as connection:
        found = connection.execute("SELECT to_regclass('only_here')").fetchone()
    postgres_cluster.drop("fencepost_other")
    assert found == (None,)


def test_a_services_dsn_names_its_role_and_its_database() -> None:
    database = Database("postgresql://postgres:x@127.0.0.1:1/one?sslmode=disable")
    assert database.dsn("api") == (
        "postgresql://fencepost_api:test-api-password@127.0.0.1:1/one?sslmode=disable"
    )


async def test_waiting_ends_with_the_last_answer() -> None:
    answers = iter([None, 0, "yes"])
    assert await eventually(lambda: next(answers)) == "yes"
    with pytest.raises(AssertionError, match="the last answer was 0"):
        await eventually(lambda: 0, timeout=0.01)
