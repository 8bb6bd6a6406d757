# Tables: an entry or a pattern is easier to check on one line than broken up.
# ruff: noqa: E501
"""The title of a new reminder: behind its cue, inside it (设个交周报的提醒), or before it."""

from __future__ import annotations

import re
from typing import Final

from fencepost_intents.intent import guards
from fencepost_intents.intent.reading import Located, Reading
from fencepost_intents.intent.requests import Request
from fencepost_intents.intent.titles import cut
from fencepost_intents.patterns import lazy
from fencepost_intents.result import SlotValue, Span

_EVENT: Final = lazy(
    r"(?:会议|会面|电话会|碰头会|例会|面试|聚会|约会|见面|开会|会|日程|行程|活动|事件|meeting|appointment|appt|event|call with|conference|get-?together|lunch with|dinner with|interview|standup|1:1|one on one|one-on-one|calendar|schedule|agenda|diary|planner|schedule)$"
)
_CALENDAR: Final = lazy(
    r"(?:加|添加|放|写|记|存|添)(?:到|进|入)|日历|日程|行事历|(?:to[- ]?do|chore|task|reminder) list|list of (?:things to do|tasks|chores)|calendar|schedule|agenda|diary|planner"
)
_ZH_VERB: Final = lazy(
    r"^(?:请|帮我|麻烦|给我|在?我?(?:的)?(?:日历|日程表?|行事历)(?:上|里|中)?|安排|预约|预定|创建|新建|添加|增加|加|设置?|定|约|组织|召集|建|记|放|一个|一场|个|场|一下|下|到|日历|日程|上|里|在|我的?|的|\s)+"
)
_EN_VERB: Final = lazy(
    r"^(?:(?:please|can you|could you|would you|i need you to|i need to|i want to|i'd like to|let's|hey|schedule|arrange|set up|setup|set|organize|plan|create|make|add|put|book|mark|save|enter|insert|pencil in|block off|block out|block|an?|the|my|our|me|new|up|in|calendar event|event|calendar|entry|for|called|titled|named|need|have|on|to|of|note)(?![\w'])[ :,]*)+"
)
_EN_PLACE: Final = lazy(
    r"\b(?:(?:on|to|in|into|onto) (?:my |the |our )?(?:calendar|schedule|agenda|diary|to[- ]?do(?: list)?|(?:chore|task|reminder) list|list of (?:things to do|tasks|chores)|planner))\b"
)
_ZH_PLACE: Final = lazy(
    r"(?:加|添加|放|写|记|存)?(?:到|进|入|在)(?:我的?)?(?:日历|日程表?|行事历|备忘录|待办|清单)(?:事项|清单|列表)?(?:上|里|中)?"
)
_WAKES: Final = lazy(r"起床|叫醒|\bwake (?:me|us)(?: up)?\b")


def is_event(reading: Reading, request: Request) -> bool:
    """Whether it is put into a calendar: then its title keeps its noun."""
    cue = reading.masked[request.cue.start : request.cue.end]
    return bool(_EVENT.search(cue) or _CALENDAR.search(cue)) and "提醒" not in cue


def title_of(reading: Reading, request: Request, used: list[Located]) -> SlotValue | None:
    """The title, without the times used for the reminder itself."""
    text, norm, zh = reading.text, reading.norm, reading.zh
    removed: list[Span] = [(one.start, one.end) for one in used]
    window, cue = (request.start, request.end), request.cue
    removed += [found.span() for found in guards.CORRECTED.finditer(reading.masked, *window)] if used else []
    removed += _dropped_times(reading, request, used)
    if is_event(reading, request):
        return _event_title(reading, request, removed)
    after = cut(text, norm, (cue.end, request.end), removed, zh)
    wakes = _WAKES.search(reading.masked, cue.start, min(cue.end + 3, request.end))
    if wakes is not None and (after is None or after.value in ("up", "me up", "床")):
        return SlotValue(text[wakes.start() : wakes.end()], wakes.span())
    if after is not None:
        return after
    inside = cut(text, norm, (cue.start, cue.end), [*removed, *_shell(reading, request)], zh)
    if inside is not None:
        return inside
    return cut(text, norm, (request.start, cue.start), removed, zh)


def _dropped_times(reading: Reading, request: Request, used: list[Located]) -> list[Span]:
    """Times that a correction took back: they are in no title."""
    found = guards.CORRECTED.search(reading.masked, request.start, request.end)
    if found is None or not used:
        return []
    return [
        (one.start, one.end) for one in reading.times_in((request.start, found.start())) if one not in used
    ]


def _shell(reading: Reading, request: Request) -> list[Span]:
    """The verb and the noun of 设个交周报的提醒, "set a dentist reminder": what stands between is the
    title.
    """
    cue = request.cue
    words = reading.masked[cue.start : cue.end]
    lead = re.match(
        r"(?:提醒(?:一下|下)?(?:我们|我|咱们|咱|自己|本人|俺)?(?:一下|一声|下)?|设置?定?|定|订|上|调|建|加|弄|来|开|搞|整|安排|添加|新建|创建|增加|预约|新增|添|记|做|起(?!床|来)|给我发?|帮我|叫我|喊我|通知我|叫醒我|记得|别忘了?|请|一下|好|了|一?个|一?条|下)+|"
        r"(?:(?:set|create|make|add|put|schedule|start|need|want|give|get|have|new|place|leave|remind|wake|ping|nudge|alert|notify|send|me|us|up|an?|the|my|another|to|don't|dont|do|not|let|forget|remember|for|i|make|sure|that|never|help|it|know|when|tell|buzz|prompt|reminder)\b ?)+",
        words,
    )
    spans = [(cue.start, cue.start + lead.end())] if lead else []
    spans += [
        (cue.start + found.start(), cue.start + found.end())
        for found in re.finditer(
            r"(?:的)?(?:提醒|闹钟|闹铃|日程|行程|待办|备忘|事件|倒计时|计时器|定时器|行事历)|\b(?:recurring |repeating |daily |weekly |new )?(?:reminders?|alarms?|timers?|to-?do|countdown)\b",
            words,
        )
    ]
    return spans


def _event_title(reading: Reading, request: Request, removed: list[Span]) -> SlotValue | None:
    """A meeting's title keeps its noun: "meeting with Bob"."""
    norm = reading.norm
    place = _ZH_PLACE if reading.zh else _EN_PLACE
    removed = [*removed, *(found.span() for found in place.finditer(norm, request.start, request.end))]
    removed += [
        found.span()
        for found in re.finditer(r"提醒(?:我|一下)*|\bremind me\b", norm[: request.end])
        if found.start() >= request.start
    ]
    start = request.cue.start
    verb = (_ZH_VERB if reading.zh else _EN_VERB).match(norm[start : request.end])
    if verb:
        removed.append((start, start + verb.end()))
    found = cut(reading.text, norm, (start, request.end), removed, reading.zh)
    return found or cut(reading.text, norm, (request.start, start), removed, reading.zh)
