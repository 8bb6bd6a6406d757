"""The work that everybody is measured by: a graph of five trivial durable steps, and nothing else.

`python -m bench.five` is the product's worker process with this graph in place of the core one; claims,
binding, fences, the group writer, the event log and the finalization are the product's own.
"""

from __future__ import annotations

from fencepost_contracts.graphs import END, GraphDefinition, Node
from fencepost_worker.flow.state import Patch, State
from fencepost_worker.flow.step import NodeFunction, Step

STEPS = ("step_one", "step_two", "step_three", "step_four", "step_five")
FIVE = GraphDefinition(
    name="five",
    version="1.0.0",
    entry=STEPS[0],
    nodes={name: Node(edges=(after,)) for name, after in zip(STEPS, (*STEPS[1:], END), strict=True)},
)


def _step(after: str) -> NodeFunction:
    async def node(state: State, step: Step) -> Patch:
        done = [*state.get("left_undone", []), after]
        patch: Patch = {"route": after, "module": step.facts.module, "left_undone": done}
        if after == END:
            patch["message_id"] = str(step.new_id())
            patch["left_undone"] = []
            patch["ending"] = {
                "status": "succeeded",
                "reason": "acceptance_met",
                "code": None,
                "text": "five steps done",
                "explanation": "five steps done",
                "left_undone": [],
            }
        return patch

    return node


FIVE_NODES = {name: _step(after) for name, after in zip(STEPS, (*STEPS[1:], END), strict=True)}


def main() -> None:
    """The product's worker on this graph."""
    from fencepost_worker import main as worker

    worker.DEFINITIONS, worker.NODES = (FIVE,), {FIVE.name: FIVE_NODES}  # type: ignore[misc,assignment]
    worker.main()


if __name__ == "__main__":
    main()
