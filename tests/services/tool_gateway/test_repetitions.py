"""A repetition that is moved: to a time of its own, or together with the words that say when it comes."""

from __future__ import annotations

from tests.services.tool_gateway.test_life import CHANGE, CREATE, WEEKLY, do, refusal
from tests.support.gateway import Served


async def test_a_weekly_one_is_not_quietly_kept_on_its_day_when_another_day_was_said(served: Served) -> None:
    """ "to Tuesday at 10" of a Friday's: the person would get Fridays at 10, or must say the repetition."""
    made = (await do(served, CREATE, WEEKLY))["reminder"]
    tuesday = {"reminder_id": made["id"], "at": "2031-03-11T10:00:00+08:00"}
    assert (await refusal(served, CHANGE, tuesday))["pointer"] == "/rrule"
    weekly = await do(served, CHANGE, {**tuesday, "rrule": "FREQ=WEEKLY;BYDAY=TU"})
    assert weekly["reminder"]["next_at"] == "2031-03-11T10:00:00+08:00"


async def test_a_weekly_one_is_moved_to_another_hour_of_its_own_day(served: Served) -> None:
    made = (await do(served, CREATE, WEEKLY))["reminder"]
    changed = await do(served, CHANGE, {"reminder_id": made["id"], "at": "2031-03-14T10:00:00+08:00"})
    assert changed["reminder"]["next_at"] == "2031-03-14T10:00:00+08:00"
    assert changed["reminder"]["rrule"] == WEEKLY["rrule"]
