"""Bookings, with their rights."""

from pathlib import Path

from fencepost_store.migrations import run_sql

revision = "travel_0001"
down_revision = None
phase = "pre"


def upgrade() -> None:
    run_sql("0001_pre_travel.sql", Path(__file__).parent)
