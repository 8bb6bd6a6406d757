"""The tests test something: each mutant of the core is caught by the check that is named with it.

A check that fails by an error in the mutated SQL itself would prove nothing, so only a failed assertion or
a domain error counts, never a ProgrammingError. The same check has just passed on the code as it is.
"""

from __future__ import annotations

import pytest
from fencepost_domain.errors import FencepostError

from tests.mutants.mutants import MUTANTS
from tests.mutants.mutate import Mutant, Stale
from tests.support.lives import living
from tests.support.postgres import Database

pytestmark = pytest.mark.model

CAUGHT = (AssertionError, pytest.fail.Exception, FencepostError)


def test_mutants_have_names_of_their_own() -> None:
    names = [mutant.name for mutant in MUTANTS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "-"))
async def test_the_mutant_is_caught(mutant: Mutant, database: Database, mutant_database: Database) -> None:
    async with living(database) as lives:
        await mutant.check(lives)

    with mutant.change(mutant_database):
        async with living(mutant_database) as lives:
            with pytest.raises(CAUGHT) as caught:
                await mutant.check(lives)
    assert not isinstance(caught.value, Stale), caught.value
