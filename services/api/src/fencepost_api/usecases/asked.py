"""What an approval asks for and who has to give it, as its rows and the policy of today say."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID

from fencepost_contracts.loader import read_catalog
from fencepost_contracts.policies import ApprovalPolicy
from fencepost_contracts.schema import Schema
from fencepost_contracts.tools import Catalog, Tool
from fencepost_domain.errors import Forbidden
from fencepost_domain.grant import may_be_granted
from fencepost_domain.policy import Rule, check_may_decide
from fencepost_domain.vocabulary import EffectClass, Risk
from fencepost_store import settings_store, votes
from fencepost_store.transaction import Tx
from sqlalchemy import RowMapping


@dataclass(frozen=True, slots=True)
class Asked:
    """One action that is asked for. tool: None where its catalog isn't published."""

    row: RowMapping
    tool: Tool | None
    rule: Rule

    @property
    def arguments(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.row["arguments"])
        return found

    @property
    def schema(self) -> Schema | None:
        return Schema(self.tool.input_schema) if self.tool is not None else None

    @property
    def grantable(self) -> bool:
        """May an approval of it be remembered? By the contract, and never where several persons decide."""
        if self.tool is None or self.rule.quorum > 1:
            return False
        risk, effect = Risk(self.row["risk"]), EffectClass(self.row["effect_class"])
        return may_be_granted(risk, effect, grantable=self.tool.grantable)


async def read_asked(tx: Tx, interrupt_id: UUID, risk: str | None) -> tuple[Mapping[int, Asked], Rule]:
    """The actions by index, and the rule for one that is not there (an approval without actions)."""
    tenant, _ = await settings_store.read(tx, settings_store.TENANT)
    policy = ApprovalPolicy.of(tenant)
    asked = {}
    for row in await votes.asked_actions(tx, interrupt_id):
        tool = _tool(row)
        asked[row["index"]] = Asked(row, tool, policy.rule(row["risk"], tool))
    return asked, policy.rule(risk or Risk.HIGH)


def _tool(row: RowMapping) -> Tool | None:
    return _catalog(row["fingerprint"], row["body"]).tool(row["tool"]) if row["body"] is not None else None


@lru_cache(maxsize=64)
def _catalog(fingerprint: str, body: str) -> Catalog:
    return read_catalog(fingerprint, body)


def rule_view(
    asked: Mapping[int, Asked], otherwise: Rule, given: int, who: str, roles: Collection[str], requester: str
) -> dict[str, Any]:
    """The rule as the api shows it: of several actions the strictest."""
    rules = [one.rule for one in asked.values()] or [otherwise]
    why_not = None
    for index, rule in zip(asked or (0,), rules, strict=True):
        author = asked[index].row["author"] if index in asked else requester
        try:
            check_may_decide(caller=who, caller_roles=roles, requester=requester, author=author, rule=rule)
        except Forbidden as error:
            why_not = str(error)
    return {
        "four_eyes": any(rule.four_eyes for rule in rules),
        "roles": sorted({tuple(sorted(wanted)) for rule in rules for wanted in rule.roles}),
        "needed": max(rule.quorum for rule in rules),
        "given": given,
        "grantable": len(asked) == 1 and all(one.grantable for one in asked.values()),
        "may_decide": why_not is None,
        "why_not": why_not,
    }
