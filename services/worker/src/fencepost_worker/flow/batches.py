"""A step's sources in batches: one branch each, in source order, never across two sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fencepost_contracts.graphs import GraphDefinition

from fencepost_worker.flow.state import DONE

WHOLE: Final = "results"  # the source of a step that has no records


def batches_for(
    step: Mapping[str, Any],
    plan: Mapping[str, Any],
    actions: Sequence[Mapping[str, Any]],
    most_records: int,
    definition: GraphDefinition,
) -> list[dict[str, Any]]:
    """{index, of, source, key, records, coverage, results} for each branch; one without records where the
    steps it needs made none. More records than branches may hold make larger batches, never fewer records."""
    done = _results(step, actions)
    groups = _by_source(done)
    fan_out = definition.nodes["composer"].fan_out
    most = fan_out.most if fan_out is not None else 1
    size = most_records
    while sum(-(-len(records) // size) for _, records in groups) > most:
        size *= 2
        if size > sum(len(records) for _, records in groups):
            groups = [("all", [record for _, records in groups for record in records])]
    cut = [
        (source, records[start : start + size])
        for source, records in groups
        for start in range(0, len(records), size)
    ] or [(WHOLE, [])]
    rest = [_without_records(one) for one in done]
    key = f"{step['id']}:{plan['revision']}:{step['tries']}"
    return [
        {
            "index": index,
            "of": len(cut),
            "source": source,
            "key": f"{key}:{index}",
            "records": records,
            "results": rest,
        }
        for index, (source, records) in enumerate(cut)
    ]


def _results(step: Mapping[str, Any], actions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    needs = set(step["needs"])
    return [
        {"step": a.get("step"), "tool": a["tool"], "result": a.get("result")}
        for a in actions
        if a["status"] == DONE and a.get("step") in needs
    ]


def _by_source(done: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[Any]]]:
    """Records of all results, grouped by their artifact, in the order in which each was first seen."""
    groups: dict[str, list[Any]] = {}
    for one in done:
        result = one["result"]
        records = result.get("records") if isinstance(result, Mapping) else None
        for record in records if isinstance(records, list) else ():
            source = record.get("artifact_id", "") if isinstance(record, Mapping) else ""
            groups.setdefault(str(source), []).append(record)
    return list(groups.items())


def _without_records(one: Mapping[str, Any]) -> dict[str, Any]:
    result = one["result"]
    if isinstance(result, Mapping) and isinstance(result.get("records"), list):
        rest = {name: value for name, value in result.items() if name not in ("records", "units")}
        result = {**rest, "records": len(result["records"])}
    return {**one, "result": result}
