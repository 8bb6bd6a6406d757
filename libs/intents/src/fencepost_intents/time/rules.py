"""Rules over token kinds: a pattern, and what makes a meaning of the values of its groups."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from fencepost_intents.tokens import Tokens

Meaning = TypeVar("Meaning")


def first_meaning(
    rules: Mapping[str, Sequence[tuple[re.Pattern[str], Callable[..., Meaning | None]]]],
    tokens: Tokens,
    at: int,
) -> tuple[Meaning, int] | None:
    """What the first rule that knows a meaning says of token `at`, and the token after it.

    rules: by the kind of their first token, in order; a builder that answers None passes to the next.
    """
    for pattern, build in rules.get(tokens.kinds[at : at + 1], ()):
        found = pattern.match(tokens.kinds, at)
        if found is None:
            continue
        values = [
            tokens.values[found.start(n)] if found.start(n) >= 0 else None
            for n in range(1, pattern.groups + 1)
        ]
        meaning = build(*values)
        if meaning is not None:
            return meaning, found.end()
    return None
