"""What is different between two values, as rows that a person reads."""

from __future__ import annotations

from typing import Any

import pytest
from fencepost_contracts.diff import MOST_ROWS, change_rows, rows_of

CASES: list[tuple[Any, Any, list[tuple[str, str]]]] = [
    (None, None, []),
    ({}, {}, []),
    ({"a": 1}, {"a": 1}, []),
    (None, {"a": 1, "b": None, "c": "", "d": []}, [("/a", "added")]),
    ({"a": 1}, None, [("/a", "removed")]),
    ({"a": 1, "b": 2}, {"a": 2, "b": 2}, [("/a", "changed")]),
    ({"a": None}, {"a": 0}, [("/a", "changed")]),
    ({"a": True}, {"a": 1}, [("/a", "changed")]),
    ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3, 4]}}, [("/a/b/1", "changed"), ("/a/b/2", "added")]),
    ({"a": [1]}, {"a": {"x": 1}}, [("/a", "changed")]),
    ([1, 2], [1], [("/1", "removed")]),
    ({"x/y": 1}, {"x/y": 2}, [("/x~1y", "changed")]),
    ("old", "new", [("", "changed")]),
]


@pytest.mark.parametrize(("before", "after", "expected"), CASES)
def test_the_rows_of_a_difference(before: Any, after: Any, expected: list[tuple[str, str]]) -> None:
    assert [(row["path"], row["kind"]) for row in rows_of(before, after)] == expected


def test_a_change_of_thousands_is_cut_and_says_so() -> None:
    rows = change_rows({"before": None, "after": {str(n): n + 1 for n in range(1000)}})
    assert len(rows) == MOST_ROWS + 1
    assert rows[-1] == {"path": "", "kind": "more", "count": 1000 - MOST_ROWS}
