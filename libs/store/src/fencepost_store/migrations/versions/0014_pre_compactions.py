"""Committed compactions of a conversation's history, found by the runs behind them."""

from fencepost_store.migrations import run_sql

revision = "0014"
down_revision = "0013"
phase = "pre"


def upgrade() -> None:
    run_sql("0014_compactions.sql")
