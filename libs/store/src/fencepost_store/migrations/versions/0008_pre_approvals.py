"""Votes of approvers, remembered approvals and their uses, one-time links."""

from fencepost_store.migrations import run_sql

revision = "0008"
down_revision = "0007"
phase = "pre"


def upgrade() -> None:
    run_sql("0008_approvals.sql")
