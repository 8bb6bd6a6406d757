"""Where a run comes from (retry, fork, simulation), what a simulation may not write, and erasure."""

from fencepost_store.migrations import run_sql

revision = "0006"
down_revision = "0005"
phase = "pre"


def upgrade() -> None:
    run_sql("0006_lineage.sql")
