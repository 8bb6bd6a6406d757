"""Wake-ups: messages that say there may be work, and carry nothing that isn't in Postgres.

Names are binding for operators: KEDA scales on the lag of these groups, access lists name these topics.
"""

from enum import StrEnum
from typing import Final, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from fencepost_contracts.envelope import Envelope

TOPIC_PREFIX: Final = "fencepost.wakeup"
GROUP_PREFIX: Final = "fencepost-worker"
SOURCE: Final = "/fencepost/reconciler"


class WakeType(StrEnum):
    """A change that a reader of version 1 can't bear gets a new type, ending in .v2."""

    REQUESTED = "agent.run.requested.v1"
    RESUMABLE = "agent.run.resumable.v1"
    CANCEL = "agent.run.cancel.v1"


class WakeData(BaseModel):
    """Which run, of which module. `detail` is what the outbox row carried beside them, mostly nothing."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    module: str = Field(min_length=1, max_length=40)
    run_id: UUID
    detail: dict[str, JsonValue] = Field(default_factory=dict)


class WakeEvent(Envelope):
    """One wake-up as it lies on a topic. Its key is the run id, so a run's hints keep their order."""

    source: str = SOURCE
    type: WakeType  # narrower than any CloudEvent's
    data: WakeData


class WakeBatch(BaseModel):
    """What one NOTIFY carries: the run ids of one module by kind, short enough for its 8,000 bytes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    v: Literal[1] = 1
    runs: dict[WakeType, list[UUID]]


def topic_of(module: str, prefix: str = TOPIC_PREFIX) -> str:
    """`fencepost.wakeup.companion`; also the name of the Postgres channel."""
    return f"{prefix}.{module}"


def group_of(module: str, prefix: str = GROUP_PREFIX) -> str:
    """`fencepost-worker-companion`: one consumer group a module, so each module scales by itself."""
    return f"{prefix}-{module}"
