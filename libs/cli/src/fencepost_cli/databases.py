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
    from fencepost_cli.embedded.postgres import running_server

    server = running_server(data_dir)
    if server is None:
        why = f"no database runs for {data_dir}: start `fencepost up`, or set FENCEPOST_DATABASE_URL"
        raise fail(why, Exit.UNREACHABLE)
    return server.dsn(DATABASE)
