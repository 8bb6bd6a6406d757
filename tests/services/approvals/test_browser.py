"""The page of a one-time link in a real browser: read, then decided by one click, under its strict policy."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.services.approvals.test_links import path, spent
from tests.support.approvals import NOTE, Stage
from tests.support.browser import CHROMIUM, browsing
from tests.support.eventually import eventually

pytestmark = [
    pytest.mark.skipif(
        CHROMIUM is None and "CI" not in os.environ, reason="needs chromium; see .ci/run for the package"
    ),
    pytest.mark.timeout(120),
]


@pytest.mark.parametrize(
    ("value", "said"), [("approve", "Decided: approved"), ("reject", "Decided: rejected")]
)
async def test_ap1_a_person_opens_the_link_reads_it_and_clicks(
    stage: Stage, tmp_path: Path, value: str, said: str
) -> None:
    held, action, interrupt = await stage.asked(
        NOTE, {"text": "<img src=x onerror=\"document.title='owned'\">"}
    )
    at = stage.api.base + await path(stage, interrupt)
    async with browsing(tmp_path / "profile") as browser:
        for _ in range(2):
            await browser.open(at)
            shown = await browser.text()
            assert "onerror" in shown, "hostile words are text"
            assert await browser.js("document.images.length + document.scripts.length") == 0
            assert await browser.js("document.title") != "owned"
        assert await browser.js(
            "getComputedStyle(document.querySelector('button.y')).backgroundColor"
        ) not in (None, "rgba(0, 0, 0, 0)"), "its style is let in by its hash"
        assert await spent(stage) == 0, "looking spends nothing"
        await browser.click(f"button[value={value}]")

        async def decided() -> bool:
            return said in await browser.text()

        await eventually(decided, timeout=20.0)
        assert await browser.js("document.querySelectorAll('button').length") == 0
        await browser.say("Page.reload")
        await eventually(decided, timeout=20.0)
    assert await spent(stage) == 1
    expected = "completed" if value == "approve" else "rejected"
    assert await stage.committed(held, action) == expected
    assert await stage.attempts() == (1 if value == "approve" else 0)
    assert await stage.lives.violations() == []
