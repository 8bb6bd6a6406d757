"""Two databases a mutant: one as it is, one whose code or schema is changed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from os import getpid

import pytest

from tests.support.postgres import Cluster, Database

_numbers = count(1)


@pytest.fixture
def mutant_database(postgres_cluster: Cluster, migrated_template: str) -> Iterator[Database]:
    name = f"fencepost_mutant_{getpid()}_{next(_numbers)}"
    yield postgres_cluster.create(name, migrated_template)
    postgres_cluster.drop(name)
