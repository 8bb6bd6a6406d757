"""Roles, grants by column, row-level security, partitions, timeouts."""

from fencepost_store.migrations import run_sql
from fencepost_store.migrations.transitions import write_transitions

revision = "0002"
down_revision = "0001"
phase = "pre"


def upgrade() -> None:
    run_sql("0002_rights.sql")
    write_transitions()
