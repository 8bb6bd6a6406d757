"""A slot's older boots give up their runs, on one short connection: for a process just started."""

from __future__ import annotations

import psycopg

from fencepost_store.raw import raw

CONNECT_SECONDS = 2


def free_slot(dsn: str, slot: str) -> str | None:
    """End the leases held under this slot's name. Returns what went wrong, if anything did."""
    try:
        with psycopg.connect(
            dsn, autocommit=True, prepare_threshold=None, connect_timeout=CONNECT_SECONDS
        ) as connection:
            connection.execute(raw("free_slot"), {"slot": slot})
    except psycopg.Error as error:
        return type(error).__name__
    return None
