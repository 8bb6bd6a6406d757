"""I18, I19, I25 on the pure parts: pairing, assembling, and what no gate can cover."""

from __future__ import annotations

import pytest
from fencepost_domain.gates import Violation, combine, verdict
from fencepost_worker.models.assembler import Assembler
from fencepost_worker.models.pairing import is_paired, paired
from fencepost_worker.models.port import Call, CallDelta, FinishDelta, Message, ModelFailed
from hypothesis import given
from hypothesis import strategies as st

CALLS = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=3, unique=True)
TURNS = st.lists(
    st.one_of(
        st.builds(lambda ids: Message("assistant", "", tuple(Call(i, "t", {}) for i in ids)), CALLS),
        st.builds(lambda i: Message("tool", "{}", call_id=i), st.sampled_from(["a", "b", "c", "d", "x"])),
        st.just(Message("user", "go on")),
    ),
    max_size=8,
)


@given(TURNS)
def test_i18_whatever_was_cut_off_each_call_sent_has_one_answer_behind_it(turns: list[Message]) -> None:
    assert is_paired(paired(turns))


WHOLE = '{"title":"交周报","at":"2031-03-05T09:00:00+08:00"}'


@pytest.mark.parametrize("cut", range(len(WHOLE)))
@pytest.mark.parametrize("end", [None, "length", "tool_calls"])
def test_i19_half_a_streamed_call_is_no_call(cut: int, end: str | None) -> None:
    assembler = Assembler()
    assembler.feed(CallDelta(0, "c1", "life.create_reminder", WHOLE[:cut]))
    if end is not None:
        assembler.feed(FinishDelta(end))
    if end == "tool_calls" and cut == 0:
        [call] = assembler.finish().calls  # no arguments at all are {}: the schema refuses what it needs
        assert call.arguments == {}
        return
    with pytest.raises(ModelFailed):
        assembler.finish()


def test_i25_a_gate_after_a_failure_leaves_it_a_failure() -> None:
    bad = verdict("artifact-quality-v1", [Violation("no_file", "", "there is none", "make it")])
    good = verdict("response-quality-1.0.0", [])
    assert not combine([bad, good]).passed
    assert not combine([good, bad, good]).passed
