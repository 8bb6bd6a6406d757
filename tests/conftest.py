"""Fixtures that every test may ask for. Nothing starts before a test asks."""

from tests.support.postgres import database, empty_database, migrated_template, postgres_cluster

__all__ = ["database", "empty_database", "migrated_template", "postgres_cluster"]
