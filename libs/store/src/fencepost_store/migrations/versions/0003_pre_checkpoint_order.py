"""Checkpoints are ordered by the database, not by the clock of the host that made them."""

from fencepost_store.migrations import run_sql

revision = "0003"
down_revision = "0002"
phase = "pre"


def upgrade() -> None:
    run_sql("0003_checkpoint_order.sql")
