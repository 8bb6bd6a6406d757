"""A stop reaches a run's asynchronous tasks at once."""

from fencepost_store.migrations import run_sql

revision = "0013"
down_revision = "0012"
phase = "pre"


def upgrade() -> None:
    run_sql("0013_tasks_of_stopped_runs.sql")
