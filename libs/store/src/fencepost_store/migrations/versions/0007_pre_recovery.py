"""Recovery: the gate's answer, hand-over and continuation, waits on a version, an operator's repairs."""

from fencepost_store.migrations import run_sql
from fencepost_store.migrations.transitions import write_transitions

revision = "0007"
down_revision = "0006"
phase = "pre"


def upgrade() -> None:
    run_sql("0007_recovery.sql")
    write_transitions()
