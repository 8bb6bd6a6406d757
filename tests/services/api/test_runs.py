"""Runs over HTTP: created once, shown whole, steered, ended for ever."""

from __future__ import annotations

from fencepost_contracts.http_views import EventView, Page, RunView

from tests.support.api import Served, a_key, saying
from tests.support.lives import USER, Lives


async def test_a_run_is_created_listed_shown_and_cancelled(served: Served, lives: Lives) -> None:
    ann = served.as_()

    made = await ann.post("/v1/runs", json=saying("明早九点提醒我交周报"), headers=a_key())

    assert made.status_code == 201, made.text
    run = RunView.model_validate(made.json())
    assert made.headers["Location"] == f"/v1/runs/{run.id}"
    assert (run.status, run.user_id, run.input["text"]) == ("queued", USER, "明早九点提醒我交周报")
    shown = await ann.get(f"/v1/runs/{run.id}")
    assert shown.json() == made.json()
    listed = Page[RunView].model_validate((await ann.get("/v1/runs")).json())
    assert [item.id for item in listed.items] == [run.id]
    log = Page[EventView].model_validate((await ann.get(f"/v1/runs/{run.id}/events")).json())
    assert [(e.seq, e.type) for e in log.items] == [(1, "run.requested")]

    ended = await ann.post(f"/v1/runs/{run.id}/cancel", json={"note": "changed my mind"})

    assert ended.status_code == 202, ended.text
    view = RunView.model_validate(ended.json())
    assert view.status == "cancelled"
    assert view.finalization is not None and view.finalization.reason == "user_cancelled"
    assert view.output is not None and view.output.text == "已取消。没有执行任何操作，可以重新发起。"
    assert await lives.violations() == []
