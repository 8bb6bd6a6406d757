"""Compensation by a run of its own; runs know the epoch that a restore started over them."""

from fencepost_store.migrations import run_sql
from fencepost_store.migrations.transitions import write_effect_transitions

revision = "0010"
down_revision = "0009"
phase = "pre"


def upgrade() -> None:
    run_sql("0010_compensation.sql")
    write_effect_transitions()
