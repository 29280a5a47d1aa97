"""Numbers, comparisons, superlatives and negations as people write them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from agent.linked import Comparison, Operator
from agent.wording import (
    AT_LEAST,
    AT_MOST,
    EXACTLY,
    LESS_THAN,
    MORE_THAN,
    NOT,
    NUMBER_WORDS,
    SUPERLATIVE,
    Token,
    words,
)

_NUMBER = r"(?:\d+(?:[.,]\d+)*|" + "|".join(sorted(NUMBER_WORDS, key=lambda word: (-len(word), word))) + r")"
_TIMES = {"k": 1_000, "grand": 1_000, "mn": 1_000_000, "mln": 1_000_000, "bn": 1_000_000_000}
_TIMES |= {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_MAGNITUDE = r"(?:\s?(?:" + "|".join(_TIMES) + r"))?\b"
_AMOUNT = rf"(?:a\s+)?[$€£]?\s?(?P<n>{_NUMBER}{_MAGNITUDE})"
_COMPARED: tuple[tuple[Operator, re.Pattern[str]], ...] = (
    (">=", re.compile(rf"\b{AT_LEAST}\s+{_AMOUNT}", re.IGNORECASE)),
    ("<=", re.compile(rf"\b{AT_MOST}\s+{_AMOUNT}", re.IGNORECASE)),
    (">", re.compile(rf"\b{MORE_THAN}\s+(?:of\s+)?{_AMOUNT}", re.IGNORECASE)),
    ("<", re.compile(rf"\b{LESS_THAN}\s+{_AMOUNT}", re.IGNORECASE)),
    (">=", re.compile(rf"(?:>=|=>|\u2265)\s?{_AMOUNT}")),
    ("<=", re.compile(rf"(?:<=|=<|\u2264)\s?{_AMOUNT}")),
    (">", re.compile(rf"(?<!\w)>\s?{_AMOUNT}")),
    ("<", re.compile(rf"<\s?{_AMOUNT}")),
    (">=", re.compile(rf"\b(?P<n>{_NUMBER}{_MAGNITUDE})(?:\+(?!\s?\d)|\splus\b)", re.IGNORECASE)),
    ("=", re.compile(rf"\b{EXACTLY}\s+{_AMOUNT}", re.IGNORECASE)),
    (">=", re.compile(rf"\b(?P<n>{_NUMBER})\s+(?:or|and)\s+(?:more|above|higher|over)\b", re.IGNORECASE)),
    (">=", re.compile(rf"\b(?P<n>{_NUMBER})(?=\s+(?:[a-z]+\s+){{1,2}}or\s+more\b)", re.IGNORECASE)),
    ("<=", re.compile(rf"\b(?P<n>{_NUMBER})(?=\s+(?:[a-z]+\s+){{1,2}}or\s+(?:fewer|less)\b)", re.IGNORECASE)),
    ("<=", re.compile(rf"\b(?P<n>{_NUMBER})\s+(?:or|and)\s+(?:fewer|less|below|lower|under)\b", re.IGNORECASE)),
    ("between", re.compile(rf"\bbetween\s+{_AMOUNT}\s+and\s+[$€£]?\s?(?P<n2>{_NUMBER}{_MAGNITUDE})", re.IGNORECASE)),
)
_NEGATED = re.compile(
    rf"\b{NOT}\b|n['\u2019]t\b|\b(?:other than|outside|apart from|(?:did|do|does|is|are|was|were|has|have)nt)\b",
    re.IGNORECASE,
)
_EXCLUDED = re.compile(
    r"(?:\bnot|n['\u2019]t)\s+(?:(?:located|based|living|live|lives|come|comes|coming|are|be)\s+)?"
    r"(?:in|from|at|of|within|called|named|(?:(?:\w+ed|sent|going)\s+)?to)\s+(?:the\s+)?\Z"
    r"|\b(?:except|excluding|other than|outside|apart from)\s+(?:(?:of|for|from|in|the|those|category|country)\s+)*\Z",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"(?:\b(?:not|never|(?:did|do|does|is|are|was|were|has|have|had)nt)|n['\u2019]t)\s+"
    r"(?:(?:yet|been|be|being|already|actually|all)\s+)*\Z",
    re.IGNORECASE,
)
_YET = re.compile(r"\s*(?:\Z|[?.!,;:]|(?:yet|so far|up to now|until now|at all|either)\b)", re.IGNORECASE)
_UNIT = r"(?:days?|weeks?|months?|quarters?|years?|hours?|minutes?|halves|half)"
_EXTREME = re.compile(rf"\b{SUPERLATIVE}\b", re.IGNORECASE)
_ORDINALS = {
    word: number + 1
    for number, pair in enumerate((("second", "2nd"), ("third", "3rd"), ("fourth", "4th"), ("fifth", "5th")))
    for word in pair
}
_NTH = re.compile(rf"\b(?P<nth>{'|'.join(_ORDINALS)})[\s-]+(?:the\s+)?{SUPERLATIVE}\b", re.IGNORECASE)
_NO_EXTREME = re.compile(
    rf"\b{SUPERLATIVE}(?:\s+[\w-]+){{0,3}}?\s+first\b|"
    rf"\b(?:last|first|latest|top)\s+(?:\w+\s+)?{_UNIT}\b|\b(?:last|first|full)\s+names?\b|,\s*(?:first|last)\b|"
    r"\b(?:do|does|did|will|would|can|could|might|should|to)\s+(?:\w+\s+){0,4}?last\b(?!\s+(?!on\b|for\b|in\b)\w)|"
    r"\bat\s+the\s+(?:top|bottom)\b|\b(?:rank|number|no\.?|position|place)\s+(?:1|one)\s+(?:being|is|for)\s+the\s+\w+|"
    r"\b(?:at\s+first|at\s+last|best\s+regards|first\s+of\s+all)\b",
    re.IGNORECASE,
)
_EACH_ONCE = re.compile(
    r"\b(?:without|with\s+no|no|remov(?:e|ing)|exclud(?:e|ing)|leav(?:e|ing)\s+out)\s+(?:any\s+)?"
    r"(?:duplicates?|repeats?|repetitions?|doubles)\b"
    r"|\b(?:do\s+not|don['\u2019]?t|never|not)\s+[^.?!;]{0,30}?\b(?:twice|duplicates?|repeat(?:edly)?)\b"
    r"|\b(?:each|every\s+one|them)\s+(?:only\s+|just\s+)?once\b|\bonly\s+once\s+each\b|\b(?:none|nothing)\s+twice\b",
    re.IGNORECASE,
)
_UNITS = words("day days week weeks month months quarter quarters year years hour hours minute minutes percent")


def digits(text: str) -> str:
    """A number in plain digits.

    >>> digits("10,000"), digits("ten"), digits("1,5"), digits("1.234,50"), digits("50k")
    ('10000', '10', '1.5', '1234.50', '50000')
    """
    times = re.fullmatch(rf"(?P<n>{_NUMBER})\s?(?P<times>{'|'.join(_TIMES)})", text, re.IGNORECASE)
    if times:
        return f"{float(digits(times['n'])) * _TIMES[times['times'].lower()]:.15g}"
    if text.lower() in NUMBER_WORDS:
        return str(NUMBER_WORDS[text.lower()])
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", text):
        return text.replace(",", "")
    if re.fullmatch(r"\d{1,3}(?:\.\d{3})+,\d+", text):
        return text.replace(".", "").replace(",", ".")
    return text.replace(",", ".") if text.count(",") == 1 and "." not in text else text.replace(",", "")


def number_of(token: Token, *, one: bool = False) -> str | None:
    """The number that a word is, or None. `zero` and `one` count only where `one` says so: they are mostly pronouns."""
    if token.kind == "number":
        return digits(token.text)
    number = NUMBER_WORDS.get(token.folded)
    return None if number is None or (number < 2 and not one) else str(number)


def is_magnitude(token: Token) -> bool:
    """Whether a word behind a number multiplies it: the `k` of `50k`, the `million` of `2 million`."""
    return token.folded in _TIMES


def is_unit(token: Token) -> bool:
    """Whether a word is a unit of time or `percent`, so that a number before it counts no rows."""
    return token.folded in _UNITS


def comparisons(question: str, *, dated: Iterable[tuple[int, int]] = ()) -> tuple[Comparison, ...]:
    """Find each number that something is held against; `dated` are stretches that are times.

    >>> [(c.operator, c.number) for c in comparisons("customers with at least 5 orders over 1,000")]
    [('>=', '5'), ('>', '1000')]
    """
    busy = list(dated)
    found: list[Comparison] = []
    for operator, pattern in _COMPARED:
        for match in pattern.finditer(question):
            start, end = match.span()
            if any(a < end and start < b for a, b in busy):
                continue
            busy.append((start, end))
            high = digits(match["n2"]) if operator == "between" else None
            found.append(Comparison(start, end, match[0], operator, digits(match["n"]), high))
    return tuple(sorted(found, key=lambda comparison: comparison.start))


def superlatives(question: str) -> tuple[re.Match[str], ...]:
    """The words that ask for the highest or lowest, but for `last year`, `first name` and `largest number first`."""
    out = [match.span() for match in _NO_EXTREME.finditer(question)]
    return tuple(m for m in _EXTREME.finditer(question) if not any(start <= m.start() < end for start, end in out))


def offset(question: str) -> int | None:
    """How many rows go before the one that is asked for, or None where the first is.

    >>> offset("the second most expensive product"), offset("the most expensive product")
    (1, None)
    """
    match = _NTH.search(question)
    return None if match is None else _ORDINALS[match["nth"].lower()]


def is_excluded(question: str, start: int) -> bool:
    """Whether the stretch that starts there is to be left out: `not in Germany`, `except Seafood`.

    A `but not Tofu` is no such thing: it takes one set of rows from another.

    >>> is_excluded("customers not in Germany", 17), is_excluded("bought Chai but not Tofu", 20)
    (True, False)
    """
    return _EXCLUDED.search(question[:start]) is not None


def is_denied(question: str, start: int) -> bool:
    """Whether a `not` stands right before the words that start there.

    >>> is_denied("goods that aren't sold", 18), is_denied("not all that is sold", 16)
    (True, False)
    """
    return _DENIED.search(question[:start]) is not None


def is_still_to_come(question: str, start: int, end: int) -> bool:
    """Whether words say of something done that it has not been, at any time: `have not been shipped yet`.

    >>> is_still_to_come("not shipped yet", 4, 11), is_still_to_come("not shipped in May", 4, 11)
    (True, False)
    """
    return is_denied(question, start) and _YET.match(question, end) is not None


def negations(question: str) -> tuple[tuple[int, int], ...]:
    """Where the question says no: offsets of `not`, `never`, `without`, `n't` …"""
    return tuple(match.span() for match in _NEGATED.finditer(without_each_once(question)))


def without_each_once(question: str) -> str:
    """The question with spaces for what only asks for each thing to be shown once; all offsets stay.

    >>> without_each_once("cities, no repeats"), without_each_once("customers without orders")
    ('cities,           ', 'customers without orders')
    """
    return _EACH_ONCE.sub(lambda match: " " * len(match[0]), question)
