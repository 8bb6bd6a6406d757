"""How good the gates of words are, over labelled drafts: `python -m fencepost_quality.evaluate FILE...`.

A row is `{id, expected, draft, facts}` for a mail or `{id, expected, text, cleaned?}` for an answer. Wrong
are: a bad one that passes, another code than the labelled one, a code that no row fires, and more than
FALSE_ALARMS of the good ones refused (`fencepost_domain.labelled`). `make evals` runs it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fencepost_domain.gates import GateResult
from fencepost_domain.labelled import Report, rows_of, score, told

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


def main(paths: Sequence[str]) -> int:
    """Exit code 0 when every file's report is good."""
    texts = (Path(path).read_text(encoding="utf-8") for path in paths)
    return told((evaluate(rows_of(text)) for text in texts), print)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
