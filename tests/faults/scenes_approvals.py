"""Scenes of approvals: decided by a one-time link, remembered and revoked, with a death in between."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import httpx
from fencepost.requests import make_link, plain_list, revoke_grant

from tests.faults.mesh import PATIENCE, Mesh

if TYPE_CHECKING:
    from tests.faults.people import Person

TITLE: Final = "go home"
WISH: Final = f"remind me tomorrow at 9 to {TITLE}"


async def by_a_link(mesh: Mesh, person: Person, point: str) -> None:
    """Made, lost, made again; opened by a scanner; decided once though the answer is lost."""
    run = await person.asked(await person.ask(WISH))
    mesh.arm(point)
    person.is_ready.set()
    interrupt = run["interrupt"]["id"]
    made = await person.patiently(lambda: person.client.get(make_link(interrupt, {})))
    page = await _until_answered("GET", made["url"])
    assert page.status_code == 200 and "<form" in page.text
    done = await _until_answered("POST", made["url"], {"decision": "approve"})
    assert done.status_code == 200, done.text
    person.reminders.append(TITLE)
    await person.ends(run, "succeeded")
    twice = await _until_answered("POST", made["url"], {"decision": "reject"})
    assert twice.status_code == 409


async def remembered_and_revoked(mesh: Mesh, person: Person, point: str) -> None:
    """Approved by memory while it lasts; after the revocation a person is asked again."""
    run = await person.asked(await person.ask(WISH))
    until = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    remember = {"condition": f"args.title == '{TITLE}'", "max_uses": 5, "expires_at": until}
    await person.decide(run, decision="approve", remember=remember)
    await person.ends(run, "succeeded")
    await person.ends(await person.ask(WISH), "succeeded")
    person.reminders += [TITLE, TITLE]
    [grant] = (await person.patiently(lambda: person.client.get(plain_list("/v1/grants"))))["items"]
    assert (grant["status"], grant["uses"]) == ("active", 1)
    mesh.arm(point)
    person.is_ready.set()
    gone = await person.patiently(lambda: person.client.get(revoke_grant(grant["id"])))
    assert gone["ended_reason"] == "revoked"
    again = await person.asked(await person.ask(WISH))
    await person.decide(again, decision="reject")
    await person.ends(again, "cancelled", "approval_rejected")


async def _until_answered(verb: str, url: str, form: dict[str, str] | None = None) -> httpx.Response:
    """As a person with a browser: again while nobody answers, or the service says that it can't."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            async with httpx.AsyncClient(trust_env=False, timeout=20) as client:
                answer = await client.request(verb, url, data=form)
            if answer.status_code < 500 or time.monotonic() > end:
                return answer
        except httpx.TransportError:
            if time.monotonic() > end:
                raise
        await asyncio.sleep(0.2)
