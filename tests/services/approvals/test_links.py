"""One-time links: no look spends one, one decision does; what is no link is refused, never a fault (AP-5)."""

from __future__ import annotations

import asyncio
import base64
import re
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from fencepost_api import links
from fencepost_runtime import failpoints

from tests.support.approvals import APPROVE, NOTE, PAY, Stage
from tests.support.lives import OTHER_TENANT, USER

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


async def link(stage: Stage, interrupt: UUID, user: str = USER, *roles: str, **body: Any) -> httpx.Response:
    client = stage.api.as_(user, *(roles or ("user",)))
    return await client.post(f"/v1/interrupts/{interrupt}/links", json=body)


def browser(stage: Stage, **headers: str) -> httpx.AsyncClient:
    """Somebody with the link and nothing else."""
    client = httpx.AsyncClient(base_url=stage.api.base, headers=headers, trust_env=False, timeout=20)
    stage.api.clients.append(client)
    return client


async def path(stage: Stage, interrupt: UUID, *who: str, **body: Any) -> str:
    made = await link(stage, interrupt, *who, **body)
    assert made.status_code == 201, made.text
    return "/approve/" + str(made.json()["url"]).rpartition("/")[2]


async def decided(client: httpx.AsyncClient, at: str, decision: str, **more: str) -> httpx.Response:
    return await client.post(at, content=f"decision={decision}&note=by+mail", headers={**FORM, **more})


async def spent(stage: Stage) -> int:
    rows = await stage.lives.sql("SELECT id FROM agent.approval_links WHERE spent_at IS NOT NULL")
    return len(rows)


async def test_a_look_shows_the_change_and_spends_nothing_and_one_post_decides(stage: Stage) -> None:
    held, action, interrupt = await stage.asked(NOTE, {"text": "<b>bold</b>"})
    at, person = await path(stage, interrupt), browser(stage)
    for _ in range(3):
        page = await person.get(at)
        assert page.status_code == 200 and "&lt;b&gt;bold" in page.text and "<b>" not in page.text
        assert 'class="added"' in page.text
        assert (await person.head(at)).status_code == 200
        assert (await person.get(at, headers={"Sec-Purpose": "prefetch"})).status_code == 200
    for verb in ("OPTIONS", "PUT", "DELETE", "PATCH"):
        assert (await person.request(verb, at)).status_code == 405
    assert await spent(stage) == 0 and await stage.lives.status(held.run.id) == "waiting"

    done = await decided(person, at, "approve")
    assert done.status_code == 200 and "Decided: approved" in done.text
    twice = await decided(person, at, "approve")
    assert twice.status_code == 200 and "Decided: approved" in twice.text
    other = await decided(person, at, "reject")
    assert other.status_code == 409
    assert "Decided: approved" in (await person.get(at)).text
    [vote] = await stage.lives.sql("SELECT voter, decision, link_id FROM agent.approval_votes")
    assert (vote["voter"], vote["decision"]) == (USER, "approve") and vote["link_id"]
    assert await spent(stage) == 1
    assert await stage.committed(held, action) == "completed"
    assert await stage.lives.violations() == []


async def test_the_page_is_self_contained_and_speaks_both_languages(stage: Stage) -> None:
    _, _, interrupt = await stage.asked()
    at = await path(stage, interrupt)
    page = await browser(stage).get(at)
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "form-action 'self'" in policy and "unsafe" not in policy
    assert "no-store" in page.headers["cache-control"] and page.headers["referrer-policy"] == "no-referrer"
    assert "<script" not in page.text and not re.search(r"(src|href)=\"(?!\?lang)", page.text)
    chinese = await browser(stage, **{"Accept-Language": "zh-CN,zh;q=0.9"}).get(at)
    assert "批准" in chinese.text and 'lang="zh-CN"' in chinese.text
    assert "Approve" in (await browser(stage).get(at + "?lang=en")).text


async def test_sixteen_posts_at_once_are_one_decision(stage: Stage) -> None:
    _, _, interrupt = await stage.asked()
    at = await path(stage, interrupt)
    answers = await asyncio.gather(
        *(decided(browser(stage), at, ("approve", "reject")[n % 2]) for n in range(16))
    )
    assert {answer.status_code for answer in answers} <= {200, 409}
    assert len([a for a in answers if a.status_code == 200]) == 8
    assert len(await stage.lives.sql("SELECT voter FROM agent.approval_votes")) == 1
    assert await spent(stage) == 1
    assert await stage.lives.violations() == []


def altered(text: str) -> dict[str, str]:
    raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    flipped = base64.urlsafe_b64encode(raw[:-1] + bytes([raw[-1] ^ 1])).rstrip(b"=").decode()
    return {
        "not ascii": "ké",
        "long": "A" * 3000,
        "wrong padding": text + "=",
        "another spelling": text[:-1] + ("B" if text[-1] != "B" else "C"),
        "cut": text[:-4],
        "longer": text + "AAAA",
        "one bit": flipped,
        "nobody's": base64.urlsafe_b64encode(bytes(64)).rstrip(b"=").decode(),
    }


async def test_ap5_what_is_no_link_is_403_and_never_500(stage: Stage) -> None:
    _, _, interrupt = await stage.asked()
    good = (await path(stage, interrupt)).rpartition("/")[2]
    person = browser(stage)
    for what, bad in altered(good).items():
        for answer in (
            await person.get(f"/approve/{bad}"),
            await decided(person, f"/approve/{bad}", "approve"),
        ):
            assert answer.status_code == 403, (what, answer.status_code)
    assert (await person.get("/approve/")).status_code == 404
    assert await spent(stage) == 0


async def test_ap5_a_link_of_one_approval_fits_no_other_and_no_changed_row(stage: Stage) -> None:
    _, _, first = await stage.asked()
    _, _, second = await stage.asked()
    one, two = await path(stage, first), await path(stage, second)
    raw = [base64.urlsafe_b64decode(at.rpartition("/")[2] + "==") for at in (one, two)]
    for mixed in (raw[0][:32] + raw[1][32:], raw[0][:16] + raw[1][16:], raw[1][:16] + raw[0][16:]):
        at = "/approve/" + base64.urlsafe_b64encode(mixed).rstrip(b"=").decode()
        assert (await decided(browser(stage), at, "approve")).status_code == 403
    for column in ("approver = 'mallory'", "n = n + 1", "expires_at = expires_at + interval '1 day'"):
        await stage.lives.sql(f"UPDATE agent.approval_links SET {column} WHERE interrupt_id = %s", first)
        assert (await browser(stage).get(one)).status_code == 403
    assert (await browser(stage).get(two)).status_code == 200
    [row] = await stage.lives.sql(
        "SELECT count(*) AS n FROM agent.approval_links WHERE octet_length(token_hash) = 32"
    )
    assert row["n"] == 2


async def test_a_links_time_and_its_place(stage: Stage) -> None:
    held, _, interrupt = await stage.asked()
    first = await path(stage, interrupt)
    second = await path(stage, interrupt, expires_in_seconds=60)
    person = browser(stage)
    assert (await person.get(first)).status_code == 410 and "newer link" in (await person.get(first)).text
    cross = await decided(person, second, "approve", **{"Sec-Fetch-Site": "cross-site"})
    assert cross.status_code == 403
    for body in ("", "decision=maybe", "decision=approve&decision=reject", "x" * 9000):
        assert (await person.post(second, content=body, headers=FORM)).status_code == 422
    assert (await person.post(second, json=APPROVE)).status_code == 422
    await stage.lives.cancel(held.run.id)
    gone = await decided(person, second, "approve")
    assert gone.status_code in (409, 410)
    assert await spent(stage) == 0


async def test_a_link_past_its_time_is_gone(stage: Stage) -> None:
    """Its expiry is in the hash: a row moved into the past is no link any more, so time is let pass."""
    _, _, interrupt = await stage.asked()
    at = await path(stage, interrupt)
    [row] = await stage.lives.sql("SELECT expires_at FROM agent.approval_links")
    await stage.lives.age("agent.interrupts", "expires_at", "id = %s", interrupt)
    late = await decided(browser(stage), at, "approve")
    assert late.status_code == 410 and row["expires_at"]
    assert await spent(stage) == 0


async def test_a_link_ends_by_its_own_time_on_the_databases_clock_and_its_question_stays(
    stage: Stage,
) -> None:
    """Made as it would be a moment after its end: its hash fits, this host's clock isn't asked."""
    held, _, interrupt = await stage.asked()
    at = await path(stage, interrupt, expires_in_seconds=60)
    [row] = await stage.lives.sql(
        "SELECT n, approver, tenant_id, clock_timestamp() - interval '1 ms' AS past FROM agent.approval_links"
    )
    token = links.read_token(at.rpartition("/")[2])
    known = links.hash_of(token, row["tenant_id"], interrupt, row["n"], row["approver"], row["past"])
    update = "UPDATE agent.approval_links SET expires_at = %s, token_hash = %s WHERE interrupt_id = %s"
    await stage.lives.sql(update, row["past"], known, interrupt)
    shown, late = await browser(stage).get(at), await decided(browser(stage), at, "approve")
    assert (shown.status_code, late.status_code, await spent(stage)) == (410, 410, 0)
    assert await stage.lives.status(held.run.id) == "waiting"
    again = await decided(browser(stage), await path(stage, interrupt), "approve")
    assert again.status_code == 200, "a newer link of the same question decides"
    assert await stage.lives.violations() == []


async def test_who_may_make_a_link_for_whom(stage: Stage) -> None:
    _, _, interrupt = await stage.asked()
    await stage.decide(interrupt, APPROVE, "nobody-yet")  # a colleague: not found, and not seen
    assert (await link(stage, interrupt, "colleague")).status_code == 404
    assert (
        await link(stage, interrupt, tenant=None) if False else await link(stage, interrupt)
    ).status_code == 201
    spy = stage.api.as_("spy", "admin", tenant=OTHER_TENANT)
    assert (await spy.post(f"/v1/interrupts/{interrupt}/links", json={})).status_code == 404
    for roles in (("approver",), ("operator",), ("admin",), ("notifier", "approver")):
        refused = await link(stage, interrupt, "boss", *roles, approver="peer")
        assert refused.status_code == 403, roles
    unseen = await link(stage, interrupt, "mailer", "notifier", approver="peer")
    assert (unseen.status_code, unseen.json()["errors"][0]["pointer"]) == (422, "/approver")
    await stage.api.as_("peer", "approver").post(
        f"/v1/interrupts/{interrupt}/links", json={}
    )  # peer was seen
    made = await link(stage, interrupt, "mailer", "notifier", approver="peer")
    assert made.status_code == 201 and made.json()["approver"] == "peer"
    assert (await stage.decide(interrupt, APPROVE, "mailer", "notifier")).status_code == 403
    at = "/approve/" + made.json()["url"].rpartition("/")[2]
    await stage.lives.sql("UPDATE agent.principals SET roles = '{user}' WHERE user_id = 'peer'")
    assert "<form" not in (await browser(stage).get(at)).text
    assert (await decided(browser(stage), at, "approve")).status_code == 403


async def test_a_link_is_one_vote_of_a_quorum(stage: Stage) -> None:
    _, _, interrupt = await stage.asked(PAY, {"amount": "7"})
    at = await path(stage, interrupt, "ann", "approver.finance")
    page = await decided(browser(stage), at, "approve")
    assert "1 of 2" in page.text and "<form" not in page.text
    answer = await stage.decide(interrupt, APPROVE, "bob", "approver.finance")
    assert answer.json()["status"] == "resolved"
    assert [v["by_link"] for v in answer.json()["votes"]] == [True, False]
    own = await link(stage, interrupt, USER, "user", "approver.finance")
    assert own.status_code in (410, 422)


POINTS = ["api.use_link.before_commit", "api.use_link.before_response"]


@pytest.mark.parametrize("where", POINTS)
async def test_an_answer_lost_is_asked_for_again(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setenv(failpoints.DIRECTORY_VARIABLE, str(tmp_path / "fp"))
    _, _, interrupt = await stage.asked()
    at = await path(stage, interrupt)
    failpoints.arm(tmp_path / "fp", where, "error")
    assert (await decided(browser(stage), at, "approve")).status_code == 500
    assert await spent(stage) == int(where.endswith("response"))
    assert "Decided: approved" in (await decided(browser(stage), at, "approve")).text
    assert await spent(stage) == 1
