"""The core of schema agent and the checkpoints."""

from fencepost_store.migrations import run_sql

revision = "0001"
down_revision = None
phase = "pre"


def upgrade() -> None:
    run_sql("0001_core.sql")
