"""CEL conditions close when in doubt (the library's errors are truthy), and stay within their means."""

from __future__ import annotations

from typing import Any

import pytest
from fencepost_contracts.cel import MAX_SOURCE, CelRefused, Condition, Expression, NoValue

STATE: dict[str, Any] = {
    "step": "review", "n": 5, "rate": 0.5, "flag": True, "names": ["ann", "bo"], "none": None,
    "user": {"role": "senior", "level": 3}, "text": "你好", "empty": "", "list": [],
}  # fmt: skip

# (condition, holds): what an author may rely on, so that another library could take this one's place.
ROWS = [
    ("state.step == 'review'", True),
    ("state.step != 'review'", False),
    ("state.n > 4", True),
    ("state.n >= 6", False),
    ("state.n == 5.0", True),
    ("state.n + 1 == 6", True),
    ("state.n % 2 == 1", True),
    ("state.n / 2 == 2", True),
    ("state.rate < 1.0", True),
    ("state.rate < 1", True),
    ("state.flag == true", True),
    ("!(state.flag == true)", False),
    ("state.none == null", True),
    ("state.user.role == 'senior'", True),
    ("state['user']['level'] == 3", True),
    ("'ann' in state.names", True),
    ("'zed' in state.names", False),
    ("'role' in state.user", True),
    ("size(state.names) == 2", True),
    ("size(state.text) == 2", True),
    ("state.names[0] == 'ann'", True),
    ("state.names.exists(n, n.startsWith('b'))", True),
    ("state.names.all(n, size(n) > 1)", True),
    ("state.names.filter(n, n == 'bo').size() == 1", True),
    ("state.names.map(n, n + '!')[1] == 'bo!'", True),
    ("state.names.exists_one(n, n == 'bo')", True),
    ("has(state.step)", True),
    ("has(state.missing)", False),
    ("has(state.user.role) && state.user.role == 'senior'", True),
    ("has(state.missing) ? state.missing == 1 : true", True),
    ("state.step in ['draft', 'review']", True),
    ("state.step.matches('^re.*w$')", True),
    ("state.step.endsWith('w')", True),
    ("state.step.contains('vi')", True),
    ("state.text == '你好'", True),
    ("state.empty == ''", True),
    ("state.list == []", True),
    ("int('5') == state.n", True),
    ("string(state.n) == '5'", True),
    ("double(state.n) == 5.0", True),
    ("timestamp('2026-03-04T10:00:00+08:00') == timestamp('2026-03-04T02:00:00Z')", True),
    ("duration('90m') == duration('5400s')", True),
    ("type(state.step) == string", True),
    ("true || state.missing == 1", True),
    ("state.missing == 1 || true", True),
    ("false && state.missing == 1", False),
    ("state == {'step': 'review'}", False),
    # In doubt: no.
    ("state.missing == 1", False),
    ("state.missing != 1", False),
    ("!(state.missing == 1)", False),
    ("state.step > 3", False),
    ("state.names[7] == 'x'", False),
    ("state.step.user == 'x'", False),
    ("state.n / 0 == 1", False),
    ("int('five') == 5", False),
    ("state.none > 1", False),
    ("size(state.n) == 1", False),
    ("state.n == 'five'", False),
    ("timestamp('not a time') == timestamp('2026-03-04T02:00:00Z')", False),
    ("state.step.matches('(')", False),
    ("state.user == 'senior'", False),
]


@pytest.mark.parametrize(("source", "holds"), ROWS)
def test_a_condition_holds_only_when_it_is_true(source: str, holds: bool) -> None:
    assert Condition(source, "state").judge(state=STATE).holds is holds


def test_what_cannot_be_judged_says_why() -> None:
    verdict = Condition("state.missing == 1", "state").judge(state=STATE)
    assert not verdict.holds and "missing" in verdict.reason
    assert Condition("state.step == 'x'", "state").judge(state=STATE).reason == ""
    assert not Condition("state.step == 'x'", "state").judge().holds  # no state at all


@pytest.mark.parametrize(
    "source",
    ["", "  ", "state.flag", "stat.step == 'x'", "1 + 'a' == 2", "state.step ==", "'x'", "arguments.x == 1",
     "x" * (MAX_SOURCE + 1), "(" * 300 + "true" + ")" * 300],
)  # fmt: skip
def test_what_is_no_condition_does_not_compile(source: str) -> None:
    with pytest.raises(CelRefused) as refused:
        Condition(source, "state")
    assert "\n" not in str(refused.value)


def test_a_comprehension_that_runs_away_is_stopped() -> None:
    numbers = {"l": list(range(200))}
    source = "state.l.all(a, state.l.all(b, state.l.all(c, state.l.all(d, a + b + c + d >= 0))))"
    assert not Condition(source, "state").judge(state=numbers).holds


def test_an_expression_gives_json() -> None:
    names = ("arguments", "result", "state")
    assert Expression("{'id': result.id, 'n': [1, 2.5]}", *names).value(result={"id": "r"}) == {
        "id": "r", "n": [1, 2.5]
    }  # fmt: skip
    assert Expression("has(state.n) ? state.n + 1 : 1", *names).value(state={"n": 2}) == 3
    for source in ("result.missing", "timestamp('2026-03-04T02:00:00Z')", "b'x'", "{1: 2}"):
        with pytest.raises(NoValue):
            Expression(source, *names).value(result={})
