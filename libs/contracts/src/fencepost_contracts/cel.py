"""Conditions and values in CEL, for contracts, grants and policies: compiled when saved, no when in doubt.

The library returns an error as a value that is truthy, so nothing here looks at truth: a condition holds
only when its result is the boolean `true`. A missing key, a wrong type or an exhausted budget of steps is
"no", with a reason. Sources are at most MAX_SOURCE bytes; names are declared: a misspelt one doesn't compile.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from cel_expr_python import cel

MAX_SOURCE: Final = 2_048  # bytes; longer is a program, not a condition
MAX_DETAIL: Final = 200  # characters of a reason


class CelRefused(ValueError):
    """The source is no expression that may be used; the message says why, without the library's picture."""


class NoValue(ValueError):
    """The expression has no value for these inputs (a missing key, a wrong type)."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """holds: the condition is true. reason: why it couldn't be judged, "" when it was."""

    holds: bool
    reason: str = ""


class Condition:
    """A boolean expression over named objects, such as `state.step == 'review'`."""

    def __init__(self, source: str, *names: str) -> None:
        """names: the objects it may speak of, each a map of JSON values. Raises CelRefused."""
        self.source = source
        self._names = names
        self._compiled = _compile(source, names)
        if self._compiled.return_type() != cel.Type.BOOL:
            raise CelRefused("a condition is true or false; compare: `state.flag == true`")

    def judge(self, **values: Mapping[str, Any]) -> Verdict:
        """Never raises: what can't be judged doesn't hold, and says why."""
        try:
            result = self._compiled.eval(data={name: values.get(name, {}) for name in self._names})
            if result.type() == cel.Type.BOOL:
                return Verdict(result.value() is True)
            return Verdict(False, _reason(str(result.value())))
        except Exception as error:  # the library raises bare RuntimeErrors; in doubt it is no
            return Verdict(False, _reason(str(error)))


class Expression:
    """An expression whose value is JSON: a string, number, boolean, null, list or object."""

    def __init__(self, source: str, *names: str) -> None:
        """Raises CelRefused."""
        self.source = source
        self._names = names
        self._compiled = _compile(source, names)

    def value(self, **values: Mapping[str, Any]) -> Any:
        """Raises NoValue, also for what JSON has no form for."""
        try:
            result = self._compiled.eval(data={name: values.get(name, {}) for name in self._names})
            kind, plain = result.type(), result.plain_value()
        except Exception as error:  # bare RuntimeErrors of the library
            raise NoValue(_reason(str(error))) from None
        if kind == cel.Type.ERROR:
            raise NoValue(_reason(str(plain)))
        return _json(plain)


def _compile(source: str, names: tuple[str, ...]) -> Any:
    if len(source.encode()) > MAX_SOURCE:
        raise CelRefused(f"longer than {MAX_SOURCE} bytes")
    if not source.strip():
        raise CelRefused("it is empty")
    try:
        return _env(names).compile(source)
    except Exception as error:  # bare RuntimeErrors of the library
        raise CelRefused(_reason(str(error))) from None


@lru_cache(maxsize=32)
def _env(names: tuple[str, ...]) -> Any:
    variables = dict.fromkeys(names, cel.Type.Map(cel.Type.STRING, cel.Type.DYN))
    return cel.NewEnv(variables=variables)


def _reason(text: str) -> str:
    """The first line of the library's message, without its code and picture."""
    line = text.splitlines()[0] if text else "it has no value"
    line = re.sub(r"^(?:[A-Z_]+: )+", "", line)
    return re.sub(r"^<input>:(\d+):(\d+): ", r"at \1:\2: ", line).strip()[:MAX_DETAIL]


def _json(value: Any) -> Any:
    if value is None or isinstance(value, bool | str | int | float):
        return value
    if isinstance(value, list):
        return [_json(item) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _json(item) for key, item in value.items()}
    raise NoValue(f"{type(value).__name__} has no form in JSON")
