"""How good a gate is, over labelled rows: what it let pass, what it refused for nothing, what never fires.

A row is `{id, expected, ...}`: `expected` lists the codes it must get, none for a good one.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fencepost_domain.gates import GateResult

FALSE_ALARMS: Final = 0.02  # of the good ones


@dataclass(slots=True)
class Report:
    """good, bad: rows by label. false_alarms, passed_bad, other_code: ids. fired: how often each code did.

    codes: all that the gate has.
    """

    codes: Sequence[str] = ()
    gate: str = ""
    good: int = 0
    bad: int = 0
    false_alarms: list[str] = field(default_factory=list)
    passed_bad: list[str] = field(default_factory=list)
    other_code: list[str] = field(default_factory=list)
    fired: Counter[str] = field(default_factory=Counter)

    @property
    def silent(self) -> list[str]:
        """Codes that no row got."""
        return [code for code in self.codes if not self.fired[code]]

    @property
    def is_good(self) -> bool:
        alarms = len(self.false_alarms) <= FALSE_ALARMS * self.good
        return alarms and bool(self.bad) and not (self.passed_bad or self.other_code or self.silent)

    def lines(self) -> list[str]:
        found = [
            f"{self.gate}: {self.good} good, {self.bad} bad, {len(self.fired)} codes fired",
            f"  false alarms {len(self.false_alarms)} {self.false_alarms or ''}".rstrip(),
            f"  bad that passed {len(self.passed_bad)} {self.passed_bad or ''}".rstrip(),
            f"  other code than labelled {len(self.other_code)} {self.other_code or ''}".rstrip(),
        ]
        return [*found, f"  codes that no row fires: {', '.join(self.silent)}"] if self.silent else found


def rows_of(text: str) -> list[dict[str, Any]]:
    """The rows of a table in JSON lines. Raises ValueError for a line that is no JSON."""
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def told(reports: Iterable[Report], say: Callable[[str], object]) -> int:
    """Says each as it comes. The exit code: 0 where there is one and every one is good."""
    good = []
    for report in reports:
        say("\n".join(report.lines()))
        good.append(report.is_good)
    return 0 if good and all(good) else 1


def score(
    rows: Iterable[Mapping[str, Any]],
    judge_row: Callable[[Mapping[str, Any]], GateResult],
    codes_of: Mapping[str, Sequence[str]],
) -> Report:
    """The report over one file's rows. codes_of: all codes of each gate, by its name."""
    report = Report()
    for row in rows:
        result = judge_row(row)
        report.gate, report.codes = result.gate, codes_of.get(result.gate, ())
        report.fired.update(result.codes)
        expected = list(row["expected"])
        if not expected:
            report.good += 1
            report.false_alarms += [] if result.passed else [row["id"]]
            continue
        report.bad += 1
        if result.passed:
            report.passed_bad.append(row["id"])
        elif list(result.codes) != expected:
            report.other_code.append(row["id"])
    return report
