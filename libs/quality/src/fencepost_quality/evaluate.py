"""How good the gates of words are, over labelled drafts: `python -m fencepost_quality.evaluate FILE...`.

A row is `{id, expected, draft, facts}` for a mail or `{id, expected, text, cleaned?}` for an answer. Wrong
are: a bad one that passes, another code than the labelled one, a code that no row fires, and more than
FALSE_ALARMS of the good ones refused (`fencepost_domain.labelled`). `make evals` runs it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fencepost_domain.gates import GateResult
from fencepost_domain.labelled import Report, score

from fencepost_quality import email, response
from fencepost_quality.draft import EmailFacts

ALL_CODES: Final[Mapping[str, Sequence[str]]] = {
    email.GATE: email.CODES,
    response.GATE: (response.EMPTY, response.NEARLY),
}


def judge_row(row: Mapping[str, Any]) -> GateResult:
    """The gate's answer to one labelled row."""
    if "draft" in row:
        facts = dict(row["facts"])
        facts["recipients"] = tuple(facts.get("recipients", ()))
        return email.judge(row["draft"], EmailFacts(**facts))
    return response.judge(response.without_repeats(row["text"]))


def evaluate(rows: Iterable[Mapping[str, Any]]) -> Report:
    """The report over one file's rows."""
    return score(rows, judge_row, ALL_CODES)


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
