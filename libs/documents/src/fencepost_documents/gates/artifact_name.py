"""Whether a file's name is safe, says what is in it, and is what was asked for."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from fencepost_domain.gates import Violation
from fencepost_domain.task_contract import EMAIL, TaskContract

from fencepost_documents.office.inspection import Inspection

_LONGEST: Final = 255  # bytes, of every file system there is
_FORBIDDEN: Final = re.compile(r'[/\\:*?"<>|]|^\.|^~|\.\.|^\s|[\s.]$')
_DEVICES: Final = re.compile(r"^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.I)  # names that Windows keeps
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def judge_name(name: str, kind: str, file: Inspection, contract: TaskContract) -> Iterator[Violation]:
    if why := unsafe(name):
        yield Violation("name_unsafe", "/name", f"{why}: {name[:80]!r}", "name the file without it")
    suffix = name.rpartition(".")[2].casefold() if "." in name else ""
    inside = file.kind or kind
    if suffix != kind or inside != kind:
        said = f"named .{suffix}, made as {kind}, holds {inside}"
        yield Violation("suffix_mismatch", "/name", said, f"make and name it .{kind}")
    wanted = [one for one in contract.file_kinds if one != EMAIL]
    if wanted and kind not in wanted:
        said = f"{kind} was made, {' and '.join(wanted)} was asked for"
        yield Violation("kind_unwanted", "/name", said, f"make {wanted[0]}")


def unsafe(name: str) -> str:
    """What is wrong with a file's name, '' for nothing. A name is data, never a path."""
    if not name.strip():
        return "no name"
    if len(name.encode(errors="replace")) > _LONGEST:
        return "longer than 255 bytes"
    if any(unicodedata.category(char) in _INVISIBLE for char in name):
        return "characters that aren't seen"
    if _FORBIDDEN.search(name):
        return "characters of a path"
    return "a name that systems keep" if _DEVICES.match(name) else ""
