"""Pages that say what the code is are compared with the code."""

from __future__ import annotations

import re
from pathlib import Path

from fencepost_domain.effect import EFFECT_TRANSITIONS
from fencepost_domain.transitions import RUN_TRANSITIONS
from fencepost_store.integrity import CHECKS

ROOT = Path(__file__).parents[2]


def rows(page: str, header: str) -> set[tuple[str, ...]]:
    """The cells of the table under `header`, a set of rows."""
    lines = (ROOT / "docs" / page).read_text().split(f"{header}\n")[1].splitlines()
    table = []
    for line in lines[1:]:
        if not line.startswith("|"):
            break
        table.append(tuple(cell.strip() for cell in line.strip("|").split("|")))
    return set(table)


def test_the_page_of_state_machines_has_the_runs_table() -> None:
    assert rows("state-machines.md", "| event | from | to | by |") == {
        (str(t.event), str(t.before), str(t.after), ", ".join(sorted(map(str, t.roles))))
        for t in RUN_TRANSITIONS
    }


def test_the_page_of_state_machines_has_the_effects_table() -> None:
    assert rows("state-machines.md", "| from | to |") == {
        (str(before), ", ".join(sorted(map(str, after)))) for before, after in EFFECT_TRANSITIONS.items()
    }


def test_the_page_of_invariants_names_every_check_and_no_other() -> None:
    page = (ROOT / "docs" / "invariants.md").read_text()
    named = set(re.findall(r"`((?:i\d\d|conversation)_[a-z0-9_]+)`", page))
    assert named == set(CHECKS)


def test_the_tests_that_the_page_of_invariants_names_exist() -> None:
    page = (ROOT / "docs" / "invariants.md").read_text()
    named = set(re.findall(r"`(test_i\d\d_[a-z0-9_]+)`", page))
    written = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name in sorted(named) if f"def {name}(" not in written] == []
