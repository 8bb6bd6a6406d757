# Tables: an entry or a pattern is easier to check on one line than broken up.
# ruff: noqa: E501
"""What a detection may cost: linear in the text, no heavy import, no file or clock at call time."""

from __future__ import annotations

import subprocess
import sys
import time
from datetime import datetime

from fencepost_intents import detect
from fencepost_intents.patterns import _Lazy

REFERENCE = datetime.fromisoformat("2026-03-04T10:00:00+08:00")
PASTES = [
    "我们下周三下午三点开会，预算是 3,500 元，请大家准备材料。Please review the plan by Friday at 5pm. ",
    "一二三四五六七八九十百千万亿",
    "every every every the of at on next 9 9 9 ",
    "提醒我提醒我把把翻译",
    "'a \"b “c ",
    "if remind me, and then also ",
    "1,234.56,789:00/11-12 ",
    "的的的的",
]


# Texts that would make a careless pattern walk the same run again and again: (head, run, tail).
RUNS = [
    ("提醒我买牛奶", " ", "b明天九点"),
    ("remind me to x", " ", "y tomorrow"),
    ("remind me to ", "at on in by for to from and the ", "x"),
    ("提醒我", "的提醒的闹钟吧哦啊呀", "x"),
    ("提醒我", "请帮我我要的在再", "x"),
    ("提醒我买", ",;:.", "x明天九点"),
    ("翻译成英文", " ,请帮我", "x"),
    ("email ", "a.", " about"),
    ('translate "', "a", ""),
    ("", "哈", "x"),
    ("spent 5 dollars ", "i we just spent paid ", ""),
    ("remind me ", "not to ever ", ""),
    ("", "花了5块", ""),
    ("", "把", "翻译成"),
    ("how do you say ", "a ", "in french"),
    ("", "1,", ""),
    ("schedule meeting with ", "Bob, and ", ""),
]


def taken(text: str) -> float:
    """Best of three: a busy machine shouldn't decide."""
    best = []
    for _ in range(3):
        started = time.process_time()
        detect(text, reference=REFERENCE, zone="Asia/Shanghai")
        best.append(time.process_time() - started)
    return min(best)


def test_time_grows_with_the_length_not_with_its_square() -> None:
    for paste in PASTES:
        short, long = ((paste * (length // len(paste) + 1))[:length] for length in (4_000, 16_000))
        detect(short, reference=REFERENCE, zone="Asia/Shanghai")

        # Four times the text: four times the time where linear, sixteen where quadratic.
        assert taken(long) < 10 * taken(short) + 0.02, paste


def test_a_run_of_anything_is_read_in_linear_time() -> None:
    for head, run, tail in RUNS:
        short, long = (head + run * (length // len(run)) + tail for length in (3_000, 12_000))
        detect(short, reference=REFERENCE, zone="Asia/Shanghai")

        assert taken(long) < 10 * taken(short) + 0.02, (head, run, tail)


def test_importing_brings_in_no_calendar_and_no_rule_library() -> None:
    code = "import sys, fencepost_intents; print([one for one in ('dateutil', 'lunar_python') if one in sys.modules])"

    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert found.stdout.strip() == "[]"


def test_every_lazy_pattern_compiles() -> None:
    import gc
    import re

    patterns = [one for one in gc.get_objects() if isinstance(one, _Lazy)]

    assert len(patterns) > 100
    for one in patterns:
        re.compile(one._source, one._flags)
