"""A lost lease without progress costs an attempt, whatever the lives before it stored."""

from fencepost_store.migrations import run_sql

revision = "0015"
down_revision = "0014"
phase = "pre"


def upgrade() -> None:
    run_sql("0015_progress_of_a_life.sql")
