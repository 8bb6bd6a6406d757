"""Conditions of remembered approvals: CEL over `args`, written by a person, so bounded in what it may cost.

A contract's author is trusted with CEL as it is; whoever remembers an approval is not. A source may hold no
`map` or `filter`; `all`, `exists` and `exists_one` not inside one another, only over a path (`args.to`), with
nothing added up beside them; and patterns written out. Arguments over 16 kB or 500 items are not judged: the
condition doesn't hold, and a person is asked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from fencepost_contracts import canonical
from fencepost_contracts.cel import CelRefused, Condition, Verdict

MOST_BYTES: Final = 16_384  # canonical text of the arguments
MOST_ITEMS: Final = 500  # list items and members in them, at all depths
MOST_SUMS: Final = 16  # `+` in one source: sums of sums grow texts
_TEXTS: Final = re.compile(
    r"""(?:'''(?:\\.|[^\\])*?'''|\"\"\"(?:\\.|[^\\])*?\"\"\"|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*")|//[^\n]*""",
    re.DOTALL,
)
_RAW: Final = re.compile(r"""(?<![A-Za-z0-9_])(?:[bB][rR]|[rR][bB]?)['"]""")
_BUILDS: Final = re.compile(r"\.\s*(?:map|filter)\s*\(")
_WALKS: Final = re.compile(r"(\S)\s*\.\s*(all|exists|exists_one)\s*\(")
_FREE_PATTERN: Final = re.compile(r"\bmatches\s*\((?!\s*\"\"\s*\))")  # of `bare`, where every text is ""


class GrantCondition:
    """Compiled; safe to keep and to share."""

    def __init__(self, condition: Condition) -> None:
        self._condition = condition

    def judge(self, args: Mapping[str, Any]) -> Verdict:
        """Never raises: what can't be judged doesn't hold, and says why."""
        if _items(args, MOST_ITEMS) > MOST_ITEMS or _bytes(args) > MOST_BYTES:
            return Verdict(False, "the arguments are too large to be judged")
        return self._condition.judge(args=args)


def granted_condition(source: str) -> GrantCondition:
    """Raises CelRefused: the place of a syntax or type error, or the limit that was passed."""
    condition = Condition(source, "args")
    _check_limits(source)
    return GrantCondition(condition)


def _check_limits(source: str) -> None:
    if _RAW.search(source):
        raise CelRefused("raw texts (r'...') are not used here; write the escapes")
    bare = _TEXTS.sub('""', source)
    if _BUILDS.search(bare):
        raise CelRefused("map and filter are not used here; all, exists and exists_one are")
    if _FREE_PATTERN.search(bare):
        raise CelRefused("a pattern is written out, as in args.title.matches('^[a-z]+$')")
    sums, walks = bare.count("+"), list(_WALKS.finditer(bare))
    if sums > MOST_SUMS or (sums and walks):
        raise CelRefused("too much is added up; beside all, exists and exists_one nothing is")
    for walk in walks:
        if walk[1] in ")]}\"'":
            raise CelRefused(f"{walk[2]} goes over a path, as in args.to.{walk[2]}(x, ...)")
    if any(_inside(bare, outer.end(), inner.start()) for outer in walks for inner in walks):
        raise CelRefused("all, exists and exists_one don't stand inside one another")


def _inside(bare: str, opened: int, at: int) -> bool:
    """Is `at` before the bracket that was opened just before `opened` is closed?"""
    if at < opened:
        return False
    depth = 1
    for letter in bare[opened:at]:
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return False
    return True


def _items(value: Any, left: int) -> int:
    """How many values are in `value`, counted no further than `left`."""
    if not isinstance(value, list | tuple | dict):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    count = 0
    for one in inner:
        count += 1 + _items(one, left - count)
        if count > left:
            return count
    return count


def _bytes(value: Any) -> int:
    try:
        return len(canonical.dumps(value))
    except ValueError:
        return MOST_BYTES + 1
