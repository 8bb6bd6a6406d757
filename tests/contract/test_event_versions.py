"""Old events are read, never rewritten: a fixture of every type and version, brought to today's shape."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from fencepost_contracts.events import check
from fencepost_contracts.evidence.log import read_event
from fencepost_contracts.evidence.upcast import STEPS, NewerEvent, current_version, upcast
from fencepost_contracts.evidence.views import VIEWS
from fencepost_domain.vocabulary import EVENT_VERSIONS, Ev

from tests.unit.evidence.logs import AT

FOLDER: Final = Path(__file__).parent / "fixtures" / "events"
WANTED: Final = [(str(kind), version) for kind in Ev for version in range(1, current_version(kind) + 1)]


def fixture(kind: str, version: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{kind}.v{version}.json").read_text())
    return found


def test_every_type_and_version_has_a_fixture_and_no_fixture_is_of_none() -> None:
    assert {f.name for f in FOLDER.glob("*.json")} == {f"{kind}.v{version}.json" for kind, version in WANTED}


def test_every_version_before_the_last_has_its_step() -> None:
    assert set(STEPS) == {(str(kind), v) for kind, last in EVENT_VERSIONS.items() for v in range(1, last)}


@pytest.mark.parametrize(("kind", "version"), WANTED)
def test_a_stored_event_of_any_version_reads_as_todays(kind: str, version: int) -> None:
    stored = fixture(kind, version)
    before = json.dumps(stored)

    read = upcast(kind, version, stored)

    check(kind, read)
    assert json.dumps(stored) == before, "what was read is not changed"
    assert {name: read[name] for name in stored} == stored, "nothing that was said is lost"


@pytest.mark.parametrize("view", sorted(VIEWS))
@pytest.mark.parametrize("version", [1, 2])
def test_every_view_folds_logs_of_every_version(view: str, version: int) -> None:
    kinds = [(kind, min(version, current_version(kind))) for kind in Ev]
    log = [
        read_event(seq, str(kind), v, AT, "worker", json.dumps(fixture(kind, v)).encode())
        for seq, (kind, v) in enumerate(kinds, start=1)
    ]
    assert VIEWS[view](log)
    erased = [read_event(e.seq, e.type, 1, e.at, e.actor, None) for e in log]
    assert VIEWS[view](erased) is not None


def test_an_event_of_a_newer_release_is_refused_and_an_unknown_type_is_shown_as_it_is() -> None:
    with pytest.raises(NewerEvent):
        upcast(Ev.RUN_CLAIMED, 2, {"owner": "x", "attempt": 1})
    assert upcast("planet.landed", 3, {"on": "mars"}) == {"on": "mars"}


def test_steps_are_taken_one_after_the_other() -> None:
    steps = {("a.b", 1): lambda p: {**p, "two": 2}, ("a.b", 2): lambda p: {**p, "three": p["two"] + 1}}
    assert upcast("a.b", 1, {"one": 1}, steps) == {"one": 1, "two": 2, "three": 3}
    assert upcast("a.b", 3, {"one": 1}, steps) == {"one": 1}
