"""The task contract: what the user's own words make a condition of success (design 04).

It is compiled once, by code, before any model is asked (`fencepost_intents.task_contract`). A later node may
refine it (more fields, more requirements); nothing may take from it: what follows from the facts is put back
whenever a contract is made or read, and `refine` only ever adds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any, Final

from fencepost_domain.errors import Invalid

VERSION: Final = "task-contract-v3"
COMPLETION: Final = "all_hard_requirements_pass"
FILE_KINDS: Final = ("pptx", "docx", "xlsx", "email")
EMAIL: Final = "email"
MAX_FIELDS: Final = 40
MAX_PAGES: Final = 500  # of a presentation; who says "at least ten" has this for an upper bound
MAX_NAME: Final = 80  # characters of a field's name


class Requirement(StrEnum):
    """Hard requirements, in the order they are told. Each is proven by evidence under its own name."""

    ARTIFACT_EXISTS = "artifact_exists"
    ARTIFACT_OPENS = "artifact_opens"
    ARTIFACT_READABLE = "artifact_readable"
    FILE_KIND_MATCHES = "file_kind_matches"
    DRAFT_EXISTS = "draft_exists"
    SOURCES_USED = "sources_used"
    SOURCE_COVERAGE_COMPLETE = "source_coverage_complete"
    FIELDS_PRESENT = "fields_present"
    LANGUAGE_MATCHES = "language_matches"
    TABLES_PRESENT = "tables_present"
    PICTURES_PRESENT = "pictures_present"
    PAGE_COUNT_FITS = "page_count_fits"


@dataclass(frozen=True, slots=True)
class TaskContract:
    """One request's conditions of success.

    file_kinds: of FILE_KINDS. attachments: artifact ids the work is bound to. required_fields: names as the
    user wrote them. language: of the output, a BCP 47 tag, None when it was not said. tables, pictures: asked
    for. pages: least and most of a presentation, None when no number was said. hard_requirements: at least
    those that follow from the rest, which are added here; further names are kept. Raises Invalid for a kind,
    a version or a completion that doesn't exist.
    """

    version: str = VERSION
    file_kinds: tuple[str, ...] = ()
    full_coverage: bool = False
    attachments: tuple[str, ...] = ()
    required_fields: tuple[str, ...] = ()
    language: str | None = None
    tables: bool = False
    pictures: bool = False
    pages: tuple[int, int] | None = None
    hard_requirements: tuple[str, ...] = ()
    completion: str = COMPLETION

    def __post_init__(self) -> None:
        if self.version != VERSION:
            raise Invalid("/version", f"{self.version!r} is not {VERSION}", "contract_version")
        if self.completion != COMPLETION:
            raise Invalid("/completion", f"{self.completion!r} is not {COMPLETION}", "contract_malformed")
        unknown = [kind for kind in self.file_kinds if kind not in FILE_KINDS]
        if unknown:
            raise Invalid(
                "/file_kinds", f"{unknown[0]!r} is not one of {', '.join(FILE_KINDS)}", "contract_malformed"
            )
        follows = following_requirements(self)
        rest = [name for name in self.hard_requirements if name not in follows]
        object.__setattr__(self, "hard_requirements", tuple(dict.fromkeys([*follows, *rest])))

    @property
    def asks_for_files(self) -> bool:
        """Whether success needs a file; an e-mail draft isn't one."""
        return any(kind != EMAIL for kind in self.file_kinds)

    def to_json(self) -> dict[str, Any]:
        """As it is kept in state, events and the run's view. `pages` only where some were asked for."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        if self.pages is None:
            del values["pages"]
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    @classmethod
    def from_json(cls, raw: object) -> TaskContract:
        """Read a stored contract. Raises Invalid("contract_malformed") for another shape."""
        if not isinstance(raw, Mapping):
            raise Invalid("", f"expected an object, got {type(raw).__name__}", "contract_malformed")
        known = {one.name for one in fields(cls)}
        if extra := sorted(set(raw) - known):
            raise Invalid(f"/{extra[0]}", "no such field", "contract_malformed")
        return cls(**{name: _read(name, value) for name, value in raw.items()})


_LISTS: Final = frozenset({"file_kinds", "attachments", "required_fields", "hard_requirements"})
_FLAGS: Final = frozenset({"full_coverage", "tables", "pictures"})


def _read(name: str, value: object) -> Any:
    if name in _LISTS:
        if isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
            return tuple(value)
    elif name in _FLAGS:
        if isinstance(value, bool):
            return value
    elif name == "pages":
        if value is None:
            return None
        if isinstance(value, list | tuple) and _is_range(value):
            return tuple(value)
    elif isinstance(value, str) or (value is None and name == "language"):
        return value
    raise Invalid(f"/{name}", f"{type(value).__name__} can't stand here", "contract_malformed")


def _is_range(value: Sequence[Any]) -> bool:
    are_numbers = len(value) == 2 and all(type(one) is int for one in value)
    return are_numbers and 1 <= value[0] <= value[1] <= MAX_PAGES


def following_requirements(contract: TaskContract) -> tuple[str, ...]:
    """What the facts of a contract make a hard requirement, whatever anybody says later.

    They judge something made: where no file and no draft is wanted, an answer in words has its own gate.
    """
    files, made, R = contract.asks_for_files, bool(contract.file_kinds), Requirement
    follows = {
        R.ARTIFACT_EXISTS: files,
        R.ARTIFACT_OPENS: files,
        R.ARTIFACT_READABLE: files,
        R.FILE_KIND_MATCHES: files,
        R.DRAFT_EXISTS: EMAIL in contract.file_kinds,
        R.SOURCES_USED: files and bool(contract.attachments),
        R.SOURCE_COVERAGE_COMPLETE: files and contract.full_coverage and bool(contract.attachments),
        R.FIELDS_PRESENT: files and bool(contract.required_fields),
        R.LANGUAGE_MATCHES: made and contract.language is not None,
        R.TABLES_PRESENT: files and contract.tables,
        R.PICTURES_PRESENT: files and contract.pictures,
        R.PAGE_COUNT_FITS: "pptx" in contract.file_kinds and contract.pages is not None,
    }
    return tuple(str(name) for name, holds in follows.items() if holds)


@dataclass(frozen=True, slots=True)
class Refinement:
    """A contract after a proposal. refused: JSON pointers of what the proposal may not say."""

    contract: TaskContract
    refused: tuple[str, ...] = ()


# What a proposal may ask for by a requirement's name: it becomes the fact that the requirement follows from.
_ASKED_BY: Final[Mapping[str, str]] = {
    Requirement.TABLES_PRESENT: "tables",
    Requirement.PICTURES_PRESENT: "pictures",
    Requirement.SOURCE_COVERAGE_COMPLETE: "full_coverage",
}


def refine(contract: TaskContract, proposal: Mapping[str, Any]) -> Refinement:
    """What a planner may make of a contract: it adds, and never takes away (design 04).

    proposal: a model's words, of any shape. It may name further fields, ask for tables, pictures and full
    coverage (also by the requirement's name), and say kinds and language where the user left them open. It
    can't name attachments. Whatever would take back is refused and named, not raised: the work goes on.
    """
    refused: list[str] = []
    kept = dict(contract.to_json())
    for name, value in proposal.items():
        merged = _merged(contract, name, value)
        if merged is None:
            refused.append(f"/{name}")
        else:
            kept.update(merged)
    return Refinement(TaskContract.from_json(kept), tuple(refused))


def _merged(contract: TaskContract, name: str, value: object) -> dict[str, Any] | None:
    """What the proposal of one field changes, or None when it is refused."""
    own = getattr(contract, name, None) if name in contract.__slots__ else None
    if name in _FLAGS:
        return {name: value} if isinstance(value, bool) and value >= bool(own) else None
    if name == "required_fields":
        named = _named(value)
        fields_ = None if named is None else dict.fromkeys([*contract.required_fields, *named])
        return None if fields_ is None else {name: list(fields_)[: _most(contract)]}
    if name == "hard_requirements":
        named = _named(value)
        fresh = [one for one in named or () if one not in contract.hard_requirements]
        return (
            None if named is None or set(fresh) - set(_ASKED_BY) else {_ASKED_BY[one]: True for one in fresh}
        )
    if name == "file_kinds" and not contract.file_kinds:
        named = _named(value)
        return {name: named} if named and set(named) <= set(FILE_KINDS) else None
    if name == "language" and contract.language is None:
        return {name: value} if isinstance(value, str) and 0 < len(value) <= MAX_NAME else None
    return {} if name in contract.__slots__ and (value == own or _same(value, own)) else None


def _most(contract: TaskContract) -> int:
    """A proposal can't flood a contract; the user's own fields are never cut."""
    return max(MAX_FIELDS, len(contract.required_fields))


def _named(value: object) -> list[str] | None:
    if not isinstance(value, list | tuple):
        return None
    names = [one.strip() for one in value if isinstance(one, str) and 0 < len(one.strip()) <= MAX_NAME]
    return names if len(names) == len(value) else None


def _same(value: object, own: object) -> bool:
    return isinstance(value, list) and isinstance(own, tuple) and tuple(value) == own


def with_attachments(contract: TaskContract, attachments: Iterable[str]) -> TaskContract:
    """The contract bound to further attachments of the user's: answers may bring some."""
    return replace(contract, attachments=tuple(dict.fromkeys([*contract.attachments, *attachments])))
