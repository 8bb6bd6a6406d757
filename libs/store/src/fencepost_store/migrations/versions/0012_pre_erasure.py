"""Erasure of conversation state and files; what a simulation may not make."""

from fencepost_store.migrations import run_sql

revision = "0012"
down_revision = "0011"
phase = "pre"


def upgrade() -> None:
    run_sql("0012_erasure.sql")
