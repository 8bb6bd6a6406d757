"""Fixtures that every test may ask for. Nothing starts before a test asks."""

import os

os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"  # as a worker's main does, ahead of LangGraph's import

from tests.support.ast_parsing import parse_undisturbed
from tests.support.kafka import kafka_broker, wake_names
from tests.support.postgres import database, empty_database, migrated_template, postgres_cluster

parse_undisturbed()

__all__ = [
    "database",
    "empty_database",
    "kafka_broker",
    "migrated_template",
    "postgres_cluster",
    "wake_names",
]
