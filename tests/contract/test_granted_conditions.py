"""Conditions that a person writes: refused when they are written, or quick, whatever the arguments."""

from __future__ import annotations

import time
from typing import Any

import pytest
from fencepost_contracts.cel import CelRefused
from fencepost_contracts.granted import granted_condition

REFUSED = [
    ("", "empty"),
    ("args.n +", "Syntax"),
    ("args.n", "true or false"),
    ("amount < 5", "undeclared reference to 'amount'"),
    ("1 + 'a' == 2", "overload"),
    ("args.n == 1; true", "Syntax|at 1"),
    ("(" * 500 + "true" + ")" * 500, "recursion"),
    ("true" + " " * 3000, "longer"),
    ("r'x' == args.title", "raw"),
    ("args.to.map(x, x).size() > 0", "map"),
    ("args.to.filter(x, true).size() > 0", "map"),
    ("args.to . map (x, x).size() > 0", "map"),
    ("args.to.all(x, args.to.all(y, true))", "inside"),
    ("args.to.exists(x, args.to.exists_one(y, x == y))", "inside"),
    ("[1, 2].all(x, x > 0)", "path"),
    ("[args.title].exists(x, x != '')", "path"),
    ("dyn(args.to).all(x, x != '')", "path"),
    ("args.to.all(x, x + x != '')", "added"),
    ("args.n" + " + 1" * 20 + " == 3", "added"),
    ("args.title.matches(args.title)", "pattern"),
    ("matches(args.title, 'x')", "pattern"),
    ("args.title.matches('a' + args.title)", "pattern"),
]


@pytest.mark.parametrize(("source", "said"), REFUSED)
def test_what_is_no_condition_of_a_person_is_refused_when_it_is_written(source: str, said: str) -> None:
    with pytest.raises(CelRefused, match=said):
        granted_condition(source)


def test_words_in_texts_and_comments_are_no_macros() -> None:
    args = {"n": 3, "title": "report"}
    assert granted_condition("args.title != 'a + b .map(x) [1].all(' // + + .filter(").judge(args).holds
    assert granted_condition('args.title != "it\'s .map(" && args.n == 3').judge(args).holds


def test_recipients_and_amounts_can_be_said() -> None:
    said = granted_condition("args.to.all(x, x.endsWith('@example.com')) && double(args.amount) <= 100.0")
    assert said.judge({"to": ["a@example.com"], "amount": "99.90"}).holds
    assert not said.judge({"to": ["a@example.com", "b@other.org"], "amount": "1"}).holds
    missing = said.judge({"to": ["a@example.com"]})
    assert not missing.holds and "amount" in missing.reason


@pytest.mark.parametrize(
    "args",
    [
        {"s": "x" * 20_000},
        {"l": list(range(501))},
        {"l": [[0] * 30 for _ in range(30)]},
        {"n": float("nan")},
    ],
)
def test_too_large_or_strange_arguments_are_not_judged(args: Any) -> None:
    assert granted_condition("args.n == 3 || true").judge(args).holds is False


COSTLY = [
    "args.l.all(x, args.s.matches('(a*)*(x+x+)+y'))",
    "args.l.all(x, x.matches('^(a|aa|aaa)*[0-9]{1,1000}$') || args.s.matches('a{1000}b'))",
    "args.l.all(x, args.s.contains(args.s))",
    "args.l.exists(x, args.s.matches('(a*)*(b*)*c{1,200}$'))",
    "args.s" + " + args.s" * 16 + " != ''",
    "args.s.matches('((a{1,50}){1,50}){1,50}$')",
]


@pytest.mark.parametrize("source", COSTLY)
def test_the_dearest_condition_that_may_be_written_is_quick(source: str) -> None:
    """The arguments are as large as they may be; a second would hold up every other run of the gateway."""
    args = {"s": "a" * 11_000, "l": [f"a{n}*" for n in range(480)]}
    condition = granted_condition(source)
    began = time.thread_time()
    condition.judge(args)
    assert time.thread_time() - began < 0.7
