"""No progress: the same call, or the same step, without news between."""

from __future__ import annotations

from fencepost_domain.progress import (
    Limits,
    Progress,
    action_key,
    stall_before,
    stalled,
    with_action,
    with_evidence,
    with_refusal,
    with_step,
)
from hypothesis import given
from hypothesis import strategies as st

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(st.text(max_size=5), JSON, max_size=4)


@given(ARGUMENTS)
def test_the_order_of_arguments_makes_no_other_call(arguments: dict[str, object]) -> None:
    turned = dict(reversed(arguments.items()))

    assert action_key("work.x", arguments) == action_key("work.x", turned)
    assert action_key("work.x", arguments) != action_key("work.y", arguments)


def test_numbers_of_another_kind_are_another_call() -> None:
    assert action_key("t", {"a": 1}) != action_key("t", {"a": "1"})
    assert action_key("t", {"a": 1}) != action_key("t", {"a": True})


def test_the_same_call_is_stopped_before_its_third_time() -> None:
    progress = Progress()
    for _ in range(2):
        assert stall_before(progress, "work.extract", {"a": 1}) is None
        progress = with_action(progress, "work.extract", {"a": 1})

    found = stall_before(progress, "work.extract", {"a": 1})
    assert found is not None and (found.code, found.times) == ("repeated_action", 2)
    assert stall_before(progress, "work.extract", {"a": 2}) is None


def test_two_calls_in_turn_are_a_circle_too() -> None:
    progress = Progress()
    for turn in range(4):
        progress = with_action(progress, "work.extract", {"page": turn % 2})

    assert stall_before(progress, "work.extract", {"page": 0}) is not None


def test_news_clears_the_counts_and_the_same_result_is_no_news() -> None:
    progress = with_evidence(Progress(), ["e1"])
    for _ in range(3):
        progress = with_evidence(with_step(progress, "s1"), ["e1"])
    found = stalled(progress)
    assert found is not None and (found.code, found.key) == ("no_new_evidence", "s1")

    assert stalled(with_evidence(progress, ["e1", "e2"])) is None


def test_what_a_person_refused_is_not_proposed_again_whatever_else_is_learnt() -> None:
    progress = with_evidence(with_refusal(Progress(), "mail.send", {"to": "a"}), ["e9"])

    found = stall_before(progress, "mail.send", {"to": "a"})
    assert found is not None and found.code == "refused_action"
    assert stall_before(progress, "mail.send", {"to": "b"}) is None


@given(st.lists(st.tuples(st.sampled_from("asne"), st.integers(0, 3)), max_size=60))
def test_a_run_without_news_ends_within_its_limits(moves: list[tuple[str, int]]) -> None:
    """However it turns: without evidence it stalls after at most steps x rounds; and state survives JSON."""
    progress, limits = Progress(), Limits(actions=2, steps=3)
    quiet = 0
    for move, what in moves:
        if stalled(progress, limits) is not None:
            break
        match move:
            case "a":
                progress = with_action(progress, "t", {"n": what})
            case "s":
                progress = with_step(progress, str(what))
            case "n":
                before = progress
                progress = with_evidence(progress, [f"e{what}"])
                quiet = 0 if progress != before else quiet
        quiet += move in "as"
        assert Progress.from_json(progress.to_json()) == progress
    assert quiet <= 4 * (limits.actions + 1) + 4 * limits.steps
