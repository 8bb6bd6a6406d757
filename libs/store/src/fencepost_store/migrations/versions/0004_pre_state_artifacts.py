"""Conversation state has a head under whose lock it changes; artifacts have versions, owners and a check."""

from fencepost_store.migrations import run_sql

revision = "0004"
down_revision = "0003"
phase = "pre"


def upgrade() -> None:
    run_sql("0004_state_artifacts.sql")
