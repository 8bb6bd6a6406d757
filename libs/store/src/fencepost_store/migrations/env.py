"""Alembic's environment: one transaction a migration, with limits on locks and statements."""

from __future__ import annotations

from alembic import context

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    version_table=context.config.attributes["version_table"],
    version_table_schema="fencepost",
    transaction_per_migration=True,
)
with context.begin_transaction():
    connection.exec_driver_sql("SET lock_timeout = '5s'")
    context.run_migrations()
