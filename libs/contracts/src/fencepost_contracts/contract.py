"""What a module's contract.yaml may say: anything else in the file refuses it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fencepost_domain.vocabulary import EffectClass, Risk
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr

from fencepost_contracts.compensation import Compensate
from fencepost_contracts.http_tools import HttpCall
from fencepost_contracts.sources import From, Source
from fencepost_contracts.state import DynamicPrompt, OnlyWhen, StateRule, StateWrite
from fencepost_contracts.tools import Approvers

Seconds = Annotated[StrictInt | StrictFloat, Field(gt=0, le=3600)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ToolContract(_Strict):
    """One tool. `risk` and `effect_class` default to the most careful: high and external_opaque.

    from: a source's operation or MCP tool, which brings its own schemas. Of our own code the description and
    both schemas stand here. grantable: an approval may be remembered. attachments: arguments that hold
    artifact ids, whose content is approved with the rest. takes_time: its code has `make`, which works
    outside any transaction; without it a local tool has 2 s. compensate: which
    tool undoes what this one did.
    """

    name: StrictStr
    version: StrictStr = "1"
    from_: Annotated[From | None, Field(alias="from")] = None
    description: Annotated[StrictStr, Field(max_length=2000)] = ""
    input_schema: dict[str, Any] | None = None
    output_schema: dict[str, Any] | None = None
    risk: Risk = Risk.HIGH
    effect_class: EffectClass = EffectClass.EXTERNAL_OPAQUE
    approval: Literal["by_risk", "required"] = "by_risk"
    requires_plan: StrictBool = False
    repeatable: StrictBool = False
    intermediate: StrictBool = False
    lookup: StrictBool = False
    roles: tuple[StrictStr, ...] = ()
    timeout_seconds: Seconds = 10
    settle_within_seconds: Seconds = 60
    key_memory_seconds: Annotated[StrictInt, Field(gt=0)] | None = None
    budgets: dict[str, Annotated[StrictInt, Field(ge=0)]] = Field(default_factory=dict)
    state_bindings: dict[str, StrictStr] = Field(default_factory=dict)
    only_when: OnlyWhen | None = None
    state_writes: tuple[StateWrite, ...] = ()
    http: HttpCall | None = None
    grantable: StrictBool = False
    approvers: Approvers | None = None
    takes_time: StrictBool = False
    attachments: Annotated[tuple[StrictStr, ...], Field(max_length=8)] = ()
    compensate: Compensate | None = None


class Contract(_Strict):
    """contract.yaml. An empty `allowed_tools` denies all; leaving it out is refused, so that it is meant."""

    version: Annotated[StrictStr, Field(min_length=1, max_length=64)]
    agent_name: StrictStr
    description: StrictStr = ""
    sources: tuple[Source, ...] = ()
    allowed_tools: tuple[ToolContract, ...]
    state_rules: Annotated[tuple[StateRule, ...], Field(max_length=64)] = ()
    dynamic_prompts: Annotated[tuple[DynamicPrompt, ...], Field(max_length=64)] = ()
    state_summary: Annotated[tuple[StrictStr, ...], Field(max_length=64)] = ()
