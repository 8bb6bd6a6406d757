"""How good the gates of files are, over labelled rows (`make evals`): `python -m
fencepost_documents.gates.evaluate FILE...`.

A row is `{id, expected, arguments, facts}` for the arguments of a file, `{id, expected, subject, facts}` for
one that was made; facts as the gates keep them. What is wrong: `fencepost_domain.labelled`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fencepost_domain.gates import GateResult
from fencepost_domain.labelled import Report, rows_of, score, told

from fencepost_documents.gates import artifact, presentation
from fencepost_documents.gates.artifact import ArtifactFacts
from fencepost_documents.gates.facts import PresentationFacts

ALL_CODES: Final[Mapping[str, Sequence[str]]] = {
    presentation.GATE: presentation.CODES,
    artifact.GATE: artifact.CODES,
}


def judge_row(row: Mapping[str, Any]) -> GateResult:
    """The gate's answer to one labelled row."""
    if "arguments" in row:
        return presentation.judge(row["arguments"], PresentationFacts.from_json(row["facts"]))
    return artifact.judge(row["subject"], ArtifactFacts.from_json(row["facts"]))


def evaluate(rows: Iterable[Mapping[str, Any]]) -> Report:
    """The report over one file's rows."""
    return score(rows, judge_row, ALL_CODES)


def main(paths: Sequence[str]) -> int:
    """Exit code 0 when every file's report is good."""
    texts = (Path(path).read_text(encoding="utf-8") for path in paths)
    return told((evaluate(rows_of(text)) for text in texts), print)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
