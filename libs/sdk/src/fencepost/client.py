"""The clients: `Client` for scripts, `AsyncClient` for services. The same api underneath (design 05).

    with Client() as fencepost:
        run = fencepost.runs.create("remind me tomorrow at 9 to send the report", idempotency_key="report-1")
        run = fencepost.runs.wait(run.id)

A lost answer is repeated by itself, under the same Idempotency-Key, so that it happens once.
Errors: ApiError with the api's code; Unreachable when nothing answers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any, Final, Self

import httpx

from fencepost import requests
from fencepost.deciding import Grants, Interrupts, given
from fencepost.errors import Unreachable, check
from fencepost.profile import find
from fencepost.requests import Request
from fencepost.sse import read_stream
from fencepost.views import Page, StreamEvent, View, as_view

TRIES: Final = 5  # of one request, while the api is being restarted
PAUSE_SECONDS: Final = 0.4  # before the second try; doubles
TERMINAL: Final = frozenset({"succeeded", "partially_succeeded", "failed", "cancelled", "blocked", "expired"})
ASKS_A_PERSON: Final = frozenset({"approval", "input", "reconcile", "version"})


def is_settled(run: Mapping[str, Any]) -> bool:
    """Finished, paused, or waiting on a person: nothing more comes by itself."""
    if run["status"] in TERMINAL or run["status"] == "paused":
        return True
    return run["status"] == "waiting" and run.get("waiting_on") in ASKS_A_PERSON


class Client:
    """A connection to the api. Arguments left out come from the environment or the local profile."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        where = find(url, token)
        self.url = where.url
        self._http = httpx.Client(
            base_url=where.url,
            headers={"Authorization": f"Bearer {where.token}", "User-Agent": "fencepost-sdk"},
            timeout=httpx.Timeout(75.0, connect=3.0),
            transport=transport,
            trust_env=False,
        )
        self.runs = Runs(self)
        self.interrupts = Interrupts(self)
        self.grants = Grants(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def send(self, request: Request) -> httpx.Response:
        """Send, and repeat while nothing answers, when repeating is safe: reads, and requests with a key."""
        safe = request.method in ("GET", "DELETE") or request.key is not None
        for attempt in range(1, TRIES + 1):
            try:
                response = self._http.request(
                    request.method,
                    request.path,
                    json=request.json,
                    files=dict(request.files) if request.files else None,
                    params=dict(request.params),
                    headers=request.all_headers(),
                )
            except httpx.TransportError as error:
                if not safe or attempt == TRIES:
                    raise Unreachable(f"{self.url} does not answer ({type(error).__name__})") from error
                time.sleep(PAUSE_SECONDS * 2 ** (attempt - 1))
                continue
            return check(response)
        raise AssertionError("unreachable")

    def get(self, request: Request) -> View:
        answer = as_view(self.send(request).json())
        return answer if isinstance(answer, View) else View(value=answer)

    def page(self, request: Request) -> Page:
        answer = self.get(request)
        return Page([View(item) for item in answer["items"]], answer.get("next_cursor"))

    def reminders(self, **filters: Any) -> Page:
        return self.page(requests.plain_list("/v1/reminders", **filters))

    def ledger_entries(self, **filters: Any) -> Page:
        return self.page(requests.plain_list("/v1/ledger-entries", **filters))

    def ledger_summary(self, **filters: Any) -> View:
        return self.get(requests.plain_list("/v1/ledger-entries/summary", **filters))

    def upload(self, name: str, content: bytes, media_type: str, *, idempotency_key: str) -> View:
        """A file; its id goes into `attachments` of a run."""
        return self.get(requests.upload(name, content, media_type, idempotency_key))

    def content(self, artifact_id: object) -> bytes:
        """A file's bytes, whose hash the api has compared. Raises ApiError artifact_lost."""
        return self.send(requests.artifact(artifact_id, "/content")).content

    def conversation(self, conversation_id: object) -> View:
        return self.get(requests.conversation(conversation_id))

    def conversation_state(self, conversation_id: object, at: str | None = None) -> View:
        """The state now, or as it was at an instant (RFC 3339 with its zone)."""
        return self.get(requests.conversation(conversation_id, "/state", at=at))

    def state_events(self, conversation_id: object, key: str | None = None) -> Iterator[View]:
        """Every change of the state, oldest first, page by page."""
        after = 0
        while page := self.page(
            requests.conversation(conversation_id, "/state/events", key=key, after=after, limit=200)
        ).items:
            yield from page
            after = page[-1]["seq"]

    def stuck(self, **filters: Any) -> Iterator[View]:
        """Every live run with why it isn't moving, page by page. filters: run, moving."""
        cursor: str | None = None
        while True:
            page = self.page(requests.stuck(**filters, cursor=cursor, limit=100))
            yield from page.items
            cursor = page.next_cursor
            if cursor is None:
                return

    def repair(self, run_id: object, verb: str, reason: str) -> View:
        return self.get(requests.repair(run_id, verb, reason))

    def modules(self) -> Page:
        return self.page(requests.plain_list("/v1/modules"))

    def download(self, request: Request) -> Iterator[bytes]:
        """A body that is too large to be held whole, part by part. Raises ApiError, Unreachable."""
        try:
            with self._http.stream(request.method, request.path, headers=request.all_headers()) as response:
                if not response.is_success:
                    response.read()
                check(response)
                yield from response.iter_bytes()
        except httpx.TransportError as error:
            raise Unreachable(f"{self.url} does not answer ({type(error).__name__})") from error

    def stream(self, path: str, last_id: str | None = None) -> Iterator[StreamEvent]:
        return read_stream(self._http, path, last_id)


class Runs:
    def __init__(self, client: Client) -> None:
        self._client = client

    def create(self, text: str, *, idempotency_key: str, wait: int | None = None, **rest: Any) -> View:
        """Create a run, or get the one this key made. rest: module, zone, locale, metadata, on_busy, ..."""
        return self._client.get(requests.create_run(text, idempotency_key, wait=wait, **rest))

    def get(self, run_id: object) -> View:
        return self._client.get(requests.get_run(run_id))

    def list(self, **filters: Any) -> Page:
        return self._client.page(requests.list_runs(**filters))

    def handoff(self, run_id: object, note: str, assignee: str | None = None) -> View:
        return self._client.get(requests.handoff(run_id, note, assignee))

    def package(self, run_id: object) -> View:
        """From what somebody goes on: goal, what was done, what is open, what is left."""
        return self._client.get(requests.handoff_package(run_id))

    def go_on(self, run_id: object, *, idempotency_key: str, text: str | None = None) -> View:
        """A run that continues a handed-over one."""
        return self._client.get(requests.continue_run(run_id, idempotency_key, text))

    def events(self, run_id: object, after: int = 0) -> Iterator[View]:
        """The whole log from `after` on, page by page."""
        while page := self._client.page(requests.run_events(run_id, after)).items:
            yield from page
            after = page[-1]["seq"]

    def stream(self, run_id: object, last_id: str | None = None) -> Iterator[StreamEvent]:
        return self._client.stream(f"/v1/runs/{run_id}/stream", last_id)

    def wait(self, run_id: object, timeout_seconds: float = 300.0) -> View:
        """Until the run is finished, paused or asks a person. Raises TimeoutError with the run in work."""
        until = time.monotonic() + timeout_seconds
        run = self.get(run_id)
        while not is_settled(run):
            if time.monotonic() > until:
                raise TimeoutError(f"run {run_id} is still {run['status']}")
            time.sleep(0.15)
            run = self.get(run_id)
        return run

    def retry(self, run_id: object, *, idempotency_key: str) -> View:
        """The same wish as a new run: asked, approved and done anew."""
        return self._client.get(requests.derive(run_id, "retry", {}, idempotency_key))

    def fork(self, run_id: object, at_seq: int, *, idempotency_key: str, **rest: Any) -> View:
        """Go on from one of `fork_points` as another run. rest: definition, input."""
        body = {"at_seq": at_seq, **given(rest)}
        return self._client.get(requests.derive(run_id, "fork", body, idempotency_key))

    def simulate(self, run_id: object, *, idempotency_key: str, **substitutes: Any) -> View:
        """The run again on frozen results. substitutes: model, prompt, graph, contract."""
        body = {"substitutes": given(substitutes)}
        return self._client.get(requests.derive(run_id, "simulations", body, idempotency_key))

    def simulate_last(self, module: str, last: int, *, idempotency_key: str, **substitutes: Any) -> View:
        """The last finished real runs of a module; its report fills as they end."""
        request = requests.simulate_last(module, last, given(substitutes), idempotency_key)
        return self._client.get(request)

    def simulation(self, simulation_id: object) -> View:
        return self._client.get(requests.get_simulation(simulation_id))

    def difference(self, run_id: object) -> View:
        """How the path of a retry, fork or simulation differs from its origin's."""
        return self._client.get(requests.run_difference(run_id))

    def export(self, run_id: object) -> Iterator[bytes]:
        """The run's bundle in parts, as it arrives. Raises Unreachable when it is cut."""
        return self._client.download(requests.run_export(run_id))

    def replay(self, run_id: object, *, view: str = "summary", at_seq: int | None = None) -> View:
        """What the log said up to an event: summary, conversation, model_input, tools, audit, usage."""
        return self._client.get(requests.run_replay(run_id, view, at_seq))

    def cancel(self, run_id: object, idempotency_key: str | None = None) -> View:
        return self._client.get(requests.run_verb(run_id, "cancel", idempotency_key))

    def pause(self, run_id: object, idempotency_key: str | None = None) -> View:
        return self._client.get(requests.run_verb(run_id, "pause", idempotency_key))

    def resume(self, run_id: object, idempotency_key: str | None = None) -> View:
        return self._client.get(requests.run_verb(run_id, "resume", idempotency_key))
