"""What kind of answer a question asks for, and the bucket it belongs to. Pure: the same in every process."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass

from agent.grounding import Grounding, Link
from agent.wording import AT_LEAST, AT_MOST, EXACTLY, LESS_THAN, MORE_THAN, NEGATION, SUPERLATIVE, is_plural

_SLOT = {
    "value": "<value>",
    "number": "<number>",
    "limit": "<number>",
    "date": "<date>",
    "month": "<month>",
    "quarter": "<quarter>",
    "half": "<half>",
    "year": "<year>",
}
_TIME = frozenset({"date", "month", "quarter", "half", "year"})


@dataclass(frozen=True, slots=True)
class Intent:
    """The kind of answer and the tables it touches, closed over the keys, in alphabetical order."""

    kind: str
    tables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind: `fits` looks at the reading. The first rule that fits wins, so order matters."""

    kind: str
    example: str
    fits: Callable[[Reading], bool]


@dataclass(frozen=True, slots=True)
class Reading:
    """A question as the rules see it.

    `text` is lower case with linked stretches replaced: `<table>` and `<tables>`, `<column>`, `<value>`, `<measure>`,
    `<condition>`, `<number>`, `<time>`. `grouped` says that something is asked for each of several things.
    """

    text: str
    grounding: Grounding
    grouped: bool

    def has(self, pattern: str) -> bool:
        return re.search(rf"(?<![\w<]){pattern}(?![\w>])", self.text) is not None

    def starts(self, pattern: str) -> bool:
        return re.match(rf"{pattern}(?![\w>])", self.text) is not None

    def count(self, pattern: str) -> int:
        return len(re.findall(rf"(?<![\w<]){pattern}(?![\w>])", self.text))


def predict(question: str, grounding: Grounding) -> Intent:
    """Name the kind of answer and the tables, from the wording and what it links to.

    The same for other literals of the same columns. Ends in `list` when something is linked but no rule fits, and
    in `open` when nothing is.
    """
    seen = read(question, grounding)
    kind = next((rule.kind for rule in RULES if rule.fits(seen)), "open")
    return Intent(kind, tuple(sorted(grounding.tables)))


def bucket_of(intent: Intent) -> str:
    """The lasting name of an intent: 16 hex digits of the SHA-256 of its canonical text.

    >>> bucket_of(Intent("count", ("Orders",)))
    'c7b1b42c4ee4a9cf'
    """
    canonical = "\x1f".join((intent.kind, *sorted(intent.tables)))
    return hashlib.sha256(canonical.encode("utf-8")).hexdigest()[:16]


def mask(question: str, grounding: Grounding) -> str:
    """The question with its literals replaced by typed slots; case, spaces and final punctuation do not count.

    `In Germany?` and `in  France` both give `in <value>`. A mask masked again stays as it is.
    """
    parts: list[str] = []
    at = 0
    for link in grounding.chosen:
        slot = _SLOT.get(link.kind)
        if slot is None or link.start < at:
            continue
        parts += [question[at : link.start], f" {slot} "]
        at = link.end
    text = "".join((*parts, question[at:])).casefold()
    text = re.sub(r"\s+([?!.,;:%])", r"\1", " ".join(text.split()))
    text = re.sub(r"[\"'“”„‘]\s*(<\w+>)\s*[\"'“”’]", r"\1", text)
    return text.rstrip(" ?!.;:…")


def read(question: str, grounding: Grounding) -> Reading:
    """Write the question the way the rules read it."""
    parts: list[str] = []
    at = 0
    links = [link for link in grounding.chosen if not _transparent(link, grounding)]
    for link in links:
        if link.start < at:
            continue
        parts += [question[at : link.start], f" {_tag(link, grounding)} "]
        at = link.end
    text = "".join((*parts, question[at:])).casefold()
    text = re.sub(r"n['’]t\b", " not", text)
    text = re.sub(r"[^\w<>%'’-]+", " ", text.replace("’", "'"))
    text = re.sub(r"(?<=[\w>])'s?(?= |$)", "", text)
    text = " ".join(text.replace("-", " ").split())
    text = re.sub(_POLITE, "", text)
    return Reading(text, grounding, _grouped(text, grounding, links))


_POLITE = (
    r"^(?:(?:please|hi|hello|hey|so|and|then|now|ok|okay)\s+)*"
    r"(?:(?:can|could|would|will) you (?:please )?|i (?:would|d|'d) (?:like|love) to (?:see|know|have)\s*|"
    r"i (?:want|need) (?:to (?:see|know|have|call)\s*)?|please )?"
)


def _tag(link: Link, grounding: Grounding) -> str:
    if link.kind in _TIME:
        return "<time>"
    if link.kind in {"number", "limit"}:
        return "<number>"
    if link.kind == "term":
        name = link.role
        return {"entity": _plurality(link), "condition": "<condition>", "column": "<column>"}.get(name, "<measure>")
    return _plurality(link) if link.kind == "table" else f"<{link.kind}>"


def _plurality(link: Link) -> str:
    last = re.findall(r"\w+", link.text.casefold())
    return "<tables>" if last and is_plural(last[-1]) else "<table>"


def _transparent(link: Link, grounding: Grounding) -> bool:
    """Whether the words of a link say more than the link: a glossary condition such as `customers without orders`."""
    if link.role != "condition":
        return False
    inner = any(link.start <= other.start and other.end <= link.end and other is not link for other in grounding.links)
    return inner or re.search(rf"\b{NEGATION}\b", link.text, re.IGNORECASE) is not None


_EACH = r"(?:per|each|every|for all|for each|for every|of each|of every|in each|in every|within each|by each)"
_UNIT = r"(?:day|week|month|quarter|year)s?"
_THING = r"<(?:tables?|column|measure)>"
_AGGREGATE = (
    r"(?:how many|how much|number of|numbers of|counts?|counting|total|totals|sum|sums|average|averages|mean|avg|"
    r"revenue|amount|highest|lowest|maximum|minimum|max|min|<measure>)"
)


def _grouped(text: str, grounding: Grounding, links: list[Link]) -> bool:
    """Whether the answer has one row for each of several things, not for each row of the table measured."""
    if re.search(rf"\b(?:per|for each|for every|for all|in each|in every|of every|of each|within each|broken down by|grouped by|split by) (?:the )?(?:different |single )?(?:\w+ ){{0,1}}?{_THING}", text):  # fmt: skip
        return not _per_row(text, links)
    if re.search(rf"\b(?:each|every) (?:\w+ )?{_THING}(?! (?:that|which|who|where|with|without|whose|is|was)\b)", text):
        return re.search(_AGGREGATE, text) is not None
    if re.search(r"\b(?:order|sort|rank)ed by\b|\btop\b", text):
        return False
    return re.search(rf"{_AGGREGATE}.*\bby (?:\w+ )?<(?:tables?|column)>", text) is not None


def _per_row(text: str, links: list[Link]) -> bool:
    """`average freight per order`: the thing after `per` is the row that the measure stands in."""
    tables = [link.table for link in links if link.kind == "table" or link.kind == "term"]
    measured = [link.table for link in links if link.kind in {"column", "term"}]
    once = re.search(r"\bper <table>", text) is not None and re.search(r"\b(?:average|mean|avg)\b", text) is not None
    return once and len(set(tables)) == 1 and bool(measured) and set(measured) <= set(tables)


_COMPARED = rf"(?:{MORE_THAN}|{LESS_THAN}|{AT_LEAST}|{AT_MOST}|{EXACTLY})"
_NOT = NEGATION.replace("|n['’]t", "")
_LITERAL = r"<(?:value|time|number|condition)>"


def _running(r: Reading) -> bool:
    return r.has(r"(?:cumulative(?:ly)?|accumulat\w+|running (?:total|sum|count|average|number)s?|year to date)")


def _rank(r: Reading) -> bool:
    return r.has(r"(?:rank|ranks|ranked|ranking|rankings|row numbers?)")


def _duration(r: Reading) -> bool:
    unit = r"(?:days|weeks|months|years|hours|minutes|time)"
    between = r.has(rf"(?:{unit} (?:\w+ )?(?:between|from|since|passed|elapsed|until|after)|time between)")
    dated = r.count("<column>") + r.count("<measure>") > 0
    lasted = r.has(r"how long (?!(?:is|are|was|were) )(?:\w+ ){0,4}?(?:take|takes|took|lasts?|lasted|until|since|between|from|been|worked|has|have|did|do|does)")  # fmt: skip
    return lasted or r.has(rf"how many {unit} (?:does|did|do|has|have|passed|elapsed|it|were|was)") or (between and dated)


def _both(r: Reading) -> bool:
    if r.has(rf"(?:but|and|yet) (?:\w+ ){{0,3}}?{_NOT}") or r.has("(?:more|fewer|less|compare|compared|how)"):
        return False
    pairs = (rf"both (?:\w+ ){{0,2}}?(?:{_LITERAL}|<tables?>) (?:\w+ )?and", r"as well as", r"and (?:also|too)\b", r"and (?:\w+ )?also")  # fmt: skip
    several = r.count(r"<value>") > 1 or r.count(r"<time>") > 1 or r.count(r"<tables?>") > 1
    return several and any(r.has(pair) for pair in pairs)


def _difference(r: Reading) -> bool:
    return r.has(rf"(?:{_LITERAL}|<tables?>) (?:\w+ )*?(?:but|and|yet) (?:\w+ ){{0,3}}?{_NOT}\b.*(?:{_LITERAL}|<tables?>)") and (
        r.count("<value>") + r.count("<time>") > 1 or r.count(r"<tables?>") > 1
    )  # fmt: skip


def _compare(r: Reading) -> bool:
    words = r"(?:compare|compares|compared|comparison|versus|vs|differences? (?:in|of|between)|ratio|grow|grew|growth|change(?:d)? (?:in|from|between)|increase[d]? (?:in|from|between)|how much (?:more|less|higher|lower))"  # fmt: skip
    either = r.has(r"(?:more|fewer|less|higher|lower|larger|better)\b.*(?:<value>|<time>|<tables?>) or\b")
    return r.has(words) or either or r.has(r"(?:more|fewer) <tables?> (?:\w+ )?than (?:\w+ )?<tables?>")


def _missing(r: Reading) -> bool:
    tables = len(r.grounding.named) > 1
    return tables and r.has(rf"{_NOT} (?!(?:more|fewer|less) )(?:(?!<)\S+ ){{0,5}}?<tables?>")


def _share(r: Reading) -> bool:
    return r.has(r"(?:percent|percentages?|percents|share of|shares of|fraction|proportion|portion|% of)") or r.has(
        r"(?:which|what|market|large \w+ \w+) shares?"
    )


def _duplicates(r: Reading) -> bool:
    shared = r"(?:the )?(?:same|identical)|duplicates?|duplicated|more than once|several times|multiple times|twice|in common"
    return r.has(rf"(?:{shared})") or r.has(r"(?:share|shares|sharing) (?:the|a|an|one)") or r.has(r"pairs? of")


def _superlative(r: Reading) -> bool:
    return r.grounding.direction is not None


def _top_per_group(r: Reading) -> bool:
    return _superlative(r) and r.has(rf"{_EACH} (?:\w+ )?{_THING}")


def _top_n(r: Reading) -> bool:
    return _superlative(r) and r.grounding.limit != 1


def _versus_average(r: Reading) -> bool:
    return r.has(rf"(?:{MORE_THAN}|{LESS_THAN}|exceeds?|above|below|than|under|over) (?:the |an |their |its |our )?(?:overall )?(?:average|mean)")  # fmt: skip


def _having(r: Reading) -> bool:
    counted = r.has(rf"{_COMPARED} <number> (?:different |distinct |single )?(?:<tables?>)") or r.has(
        r"<number> (?:or|and) (?:more|fewer|less) (?:different )?<tables?>"
    )
    measured = r.has(r"<tables?>.*<measure> (?:\w+ ){0,3}?(?:over|above|below|under|than|exceeding|least|most) <number>")
    return counted or (measured and len(r.grounding.named) > 1)


def _exists(r: Reading) -> bool:
    return r.starts(r"(?:is|are|was|were|do|does|did|has|have|had)\b(?! (?:show|list|give))")


def _over_time(r: Reading) -> bool:
    return r.has(rf"(?:per|by|each|every|for each|for every|of each|of every) (?:calendar )?{_UNIT}") or r.has(
        r"(?:daily|weekly|monthly|quarterly|yearly|annual|annually|over time|over the years|across the years|trend|trends|"
        rf"developed|development|develop|evolution|evolved?|{_UNIT} by {_UNIT})"
    )


def _extreme(r: Reading) -> bool:
    return _superlative(r)


def _count_distinct(r: Reading) -> bool:
    return r.has(r"(?:how many|number of|count|counts|counting)") and r.has(r"(?:different|distinct|unique)")


def _average(r: Reading) -> bool:
    return r.has(r"(?:average|averages|mean|avg|on average|typical|typically|median)")


def _sum(r: Reading) -> bool:
    said = r.has(r"(?:total|totals|sum|sums|altogether|add(?:s|ed)? up|overall|combined)") and not r.has("how many <tables>$")
    return said or r.has(r"how much (?:\w+ )?<measure>") or (r.has("<measure>") and not r.has("<tables> (?:\\w+ )*<measure>"))


def _count(r: Reading) -> bool:
    return r.has(r"(?:how many|number of|count|counts|counting)")


def _lookup(r: Reading) -> bool:
    return any(link.role == "name" for link in r.grounding.chosen) and not r.has(r"<tables>")


def _list(r: Reading) -> bool:
    return bool(r.grounding.named)


RULES: tuple[Rule, ...] = (
    Rule("running", "Show the running total of freight by order date.", _running),
    Rule("rank", "Rank the products by unit price.", _rank),
    Rule("duration", "How many days pass between order date and shipped date?", _duration),
    Rule("share", "What percentage of customers is in the USA?", _share),
    Rule("both", "Which customers ordered both Chai and Tofu?", _both),
    Rule("difference", "Which customers bought Chai but not Tofu?", _difference),
    Rule("compare", "Compare the revenue of 1996 and 1997.", _compare),
    Rule("missing", "Which customers never placed an order?", _missing),
    Rule("duplicates", "Which customers share the same city?", _duplicates),
    Rule("versus_average", "Which products cost more than the average?", _versus_average),
    Rule("having", "Which customers placed more than 10 orders?", _having),
    Rule("top_per_group", "What is the most expensive product in each category?", _top_per_group),
    Rule("top_n", "Which five customers brought the most revenue?", _top_n),
    Rule("exists", "Do we have any suppliers in Norway?", _exists),
    Rule("over_time", "How many orders came in per month?", _over_time),
    Rule("extreme", "Which product is the most expensive?", _extreme),
    Rule("by_group", "How many customers are there per country?", lambda r: r.grouped),
    Rule("count_distinct", "How many different countries do customers come from?", _count_distinct),
    Rule("average", "What is the average freight per order?", _average),
    Rule("count", "How many orders were placed in 1997?", _count),
    Rule("sum", "What was the total revenue in 1997?", _sum),
    Rule("lookup", "What is the phone number of Ernst Handel?", _lookup),
    Rule("list", "Which customers are located in Germany?", _list),
)
"""Tried in this order. To add a kind, add one rule with an example; the golden pairs say what it moves."""
