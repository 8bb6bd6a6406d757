# Tables: an entry or a pattern is easier to check on one line than broken up.
# ruff: noqa: E501
"""English words of time and money: word or phrase -> (kind, value). Kinds are listed in `lexer`."""

from __future__ import annotations

from typing import Any, Final

Entry = tuple[str, Any]


def _each(kind: str, words: str, value: Any = None) -> dict[str, Entry]:
    """Words parted by `|`; a phrase's words are parted by one space."""
    return {word.strip(): (kind, value) for word in words.split("|")}


_DAYS: Final = (
    "monday|mondays|mon|monday's", "tuesday|tuesdays|tue|tues|tuesday's", "wednesday|wednesdays|weds|wednesday's|wensday|wednsday",
    "thursday|thursdays|thu|thur|thurs|thursday's|thrusday", "friday|fridays|fri|friday's", "saturday|saturdays|saturday's",
    "sunday|sundays|sunday's",
)  # fmt: skip
_MONTHS: Final = (
    "january|jan", "february|feb|febuary", "", "april|apr", "", "june|jun", "july|jul", "august|aug",
    "september|sept|sep", "october|oct", "november|nov", "december|dec",
)  # fmt: skip

WORDS: Final[dict[str, Entry]] = {
    **{word: ("W", day) for day, names in enumerate(_DAYS) for word in names.split("|")},
    **{f"{names.partition('|')[0]}s": ("Q", ("WEEKLY", 1, None, (day,))) for day, names in enumerate(_DAYS)},
    **_each("Q", "weekdays|on weekdays", ("WEEKLY", 1, None, (0, 1, 2, 3, 4))), **_each("Q", "weekends|on weekends", ("WEEKLY", 1, None, (5, 6))),
    **_each("V", "wed", 2), **_each("V", "sat", 5), **_each("V", "sun", 6),
    **{word: ("M", month) for month, names in enumerate(_MONTHS, 1) for word in names.split("|") if word},
    **_each("U", "march|mar", 3), **_each("U", "may", 5),
    **_each("D", "today|todays|today's", (0, None)),
    **_each("D", "tomorrow|tmrw|tmr|tomorow|tommorow|tommorrow|tomorrows|tomorrow's|2morrow|tomoro|tmw", (1, None)),
    **_each("D", "yesterday|yesterday's|yday", (-1, None)),
    **_each("D", "the day after tomorrow|day after tomorrow|overmorrow", (2, None)),
    **_each("D", "the day before yesterday|day before yesterday", (-2, None)),
    **_each("D", "tonight|tonite|tonight's|this evening|2nite", (0, "evening")),
    **_each("D", "this morning", (0, "morning")), **_each("D", "this afternoon", (0, "afternoon")),
    **_each("D", "last night", (-1, "evening")), **_each("D", "tomorrow night", (1, "evening")),
    **_each("D", "later today", (0, "later")), **_each("D", "rest of today", (0, None)),
    **_each("P", "morning|in the morning|mornings|in the mornings|this early morning", "morning"),
    **_each("P", "first thing|first thing in the morning|early morning|early in the morning", "morning"),
    **_each("P", "afternoon|in the afternoon|afternoons|arvo", "afternoon"),
    **_each("P", "evening|in the evening|evenings", "evening"), **_each("P", "night|at night|nights|nighttime", "evening"),
    **_each("P", "noon|midday|at noon|high noon|12 noon|twelve noon", "noon_exact"), **_each("P", "lunchtime|lunch time", "noon"),
    **_each("P", "midnight|at midnight", "midnight"),
    **_each("u", "second|seconds|sec|secs", "second"), **_each("u", "minute|minutes|min|mins|minuets", "minute"),
    **_each("u", "hour|hours|hr|hrs|hour's|hours'", "hour"), **_each("u", "day|days|day's|days'", "day"),
    **_each("u", "weekday|workday|workdays|business day|business days|working day|working days|work day|work days", "workday"),
    **_each("u", "week|weeks|wk|wks|week's|weeks'", "week"), **_each("u", "fortnight|fortnights", "fortnight"),
    **_each("u", "month|months|mth|mths|month's|months'", "month"), **_each("u", "year|years|yr|yrs|year's|years'", "year"),
    **_each("k", "quarter|quarters|qtr|qtrs"), **_each("h", "half"), **_each("a", "a|an"),
    **_each("c", "o'clock|oclock|o clock"), **_each("x", "am|a.m.|a.m", "am"), **_each("x", "pm|p.m.|p.m", "pm"),
    **_each("E", "weekend|the weekend|weekend's"),
    **_each("p", "nxt|next|following|the next|the following", "next"), **_each("p", "last|previous|prior|the last|the previous|past|the past", "last"),
    **_each("p", "this|current|the current", "this"), **_each("p", "coming|upcoming|this coming|this upcoming|the coming", "coming"),
    **_each("A", "from now|later|hence|from today", "now"), **_each("A", "after", "after"), **_each("G", "ago"),
    **_each("B", "before|prior to|ahead of", "before"), **_each("I", "in|within"), **_each("I", "in about|in around|in another|in like", None),
    **_each("I", "within|within the next|in the next|in under|in less than", "within"),
    **_each("b", "by|no later than|not later than|due by|due on|due|by the"),
    **_each("t", "to|through|thru|till|til|until|untill|'til|-|--|~|up to|up until"),
    **_each("F", "from|between|in between|from between"), **_each("F", "since|ever since", "since"), **_each("v", "starting|beginning|starting from|beginning from|starting on|as of|effective"),
    **_each("w", "ending|ends|ending on"),
    **_each("&", "and|or|&|plus"), **_each("s", "on|on the", "on"), **_each("s", "the|of|of the|around|about|approximately|roughly|ish|in the|sharp|that|during|for the"),
    **_each("@", "at|@"), **_each("S", "half past"),
    **_each("e", "except|except for|excluding|but not|other than|apart from|not on|not including"),
    **_each("R", "every|each|ever|evry"), **_each("R2", "every other|every second|each other"),
    **_each("Q", "daily|everyday|every single day|each and every day", ("DAILY", 1, None)), **_each("Q", "nightly", ("DAILY", 1, "evening")),
    **_each("Q", "once a day|once daily", ("DAILY", 1, None)), **_each("Q", "twice a day|twice daily|twice per day|twice every day|two times a day|two times daily", ("DAILY", 1, 2)),
    **_each("Q", "three times a day|three times daily|3 times a day|3 times daily|thrice daily", ("DAILY", 1, 3)), **_each("Q", "four times a day|four times daily|4 times a day", ("DAILY", 1, 4)), **_each("Q", "2 times a day|2 times daily", ("DAILY", 1, 2)), **_each("Q", "once a week", ("WEEKLY", 1, None)),
    **_each("Q", "once a month", ("MONTHLY", 1, None)), **_each("Q", "once a year", ("YEARLY", 1, None)),
    **_each("Q", "weekly", ("WEEKLY", 1, None)), **_each("Q", "biweekly|fortnightly|bi-weekly", ("WEEKLY", 2, None)),
    **_each("Q", "monthly", ("MONTHLY", 1, None)), **_each("Q", "quarterly", ("MONTHLY", 3, None)),
    **_each("Q", "yearly|annually", ("YEARLY", 1, None)), **_each("Q", "hourly", ("HOURLY", 1, None)),
    **_each("z", "times|occurrences"), **_each("4", "for|for a total of|a total of"), **_each("H", "holidays|public holidays|bank holidays", "*"),
    **_each("^", "end of|the end of|end of the|the end of the", "end"),
    **_each("^", "beginning of|start of|the start of|the beginning of|beginning of the|start of the|the first of the", "start"),
    **_each("^", "middle of|the middle of|mid", "middle"),
    **_each("X", "eom|month end|month-end|end of month", ("month", "end")), **_each("X", "eoy|year end|year-end|end of year", ("year", "end")),
    **_each("X", "eow|end of week", ("week", "end")), **_each("X", "eod|end of day|end of the day|cob|close of business|end of business", ("day", "end")),
    **_each("X", "quarter end|end of quarter|quarter-end", ("quarter", "end")),
    **_each("L", "h1", ("half_year", 1)), **_each("L", "h2", ("half_year", 2)),
    # Holidays
    **_each("H", "new year's day|new years day|new year|new years|new year's", "new_year"),
    **_each("H", "new year's eve|new years eve", "new_year_eve"), **_each("H", "chinese new year|spring festival|lunar new year", "spring_festival"),
    **_each("H", "chinese new year's eve|lunar new year's eve", "lunar_eve"), **_each("H", "lantern festival", "lantern"),
    **_each("H", "dragon boat festival", "dragon_boat"), **_each("H", "mid-autumn festival|mid autumn festival|moon festival", "mid_autumn"),
    **_each("H", "qingming festival|tomb sweeping day|qingming", "qingming"),
    **_each("H", "martin luther king day|mlk day|martin luther king jr. day", "mlk"), **_each("H", "presidents day|presidents' day|president's day", "presidents"),
    **_each("H", "valentine's day|valentines day|valentines", "valentine"), **_each("H", "st patrick's day|st. patrick's day|saint patrick's day|st patricks day", "st_patrick"),
    **_each("H", "april fools|april fools day|april fool's day|april fools' day", "april_fools"), **_each("H", "easter|easter sunday", "easter"),
    **_each("H", "good friday", "good_friday"), **_each("H", "earth day", "earth"), **_each("H", "mother's day|mothers day", "mothers"),
    **_each("H", "memorial day", "memorial"), **_each("H", "juneteenth", "juneteenth"), **_each("H", "father's day|fathers day", "fathers"),
    **_each("H", "independence day|fourth of july|the fourth of july|july fourth", "independence"),
    **_each("H", "labor day|labour day", "labor_us"), **_each("H", "columbus day|indigenous peoples' day", "columbus"),
    **_each("H", "halloween", "halloween"), **_each("H", "veterans day|veteran's day|veterans' day", "veterans"),
    **_each("H", "thanksgiving|thanksgiving day", "thanksgiving"), **_each("H", "black friday", "black_friday"),
    **_each("H", "christmas eve|xmas eve", "christmas_eve"), **_each("H", "christmas|xmas|christmas day", "christmas"), **_each("H", "boxing day", "boxing"),
    # Money
    **_each("C", "dollar|dollars|buck|bucks|usd|us$|us dollars|us dollar", "USD"), **_each("C", "$", "$"),
    **_each("c$", "cent|cents|¢", "USD"), **_each("c$", "pence|penny|pennies", "GBP"),
    **_each("C", "euro|euros|eur|€", "EUR"), **_each("C", "pound|pounds|quid|gbp|£|pounds sterling|sterling|british pounds", "GBP"),
    **_each("C", "yen|jpy|japanese yen", "JPY"), **_each("C", "¥", "¥"), **_each("C", "yuan|rmb|cny|renminbi|kuai|cn¥|chinese yuan", "CNY"),
    **_each("C", "hkd|hk$|hong kong dollars|hk dollars|hong kong dollar", "HKD"), **_each("C", "twd|nt$|ntd|new taiwan dollars", "TWD"), **_each("C", "krw|won|₩|korean won", "KRW"),
    **_each("C", "aud|a$|au$|aussie dollars|australian dollars|australian dollar", "AUD"), **_each("C", "cad|c$|ca$|canadian dollars|canadian dollar", "CAD"),
    **_each("C", "sgd|s$|singapore dollars", "SGD"), **_each("C", "chf|francs|swiss francs|franc", "CHF"), **_each("C", "thb|baht|฿", "THB"),
    **_each("C", "inr|rs|rs.|rupees|rupee|₹", "INR"), **_each("C", "myr|ringgit", "MYR"), **_each("C", "rub|rubles|roubles|₽", "RUB"),
    **_each("C", "vnd|₫", "VND"), **_each("C", "nzd|nz$|new zealand dollars", "NZD"), **_each("C", "mxn|mexican pesos", "MXN"), **_each("C", "brl|r$|reais", "BRL"),
    **_each("C", "sek|swedish kronor", "SEK"), **_each("C", "nok", "NOK"), **_each("C", "dkk", "DKK"), **_each("C", "pln|zloty|zlotys", "PLN"),
    **_each("C", "aed|dirhams|dirham", "AED"), **_each("C", "php", "PHP"), **_each("C", "idr|rupiah", "IDR"), **_each("C", "zar|rand", "ZAR"), **_each("C", "mop", "MOP"), **_each("C", "naira|ngn", "NGN"), **_each("C", "try|turkish lira", "TRY"), **_each("C", "czk", "CZK"), **_each("C", "huf|forint", "HUF"), **_each("C", "kronor|kronas", "SEK"),
    **_each("!", "minus|negative"),
    # Zones
    **_each("Z", "utc|gmt|zulu|utc time|gmt time", "UTC"), **_each("Z", "beijing time|china time|shanghai time|cst china|china standard time", "Asia/Shanghai"),
    **_each("Z", "hong kong time|hkt", "Asia/Hong_Kong"), **_each("Z", "taipei time|taiwan time", "Asia/Taipei"), **_each("Z", "tokyo time|japan time|jst", "Asia/Tokyo"),
    **_each("Z", "seoul time|korea time|kst", "Asia/Seoul"), **_each("Z", "singapore time|sgt", "Asia/Singapore"),
    **_each("Z", "new york time|eastern time|eastern|est|edt|ny time|us eastern|boston time|et", "America/New_York"),
    **_each("Z", "chicago time|central time|cdt|us central", "America/Chicago"), **_each("Z", "cst", "CST"),
    **_each("Z", "mountain time|mst|mdt|denver time", "America/Denver"),
    **_each("Z", "pacific time|pacific|pst|pdt|pt|la time|los angeles time|san francisco time|seattle time|us pacific", "America/Los_Angeles"),
    **_each("Z", "london time|uk time|bst", "Europe/London"), **_each("Z", "paris time", "Europe/Paris"), **_each("Z", "berlin time|german time", "Europe/Berlin"),
    **_each("Z", "cet|cest|central european time", "Europe/Paris"), **_each("Z", "sydney time|aest|aedt", "Australia/Sydney"), **_each("Z", "moscow time|msk", "Europe/Moscow"),
    **_each("Z", "india time|mumbai time|delhi time|indian time", "Asia/Kolkata"), **_each("Z", "dubai time", "Asia/Dubai"),
    # Counts in words that aren't plain numbers
    **_each("n2", "couple|couple of|a couple of|a couple", 2), **_each("n2", "dozen", 12), **_each("#", "few|several|a few|the few"),
    # No time in these
    **_each(".", "the sun|secondhand|second hand|per second|last time|next time|this time|one more time|at all|at least|at most|at home|at work|at school|in the end"),
    **_each(".", "per night|a night|per day|per week|per month|per hour|per year|second thought|may i|may be|may have|first of all|march to|a lot|a bit|a little|a few words|on time|in time|in order|due to|as well|all day"),
    **_each(".", "good morning|good afternoon|good evening|good night|goodnight|happy new year|merry christmas|happy halloween|happy thanksgiving|happy easter"),
    **_each(".", "time to|from home|to do|to-do|todo|to the|every time|everyone|everything|each other|each time|half price|one of|which one|this one|that one|no one|someone|any one|one another|the one|day off|days off|to be|to go|to get|to my|to me|to a"),
    **_each(".", "last name|first name|long time|what time|some time|this is|past due|in my|in our|in your|in a row|by the way|by email|by phone|by mail|by car|by bus|by train|by myself|the past|in person|for me|for my|a second opinion|half of|early|wedding day|night out|girls night|date night|movie night|game night|night shift|night owl"),
}  # fmt: skip
