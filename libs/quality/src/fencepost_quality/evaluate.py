"""How good a gate is, over labelled drafts: `python -m fencepost_quality.evaluate FILE...` (`make evals`).

A row is `{id, expected, draft, facts}` for a mail or `{id, expected, text, cleaned?}` for an answer:
`expected` lists the codes it must get, none for a good one. Wrong are: a bad one that passes, another code
than the labelled one, and more than FALSE_ALARMS of the good ones refused.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from fencepost_domain.gates import GateResult

from fencepost_quality import email, response
from fencepost_quality.draft import EmailFacts

FALSE_ALARMS: Final = 0.02  # of the good ones
ALL_CODES: Final[Mapping[str, Sequence[str]]] = {
    email.GATE: email.CODES,
    response.GATE: (response.EMPTY, response.NEARLY),
}


@dataclass(slots=True)
class Report:
    """good, bad: rows by label. false_alarms, passed_bad, other_code: ids. fired: how often each code did."""

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
        return [code for code in ALL_CODES.get(self.gate, ()) if not self.fired[code]]

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


def judge_row(row: Mapping[str, Any]) -> GateResult:
    """The gate's answer to one labelled row."""
    if "draft" in row:
        facts = dict(row["facts"])
        facts["recipients"] = tuple(facts.get("recipients", ()))
        return email.judge(row["draft"], EmailFacts(**facts))
    return response.judge(response.without_repeats(row["text"]))


def evaluate(rows: Iterable[Mapping[str, Any]]) -> Report:
    """The report over one file's rows."""
    report = Report()
    for row in rows:
        result = judge_row(row)
        report.gate = result.gate
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


def read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def main(paths: Sequence[str]) -> int:
    """Exit code 0 when every file's report is good."""
    reports = [evaluate(read_rows(Path(path))) for path in paths]
    for report in reports:
        print("\n".join(report.lines()))
    return 0 if reports and all(report.is_good for report in reports) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
