"""What the demo says is understood at every hour: "明早" said after midnight would be asked back."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from fencepost_intents import detect
from fencepost_intents.questions import question_for

ROOT = Path(__file__).parents[2]
SAID = re.compile(r'\.ask\("([^"]+)"')
SENTENCES = sorted(set(SAID.findall((ROOT / "libs/cli/src/fencepost_cli/demo/acts.py").read_text())))


def test_the_demo_says_something() -> None:
    assert len(SENTENCES) >= 3


@pytest.mark.parametrize("text", SENTENCES)
def test_no_hour_of_the_day_makes_the_demo_ask_back(text: str) -> None:
    zone = ZoneInfo("Asia/Shanghai")
    for hour in range(24):
        said_at = datetime(2026, 12, 1, 0, 30, tzinfo=zone) + timedelta(hours=hour)
        result = detect(text, reference=said_at, zone=zone.key, locale="zh-CN", currency="CNY")
        assert question_for(result, "zh-CN") is None, f"at {said_at:%H:%M}"
