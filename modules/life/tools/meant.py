"""Which reminder is meant by words: this very title, or the one that holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .wording import pick

if TYPE_CHECKING:
    from .reminders import Reminder

SHOWN: Final = 5  # candidates named when words fit several
SMALL: Final = frozenset({"a", "an", "my", "the"})  # said or not, it is the same title


def closest(found: list[Reminder], words: str) -> list[Reminder]:
    """The one with this very title, else those that hold the words in a row, else those that hold each."""
    exact = [one for one in found if one.title.casefold() == words]
    alike = exact or [one for one in found if _bare(one.title) == _bare(words)]
    if len(alike) == 1:
        return alike
    return [one for one in found if words in one.title.casefold()] or found


def _bare(title: str) -> list[str]:
    return [word for word in title.casefold().split() if word not in SMALL]


def which(found: list[Reminder], locale: str) -> str:
    """Why no single one is meant."""
    if not found:
        zh = "没有标题里有这些字的提醒"
        return pick(locale, zh, "no active reminder has these words in its title")
    named = "; ".join(f"{one.id}: {one.title}, {one.when(locale)}" for one in found[:SHOWN])
    zh = f"有几条提醒都符合，请用 reminder_id 指明一条：{named}"
    return pick(locale, zh, f"several active reminders fit; name one by reminder_id: {named}")
