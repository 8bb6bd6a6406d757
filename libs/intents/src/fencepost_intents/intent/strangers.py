# Tables: an entry or a pattern is easier to check on one line than broken up.
# ruff: noqa: E501
"""Sentences that carry the words of a request and ask for something else: a cab to be scheduled, a
restaurant for so much a head, the weather report.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from fencepost_intents.patterns import lazy

_EN_AROUND: Final = r"\b(?:in|around) (?:my|the|this|our) (?:local )?(?:area|city|town|neighbou?rhood)\b|\bnear (?:me|by)\b|\bnearby\b|\b(?:meeting|conference) rooms?\b"
_ZH_VENUE: Final = r"人均|票价|房价|评分|(?:找|推荐|搜)[^。]{0,24}(?:餐馆|餐厅|饭店|酒店|宾馆|景点|馆子)"
_EN_RIDE: Final = (
    r"\b(?:schedule|book|order|call|get|arrange|need)\b[^.?]{0,24}\b(?:cabs?|taxis?|uber|lyft)\b"
)

# intent -> what rules it out, by language
_ZH: Final[Mapping[str, re.Pattern[str]]] = {
    "ledger.summary": lazy(_ZH_VENUE),
    "ledger.list": lazy(_ZH_VENUE),
    "translate": lazy(
        r"翻译(?:得|的)?(?:不对|不好|错|有问题|有误|怎么样|很差|太差|不准)|(?:找|雇|当|招)(?:一?个|位|名)?翻译|翻译(?:是谁|在哪|来了)"
    ),
}
_EN: Final[Mapping[str, re.Pattern[str]]] = {
    "plan.today": lazy(_EN_AROUND),
    "reminder.list": lazy(_EN_AROUND),
    "reminder.create": lazy(rf"^(?!.*\b(?:remind|calendar|alarm|agenda)).*{_EN_RIDE}"),
    "document.ask": lazy(
        r"\b(?:weather|traffic|news|police|sports?|credit|earnings?|pollen|surf|snow) reports?\b"
    ),
    "ledger.summary": lazy(
        r"\bshould (?:i|we|one)\b|\bhow much (?:do|does|would|will|could|is|are) (?:a|an|the|it|one|they|these|those)\b|\bin (?:my|the) area\b|\bhow much (?:do|does|did|has|have) (?!i |we |you )(?:\w+ ){1,3}?(?:pay|paid|spend|spent|earn|earned|make|made)\b"
    ),
}


def is_stranger(intent: str, text: str, zh: bool) -> bool:
    """Whether a clause with a cue of this intent asks for something that is none of ours."""
    rule = (_ZH if zh else _EN).get(intent)
    return rule is not None and rule.search(text) is not None
