"""Texts of the desk."""

from pathlib import Path

from fencepost_store.migrations import run_sql

revision = "desk_0001"
down_revision = None
phase = "pre"


def upgrade() -> None:
    run_sql("0001_pre_desk.sql", Path(__file__).parent)
