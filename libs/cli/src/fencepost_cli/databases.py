"""Which database a command speaks of: named by the environment, or the embedded one of a data folder."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fencepost_cli.console import Exit, fail

if TYPE_CHECKING:
    from fencepost_store.transaction import Store

DATABASE = "fencepost"  # the embedded cluster's


def admin_dsn(data_dir: Path) -> str:
    """FENCEPOST_DATABASE_URL, or the running embedded server's. Exits with 3 when there is neither."""
    if given := os.environ.get("FENCEPOST_DATABASE_URL"):
        from fencepost_runtime.settings import DATABASE_EXPECTED, is_database_url

        if not is_database_url(given):  # not quoted: a misspelt one holds its password all the same
            raise fail(f"FENCEPOST_DATABASE_URL: {DATABASE_EXPECTED}", Exit.USAGE)
        return given
    from fencepost_cli.embedded.postgres import running_server

    server = running_server(data_dir)
    if server is None:
        why = f"no database runs for {data_dir}: start `fencepost up`, or set FENCEPOST_DATABASE_URL"
        raise fail(why, Exit.UNREACHABLE)
    return server.dsn(DATABASE)


@asynccontextmanager
async def as_owner(dsn: str, application: str, *, away: str) -> AsyncIterator[Store]:
    """The database for a command of its owner's, closed in the end. Exits with what it refused, and why.

    away: what is said where it can't be had, before its own words.
    """
    from fencepost_domain.errors import Unavailable
    from fencepost_runtime.system import SystemIds
    from fencepost_store.engine import make_engine
    from fencepost_store.transaction import Store
    from sqlalchemy.exc import DBAPIError

    store = Store(make_engine(dsn, application=application), SystemIds())
    try:
        yield store
    except Unavailable as error:
        raise fail(f"{away}: {error}", Exit.UNREACHABLE) from None
    except DBAPIError as error:
        why = str(error.orig).splitlines()[0]
        raise fail(f"the database refused it (is this its owner?): {why}") from None
    finally:
        await store.close()
