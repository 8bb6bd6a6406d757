"""Declarations of tools that others provide are pinned; asynchronous tasks have a row that is polled."""

from fencepost_store.migrations import run_sql

revision = "0005"
down_revision = "0004"
phase = "pre"


def upgrade() -> None:
    run_sql("0005_tools_tasks.sql")
