"""Every named statement says why, what it locks and what comes back, and plans on the migrated schema."""

import itertools
import re
from typing import Final

import psycopg
import pytest
from fencepost_store.sql import parse
from sqlalchemy import text
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

from tests.architecture.shape import ROOT
from tests.support.postgres import Cluster

FOLDER: Final = ROOT / "libs/store/src/fencepost_store/sql"
MUST_SAY: Final = ("Why:", "Locks:", "Result:")
COMPLETED: Final = re.compile(r"\{[a-z_]+\}")  # filled in before it runs; plans without as well

STATEMENTS: Final = [
    pytest.param(body, id=f"{path.stem}.{name}")
    for path in sorted(FOLDER.glob("*.sql"))
    for name, body in parse(path.read_text()).items()
]


def header(body: str) -> str:
    lines = []
    for line in body.strip().splitlines():
        if not line.startswith("--"):
            break
        lines.append(line.removeprefix("--"))
    return " ".join(lines)


def missing_words(body: str) -> list[str]:
    return [word for word in MUST_SAY if word not in header(body)]


def prepared(body: str) -> tuple[str, int]:
    """The statement with $1, $2 for its parameters, and how many there are.

    One number an occurrence: the same value may be an integer here and a numeric there.
    """
    code = "\n".join(line.partition("--")[0] for line in body.splitlines())  # a comment may name one too
    compiled = text(COMPLETED.sub("", code)).compile(dialect=PGDialect_psycopg())
    numbers = itertools.count(1)
    statement, parameters = re.subn(r"%\(\w+\)s", lambda _: f"${next(numbers)}", str(compiled))
    return statement.replace("%%", "%"), parameters


def refusal(connection: psycopg.Connection[tuple[object, ...]], body: str) -> str | None:
    """Why the server can't plan it, or None."""
    statement, parameters = prepared(body)
    nulls = f"({', '.join(['NULL'] * parameters)})" if parameters else ""
    try:
        with connection.transaction(force_rollback=True):
            connection.execute("SET LOCAL plan_cache_mode = force_generic_plan")
            connection.execute(f"PREPARE planned AS {statement}", prepare=False)
            connection.execute(f"EXPLAIN EXECUTE planned{nulls}", prepare=False)
            connection.execute("DEALLOCATE planned")
    except psycopg.Error as error:
        connection.execute("DEALLOCATE ALL")
        return str(error)
    return None


@pytest.fixture(scope="module")
def schema(postgres_cluster: Cluster, migrated_template: str):  # type: ignore[no-untyped-def]
    database = postgres_cluster.create("fencepost_plans", migrated_template)
    with psycopg.connect(database.dsn(), autocommit=True) as connection:
        yield connection
    postgres_cluster.drop("fencepost_plans")


@pytest.mark.parametrize("body", STATEMENTS)
def test_a_statement_says_why_what_it_locks_and_what_comes_back(body: str) -> None:
    assert missing_words(body) == []


@pytest.mark.parametrize("body", STATEMENTS)
def test_a_statement_plans_on_the_migrated_schema(
    schema: psycopg.Connection[tuple[object, ...]], body: str
) -> None:
    assert refusal(schema, body) is None


@pytest.mark.parametrize("body", STATEMENTS)
def test_no_statement_takes_a_lock_that_the_design_forbids(body: str) -> None:
    code = " ".join(line.partition("--")[0] for line in body.splitlines()).upper()
    assert not re.search(r"FOR\s+(KEY\s+)?SHARE", code), "FOR SHARE deadlocks with an append (design 02 §2)"


def test_the_gate_of_recovery_reads_no_table_whole(schema: psycopg.Connection[tuple[object, ...]]) -> None:
    """It is asked at every claim of a run that was worked on before, most of all after a crash."""
    body = parse((FOLDER / "recovery.sql").read_text())["recovery_facts"]
    statement, parameters = prepared(body)
    with schema.transaction(force_rollback=True):
        schema.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        schema.execute("SET LOCAL enable_seqscan = off")  # empty tables: what an index can't answer is left
        schema.execute(f"PREPARE planned AS {statement}", prepare=False)
        nulls = ", ".join(["NULL"] * parameters)
        plan = schema.execute(f"EXPLAIN EXECUTE planned ({nulls})", prepare=False).fetchall()
        schema.execute("DEALLOCATE planned")
    assert [line for (line,) in plan if "Seq Scan" in str(line)] == []


def test_planted_faults_are_found(schema: psycopg.Connection[tuple[object, ...]]) -> None:
    assert missing_words("-- Why: none\nSELECT 1") == ["Locks:", "Result:"]
    assert "does not exist" in (refusal(schema, "SELECT no_such_column FROM agent.runs") or "")
    assert refusal(schema, "SELECT id FROM agent.runs WHERE id = :id") is None
