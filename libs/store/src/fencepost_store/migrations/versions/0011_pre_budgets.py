"""Budgets: reservations in the ledger of model calls, limits of tenants and users."""

from fencepost_store.migrations import run_sql

revision = "0011"
down_revision = "0010"
phase = "pre"


def upgrade() -> None:
    run_sql("0011_budgets.sql")
