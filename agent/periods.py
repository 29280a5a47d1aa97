"""Times named in a question: days, months, quarters, years, and the half-open spans they make."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Literal

from agent.keys import qualified

Grain = Literal["date", "month", "quarter", "half", "year"]

MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTH_NUMBER = {spelt: place + 1 for place, name in enumerate(MONTHS) for spelt in (name, name[:3])} | {"sept": 9}
_ABROAD = "januar februar m\u00e4rz april mai juni juli august september oktober november dezember j\u00e4nner"
_MONTH_NUMBER |= {name: place % 12 + 1 for place, name in enumerate(_ABROAD.split())}
_ORDINAL = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "last": 4}
_ORDINAL |= {"opening": 1, "final": 4, "closing": 4}
_ORDINAL |= {"ersten": 1, "erstes": 1, "zweiten": 2, "zweites": 2, "dritten": 3, "drittes": 3, "vierten": 4}
_ORDINAL |= {"viertes": 4, "letzten": 4}
_M = r"(?P<{0}>" + "|".join(sorted(_MONTH_NUMBER, key=lambda name: (-len(name), name))) + r")\.?"
_O = rf"(?P<o>{'|'.join(sorted(_ORDINAL, key=lambda name: (-len(name), name)))})"
_Y = r"(?P<{0}>(?:1[6-9]|20|21)\d\d)"
_LITTLE = (
    r"(?:and|or|to|than|until|vs|versus|but|onwards?|together|as|side\s+by|per|by|for|that|which|who|how|what|we|they|"
    r"against|went|go|were|was|did|do|does|have|has|had|came|is|are|in|from|with|on|at|of|our|through|compared|sorted|broken|"
    r"[a-z]+ed)\b"
)
_NOT_COUNTED = (
    r"(?=\s*(?:[?.!;:)]|,(?!\d)|\Z)|\s+(?!(?:and|or)\s+(?:more|fewer|less|over|above|below|under|higher|lower)\b)"
    rf"(?!(?:and|or|to|until)\s+\d+\s+(?!{_LITTLE})[a-z]){_LITTLE})"
)
"""Behind two digits where nothing is counted by them: `in 97 or later`, but not `in 97 towns`, `from 70 to 85 kg`."""
_SHORT = rf"(?P<y>['\u2019]\d\d|(?:3[2-9]|[4-9]\d){_NOT_COUNTED})(?!\s?%)"
_MARKED = r"(?P<y>['\u2019]\d\d)"
_PIVOT = 69
"""Two digits from here on are of the last century, as POSIX reads `%y`."""
_LAST_DECADE = 20
"""The decades of two digits up to this one are of this century: people speak of the twenties and of the fifties."""
_MONTHS_OF_A_YEAR = 12
_D = r"(?P<{0}>[0-3]?\d)(?:st|nd|rd|th)?"

_DECADES = {"twenties": 20, "thirties": 30, "forties": 40, "fifties": 50, "sixties": 60, "seventies": 70}
_DECADES |= {"eighties": 80, "nineties": 90}

_HALF = r"(?P<o>first|1st|second|2nd|ersten?|zweiten?|erstes|zweites)\s+(?:half|halbjahr)"

_WRITTEN: tuple[tuple[Grain, str], ...] = (
        ("date", rf"{_Y.format('y')}[-/.](?P<m>\d\d?)[-/.](?P<d>\d\d?)"),
        ("date", rf"(?P<d>\d\d?)\.\s?(?P<m>\d\d?)\.\s?{_Y.format('y')}"),
        ("date", rf"(?P<m>\d\d?)/(?P<d>\d\d?)/{_Y.format('y')}"),
        ("date", rf"{_M.format('mn')}\s+{_D.format('d')},?\s+{_Y.format('y')}"),
        ("date", rf"{_D.format('d')}\.?\s+(?:of\s+)?{_M.format('mn')},?\s+{_Y.format('y')}"),
        ("date", rf"{_M.format('mn')}\s+{_D.format('d')},?\s+{_MARKED}"),
        ("date", rf"{_D.format('d')}\.?\s+(?:of\s+)?{_M.format('mn')},?\s+{_SHORT}"),
        ("date", rf"{_Y.format('y')}\ub144\s?(?P<m>\d\d?)\uc6d4\s?(?P<d>\d\d?)\uc77c"),
        ("month", rf"{_Y.format('y')}\ub144(?:\ub3c4)?\s?(?P<m>\d\d?)\uc6d4"),
        ("quarter", rf"{_Y.format('y')}\ub144(?:\ub3c4)?\s?(?P<q>[1-4])\s?(?:\ubd84\uae30|\uc0ac\ubd84\uae30)"),
        ("half", rf"{_Y.format('y')}\ub144(?:\ub3c4)?\s?(?P<h>\uc0c1|\ud558)\ubc18\uae30"),
        ("month", rf"{_M.format('mn')},?\s+(?:of\s+|in\s+)?(?:the\s+year\s+)?{_Y.format('y')}"),
        ("month", rf"{_M.format('mn')},?\s+(?:of\s+|in\s+)?{_SHORT}"),
        ("month", rf"{_Y.format('y')}-(?P<m>0[1-9]|1[0-2])(?!-\d)"),
        ("month", rf"(?P<m>0?[1-9]|1[0-2])/{_Y.format('y')}"),
        ("quarter", rf"{_O}[\s-]+(?:quarter|quartal)\s+(?:of\s+|in\s+)?(?:the\s+year\s+)?{_Y.format('y')}"),
        ("quarter", rf"{_O}[\s-]+(?:quarter|quartal)\s+(?:of\s+|in\s+)?{_SHORT}"),
        ("quarter", rf"quarter\s+(?:no\.?\s*|number\s+)?(?P<q>[1-4])\s+(?:of\s+|in\s+)?(?:{_Y.format('y')})"),
        ("quarter", rf"(?P<q>[1-4])q[\s/-]*(?:of\s+|in\s+)?{_Y.format('y')}"),
        ("quarter", rf"q(?P<q>[1-4])[\s/-]*(?:of\s+|in\s+)?{_Y.format('y')}"),
        ("quarter", rf"q(?P<q>[1-4])[\s/-]*(?:of\s+|in\s+)?{_SHORT}"),
        ("quarter", rf"{_Y.format('y')}[\s/-]*q(?P<q>[1-4])"),
        ("half", rf"{_HALF}\s+(?:of\s+|in\s+)?{_Y.format('y')}"),
        ("half", rf"{_HALF}\s+(?:of\s+|in\s+)?{_SHORT}"),
        ("half", rf"h(?P<h>[12])[\s/-]*(?:of\s+|in\s+)?(?:{_Y.format('y')})"),
        ("year", r"(?P<y>(?:1[6-9]|20|21)\d0)['\u2019]?(?P<decade>s)"),
        ("year", r"(?:['\u2019]|(?<=\bthe\s))(?P<y>[1-9]0)['\u2019]?(?P<decade>s)"),
        ("year", rf"(?<=\bthe\s)(?P<decade>{'|'.join(_DECADES)})"),
        ("year", _Y.format("y")),
        ("year", _MARKED),
)  # fmt: skip
_ATOMS = tuple(
    (grain, re.compile(rf"(?<![\w.,])(?:{pattern})(?![0-9A-Za-z]|[.,]\d)", re.IGNORECASE))
    for grain, pattern in _WRITTEN
)
_YEAR_ALONE = re.compile(
    rf"(?<=\b)(?:(?:back\s+)?in|during|since|year|before|after|until|from)\s+(?P<y>[7-9]\d){_NOT_COUNTED}",
    re.IGNORECASE,
)
"""The `97` of `placed in 97`: only where nothing follows that it may count."""
_YEAR_BEHIND = re.compile(
    r"\s*(?:,|,?\s*(?:and|or|&|to|vs\.?|versus|against|with|than|until|through|-|\u2013))\s*(?:(?:how\s+many|"
    r"also|again|that|"
    r"those|not|for|of)\s+)*(?:(?:in|of|for|during)\s+)?(?P<y>['\u2019]?[7-9]\d)(?![0-9A-Za-z%]|[.,]\d)",
    re.IGNORECASE,
)
_MONTH_ALONE = re.compile(
    rf"(?<=\b)(?P<before>in|during|of|since|before|after|from|until|every|each|"
    rf"for)\s+(?P<atom>{_M.format('mn')})(?!\w)",
    re.IGNORECASE,
)
_RANGE_MIDDLE = re.compile(
    r"\s*(?:and|to|until|till|through|thru|up\s+to|-|\u2013|\u2014)\s*(?:the\s+)?(?:end\s+of\s+)?\Z", re.IGNORECASE
)
_RANGE_START = re.compile(
    r"\b(?P<word>between|from)\s+(?:the\s+)?(?:start\s+of\s+|beginning\s+of\s+)?\Z", re.IGNORECASE
)
_LEAD = re.compile(
    r"\b(?P<word>(?:not\s+)?(?:before|prior\s+to|earlier\s+than)|(?:not\s+)?(?:after|later\s+than)|since|"
    r"starting\s+(?:in|from|with)|from|"
    r"on\s+or\s+after|on\s+or\s+before|in\s+or\s+after|in\s+or\s+before|until|till|up\s+to|through|by|"
    r"no\s+later\s+than|"
    r"seit|vor|nach|ab|bis)"
    r"\s+(?:the\s+)?(?:start\s+of\s+|end\s+of\s+|year\s+)?\Z",
    re.IGNORECASE,
)  # fmt: skip
_UP_TO = frozenset(
    ("until", "till", "up to", "through", "by", "on or before", "in or before", "not after", "no later than")
) | {"not later than", "bis"}
_ONWARD = re.compile(
    r"\A\s*(?:(?:onwards?|or\s+later|and\s+later|and\s+after)\b|[\ub144\uc6d4\uc77c]?\s?(?:\uc774\ud6c4|\ubd80\ud130))",
    re.I,
)
_EARLIER = re.compile(
    r"\A\s*(?:(?:or\s+earlier|and\s+earlier|and\s+before)\b|[\ub144\uc6d4\uc77c]?\s?\uae4c\uc9c0)", re.I
)
_BEFORE_BEHIND = re.compile(r"\A[\ub144\uc6d4\uc77c]?\s?(?:\uc774\uc804|\uc804\uc5d0|\uc804)")
_DAY_BEFORE = re.compile(
    r"(?<![\d.,-])(?P<day>(?P<d>\d{1,2})(?:st|nd|rd|th)?)\s*(?:to|until|till|through|and|-|\u2013|bis|"
    r"und)\s*(?:the\s+)?\Z",
    re.IGNORECASE,
)
_JOINED = re.compile(
    r"\s*(?:,|,?\s*(?:and|or|&|plus|und|(?P<to>to|until|till|through|-|\u2013|bis)))\s*", re.IGNORECASE
)
_MONTH_BEFORE = re.compile(
    rf"\b(?P<atom>{_M.format('mn')})\s*(?:,|,?\s*(?:and|or|&|plus|to|until|till|through|-|\u2013|und|bis))\s*\Z",
    re.IGNORECASE,
)
_QUARTER_BEFORE = re.compile(
    r"(?P<atom>\bQ(?P<q>[1-4])|\b(?P<o>first|second|third|fourth|1st|2nd|3rd|4th)(?:\s+quarter)?)"
    r"\s*(?:,|,?\s*(?:and|or|&|plus|to|until|till|through|-|\u2013))\s*(?:the\s+)?\Z",
    re.IGNORECASE,
)
_APART = re.compile(
    r"\b(?:differ(?:s|ed|ences?)?\b|how\s+different|compar|grow|grew|change|increase|decrease|versus|vs)", re.IGNORECASE
)


_HALVES = {"1": 1, "2": 2, "\uc0c1": 1, "\ud558": 2}


@dataclass(frozen=True, slots=True)
class Moment:
    """One time as written; the span is half-open.

    `value` is `1997`, `1997-03`, `1997-Q1`, `1997-H1`, `1997-03-05`, or `1990s` for the ten years from 1990.

    A month without a year has the value `03` and no span: it recurs every year.
    """

    start: int
    end: int
    text: str
    grain: Grain
    value: str
    since: date | None
    until: date | None


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of time the question asks for: `since` is included, `until` is not; None is open.

    `start` and `end` are the offsets of its words in the question. `month` is set instead for a month of no year.
    """

    start: int
    end: int
    text: str
    since: date | None
    until: date | None
    month: int | None = None


def moments(question: str) -> tuple[Moment, ...]:
    """Find each day, month, quarter, half and year, in reading order, the longest reading first.

    >>> [(m.grain, m.value) for m in moments("between 1996-07-01 and March 1998, or in 1997")]
    [('date', '1996-07-01'), ('month', '1998-03'), ('year', '1997')]
    """
    found: list[Moment] = []

    def free(start: int, end: int) -> bool:
        return all(end <= other.start or start >= other.end for other in found)

    for grain, pattern in _ATOMS:
        for match in pattern.finditer(question):
            moment = _moment(grain, match) if free(match.start(), match.end()) else None
            if moment is not None:
                found.append(moment)
    for match in _YEAR_ALONE.finditer(question):
        if free(*match.span("y")):
            found.append(_year(match))
    for moment in tuple(found):
        behind = _YEAR_BEHIND.match(question, moment.end) if moment.grain == "year" and moment.text.isdigit() else None
        if behind is not None and len(moment.text) == 2 and free(*behind.span("y")):
            found.append(_year(behind))
    for match in _MONTH_ALONE.finditer(question):
        start, end = match.span("atom")
        if free(start, end) and not (match["mn"].lower() in {"may", "mar"} and match["mn"][0].islower()):
            number = _MONTH_NUMBER[match["mn"].lower()]
            found.append(Moment(start, end, match["atom"], "month", f"{number:02d}", None, None))
    for moment in tuple(found):
        day = _day_before(question, moment)
        if day is not None and free(day.start, day.end):
            found.append(day)
        other = _quarter_before(question, moment) or _month_before(question, moment)
        while other is not None and free(other.start, other.end):
            found.append(other)
            other = _quarter_before(question, other) or _month_before(question, other)
    found.sort(key=lambda moment: moment.start)
    whole: list[Moment] = []
    for here in reversed(found):
        whole.append(_with_year(question, here, whole[-1] if whole else None))
    return tuple(reversed(whole))


def _year(match: re.Match[str]) -> Moment:
    year = _whole_year(match["y"])
    return Moment(*match.span("y"), match["y"], "year", str(year), date(year, 1, 1), date(year + 1, 1, 1))


def _whole_year(digits: str) -> int:
    """`97`, `'97` and `1997` as 1997.

    >>> [_whole_year(text) for text in ("'97", "05", "1998")]
    [1997, 2005, 1998]
    """
    year = int(digits.lstrip("'\u2019"))
    return year if year > 99 else year + (1900 if year >= _PIVOT else 2000)


def _first_of_decade(digits: str) -> int:
    """The first of the ten years of `90s` or `1990s`: without a century those of the last one but for the twenties on.

    >>> [_first_of_decade(text) for text in ("90", "50", "20", "1890")]
    [1990, 1950, 2020, 1890]
    """
    year = int(digits)
    return year if year > 99 else year + (1900 if year > _LAST_DECADE else 2000)


def _day_before(question: str, moment: Moment) -> Moment | None:
    """The `1` of `from 1 to 7 September 1997`: a day of the month that is named only once."""
    if moment.grain != "date" or moment.since is None or not moment.text[:1].isdigit() or "-" in moment.text:
        return None
    match = _DAY_BEFORE.search(question[: moment.start])
    if match is None or not 0 < int(match["d"]) < moment.since.day:
        return None
    since = moment.since.replace(day=int(match["d"]))
    return Moment(*match.span("day"), match["day"], "date", since.isoformat(), since, since + timedelta(days=1))


def _quarter_before(question: str, moment: Moment) -> Moment | None:
    """The `Q1` of `in Q1 and Q2 1997`: a quarter of the year that is named only once."""
    if moment.grain != "quarter" or moment.since is None:
        return None
    match = _QUARTER_BEFORE.search(question[: moment.start])
    if match is None:
        return None
    number = int(match["q"] or _ORDINAL[match["o"].lower()])
    since = date(moment.since.year, 3 * number - 2, 1)
    value = f"{since.year}-Q{number}"
    return Moment(*match.span("atom"), match["atom"], "quarter", value, since, _later(since.year, since.month, 3))


def _month_before(question: str, moment: Moment) -> Moment | None:
    """The `June` of `in May, June and July 1997`, whose year is found when the list is read."""
    match = _MONTH_BEFORE.search(question[: moment.start]) if moment.grain == "month" else None
    if match is None or (match["mn"].lower() in {"may", "mar"} and match["mn"][0].islower()):
        return None
    number = _MONTH_NUMBER[match["mn"].lower()]
    return Moment(*match.span("atom"), match["atom"], "month", f"{number:02d}", None, None)


def _with_year(question: str, here: Moment, after: Moment | None) -> Moment:
    """The `May` of `in May and June 1997` is of the same year.

    The first month of `December to January 1998` is of the year before, and so is that of `in November and January
    1998`. A list is read from its end, so that each month finds the year of the next.
    """
    if here.grain != "month" or here.since is not None or after is None or after.since is None:
        return here
    joined = _JOINED.fullmatch(question[here.end : after.start])
    if after.grain != "month" or joined is None:
        return here
    month = int(here.value)
    over = month > after.since.month and (joined["to"] is not None or (month > 9 and after.since.month < 3))
    year = after.since.year - over
    return replace(here, value=f"{year}-{month:02d}", since=date(year, month, 1), until=_later(year, month, 1))


def periods(question: str, found: Sequence[Moment]) -> tuple[Period, ...]:
    """Join moments to the periods meant: ranges, `before`, `since`, or the moment itself.

    >>> q = "orders after March 1998"
    >>> [(p.since, p.until) for p in periods(q, moments(q))]
    [(datetime.date(1998, 4, 1), None)]
    >>> q = "from 1996 to 1997"
    >>> [(p.since.year, p.until.year) for p in periods(q, moments(q))]
    [(1996, 1998)]
    """
    result: list[Period] = []
    apart = _APART.search(question) is not None
    place = 0
    while place < len(found):
        here = found[place]
        following = found[place + 1] if place + 1 < len(found) else None
        lead = _RANGE_START.search(question[: here.start])
        middle = question[here.end : following.start] if following else ""
        ranged = following is not None and _RANGE_MIDDLE.match(middle) is not None and here.since is not None
        if ranged and following is not None and not apart and (lead or middle.split() not in (["and"], ["and", "the"])):
            start = lead.start() if lead else here.start
            result.append(Period(start, following.end, question[start : following.end], here.since, following.until))
            place += 2
            continue
        result.append(_single(question, here, apart))
        place += 1
    return tuple(result)


_GRAIN = re.compile(
    r"\b(?:(?:per|by|each|every|over\s+the|across\s+the|for\s+(?:each|every)|of\s+the|which|what|best|worst)\s+"
    r"(?:calendar\s+|single\s+)?(?P<unit>day|week|month|quarter|year)s?"
    r"|(?P<twice>day|week|month|quarter|year)\s+(?:by|to|after|over)\s+(?P=twice)"
    r"|(?:per|by|each|every)\s+(?:[\w-]+,?\s+){0,4}?[\w-]+(?:,\s*|\s+(?:and|&|plus)\s+)(?:(?:by|per|each|every)\s+)?"
    r"(?:calendar\s+|single\s+)?(?P<beside>day|week|month|quarter|year)\b(?!\s+(?:of|\d))"
    r"|(?P<how>daily|weekly|monthly|quarterly|yearly|annual(?:ly)?))\b",
    re.IGNORECASE,
)
_HOW = {"daily": "day", "weekly": "week", "monthly": "month", "quarterly": "quarter", "yearly": "year"}


def grain_of(question: str) -> str | None:
    """The unit of time that the question groups by, or None.

    >>> grain_of("orders per month in 1997"), grain_of("revenue by country and year"), grain_of("orders in 1997")
    ('month', 'year', None)
    """
    match = _GRAIN.search(question)
    if match is None:
        return None
    unit = match["unit"] or match["twice"] or match["beside"]
    return unit.lower() if unit else _HOW.get(match["how"].lower(), "year")


def filter_sql(period: Period, table: str, column: str, dialect: str) -> str:
    """The condition that keeps the rows of a period, as the dialect compares dates.

    SQLite compares ISO text, half-open, so that it holds with and without a time of day.

    >>> filter_sql(Period(0, 4, "1997", date(1997, 1, 1), date(1998, 1, 1)), "Orders", "OrderDate", "sqlite")
    "Orders.OrderDate >= '1997-01-01' AND Orders.OrderDate < '1998-01-01'"
    """
    name = qualified(table, column, dialect)
    if period.month is not None:
        if dialect == "postgres":
            return f"EXTRACT(MONTH FROM {name}) = {period.month}"
        return f"strftime('%m', {name}) = '{period.month:02d}'"
    literal = "DATE '{}'" if dialect == "postgres" else "'{}'"
    sides = []
    if period.since is not None:
        sides.append(f"{name} >= {literal.format(period.since.isoformat())}")
    if period.until is not None:
        sides.append(f"{name} < {literal.format(period.until.isoformat())}")
    return " AND ".join(sides)


def grouping_sql(grain: str, table: str, column: str, dialect: str) -> str:
    """The expression that gives the year, quarter, month, week or day of a date.

    >>> grouping_sql("month", "Orders", "OrderDate", "sqlite")
    "strftime('%Y-%m', Orders.OrderDate)"
    """
    name = qualified(table, column, dialect)
    if dialect == "postgres":
        forms = {"year": "YYYY", "quarter": 'YYYY-"Q"Q', "month": "YYYY-MM", "week": "IYYY-IW", "day": "YYYY-MM-DD"}
        return f"to_char({name}, '{forms[grain]}')"
    if grain == "quarter":
        return f"strftime('%Y', {name}) || '-Q' || ((CAST(strftime('%m', {name}) AS INTEGER) + 2) / 3)"
    forms = {"year": "%Y", "month": "%Y-%m", "week": "%Y-%W", "day": "%Y-%m-%d"}
    return f"strftime('{forms[grain]}', {name})"


def _single(question: str, here: Moment, apart: bool) -> Period:
    if here.since is None or here.until is None:
        return Period(here.start, here.end, here.text, None, None, month=int(here.value))
    lead = _LEAD.search(question[: here.start])
    word = " ".join(lead["word"].lower().split()) if lead and not apart else ""
    start = lead.start() if lead and word else here.start
    rest = question[here.end :]
    since: date | None = here.since
    until: date | None = here.until
    end = here.end
    if onward := _ONWARD.match(rest):
        until, end = None, here.end + onward.end()
    elif earlier := _EARLIER.match(rest):
        since, end = None, here.end + earlier.end()
    elif word in {"before", "prior to", "earlier than", "vor"} or _BEFORE_BEHIND.match(rest):
        since, until = None, here.since
    elif word in {"after", "later than", "nach"}:
        since, until = here.until, None
    elif word in {
        "since",
        "on or after",
        "in or after",
        "not before",
        "not earlier than",
        "seit",
        "ab",
    } or word.startswith("starting"):
        until = None
    elif word in _UP_TO:
        since = None
    else:
        start = here.start
    return Period(start, end, question[start:end], since, until)


def reads_two_ways(text: str) -> bool:
    """Whether a day is written so that another day may be meant, as its month may stand first or second.

    >>> [reads_two_ways(text) for text in ("05/06/1997", "05/05/1997", "5/16/1997", "1997-05-06")]
    [True, False, False, False]
    """
    match = re.fullmatch(r"(\d\d?)/(\d\d?)/\d+", text)
    return match is not None and match[1] != match[2] and max(int(match[1]), int(match[2])) <= _MONTHS_OF_A_YEAR


def _moment(grain: Grain, match: re.Match[str]) -> Moment | None:
    """Raises nothing: an impossible day or month is no moment."""
    parts = match.groupdict()
    if parts.get("decade"):
        first = _first_of_decade(parts.get("y") or str(_DECADES[parts["decade"].lower()]))
        return Moment(*match.span(), match[0], "year", f"{first}s", date(first, 1, 1), date(first + 10, 1, 1))
    year = _whole_year(parts["y"])
    number = parts.get("m")
    if number and parts.get("d") and int(number) > _MONTHS_OF_A_YEAR:
        parts["d"], number = number, parts["d"]
    month = int(number) if number else _MONTH_NUMBER.get((parts.get("mn") or "").lower(), 1)
    try:
        if grain == "date":
            since = date(year, month, int(parts["d"]))
            return Moment(*match.span(), match[0], grain, since.isoformat(), since, since + timedelta(days=1))
        if grain == "month":
            return Moment(
                *match.span(), match[0], grain, f"{year}-{month:02d}", date(year, month, 1), _later(year, month, 1)
            )
        if grain in {"quarter", "half"}:
            part = int(parts.get("q") or _HALVES.get(parts.get("h") or "") or _ORDINAL[parts["o"].lower()])
            length, letter = (3, "Q") if grain == "quarter" else (6, "H")
            first = (part - 1) * length + 1
            value = f"{year}-{letter}{part}"
            return Moment(*match.span(), match[0], grain, value, date(year, first, 1), _later(year, first, length))
        return Moment(*match.span(), match[0], grain, str(year), date(year, 1, 1), date(year + 1, 1, 1))
    except ValueError:
        return None


def _later(year: int, month: int, months: int) -> date:
    """The first day of the month `months` after."""
    return date(year + (month - 1 + months) // 12, (month - 1 + months) % 12 + 1, 1)
