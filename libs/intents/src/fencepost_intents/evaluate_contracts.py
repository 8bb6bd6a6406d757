"""How good the task contract's compiler is: `python -m fencepost_intents.evaluate_contracts FILE...`.

A row is `{id, text, expected}`; `expected` names what differs from an empty contract with one attachment
(`a1`). Exit code 1 when a row compiles to another contract, with the fields that differ.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fencepost_domain.labelled import rows_of
from fencepost_domain.task_contract import TaskContract

from fencepost_intents.task_contract import compile_task_contract

ATTACHED: Final = "a1"
FOLLOWS: Final = ("version", "hard_requirements", "completion")  # the same for all, or made of the others
EMPTY: Final[Mapping[str, Any]] = {
    name: value
    for name, value in {"pages": None, **TaskContract(attachments=(ATTACHED,)).to_json()}.items()
    if name not in FOLLOWS
}


def differences(row: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Field -> (expected, compiled), of the fields that differ."""
    wanted = {**EMPTY, **row["expected"]}
    found = compile_task_contract(row["text"], "zh-CN", [ATTACHED]).to_json()
    return {name: (wanted[name], found.get(name)) for name in EMPTY if wanted[name] != found.get(name)}


def wrong_rows(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """A line for each row that compiles to another contract."""
    told = ((row, differences(row)) for row in rows)
    return [f"{row['id']} {row['text']!r}: {differ}" for row, differ in told if differ]


def main(paths: Sequence[str]) -> int:
    good = bool(paths)
    for path in paths:
        rows = rows_of(Path(path).read_text(encoding="utf-8"))
        wrong = wrong_rows(rows)
        print("\n".join([f"{path}: {len(rows) - len(wrong)} of {len(rows)} contracts as labelled", *wrong]))
        good = good and bool(rows) and not wrong
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
