"""What a reader fills: plain values, capped. It runs in the child, so it imports nothing heavy."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fencepost_documents.limits import Limits

KEPT_CONTROLS: Final = "\n\t"
SAID_ONCE_EACH: Final = 50  # problems of one code; then they are counted


class Full(Exception):
    """The document is longer than its limits; what was read stands."""


class Draft:
    """Units and problems in the order of the document. Raises Full when a limit is met."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.units: list[dict[str, Any]] = []
        self._problems: list[dict[str, Any]] = []
        self._said: Counter[str] = Counter()
        self._characters = 0

    def unit(
        self,
        locator: str,
        kind: str,
        text: str,
        *,
        level: int | None = None,
        columns: Mapping[str, str] | None = None,
    ) -> None:
        """Nothing is kept of a text that is only space."""
        shown = clean(text)
        if not shown:
            return
        if len(shown) > self.limits.unit_text_max:
            shown = shown[: self.limits.unit_text_max]
            self.problem("truncated", locator, f"{self.limits.unit_text_max} characters of it were read")
        self._characters += len(shown)
        if len(self.units) >= self.limits.units_max or self._characters > self.limits.text_max:
            self.problem("truncated", locator)
            raise Full(locator)
        kept = None if columns is None else {clean(name): clean(value) for name, value in columns.items()}
        self.units.append({"locator": locator, "kind": kind, "text": shown, "level": level, "columns": kept})

    def go_on(self, at: int, names: Sequence[str], cells: Sequence[str]) -> None:
        """A row that a page broke: what stands on the next page belongs to the unit at `at`."""
        unit = self.units[at]
        columns = dict(unit["columns"] or {})
        for name, cell in zip(names, cells, strict=False):
            more, plain = clean(cell), clean(name)
            if more:
                columns[plain] = columns.get(plain, "") + more
        self._characters += sum(map(len, cells))
        unit["columns"], unit["text"] = columns, " | ".join(columns.values())

    def problem(self, code: str, locator: str | None = None, detail: str = "") -> None:
        self._said[code] += 1
        if self._said[code] <= SAID_ONCE_EACH:
            self._problems.append({"code": code, "locator": locator, "detail": clean(detail)[:300]})

    def has(self, code: str) -> bool:
        return code in self._said

    def problems(self) -> list[dict[str, Any]]:
        """All that was said; of a code said too often, how many more there are."""
        more = [
            {"code": code, "locator": None, "detail": f"and {count - SAID_ONCE_EACH} more"}
            for code, count in self._said.items()
            if count > SAID_ONCE_EACH
        ]
        return self._problems + more


def clean(text: str) -> str:
    """Composed (NFC), one kind of line end, no control characters or lone surrogates, no space around."""
    plain = unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n").replace("\v", "\n"))
    plain = plain.replace("\u00a0", " ").replace("\u3000", " ").replace("\ufeff", "")
    kept = "".join(c for c in plain if c in KEPT_CONTROLS or unicodedata.category(c) not in ("Cc", "Cs"))
    return kept.strip()
