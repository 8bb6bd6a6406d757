"""The store's door to a database: transactions with a tenant, retried where retrying is right.

`Store.transaction(tenant)` opens one transaction; `Store.run(tenant, work)` runs `work` again from load and
decision when Postgres says 40001 or 40P01, three times. Every lock and order rule of design 02 §2 holds
inside: the run's row first, FOR NO KEY UPDATE.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar
from uuid import UUID

from fencepost_domain.errors import Unavailable
from fencepost_domain.ports import Ids
from sqlalchemy import CursorResult, RowMapping, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from fencepost_store.errors import domain_error, is_retryable
from fencepost_store.sql import statement

T = TypeVar("T")
_TRIES: Final = 3
_SET_TENANT: Final = text("SELECT set_config('fencepost.tenant', :tenant, true)")


class Tx:
    """One open transaction. Statements are named SQL; values are parameters, never text."""

    def __init__(self, connection: AsyncConnection, ids: Ids, tenant_id: UUID | None) -> None:
        self.connection = connection
        self.ids = ids
        self.tenant_id = tenant_id
        self.has_hint = False  # an outbox row that is due at once was written here

    async def execute(self, name: str, params: Mapping[str, Any] | None = None) -> CursorResult[Any]:
        """Run a named statement of this package.

        Never a list of params: the driver pipelines it and ends with a Flush, which takes the session's
        idle_in_transaction timer away. A process frozen right then would hold the run's row for ever.
        """
        return await self.connection.execute(statement(name), params)

    async def rows(self, name: str, **params: Any) -> Sequence[RowMapping]:
        return (await self.execute(name, params)).mappings().all()

    async def row(self, name: str, **params: Any) -> RowMapping | None:
        """The one row, or None. More than one is an error of ours and raises."""
        return (await self.execute(name, params)).mappings().one_or_none()

    async def set_tenant(self, tenant_id: UUID) -> None:
        """Narrow the rest of the transaction to a tenant (row-level security)."""
        self.tenant_id = tenant_id
        await self.connection.execute(_SET_TENANT, {"tenant": str(tenant_id)})


class Store:
    """A service's view of the database, under its own role.

    after_hint: called after the COMMIT of a transaction that wrote an outbox row due at once; it must be
    quick and can't fail (the relay's bell).
    """

    def __init__(self, engine: AsyncEngine, ids: Ids, after_hint: Callable[[], None] | None = None) -> None:
        self.engine = engine
        self.ids = ids
        self.after_hint = after_hint

    @asynccontextmanager
    async def transaction(self, tenant_id: UUID | None = None) -> AsyncIterator[Tx]:
        """One transaction; commits at the end, rolls back on any exception.

        tenant_id: required for api and gateway, which see nothing without; worker and reconciler work
        across tenants and may leave it out. Database errors come out as domain errors where they have one.
        """
        try:
            async with self.engine.begin() as connection:
                tx = Tx(connection, self.ids, tenant_id)
                if tenant_id is not None:
                    await tx.set_tenant(tenant_id)
                yield tx
        except DBAPIError as error:
            raise (domain_error(error) or error) from error
        except PoolTimeout as error:
            raise Unavailable("every connection is busy") from error
        if tx.has_hint and self.after_hint is not None:
            self.after_hint()

    @asynccontextmanager
    async def snapshot(self, tenant_id: UUID) -> AsyncIterator[Tx]:
        """A read-only transaction in which every statement sees the same instant; Postgres refuses writes."""
        try:
            async with self.engine.connect() as connection:
                options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
                await connection.execution_options(**options)
                async with connection.begin():
                    tx = Tx(connection, self.ids, tenant_id)
                    await tx.set_tenant(tenant_id)
                    yield tx
        except DBAPIError as error:
            raise (domain_error(error) or error) from error
        except PoolTimeout as error:
            raise Unavailable("every connection is busy") from error

    async def run(self, tenant_id: UUID | None, work: Callable[[Tx], Awaitable[T]]) -> T:
        """`work` in a transaction, again from the start on a serialization failure or deadlock."""
        for attempt in range(1, _TRIES + 1):
            try:
                async with self.transaction(tenant_id) as tx:
                    return await work(tx)
            except DBAPIError as error:
                if attempt == _TRIES or not is_retryable(error):
                    raise
        raise AssertionError("unreachable")

    async def close(self) -> None:
        await self.engine.dispose()
