"""The event hash is the same in SQL and in Python, byte for byte: golden vectors bind the two (I20).

A vector that changes is a new version of the chain: every history written so far would no longer verify.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import psycopg
import pytest
from fencepost_domain.chain import GENESIS, ChainedEvent, event_hash, payload_hash, verify_chain
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.postgres import Database

RUN = UUID("0190b0c4-7d00-7a00-8000-000000000001")
EVENT = UUID("0190b0c4-7d01-7b00-9000-000000000002")
FIRST = ChainedEvent(
    run_id=RUN,
    seq=1,
    id=EVENT,
    type="run.requested",
    schema_version=1,
    actor="user:u1",
    at=datetime(2026, 3, 4, 10, 0, 0, 123456, tzinfo=UTC),
    causation_id=None,
    correlation_id=None,
    payload_hash=payload_hash(bytes(range(16)), b'{"mode":"live","module":"life"}'),
    prev_hash=GENESIS,
    hash=b"",
)
GOLDEN = {
    "the first event": (FIRST, "c1d41cfd2914ac30097f33ad12a908fe54f8419b65260b7b3044e1e16dcc19da"),
    "every field said": (
        replace(
            FIRST,
            seq=2**40,
            type="action.committed",
            schema_version=2,
            actor="worker:槽-1:启动",
            causation_id=UUID(int=7),
            correlation_id=UUID(int=2**128 - 1),
            prev_hash=bytes(range(32)),
        ),
        "da55954adf9e83d4e4c626e7321658af58b51933a41023df5551133f043b6823",
    ),
    "an empty actor is not a missing one": (
        replace(FIRST, actor=""),
        "2479e8f911f021f1daad54013a060f72f611f8264d636c0491125da50e5cd748",
    ),
    "before 1970": (
        replace(FIRST, at=datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)),
        "301e9557db5a14bba9f7f17dcd798784dc5c81ff6730c8b2dc00269a79690c8f",
    ),
}
IN_SQL = """SELECT agent.event_hash(%(run_id)s, %(seq)s, %(id)s, %(type)s, %(schema_version)s, %(actor)s,
                                    %(at)s, %(causation_id)s, %(correlation_id)s, %(payload_hash)s,
                                    %(prev_hash)s)"""


def by_sql(connection: psycopg.Connection[tuple[bytes]], event: ChainedEvent) -> bytes:
    fields = {name: getattr(event, name) for name in ChainedEvent.__slots__ if name != "hash"}
    row = connection.execute(IN_SQL, fields).fetchone()
    assert row is not None
    return bytes(row[0])


@pytest.mark.parametrize("name", GOLDEN)
def test_a_golden_vector_is_the_same_in_both(database: Database, name: str) -> None:
    event, golden = GOLDEN[name]
    assert event_hash(event).hex() == golden
    with psycopg.connect(database.admin, autocommit=True) as connection:
        assert by_sql(connection, event).hex() == golden


def test_the_golden_payload_hash() -> None:
    """SHA-256 over salt and RFC 8785 bytes, in this order and with nothing between."""
    assert FIRST.payload_hash.hex() == "2860c9b63cf4b1916178a8d5f906fa0fad1ebe11fddcd78f9e96684bab12f0f1"


text = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=40)


@pytest.fixture(scope="module")
def connection(postgres_cluster: object, migrated_template: str) -> object:
    name = "fencepost_vectors"
    database = postgres_cluster.create(name, migrated_template)  # type: ignore[attr-defined]
    with psycopg.connect(database.admin, autocommit=True) as opened:
        yield opened
    postgres_cluster.drop(name)  # type: ignore[attr-defined]


@settings(deadline=None, max_examples=150)
@given(
    seq=st.integers(1, 2**62),
    kind=text,
    version=st.integers(1, 2**30),
    actor=text,
    at=st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)),
    causes=st.tuples(st.none() | st.uuids(), st.none() | st.uuids()),
    hashes=st.tuples(st.binary(min_size=32, max_size=32), st.binary(min_size=32, max_size=32)),
)
def test_any_event_hashes_the_same_in_both(
    connection: psycopg.Connection[tuple[bytes]],
    seq: int,
    kind: str,
    version: int,
    actor: str,
    at: datetime,
    causes: tuple[UUID | None, UUID | None],
    hashes: tuple[bytes, bytes],
) -> None:
    event = ChainedEvent(
        RUN, seq, EVENT, kind, version, actor, at.replace(tzinfo=UTC), *causes, *hashes, hash=b""
    )
    assert by_sql(connection, event) == event_hash(event)


CHANGES = {
    "run_id": UUID(int=5),
    "seq": 2,
    "id": UUID(int=6),
    "type": "run.requestee",
    "schema_version": 2,
    "actor": "user:u2",
    "at": FIRST.at + timedelta(microseconds=1),
    "causation_id": UUID(int=1),
    "correlation_id": UUID(int=1),
    "payload_hash": bytes(32),
    "prev_hash": bytes([1]) * 32,
}


def test_every_field_of_the_envelope_is_covered() -> None:
    assert set(CHANGES) == set(ChainedEvent.__slots__) - {"hash"}


@pytest.mark.parametrize("name", CHANGES)
def test_changing_a_field_changes_the_hash(name: str) -> None:
    assert event_hash(
        replace(FIRST, **{name: CHANGES[name]})  # type: ignore[arg-type]
    ) != event_hash(FIRST)


def test_what_moves_from_one_field_to_the_next_is_seen() -> None:
    """Length-delimited: `ab` + `c` is not `a` + `bc`."""
    assert event_hash(replace(FIRST, type="ab", actor="c")) != event_hash(
        replace(FIRST, type="a", actor="bc")
    )


def chain(count: int) -> list[ChainedEvent]:
    events: list[ChainedEvent] = []
    for seq in range(1, count + 1):
        event = replace(FIRST, seq=seq, prev_hash=events[-1].hash if events else GENESIS)
        events.append(replace(event, hash=event_hash(event)))
    return events


def test_a_whole_chain_verifies_and_each_fault_is_named() -> None:
    events = chain(4)
    head = (4, events[-1].hash)
    assert verify_chain(RUN, events, *head) == []
    assert verify_chain(RUN, [], 0, GENESIS) == []
    faults = {
        "missing": [events[0], events[2], events[3]],
        "changed": [events[0], replace(events[1], actor="mallory"), *events[2:]],
        "added": [*events, replace(events[3], seq=5, prev_hash=events[3].hash)],
        "reordered": [events[1], events[0], *events[2:]],
    }
    for fault, damaged in faults.items():
        assert fault in {found.fault for found in verify_chain(RUN, damaged, *head)}, fault
    assert [found.fault for found in verify_chain(RUN, events, 4, bytes(32))] == ["head"]
    assert [(f.fault, f.seq) for f in verify_chain(RUN, events[:2], *head)] == [("missing", 3)]
