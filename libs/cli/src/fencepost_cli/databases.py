"""Which database a command speaks of: named by the environment, or the embedded one of a data folder."""

from __future__ import annotations

import os
from pathlib import Path

from fencepost_cli.console import Exit, fail

DATABASE = "fencepost"  # the embedded cluster's


def admin_dsn(data_dir: Path) -> str:
    """FENCEPOST_DATABASE_URL, or the running embedded server's. Exits with 3 when there is neither."""
    if given := os.environ.get("FENCEPOST_DATABASE_URL"):
        return given
    from fencepost_cli.embedded.postgres import PostgresServer

    if not (data_dir / "postgres").exists():
        raise fail(
            "no database is known here: set FENCEPOST_DATABASE_URL, or start `fencepost up`", Exit.UNREACHABLE
        )
    server = PostgresServer(data_dir / "postgres", data_dir / "logs" / "postgres.log")
    port = server.directory / "port"
    if server.pid is None or not port.exists():
        raise fail(f"the database of {data_dir} is not running: start `fencepost up`", Exit.UNREACHABLE)
    server.port = int(port.read_text())
    return server.dsn(DATABASE)
