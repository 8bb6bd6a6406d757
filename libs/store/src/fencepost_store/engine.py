"""The engine: one pool a process, READ COMMITTED, the service's own role."""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final
from weakref import WeakKeyDictionary

from sqlalchemy.engine import Dialect, make_url
from sqlalchemy.engine.url import URL
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

PREPARE_AFTER: Final = 3  # executions on one connection; planning our largest statements costs milliseconds
# A line that swallows everything without a word is given up by the kernel in some 10 s, not in a quarter of
# an hour: a heartbeat that waits on it renews nothing. In seconds, the last one in milliseconds.
DEAD_LINE: Final[Mapping[str, Any]] = MappingProxyType(
    {"keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3, "tcp_user_timeout": 10_000}
)
# Left alone, Postgres plans our array-taking statements anew each time: with the arrays in hand it expects
# one row, in general ten, and takes that for cheaper. The planning costs more than the statement.
GENERIC_PLANS: Final = "-c plan_cache_mode=force_generic_plan"
QUIET_SECONDS: Final = 2.0  # a connection used this recently, with nothing to read on it, isn't asked again


def sqlalchemy_url(dsn: str) -> URL:
    """A libpq URL (postgresql://...) as SQLAlchemy's, on psycopg 3."""
    return make_url(dsn).set(drivername="postgresql+psycopg")


def prepare_threshold(dsn: str, direct_dsn: str | None) -> int | None:
    """When to prepare statements: never, unless `dsn` is known to reach the server itself.

    A transaction pooler in front hands each transaction another backend, which knows nothing of statements
    prepared elsewhere (case PG-5). The direct URL tells: where it is the same one, no pooler stands between.
    """
    return PREPARE_AFTER if direct_dsn == dsn else None


def make_engine(
    dsn: str,
    *,
    size: int = 5,
    application: str = "fencepost",
    prepare: int | None = None,
    generic_plans: bool = False,
) -> AsyncEngine:
    """A pool of at most `size` connections, each checked before use; a broken one is replaced at checkout.

    prepare: see prepare_threshold; None is right behind a transaction pooler. generic_plans: for a service
    whose statements go by keys; see GENERIC_PLANS.
    """
    options = {"options": GENERIC_PLANS} if generic_plans and prepare is not None else {}
    engine = create_async_engine(
        sqlalchemy_url(dsn),
        pool_size=size,
        max_overflow=size,
        pool_pre_ping=True,
        pool_timeout=5,
        connect_args={
            "prepare_threshold": prepare,
            "application_name": application,
            "connect_timeout": 5,
            **DEAD_LINE,
            **options,
        },
    )
    _ping_when_in_doubt(engine.sync_engine.dialect)
    return engine


def _ping_when_in_doubt(dialect: Dialect) -> None:
    """Save the check's round trip for a connection that was in use just now and has nothing to say.

    A server that ended, or was told to end the session, has sent so: the socket is readable. A line that
    went dead without a word is found by the next real ping, QUIET_SECONDS later.
    """
    ping: Callable[[Any], bool] = dialect.do_ping
    seen: WeakKeyDictionary[Any, float] = WeakKeyDictionary()

    def do_ping(dbapi_connection: Any) -> bool:
        line = dbapi_connection.driver_connection
        now = time.monotonic()
        if now - seen.get(line, 0.0) < QUIET_SECONDS and not line.closed and _is_silent(line.fileno()):
            seen[line] = now
            return True
        answer = ping(dbapi_connection)
        seen[line] = now
        return answer

    dialect.do_ping = do_ping  # type: ignore[method-assign]


def _is_silent(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return not poll.poll(0)
