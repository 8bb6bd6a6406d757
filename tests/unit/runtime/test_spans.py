"""Spans are masked as logs are before they leave the process (I28)."""

from __future__ import annotations

from fencepost_runtime.secrets import MASK, register_secret
from fencepost_runtime.spans import RedactingExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace.status import Status, StatusCode

SECRET = "canary-in-a-span-90a1"


def test_i28_a_span_shows_no_secret_wherever_it_stood() -> None:
    register_secret(SECRET)
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(RedactingExporter(kept)))
    with provider.get_tracer("test").start_as_current_span(f"GET {SECRET}") as span:
        span.set_attributes({"url.query": "ticket=opaque.but.live&x=1", "list": ["a", SECRET], "n": 3})
        span.add_event("said", {"text": f"it is {SECRET}"})
        span.set_status(Status(StatusCode.ERROR, f"{SECRET} is wrong"))
    [told] = kept.get_finished_spans()
    assert SECRET not in told.to_json() and "opaque" not in told.to_json()
    attributes = told.attributes or {}
    assert attributes["url.query"] == f"ticket={MASK}&x=1" and attributes["n"] == 3
    assert told.context == span.get_span_context() and told.end_time is not None
