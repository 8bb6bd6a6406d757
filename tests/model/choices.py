"""What may be drawn: the steps of a history, how often each, and what it is told."""

from __future__ import annotations

from typing import Any

from fencepost_domain.fence import FenceKind
from fencepost_domain.vocabulary import EffectState, InterruptKind, Risk
from hypothesis import strategies as st

PICK = st.integers(0, 15)  # 0: the newest
SLOT = st.sampled_from(["slot-1", "slot-2"])
FLAG = st.booleans()


def one_of(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


# Step -> how often, and what it is told. One rule draws among those that can be taken now: rules of their own
# would be switched off for whole histories, and a history without a claim shows nothing.
STEPS: dict[str, tuple[int, dict[str, st.SearchStrategy[Any]]]] = {
    "create": (2, {"shared": FLAG, "timed": FLAG}),
    "claim": (6, {"slot": SLOT, "limit": st.integers(1, 2)}),
    "beat": (2, {"slot": SLOT}),
    "restart": (1, {"slot": SLOT}),
    "note": (2, {"pick": PICK, "kind": one_of(FenceKind.RECORD, FenceKind.DRAIN)}),
    "checkpoint": (2, {"pick": PICK}),
    "let_go": (2, {"pick": PICK, "step": one_of("defer", "finalize", "reach_safe_boundary")}),
    "drained": (1, {"pick": PICK}),
    "ask": (4, {"pick": PICK, "kind": one_of(InterruptKind.APPROVAL, InterruptKind.INPUT)}),
    "wait_for_tool": (2, {"pick": PICK}),
    "prepare": (2, {"pick": PICK, "risk": one_of(Risk.LOW, Risk.MEDIUM)}),
    "start": (2, {"pick": PICK}),
    "act": (1, {"pick": PICK}),
    "outcome": (2, {"pick": PICK, "state": one_of(EffectState.COMPLETED, EffectState.FAILED)}),
    "decide": (4, {"pick": PICK, "decision": one_of("approve", "reject")}),
    "ask_of_run": (2, {"pick": PICK, "ask": one_of("cancel", "pause", "resume")}),
    "lease_passes": (3, {"pick": PICK, "swept": FLAG}),
    "stop_and_tell": (1, {"pick": PICK}),
    "time_passes": (2, {"what": one_of("question", "attempt", "deadline", "drain", "pause")}),
    "sweep": (3, {"name": one_of("all", "waits", "drain", "deadlines", "interrupts", "pauses", "effects")}),
}
