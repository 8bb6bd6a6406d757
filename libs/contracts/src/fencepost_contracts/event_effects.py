"""What the log says of effects: payloads of the events about what happened to the world."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from fencepost_domain.vocabulary import EffectClass, EffectState
from pydantic import BaseModel, ConfigDict


class Payload(BaseModel):
    """Strict for writers; `parse` reads past what it doesn't know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ActionUnknown(Payload):
    index: int
    tool: str
    attempt: int
    late: bool
    n: int | None = None
    effect_key: str | None = None


class EffectDuplicated(Payload):
    effect_key: str
    attempts: tuple[int, ...] = ()


class EffectMoved(Payload):
    """What became known of an effect. `by`: a look-up, an executor, `user:…`, or what decided it.

    `heard`: what an executor was told after another had settled the attempt. `state`: of the effect, after.
    """

    effect_key: str
    index: int
    tool: str
    state: EffectState
    attempt: int | None = None
    by: str | None = None
    heard: str | None = None
    detail: str | None = None
    external_id: str | None = None
    run_id: UUID | None = None
    late: bool = False


class ActionEnded(Payload):
    """Committed or failed: with the result or the error."""

    index: int
    n: int
    tool: str
    effect_key: str | None = None
    attempt: int | None = None
    arguments_hash: str | None = None
    effect_class: EffectClass | None = None
    result: Any = None
    error: Any = None
    result_invalid: bool = False
    late: bool = False
