"""The requests of a text, outermost first: which clauses belong to which, and what of it is only payload.

Read clause by clause. A clause with a cue begins a request; what follows without one belongs to it; what
it carries
as payload (a text to translate, a reminder's title) begins no request of its own.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from fencepost_intents.intent import guards
from fencepost_intents.intent.clauses import Clause
from fencepost_intents.intent.cues import compiled
from fencepost_intents.intent.leads import ABOUT, LEADS_ZH, OPENS_CALENDAR, VENUE, WEAK
from fencepost_intents.intent.ledger_words import is_shared, reports_money
from fencepost_intents.intent.requests import Cue, Outline, Request, Sighting
from fencepost_intents.intent.strangers import is_stranger

# Intents whose text goes on to the end, or to a strong joint with a new command.
_SWALLOWS: Final = frozenset(("translate", "email.draft", "presentation.create", "document.ask"))
_CREATES: Final = frozenset(
    (
        "reminder.create",
        "ledger.add",
        "email.draft",
        "presentation.create",
        "reminder.cancel",
        "reminder.change",
    )
)
# What somebody asks for stands at the head or the end of a text; what lies between in a long one is pasted.
_REACH: Final = 1500
_MANY_AMOUNTS: Final = 20  # a clause with more is a price list or a paste


def outline(masked: str, clauses: Sequence[Clause], seen: Sighting, zh: bool) -> Outline:
    """Reads the clauses in order."""
    return _Reading(masked, seen, zh).run(clauses)


class _Reading:
    def __init__(self, masked: str, seen: Sighting, zh: bool) -> None:
        self.masked, self.seen, self.zh = masked, seen, zh
        self.patterns = compiled("zh" if zh else "en")
        if any("\u4e00" <= char <= "\u9fff" for char in masked[:200]) and re.search("[a-z]{3}", masked[:400]):
            self.patterns = (*compiled("zh"), *compiled("en"))  # both languages in one sentence
        self.found: list[Request] = []
        self.pending: int | None = None
        self.refused = self.conditional = self.tale = False
        self.hanging = False  # an if-clause stands before, so what follows is no plain wish

    def run(self, clauses: Sequence[Clause]) -> Outline:
        middle = range(_REACH, len(self.masked) - _REACH)
        for index, clause in enumerate(clauses):
            if clause.start in middle and clause.end in middle:
                if self.found:
                    self._extend(clause)
                continue
            following = clauses[index + 1] if index + 1 < len(clauses) else None
            self._clause(clause, following)
        if self.pending is not None and self.found and self.found[-1].end <= self.pending:
            self.found[-1] = replace(self.found[-1], end=clauses[-1].end)
        return Outline(tuple(self.found), self.refused, self.conditional, self.tale)

    def _clause(self, clause: Clause, following: Clause | None) -> None:
        text = self.masked[clause.start : clause.end]
        last = self.found[-1] if self.found else None
        if last and last.intent in _SWALLOWS and not clause.strong:
            self._extend(clause)
            return
        if (withdrawn := guards.WITHDRAWN.search(text)) and (
            last or self.pending is not None or withdrawn.start() > 0
        ):
            if last and following and self._is_time_alone(following):
                self._extend(clause)  # 算了，四点吧 corrects the time, it doesn't take back the wish
                return
            self.found.clear()
            self.pending, self.refused = None, True
            return
        cue = self._cue(clause)
        if cue is not None and last and not self._begins(cue, clause, last):
            cue = None
        if cue is None:
            self._plain(clause, text, last)
            return
        hangs = self.hanging or guards.is_conditional(text, self.zh)
        if hangs and cue.intent in _CREATES and cue.intent != "email.draft":
            self.conditional = True
            return
        if cue.intent == "reminder.create" and self._is_no_wish(cue, clause, text):
            return
        if (
            guards.is_refused(self.masked[clause.start : cue.start].rstrip(), self.zh)
            and cue.intent in _CREATES
        ):
            self.refused = True
            return
        if last and cue.intent == "reminder.create" and self._only_opens(last):
            self.found.pop()  # open my calendar and add an event
        start = clause.start if self.pending is None else self.pending
        self.pending = None
        self.found.append(Request(cue.intent, start, clause.end, cue))

    def _only_opens(self, last: Request) -> bool:
        return OPENS_CALENDAR.match(self.masked[last.start : last.end].strip(" ,")) is not None

    def _is_no_wish(self, cue: Cue, clause: Clause, text: str) -> bool:
        if guards.is_refused(self.masked[clause.start : cue.start].rstrip(), self.zh):
            self.refused = True
            return True
        if guards.is_tale(text, self.zh):
            self.tale = True
            return True
        return False

    def _begins(self, cue: Cue, clause: Clause, last: Request) -> bool:
        """Whether a cue after another request begins a new one, rather than standing in its payload."""
        if last.intent in _SWALLOWS:
            return clause.strong
        if clause.strong:
            return True
        head = self.masked[clause.start : cue.start].strip(" ,")
        if last.intent == "reminder.create":
            if cue.intent == "reminder.create":
                # 提醒我买牛奶，记得带钱 is one; with a time of its own it is another.
                return self._has_time(clause) and self._has_time_in(last.start, last.end)
            return len(head) <= 6 or self._is_lead(head)
        return cue.intent != last.intent or cue.intent in ("ledger.add", "reminder.change", "reminder.cancel")

    def _is_lead(self, head: str) -> bool:
        return self.zh and all(any(head.startswith(lead) for lead in LEADS_ZH) for _ in head[:1])

    def _plain(self, clause: Clause, text: str, last: Request | None) -> None:
        """A clause without a cue of its own."""
        if guards.is_conditional(text, self.zh) and (last is None or last.intent == "reminder.create"):
            if (
                last is not None
                and not self.zh
                and not text.lstrip().startswith(("if", "unless", "when", "once"))
            ):
                self._extend(clause)
                return
            self.conditional = self.hanging = True
            self.found = [one for one in self.found if one.intent != "reminder.create"]
            self.refused = self.refused or last is not None
            return
        amounts = self._amounts_in(clause)
        apart = clause.strong and last is not None and last.intent == "reminder.create"
        told = text if self.pending is None or last else self.masked[self.pending : clause.end]
        if (
            amounts
            and (last is None or last.intent == "ledger.add" or apart)
            and self._reports(told, amounts)
            and not (last is None and self._is_amount_alone(clause))
        ):
            self._another_entry(clause, text, last)
            return
        if last and last.intent == "reminder.create" and self._is_parallel(clause, last):
            self.found.append(
                Request(
                    "reminder.create",
                    clause.start,
                    clause.end,
                    Cue("reminder.create", clause.start, clause.start),
                )
            )
            return
        if last:
            self._extend(clause)
        elif self.pending is None:
            self.pending = clause.start

    def _another_entry(self, clause: Clause, text: str, last: Request | None) -> None:
        if (
            last
            and last.intent == "ledger.add"
            and (is_shared(text) or not self._amounts_between(last.start, last.end))
        ):
            self._extend(clause)  # the share of a sum, or the amount of "记一笔"
            return
        start = clause.start if self.pending is None or last else self.pending
        self.pending = None
        self.found.append(
            Request("ledger.add", start, clause.end, Cue("ledger.add", clause.start, clause.start))
        )

    def _reports(self, text: str, amounts: int) -> bool:
        if amounts > _MANY_AMOUNTS or VENUE.search(self.masked, 0, _REACH):
            return False
        return not guards.is_refused(text, self.zh) and reports_money(text, self.zh, amounts)

    def _is_parallel(self, clause: Clause, last: Request) -> bool:
        """提醒我九点开会，十一点交报告: a second time with a second thing to do."""
        times = self._times_in(clause)
        starts = [one for one in times if one[2] and one[0] <= clause.start + 4]
        if not starts or not self._has_time_in(last.start, last.end):
            return False
        if guards.CORRECTED.search(self.masked, max(last.cue.end, clause.start - 24), clause.end):
            return False
        rest = self.masked[starts[0][1] : clause.end].strip(" ,")
        title = self.masked[last.cue.end : last.end].strip(" ,")
        return len(rest) >= 2 and bool(title)

    def _is_time_alone(self, clause: Clause) -> bool:
        inside = self._times_in(clause)
        if not inside:
            return False
        rest = self.masked[clause.start : inside[0][0]] + self.masked[inside[-1][1] : clause.end]
        return len(rest.strip(" ,.!。吧呢好了")) <= 3

    def _is_amount_alone(self, clause: Clause) -> bool:
        """Whether a text is nothing but an amount: that tells of no money spent."""
        first = bisect_left(self.seen.amounts, (clause.start, 0))
        inside = self.seen.amounts[first : first + 1]
        if not inside or self.pending is not None:
            return False
        rest = self.masked[: inside[0][0]] + self.masked[inside[0][1] :]
        return not ABOUT.sub("", rest).strip(" ,.!。?~")

    def _extend(self, clause: Clause) -> None:
        self.found[-1] = replace(self.found[-1], end=clause.end)

    def _times_in(self, clause: Clause) -> list[tuple[int, int, bool]]:
        first = bisect_left(self.seen.times, (clause.start, 0, False))
        last = bisect_left(self.seen.times, (clause.end, 0, False))
        return [one for one in self.seen.times[first:last] if one[1] <= clause.end]

    def _has_time(self, clause: Clause) -> bool:
        return self._has_time_in(clause.start, clause.end)

    def _has_time_in(self, start: int, end: int) -> bool:
        first = bisect_left(self.seen.times, (start, 0, False))
        return first < len(self.seen.times) and self.seen.times[first][1] <= end

    def _amounts_in(self, clause: Clause) -> int:
        return self._amounts_between(clause.start, clause.end)

    def _amounts_between(self, start: int, end: int) -> int:
        first = bisect_left(self.seen.amounts, (start, 0))
        return sum(
            one[1] <= end for one in self.seen.amounts[first : bisect_left(self.seen.amounts, (end, 0))]
        )

    def _cue(self, clause: Clause) -> Cue | None:
        """The earliest cue of a clause; at one place, the first of the table."""
        text, at = self.masked[clause.start : clause.end], clause.start
        best: Cue | None = None
        for intent, pattern in self.patterns:
            found = pattern.search(text)
            if found is not None and (best is None or at + found.start() < best.start):
                best = Cue(intent, at + found.start(), at + found.end())
        if best is None or is_stranger(best.intent, text, self.zh):
            return None
        if best.intent != "reminder.create":
            return best
        return self._checked(best, clause)

    def _checked(self, cue: Cue, clause: Clause) -> Cue | None:
        """Weak cues of a reminder (叫我, 记得, "remember to") need a time beside them."""
        word = self.masked[cue.start : cue.end]
        weak = word.startswith(WEAK) or word == "提醒"
        if weak and not any(one in word for one in ("起床", "醒", "一声")):
            start = clause.start if self.pending is None else self.pending
            if not self._has_time_in(start, clause.end):
                return None
            if word.startswith(("帮我记", "给我记", "请记", "记一下", "记下")) and self._amounts_between(
                start, clause.end
            ):
                return Cue("ledger.add", cue.start, cue.end)
        return cue
