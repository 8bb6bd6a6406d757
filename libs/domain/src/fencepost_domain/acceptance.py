"""Whether a task contract is proven: every hard requirement, on what is delivered, by evidence (I24).

"The tool said done" is no evidence: a proof comes from a gate or a check that looked. What was not judged
counts as not proven, and the newest judgement of the same thing counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fencepost_domain.errors import Invalid
from fencepost_domain.task_contract import EMAIL, Requirement, TaskContract


@dataclass(frozen=True, slots=True)
class Proof:
    """What a check said about one requirement on one subject. by: the gate or check, with its version.

    subject: the artifact's id, or the draft's action key. ref: where to look (event, artifact, locator).
    """

    requirement: str
    subject: str
    passed: bool
    by: str
    ref: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "requirement": self.requirement,
            "subject": self.subject,
            "passed": self.passed,
            "by": self.by,
            "ref": self.ref,
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Proof:
        """Raises Invalid("proof_malformed"): what can't be read proves nothing."""
        try:
            if raw["passed"] is not True and raw["passed"] is not False:
                raise TypeError("passed is no boolean")
            return cls(
                str(raw["requirement"]),
                str(raw["subject"]),
                raw["passed"],
                str(raw["by"]),
                str(raw.get("ref", "")),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise Invalid("", f"not a proof: {error!r}", "proof_malformed") from error


@dataclass(frozen=True, slots=True)
class Acceptance:
    """missing: requirements that nobody proved; failed: those that a check refused. Met with neither."""

    missing: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()

    @property
    def met(self) -> bool:
        return not self.missing and not self.failed

    @property
    def open(self) -> tuple[str, ...]:
        """What stands between the run and its success, refusals first."""
        return (*self.failed, *(name for name in self.missing if name not in self.failed))


# Enough in one of the delivered things: a table asked for with slides and a letter is on the slides.
ANYWHERE: Final = frozenset({Requirement.TABLES_PRESENT, Requirement.PICTURES_PRESENT})
OF_DRAFTS: Final = frozenset({Requirement.DRAFT_EXISTS, Requirement.LANGUAGE_MATCHES})


def judge_acceptance(
    contract: TaskContract, proofs: Sequence[Proof], delivered: Mapping[str, str]
) -> Acceptance:
    """Whether what is delivered meets the contract.

    delivered: subject -> its kind (of FILE_KINDS); a rejected file isn't delivered. proofs: in order of time.
    """
    newest = {(proof.requirement, proof.subject): proof.passed for proof in proofs}
    missing: dict[str, None] = {}
    failed: dict[str, None] = {}
    for kind in contract.file_kinds:
        if kind not in delivered.values():
            missing[Requirement.DRAFT_EXISTS if kind == EMAIL else Requirement.ARTIFACT_EXISTS] = None
    for name in contract.hard_requirements:
        subjects = [subject for subject, kind in delivered.items() if _concerns(name, kind)]
        said = [newest.get((name, subject)) for subject in subjects]
        if name in ANYWHERE and True in said:
            continue
        if False in said:
            failed[name] = None
        elif not said or None in said:
            missing[name] = None
    return Acceptance(tuple(map(str, missing)), tuple(map(str, failed)))


def _concerns(name: str, kind: str) -> bool:
    """Whether a requirement is one of this kind of thing. An unknown requirement concerns all."""
    if name == Requirement.DRAFT_EXISTS:
        return kind == EMAIL
    return kind != EMAIL or name in OF_DRAFTS or name not in set(Requirement)
