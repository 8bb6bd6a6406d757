"""The catalog in force is the one taken up last: a contract may be changed back."""

from fencepost_store.migrations import run_sql

revision = "0016"
down_revision = "0015"
phase = "pre"


def upgrade() -> None:
    run_sql("0016_catalogs_in_force.sql")
