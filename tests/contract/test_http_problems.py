"""Every problem the api can answer has one row: a status, a title, and a line in the guide."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fencepost_api.problems import PROBLEMS, Refusal, body_of, internal, of_status, status_of, tell
from fencepost_contracts.http_views import Problem
from fencepost_domain import errors
from fencepost_domain.errors import (
    Conflict,
    FencepostError,
    Forbidden,
    Gone,
    IllegalTransition,
    Invalid,
    NotFound,
    Tampered,
    Unavailable,
)

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs/guides/http-api.md").read_text()
SECRET = 'psycopg.errors.UniqueViolation: duplicate key value "runs_pkey" /usr/lib/secret.py'


def test_the_guide_lists_every_code_with_its_status() -> None:
    listed = dict(re.findall(r"^\| `(\w+)` \| (\d{3}) \|", GUIDE, re.MULTILINE))
    assert {code: int(status) for code, status in listed.items()} == {
        code: status for code, (status, _) in PROBLEMS.items()
    }


def test_every_code_refused_with_in_the_source_is_in_the_table() -> None:
    source = "".join(path.read_text() for path in (ROOT / "services/api/src").rglob("*.py"))
    used = set(re.findall(r'(?:Refusal|Conflict|Gone)\(\s*"(\w+)"', source))
    assert used and used <= set(PROBLEMS)


def test_a_status_stands_in_no_other_file_of_the_api() -> None:
    for path in (ROOT / "services/api/src").rglob("*.py"):
        if path.name != "problems.py":
            assert not re.search(r"HTTPException\(|status_code=[45]\d\d", path.read_text()), path


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (NotFound("run", "x"), "not_found"),
        (Forbidden("you may not"), "forbidden"),
        (Gone("interrupt_expired", "it is over"), "interrupt_expired"),
        (Gone("other", "it is over"), "gone"),
        (Conflict("already_resolved", "decided", {"resolution": {"decision": "reject"}}), "already_resolved"),
        (Conflict("run_changed", "it moved"), "conflict"),
        (Invalid("/a", "wrong"), "invalid_request"),
        (IllegalTransition("run", "queued", SECRET), "conflict"),
        (Unavailable(SECRET), "unavailable"),
        (Tampered("catalog", SECRET), "internal"),
        (FencepostError(SECRET), "internal"),
        (Refusal("empty_body", "send one"), "empty_body"),
    ],
)
def test_each_domain_error_is_told_without_its_inside(error: FencepostError, code: str) -> None:
    told = tell(error)
    body = body_of(told, "r1")
    assert (told.code, body["status"]) == (code, status_of(code))
    assert Problem.model_validate(body).code == code
    assert SECRET not in str(body)


def test_every_class_of_error_is_told_somehow() -> None:
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, FencepostError):
            error = kind.__new__(kind)
            Exception.__init__(error, "words")
            for name in ("thing", "pointer"):
                if not hasattr(error, name):
                    setattr(error, name, "it")
            assert tell(error).code in PROBLEMS


def test_stored_members_never_overwrite_the_problems_own() -> None:
    stored = {"status": "succeeded", "code": "x", "request_id": "y", "resolution": 1}
    body = body_of(tell(Conflict("already_resolved", "decided", stored)), "r1")
    assert (body["status"], body["code"], body["request_id"], body["resolution"]) == (
        409, "already_resolved", "r1", 1)  # fmt: skip


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 406, 409, 413, 415, 418, 422, 500, 501, 503])
def test_any_status_of_the_framework_has_a_problem(status: int) -> None:
    assert of_status(status).code in PROBLEMS
    assert internal().code == "internal"
