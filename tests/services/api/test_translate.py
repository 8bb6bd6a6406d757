"""What a stream tells of the log: a failed model call is an error without an id (case ST-4)."""

from __future__ import annotations

import json

from fencepost_api.streams.translate import Logged, show


def called(**payload: object) -> Logged:
    return Logged("01970000-0000-7000-8000-000000000001", 4, "model.called", "2026-03-04T10:00:00Z", payload)


def test_st4_a_failed_model_call_is_an_error_event_that_is_not_resumed_from() -> None:
    shown = show(called(state="failed", code="provider_error", provider_code="429", retryable=True, key="k"))

    assert shown is not None
    assert (shown.name, shown.seq, shown.last) == ("error", None, False)
    body = json.loads(shown.body)
    assert (body["code"], body["provider_code"], body["retryable"]) == ("provider_error", "429", True)
    assert "key" not in body


def test_a_settled_model_call_stays_in_the_log() -> None:
    assert show(called(state="settled")) is None
