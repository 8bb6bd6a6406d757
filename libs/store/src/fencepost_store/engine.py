"""The engine: one pool a process, READ COMMITTED, the service's own role."""

from __future__ import annotations

from sqlalchemy.engine import make_url
from sqlalchemy.engine.url import URL
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine


def sqlalchemy_url(dsn: str) -> URL:
    """A libpq URL (postgresql://...) as SQLAlchemy's, on psycopg 3."""
    return make_url(dsn).set(drivername="postgresql+psycopg")


def make_engine(dsn: str, *, size: int = 5, application: str = "fencepost") -> AsyncEngine:
    """A pool of at most `size` connections, each checked before use.

    Prepared statements are off (`prepare_threshold` None), so that a transaction pooler in front is fine
    (case PG-5); a broken connection is replaced at checkout.
    """
    return create_async_engine(
        sqlalchemy_url(dsn),
        pool_size=size,
        max_overflow=size,
        pool_pre_ping=True,
        pool_timeout=5,
        connect_args={"prepare_threshold": None, "application_name": application, "connect_timeout": 5},
    )
