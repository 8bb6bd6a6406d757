"""Effects outside: resolutions by people, compensation, look-ups, the state table in the database, epochs."""

from fencepost_store.migrations import run_sql
from fencepost_store.migrations.transitions import write_effect_transitions

revision = "0009"
down_revision = "0008"
phase = "pre"


def upgrade() -> None:
    run_sql("0009_effects.sql")
    write_effect_transitions()
