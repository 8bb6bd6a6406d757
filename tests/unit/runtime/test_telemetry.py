"""Telemetry goes out where an endpoint is set, and costs nothing where none is."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from fencepost_runtime.failpoints import FAILPOINTS
from fencepost_runtime.telemetry import ENDPOINT_VARIABLE

TRACED = """
import sys
from fencepost_runtime.telemetry import counter, set_up_telemetry, trace_parent, tracer
end = set_up_telemetry("worker")
counter("fencepost.test", "a test").add(1)
with tracer().start_as_current_span("step"):
    print(trace_parent())
end()
print("opentelemetry.sdk" in sys.modules)
"""


class Collector(BaseHTTPRequestHandler):
    seen: set[str]

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.seen.add(self.path)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def collector() -> Iterator[HTTPServer]:
    Collector.seen = set()
    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def traced(**env: str) -> list[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    done = subprocess.run(
        [sys.executable, "-c", TRACED], env={**clean, **env}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_without_an_endpoint_the_sdk_is_not_even_imported() -> None:
    assert traced() == ["None", "False"]


def test_with_an_endpoint_traces_and_metrics_arrive(collector: HTTPServer) -> None:
    parent, imported = traced(**{ENDPOINT_VARIABLE: f"http://127.0.0.1:{collector.server_port}"})
    assert parent.startswith("00-")
    assert imported == "True"
    assert Collector.seen == {"/v1/traces", "/v1/metrics"}


def test_every_failpoint_names_its_process_and_why() -> None:
    assert {point.process for point in FAILPOINTS.values()} == {"api", "worker", "gateway", "reconciler"}
    assert [name for name, point in FAILPOINTS.items() if not point.doc or point.name != name] == []
    assert len(FAILPOINTS) >= 8
