"""What the gates judge by: the task contract and what was really read, as JSON to keep and replay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fencepost_domain.task_contract import TaskContract
from pydantic import BaseModel, BeforeValidator, ConfigDict

from fencepost_documents.ir import SCHEMA_VERSION, Record, RecordSet, SourceDocument


def contract_from(value: object) -> object:
    """A stored contract as one; anything else as it is, for the validator behind."""
    return TaskContract.from_json(value) if isinstance(value, Mapping) else value


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SourceFacts(_Frozen):
    """A source as it was read: the places in it. schema_version: of the Source IR it was read into."""

    artifact_id: str
    locators: frozenset[str]
    schema_version: str = SCHEMA_VERSION

    @classmethod
    def of(cls, document: SourceDocument) -> SourceFacts:
        return cls(
            artifact_id=document.artifact_id, locators=frozenset(one.locator for one in document.units)
        )


class PresentationFacts(_Frozen):
    """contract: from the user's words. sources: what was read of the attachments. records: what was
    extracted, None when nothing was.
    """

    contract: Annotated[TaskContract, BeforeValidator(contract_from)]
    sources: tuple[SourceFacts, ...] = ()
    records: tuple[Record, ...] | None = None

    @classmethod
    def of(
        cls,
        contract: TaskContract,
        sources: tuple[SourceDocument, ...] = (),
        records: RecordSet | None = None,
    ) -> PresentationFacts:
        return cls(
            contract=contract,
            sources=tuple(SourceFacts.of(one) for one in sources),
            records=records.records if records is not None else None,
        )

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> PresentationFacts:
        """Raises pydantic.ValidationError or Invalid for what isn't facts in full."""
        return cls.model_validate(raw)

    def to_json(self) -> dict[str, Any]:
        kept = self.model_dump(mode="json")
        for source in kept["sources"]:
            source["locators"].sort()  # a set has no order; a stored fact has one form
        return {**kept, "contract": self.contract.to_json()}


class Places:
    """Where a row's locator points: `place` with one source, `<artifact id>#<place>` with several."""

    def __init__(self, sources: tuple[SourceFacts, ...]) -> None:
        self._sources = sources

    def found(self, locator: str) -> list[tuple[str, str]]:
        """All (artifact id, place) that it may mean; one when it is right."""
        named, mark, place = locator.partition("#")
        if mark:
            exact = [(one.artifact_id, place) for one in self._sources
                     if one.artifact_id == named and place in one.locators]  # fmt: skip
            if exact:
                return exact
        return [(one.artifact_id, locator) for one in self._sources if locator in one.locators]
