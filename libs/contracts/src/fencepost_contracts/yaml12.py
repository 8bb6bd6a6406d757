"""Contracts are YAML 1.2 read strictly: what a person reads is what the machine gets (case CP-4).

Built from the parser's events, so that every value knows its line. Refused, each with file, line and key:
equal keys, `off`, `no` and their kin unquoted, numbers written as `1e3`, `0x10`, `010` or `1_000`, anchors,
aliases, tags, merge keys, several documents, and a file that doesn't end with `...`, because half a YAML
file is often a valid one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamStartEvent,
)

from fencepost_contracts.canonical import pointer

MAX_BYTES: Final = 262_144
MAX_DEPTH: Final = 24
END_MARK: Final = "..."
_INT: Final = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_DECIMAL: Final = re.compile(r"-?(0|[1-9][0-9]{0,14})\.[0-9]{1,15}")
_NUMBERISH: Final = re.compile(
    r"[-+]?(\.?[0-9][0-9_.:]*([eE][-+]?[0-9]+)?|0[xob][0-9a-fA-F_]+|\.(inf|nan))", re.I
)
_DOUBTFUL: Final = frozenset({"y", "n", "yes", "no", "on", "off", "~"})


@dataclass(frozen=True, slots=True)
class ContractFault:
    """One thing wrong with a contract. line counts from 1; key is a dotted path, "" for the whole file."""

    file: str
    line: int
    key: str
    detail: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.key + ': ' if self.key else ''}{self.detail}"


class ContractRefused(ValueError):
    """A contract that must not be used. `faults` is never empty."""

    def __init__(self, faults: list[ContractFault]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(map(str, faults)))


@dataclass(slots=True)
class Document:
    """A file's value, and the line of each place in it (by JSON pointer)."""

    file: str
    value: Any = None
    lines: dict[str, int] = field(default_factory=dict)

    def fault(self, place: str, detail: str) -> ContractFault:
        """A fault at `place`, at its line or that of the nearest place around it that was written."""
        near = place
        while near and near not in self.lines:
            near = near.rpartition("/")[0]
        key = place.removeprefix("/").replace("/", ".").replace("~1", "/").replace("~0", "~")
        return ContractFault(self.file, self.lines.get(near, 1), key, detail)


def read_yaml(path: Path) -> Document:
    """Read a contract's file. Raises ContractRefused."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ContractRefused([ContractFault(str(path), 1, "", error.strerror or "cannot be read")]) from None
    return parse_yaml(raw, str(path))


def parse_yaml(raw: bytes, file: str) -> Document:
    """The same for bytes; `file` is the name that faults carry."""
    document = Document(file)
    text = _text(raw, document)
    try:
        _Reader(document, YAML(typ="safe", pure=True).parse(text)).read()
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ContractRefused([ContractFault(file, line, "", f"not YAML: {error.problem}")]) from None
    except (YAMLError, RecursionError):
        raise ContractRefused([ContractFault(file, 1, "", "not YAML")]) from None
    return document


def _text(raw: bytes, document: Document) -> str:
    if len(raw) > MAX_BYTES:
        raise ContractRefused([document.fault("", f"longer than {MAX_BYTES} bytes")])
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise ContractRefused([ContractFault(document.file, line, "", "not UTF-8")]) from None
    lines = text.rstrip().splitlines()
    if not lines or lines[-1] != END_MARK:
        detail = f"the file doesn't end with a line `{END_MARK}`: it was cut off, or the line was forgotten"
        raise ContractRefused([ContractFault(document.file, max(len(lines), 1), "", detail)])
    return text


class _Reader:
    """Builds the value from events; stops at the first thing that can't be read in one way only."""

    def __init__(self, document: Document, events: Iterator[Any]) -> None:
        self._document = document
        self._events = events

    def read(self) -> None:
        documents = 0
        for event in self._events:
            if isinstance(event, DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise self._refused(event, "", "a second document in one file")
                if event.version is not None and tuple(event.version) != (1, 2):
                    raise self._refused(event, "", "YAML 1.2 is meant, not another version")
                self._document.value = self._value(next(self._events), "", 0)
            elif not isinstance(event, StreamStartEvent) and documents == 0:
                break
        if documents == 0:
            raise ContractRefused([self._document.fault("", "the file is empty")])

    def _value(self, event: Any, at: str, depth: int) -> Any:
        self._check_node(event, at, depth)
        self._document.lines.setdefault(at, event.start_mark.line + 1)
        if isinstance(event, ScalarEvent):
            return self._scalar(event, at)
        if isinstance(event, SequenceStartEvent):
            return self._sequence(at, depth)
        return self._mapping(at, depth)

    def _check_node(self, event: Any, at: str, depth: int) -> None:
        if isinstance(event, AliasEvent) or event.anchor is not None:
            raise self._refused(event, at, "anchors and aliases are refused: write the value out")
        if event.tag is not None:
            raise self._refused(event, at, f"the tag {event.tag} is refused")
        if depth > MAX_DEPTH:
            raise self._refused(event, at, f"nested deeper than {MAX_DEPTH}")
        if not isinstance(event, ScalarEvent | SequenceStartEvent | MappingStartEvent):
            raise self._refused(event, at, "a value is missing")

    def _sequence(self, at: str, depth: int) -> list[Any]:
        items: list[Any] = []
        for event in self._events:
            if isinstance(event, SequenceEndEvent):
                break
            items.append(self._value(event, at + pointer(len(items)), depth + 1))
        return items

    def _mapping(self, at: str, depth: int) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for event in self._events:
            if isinstance(event, MappingEndEvent):
                break
            key = self._key(event, at)
            place = at + pointer(key)
            if key in values:
                first = self._document.lines[place]
                raise self._refused(event, place, f"this key stands twice, first on line {first}")
            self._document.lines[place] = event.start_mark.line + 1
            values[key] = self._value(next(self._events), place, depth + 1)
        return values

    def _key(self, event: Any, at: str) -> str:
        if not isinstance(event, ScalarEvent) or event.tag is not None or event.anchor is not None:
            raise self._refused(event, at, "a key is plain text")
        key: str = event.value
        if key == "<<":
            raise self._refused(event, at, "merge keys are refused: write the value out")
        return key

    def _scalar(self, event: Any, at: str) -> Any:
        text: str = event.value
        if event.style is not None:
            return text
        if text in ("true", "false"):
            return text == "true"
        if text in ("", "null"):
            return None
        if _INT.fullmatch(text):
            return int(text)
        if _DECIMAL.fullmatch(text):
            return float(text)
        folded = text.casefold()
        if folded in _DOUBTFUL or folded in ("true", "false", "null"):
            raise self._refused(
                event, at, f"`{text}` may be a boolean or a word: write true, false, or quote it"
            )
        if _NUMBERISH.fullmatch(text):
            raise self._refused(
                event, at, f"`{text[:40]}` may be a number or text: write the digits, or quote it"
            )
        return text

    def _refused(self, event: Any, at: str, detail: str) -> ContractRefused:
        line = event.start_mark.line + 1
        key = self._document.fault(at, "").key
        return ContractRefused([ContractFault(self._document.file, line, key, detail)])
