# Tables: an entry or a pattern is easier to check on one line than broken up.
# ruff: noqa: E501
"""Words around a request that ask for nothing themselves, which the outline reads past."""

from __future__ import annotations

from typing import Final

from fencepost_intents.patterns import lazy

# Before a second request of a sentence.
LEADS_ZH: Final = (
    "请", "帮我", "麻烦", "你", "再", "也", "给我", "并", "和", "然后", "顺便", "，", "我", "把", "将", "能", "可以", "记得", " ",
)  # fmt: skip
# Cues of a reminder only with a time beside them.
WEAK: Final = (
    "叫我", "喊我", "通知我", "呼我", "催我", "记得", "别忘", "不要忘", "勿忘", "切记", "帮我记", "给我记", "请记", "记一下", "记住", "记着", "记下", "remember to",
)  # fmt: skip
OPENS_CALENDAR: Final = lazy(
    r"^(?:please )?(?:open|bring up|pull up|go to|show)(?: me)?(?: up)?(?: my| the)?(?: \w+)? calendar(?: please)?$"
)
# Around an amount that stands alone.
ABOUT: Final = lazy(
    r"\b(?:between|from|about|around|under|over|only|just|approximately|less than|more than)\b|大约|大概|差不多|左右|以内|以上"
)
VENUE: Final = lazy(r"评分")  # a talk about places to go, whose prices nobody has paid
