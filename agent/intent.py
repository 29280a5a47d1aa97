"""What kind of answer a question asks for, and the bucket it belongs to. Pure: the same in every process."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from agent.cues import has_cue, in_english
from agent.linked import Grounding, Link
from agent.phrasing import Reading, mask, read
from agent.wording import AT_LEAST, AT_MOST, EXACTLY, LESS_THAN, MORE_THAN, NOT

__all__ = ["RULES", "Intent", "Rule", "bucket_of", "mask", "predict"]


@dataclass(frozen=True, slots=True)
class Intent:
    """The kind of answer, the tables it touches, closed over the keys, and those of them whose rows it is made from.

    All in alphabetical order. Wording hardly tells which tables stand beside those rows, so that the bucket goes by
    `grain`; with none given it goes by `tables`.
    """

    kind: str
    tables: tuple[str, ...]
    grain: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of answer. The first rule that fits wins, so order matters; `example` fits this rule and none before."""

    kind: str
    example: str
    fits: Callable[[Reading], bool]


def predict(question: str, grounding: Grounding) -> Intent:
    """Name the kind of answer and the tables, from the wording and what it links to.

    The same for other literals of the same columns. Ends in `list` when something is linked but no rule fits, and
    in `open` when nothing is. The rules read English, and the cue words of Korean and German; other languages are
    `open` over the tables that they link to, so that recall goes by tables and by meaning.
    """
    reading = read(question, grounding)
    if not grounding.english:
        if not has_cue(reading.text) and grounding.direction is None:
            return _intent("open", grounding)
        reading = replace(reading, text=in_english(reading.text))
    kind = next((rule.kind for rule in RULES if rule.fits(reading)), "open")
    return _intent(kind, grounding)


def bucket_of(intent: Intent) -> str:
    """The lasting name of an intent: 16 hex digits of the SHA-256 of its canonical text.

    >>> bucket_of(Intent("count", ("Orders",)))
    'ca57845580a37722'
    """
    canonical = "\x1f".join((intent.kind, *sorted(intent.grain or intent.tables)))
    return hashlib.sha256(canonical.encode("utf-8")).hexdigest()[:16]


def _intent(kind: str, grounding: Grounding) -> Intent:
    return Intent(kind, tuple(sorted(grounding.tables)), tuple(sorted(grounding.grain)))


_TABLE = r"<tables?>"
_COLUMN = r"<(?:column|part)>"
_THING = r"<(?:tables?|column|part|measure)>"
_LITERAL = r"<(?:value|time|number|condition)>"
_UNIT = r"(?:day|week|month|quarter|year)s?"
_NOT = NOT
_HELD = rf"(?:{MORE_THAN}|{LESS_THAN}|{AT_LEAST}|{AT_MOST}|{EXACTLY})"
_ALL = r"(?:each|every|all the different)(?: one)?(?: of (?:our |the |my |these )?)?"
_SPLIT = r"broken down by|grouped by|split by"
_EACH = rf"(?:per|(?:for |of |in |within |by |from |across )?{_ALL}|{_SPLIT})"
_COUNTING = r"(?:how many|(?<!<column> )(?<!<part> )(?:number|count) of|counts?|counting|how often|tally|headcount)"
_PARTED = (
    r"(?:splits?|splitting|break(?:s|ing)?(?: [\w<>]+){0,6}? down|breakdowns?|broken (?:down|out|up)|"
    r"distribut\w+|spread"
    r"|divid\w+|grouped|group|grouping|itemi[sz]\w+|segment\w*|allocat\w+|separated|organi[sz]ed)"
)
_AVERAGE = r"(?:average|averages|averaged|averaging|mean|avg|typical|typically|median|usual|usually|norm)"
_TOTAL = (
    r"(?:total|totals|sum|sums|summed|altogether|adds? up|added up|adding up|adds? together|added together|overall"
    r"|combined|in all)"
)
_AGGREGATE = rf"(?:{_COUNTING}|how much|{_AVERAGE}|{_TOTAL}|amount|highest|lowest|maximum|minimum|max|min|<measure>)"
_MORE = r"(?:more|fewer|less|higher|lower|larger|smaller|better|worse|bigger|greater)"
_KEENER = (
    r"(?:faster|slower|cheaper|pricier|dearer|costlier|longer|shorter|older|younger|heavier|lighter|busier|quicker)"
)
_CHANGE = (
    r"(?:grow|grows|grew|grown|growth|change|changed|changes|increased?|decreased?|rise|rose|fall|fell|drop|dropped)"
)


def _running(r: Reading) -> bool:
    """What has come together up to each of several times, not the sum of one stretch."""
    if r.has(r"buil[dt]s? up|running <(?:measure|column|part)>"):
        return True
    so_far = r.has(
        r"so far|to date|until then|adds? up(?! to)|up to (?:the end of )?(?:that|then|each|every)|up until|"
        r"by the end of (?:each|every)|"
        r"added up|adding up|summed up"
    )
    return r.has(
        r"cumulati\w+|growing (?:total|number|sum|count)|accumulat\w+|cumulated|running (?:[\w<>]+ )?(?:total|"
        r"sum|count|average|number|tally|balance)s?",
        r"year to date|snowball\w*",
    ) or (so_far and _over_time(r))


def _rank(r: Reading) -> bool:
    return r.starts(r"number (?:the |our |all )*<tables>") or r.has(
        r"rank|ranks|ranked|ranking|rankings|row numbers?|leaderboard|league table|standings?|their "
        r"positions?|number them|(?:which|what) (?:place|position) (?:does|do|did)"
    )


def _duration(r: Reading) -> bool:
    unit = r"(?:days|weeks|months|years|hours|minutes|time)"
    between = r.has(rf"{unit} (?:\w+ ){{0,4}}?(?:between|from|passed|elapsed|until|since)") and not r.has(
        rf"{unit} (?:\w+ ){{0,4}}?(?:between|from|since|until) <time>"
    )
    going = r"(?:takes?|took|lasts?|lasted|until|since|between|from|been|worked|wait|waited)"
    lasted = r.has("how long (?:after|before)") or r.has(
        rf"how long (?!(?:is|are|was|were) )(?:[\w<>]+ ){{0,6}}?{going}"
    )
    asked = r.has(
        rf"how many {unit} (?:after|before|later|late|does|did|do|has|have|pass|passed|elapsed|it|were|was|goes|go)"
    )
    lengths = r"(?:days|weeks|hours|minutes)"
    measured = r.has(_AVERAGE) and r.has(lengths) and not r.has(r"(?:per|each|every) (?:day|week|hour)")
    if _superlative(r) or (r.has(_AVERAGE) and _by_group(r)):
        return False
    held = r.has(
        rf"{_HELD} (?:\w+ )?<number> {lengths}|<number> {lengths} (?:or|and) (?:more|longer|less)|within "
        rf"<number> {lengths}"
    )
    held = held or (
        any(link.role == "measure" and re.search(r"\b(?:days|weeks|hours)\b", link.text) for link in r.shown)
        and (bool(r.grounding.comparisons) or r.has("how (?:many|long)"))
    )
    return lasted or measured or held or asked or (between and r.has(rf"{_THING}|{_TABLE}"))


def _change(r: Reading) -> bool:
    """Growth is asked for, so it is a comparison even in percent."""
    return r.count("<time>") > 1 and r.has(rf"{_CHANGE}\b.*(?:from|between|to|in|over|compared)")


def _share(r: Reading) -> bool:
    return "%" in r.text or r.has(
        r"rates?|shares?$",
        r"percent|percentages?|percentage points|shares? of|fraction|proportion|proportions|portion|% of|"
        r"slice of|<value> share",
        r"how much of (?:our |the |all |total )*<\w+>|(?:what|which) part of|one in how many|out of (?:all|"
        r"every|our total)|"
        r"contribut\w+ (?:[\w<>]+ )?(?:to|towards) (?:our |the |overall |total )*<\w+>",
        r"(?:which|what|market|its|their|large|big) shares?|how (?:large|big|high) (?:is|was) the share",
    )


def _both(r: Reading) -> bool:
    if r.has(rf"(?:but|and|yet) (?:\w+ ){{0,3}}?{_NOT}|compared?|how|{_MORE} {_TABLE}") or r.starts(r"how many more"):
        return False
    joined = (r.has("in <time> and (?:also )?in <time>") and not r.has(_AGGREGATE)) or r.has(
        rf"both (?:[\w<>]+ ){{0,3}}?(?:{_LITERAL}|{_TABLE}) (?:\w+ )?and",
        r"as well as|and (?:\w+ )?(?:also|too|again)|in all (?:<number> )?years",
    )
    return joined and (r.count("<value>") > 1 or r.count("<time>") > 1 or r.count(_TABLE) > 1)


def _difference(r: Reading) -> bool:
    several = r.count("<value>") + r.count("<time>") > 1 or r.count(_TABLE) > 1
    one, other = rf"(?:{_LITERAL}|{_TABLE})", rf"(?:{_LITERAL}|{_TABLE}|before|since|after)"
    but = r.has(rf"{one} (?:\w+ )*?(?:but|and|yet|though|although) (?:\w+ ){{0,3}}?{_NOT}\b.*{other}")
    that = r.has(rf"that <value> (?:\w+ )?{_NOT}|<(?:value|time)> (?:\w+ ){{0,4}}?but (?:\w+ ){{0,2}}?{_NOT}")
    return several and (but or that)


def _compare(r: Reading) -> bool:
    words = r.has(
        r"compar(?:e|es|ed|ing|ison)|versus|vs|differences? (?:in|of|between)|ratio|how much (?:more|less|"
        r"higher|lower)",
        r"next to (?:each other|one another)|side by side|head to head|against (?:each other|one another|"
        r"<value>|<time>)|"
        r"stacks? up|as (?:many|much) (?:[\w<>]+ ){1,4}?as (?:[\w<>]+ )?(?:<value>|<time>|<tables?>)|divided "
        r"by|gap between|"
        r"which of (?:the|these|those) two|relative to|differ(?:s|ed)?",
        r"<tables> to <tables>|<tables> for (?:each|every) of",
    )
    several = r.count("<value>") > 1
    keener = several and r.has(rf"{_KEENER} than .*<value>", rf"{_KEENER}\b.*<value> (?:\w+ )?or\b")
    keener = keener or (several and r.has(rf"<value> or <value>.*{_MORE}"))
    against = r.has("against (?:the |those |that )*(?:(?:of|to|in|from|for) )?(?:<value>|<time>)")
    against = against or (r.has("how far apart|by how much|gap") and not _over_time(r))
    either = keener or against or r.has(rf"{_MORE}\b.*(?:<value>|<time>|{_TABLE}) or\b")
    than = r.has(
        rf"{_MORE} (?:[\w<>]+ ){{0,6}}?than (?:(?:in|for|from|of|that|those|our|the) )*(?:<value>|<time>|<tables>)"
    )
    return words or _change(r) or either or than or r.has(r"than (?:that|those) of")


def _missing(r: Reading) -> bool:
    """Rows without a partner: a `not` that does not bear on a column or on a value of the table asked about."""
    if len(r.grounding.named) == 1 or not r.grounding.named:
        return False
    match = re.search(
        rf"(?<![\w<])(?:{_NOT}|zero)(?![\w>]) (?!(?:more|fewer|less|later|earlier)\b)(?P<rest>.*)", r.text
    )
    if match is None:
        return False
    held = re.match(
        r"(?P<done>(?:\w+ ){0,2}?)(?:in|from|at|of|to|by) (?:the )?<value>", re.sub(r"<part>", "part", match["rest"])
    )
    ever = re.search(r"\b(?:never|ever|nobody|none|no one)\b", match[0])
    if held and not (ever or re.match(r"(?:been|be|ever|had)\b", held["done"])):
        return False
    if held and len(r.shown) > 1 and {link.table for link in r.shown if link.table} == {r.head}:
        return False
    tag = re.search(r"<\w+>", match["rest"])
    if tag is None or tag[0] in {"<time>", "<table>", "<tables>"}:
        return True
    place = len(re.findall(r"<\w+>", r.text[: match.start("rest")]))
    if ever and tag[0] == "<column>" and place < len(r.shown):
        return r.shown[place].table != r.head
    if tag[0] == "<measure>" and place < len(r.shown):
        return r.shown[place].table != r.head
    return tag[0] == "<value>" and place < len(r.shown) and r.shown[place].table != r.head


def _duplicates(r: Reading) -> bool:
    """Rows that agree with others in something."""
    if r.has(
        r"repeat(?:ed|s|ing|edly)?|recurr\w+|coincid\w+|simultaneous\w*|at once|in parallel|non unique|not unique"
    ):
        return True
    first = next((link for link in r.shown if link.kind in {"table", "column", "term"}), None)
    if first is not None and first.kind != "table" and first.role in {"", "column", "amount"}:
        one = next((link.value for link in r.shown if link.kind == "number"), None)
        several = r.has(rf"(?:several|multiple) (?:different )?{_TABLE}")
        if several or (one == "1" and r.has(rf"more than <number> (?:\w+ )?{_TABLE}")):
            return True
    return r.has(
        r"(?:the|an?) (?:same|identical)(?! number| time| order)|identical to|(?:same|identical|shared) <\w+>|"
        r"duplicates?|"
        r"duplicated|duplication",
        r"(?:more than|at least) once|"
        r"(?:several|multiple|(?<!how )many) times|twice|in common|(?:share|shares|sharing) (?:the|an?|one)|"
        r"shared by|pairs? of|"
        r"(?:several|multiple) .*share",
    ) or r.has(r"more than (?:once|<number> time)")


def _superlative(r: Reading) -> bool:
    return r.grounding.direction is not None


def _versus_average(r: Reading) -> bool:
    whose = r"(?:that of |those of |what is )?(?:the |an? |their |its |our )?(?:overall |usual |<table> )?"
    return r.has(rf"(?:{MORE_THAN}|{LESS_THAN}|above|below|than|under|over) {whose}{_AVERAGE}")


def _having(r: Reading) -> bool:
    """A threshold that groups must pass. At least one is none: there being any is no threshold."""
    if all(c.operator == ">=" and c.number == "1" for c in r.grounding.comparisons) and r.grounding.comparisons:
        return False
    if r.has(rf"(?:number|count) of (?:\w+ )?{_TABLE} (?:\w+ ){{0,3}}?{_HELD}"):
        return True
    several = re.search(r"(?:several|multiple|two or more) (?P<of><tables?>)", r.text)
    counted = r.link_at(several.start("of")) if several else None
    if counted is not None and counted.table != r.head:
        return True
    many = rf"(?:different |distinct |single |of |our |the )*{_TABLE}"
    if r.has(
        rf"{_HELD} <number> (?:different|distinct|unique) {_COLUMN}", rf"<number> {_COLUMN} or (?:more|fewer|less)"
    ):
        return True
    if r.has(rf"{_HELD} <number> times|<number> (?:times or more|or more times)"):
        return True
    if r.has(rf"{_HELD} <number> {many}") or r.has(rf"<number> (?:or|and) (?:more|fewer|less) {many}"):
        return True
    held = r.has(rf"{_HELD} (?:of )?<number>")
    aggregated = r.has(rf"(?:{_AVERAGE}|{_TOTAL}) (?:\w+ )*<\w+>.*{_HELD}")
    told = aggregated or any(link.role == "aggregate" for link in r.grounding.chosen)
    if held and told and r.shown and r.shown[0].kind == "column" and r.shown[0].role == "":
        return True  # `countries where the average freight exceeds 100`
    other = any(link.role == "measure" and link.table != r.head for link in r.shown)
    bare = r.has(
        rf"{_HELD} <number>(?! of (?:these|those|the|them|<))(?! (?:\w+ )?<(?:column|part|measure)>)"
    ) and not r.has(rf"<(?:column|part)> (?:\w+ )*{_HELD}")
    summed = r.has(_TOTAL, _AVERAGE) and r.head not in r.grounding.grain
    aggregated = aggregated or (summed and r.has("<tables>"))
    bare = bare and r.head is not None and r.head not in r.grounding.grain
    return held and len(r.grounding.named) > 1 and (aggregated or other or bare)


def _top_per_group(r: Reading) -> bool:
    thing = r.has(r"which|who|top|best|worst") or r.has(r"<table>")
    timed = r.head is not None and thing and r.has(rf"(?:each|every|per) {_UNIT}")
    return _superlative(r) and (
        timed
        or r.has(r"<table> by <table>", rf"for all (?:our |the )?{_THING}")
        or r.has(rf"{_EACH} (?:single |different )?(?:\w+ )?{_THING}")
    )


def _top_n(r: Reading) -> bool:
    return _superlative(r) and r.grounding.limit != 1


def _exists(r: Reading) -> bool:
    """Yes or no: it begins with a verb of that kind, with `any`, or says so."""
    asked = r"is|are|was|were|do|does|did|has|have|had|whether|if|any|anyone|anybody|ever|isn|aren|don|didn"
    hedged = r.has("any|ever|at all") and r.grounding.question.rstrip().endswith("?")
    hedged = hedged and not r.has("which|what|who|whom|whose|how|where|when|why|list|show|give|find|name")
    return (
        r.starts(asked)
        or hedged
        or r.has(
            r"yes or no|yes no|true or false|true that|whether (?:any|there|we|or not)|(?:check|see|know|"
            r"sure) (?:if|whether)"
        )
    )


def _over_time(r: Reading) -> bool:
    if r.has(r"weekdays?|days? of (?:the )?week|months? of (?:the )?year|hours? of (?:the )?day"):
        return True
    each = r.has(rf"(?:per|by|each|every|for each|for every|of each|of every) (?:calendar |single )?{_UNIT}")
    named = r.has(
        r"daily|weekly|monthly|quarterly|yearly|annual|annually|over time|(?:over|across|through|throughout) "
        r"the (?:years|months)",
        r"trends?|evolution|evolved?|time series|timeline|history of <measure>",
        rf"{_UNIT} (?:by|after|to|on|over|upon) (?:the )?(?:\w+ )?{_UNIT}|from {_UNIT} to|by (?:<\w+> "
        rf")?{_UNIT}|{_UNIT} wise",
    )
    return each or named or r.has(rf"{_UNIT} by {_UNIT}|developed|development|develops?")


def _by_group(r: Reading) -> bool:
    """One row for each of several things; not for each row of the table that is measured."""
    if _per_row(r) or _average_count(r):
        return False
    those = rf"{_THING}(?! (?:that|which|who|where|with|without|whose|is|was)\b)"
    several = r"(?:(?:each|every)(?: one)?(?: of)?)"
    if r.has(rf"(?:one|a|single) (?:row|line|record|entry|figure|number) (?:for|per|each)|{_THING} wise"):
        return True
    if r.has(
        rf"{_PARTED} (?:[\w<>]+ ){{0,6}}?(?:across|by|into|over|per|among|amongst|between|along|for|to) "
        rf"(?:[\w<>]+ ){{0,2}}?{those}"
    ):
        return True
    if r.has(_AGGREGATE) and r.has(
        r"each(?: one)?(?: of (?:them|these|those|the (?:two|three|four|five)))?(?! <)|apiece|respectively"
    ):
        return True
    if r.has(rf"(?:which|what|who) {_THING} (?:[\w<>]+ )?how (?:many|much)"):
        return True
    measured = r.has(_AGGREGATE) or any(link.role in {"amount", "measure", "aggregate"} for link in r.grounding.chosen)
    if r.has(rf"(?:per|{_SPLIT}) (?:the |our |different |single )*(?:\w+ )?{those}"):
        return True
    each = re.search(
        rf"(?<![\w<])(?:(?:for|of|in|within|by) {several}|(?:for|in) all) (?:the |our |different |single )*(?:\w+ )?"
        rf"(?P<of>{those})",
        r.text,
    )
    if measured and each is not None and not _of_each_row(r, r.link_at(each.start("of"))):
        return True
    if r.has(rf"{several} (?:our |the )?(?:\w+ )?{those}"):
        return r.has(_AGGREGATE) or any(link.role == "measure" and link.table != r.head for link in r.shown)
    if _split_by(r) or r.has(
        rf"<tables> (?:and|with) (?:the|their|its) (?:number|count|total|average|sum) (?:of )?{_THING}"
    ):
        return True
    sorted_by = r.has(r"(?:order|sort|rank)ed by|top")
    return not sorted_by and r.has(rf"{_AGGREGATE}.*\bby (?:\w+ )?<(?:tables?|column|part)>")


def _of_each_row(r: Reading, thing: Link | None) -> bool:
    """Whether the figures are those of the rows themselves: the `freight of every order` stands in its row."""
    if thing is None or thing.table is None or r.has(_AGGREGATE):
        return False
    figures = [k for k in r.grounding.chosen if k.role in {"amount", "measure", "aggregate"}]
    return all(k.role == "amount" and k.table == thing.table for k in figures) and thing.kind == "table"


def _split_by(r: Reading) -> bool:
    """`customers by country`, `stock by vendor`: not `products by price`, which sorts."""
    if r.has(r"(?:order|sort|rank|arrang)ed|sort|top|then|alphabetical\w*"):
        return False
    if r.has("by <tables?>") and any(link.role == "aggregate" for link in r.grounding.chosen):
        return True
    for match in re.finditer(
        r"<(?:tables|column|part|measure)>(?: \w+)? by (?:the )?(?P<by><(?:tables?|column|part)>)", r.text
    ):
        link = r.link_at(match.start("by"))
        if link is not None and link.role not in {"amount", "measure"} and not link.verb:
            return True
    return False


def _per_row(r: Reading) -> bool:
    """`average freight per order`: the thing after `per` is the row that the measure stands in."""
    if any(link.role == "aggregate" for link in r.grounding.chosen):
        return False
    if not (r.has(r"per <table>") and r.has(_AVERAGE)) or r.has("per <table> (?:and|per|by) "):
        return False
    return len({link.table for link in r.shown if link.table and link.kind != "value"}) == 1


def _average_count(r: Reading) -> bool:
    """`average number of orders per customer`: what is averaged is a count, so that one number comes out."""
    amounts = any(link.role in {"amount", "measure", "aggregate"} for link in r.grounding.chosen)
    return r.has(_AVERAGE) and not amounts and r.has(rf"(?:how many|number of) (?:\w+ )?{_TABLE}|{_TABLE} per {_TABLE}")


def _count_distinct(r: Reading) -> bool:
    if r.has(_AVERAGE):
        return False
    told = r.has(_COUNTING) and r.has(r"different|distinct|unique")
    texts = [link for link in r.shown if link.kind == "column" and link.role == ""]
    return told or (bool(texts) and r.has(r"(?:how many|number of) <(?:column|part)>") and not _amount_counted(r))


def _amount_counted(r: Reading) -> bool:
    """`how many units in stock`: a column of amounts is asked for, so it is summed."""
    for match in re.finditer(r"how many (?:\w+ )?(?P<of><(?:column|part)>)", r.text):
        counted = r.link_at(match.start("of"))
        if counted is not None and counted.role == "amount":
            return True
    return False


def _average(r: Reading) -> bool:
    divided = any(" / COUNT(" in expression or "AVG(" in expression for expression in r.grounding.expressions)
    return divided or r.has(_AVERAGE)


def _sum(r: Reading) -> bool:
    counted = r.has(rf"how many {_TABLE}|(?:total|overall) (?:number|count)(?! of <(?:column|part|measure)>)")
    held = bool(r.grounding.comparisons) and r.has("<tables>")
    if r.has(_TOTAL) and not (held or counted or (r.has("number") and not r.has("number of"))):
        return True
    if any(link.role == "aggregate" for link in r.grounding.chosen):
        return True
    named = any(link.role == "name" for link in r.shown if link.kind == "value")
    apart = any(k.role == "amount" and k.table not in {v.table for v in r.grounding.values} for k in r.shown)
    sold = r.has(r"how much .*(?:sell|sold|buy|bought|order|ordered)|<\w+> cost (?:us|them|him|her|it)")
    much = (
        sold
        or r.has(r"how much money|how many (?:units|pieces)")
        or (r.has(rf"how much (?:[\w<>]+ ){{0,4}}?{_THING}") and (apart or r.has("<measure>") or not named))
    )
    first = re.search(r"<\w+>", r.text)
    lead = r.link_at(first.start()) if first else None
    others = {link.table for link in r.grounding.values}
    if lead is not None and lead.role == "amount" and not r.has("<tables?>"):
        held = bool(others) and lead.table not in others
        if held or (r.has("<time>") and not others and not r.grounding.comparisons):
            return True
    return (
        much
        or _amount_counted(r)
        or (r.has("<measure>") and first is not None and first[0] not in {"<table>", "<tables>"})
    )


def _count(r: Reading) -> bool:
    return r.has(_COUNTING) or r.has(
        r"(?:total|overall) number|(?<!<column> )(?<!<part> )number(?: only)?$|how big is|size of <tables?>|"
        r"size of (?:our|the|my) <tables?>"
    )


def _lookup(r: Reading) -> bool:
    return any(link.role == "name" and link.kind in {"value", "number"} for link in r.shown) and not r.has("<tables>")


def _list(r: Reading) -> bool:
    return bool(r.grounding.named)


RULES: tuple[Rule, ...] = (
    Rule("running", "Show the running total of freight by order date.", _running),
    Rule("rank", "Rank the products by unit price.", _rank),
    Rule("duration", "How many days pass between order date and shipped date?", _duration),
    Rule("compare", "By what percentage did revenue grow from 1996 to 1997?", _change),
    Rule("share", "What percentage of customers is in the USA?", _share),
    Rule("both", "Which customers ordered both Chai and Tofu?", _both),
    Rule("missing", "Which customers bought Chai but not Tofu?", _difference),
    Rule("versus_average", "Which products cost more than the average?", _versus_average),
    Rule("compare", "Compare the revenue of 1996 and 1997.", _compare),
    Rule("missing", "Which customers never placed an order?", _missing),
    Rule("having", "Which customers share the same city?", _duplicates),
    Rule("having", "Which customers placed more than 10 orders?", _having),
    Rule("top_per_group", "What is the most expensive product in each category?", _top_per_group),
    Rule("top_n", "Which five customers brought the most revenue?", _top_n),
    Rule("exists", "Do we have any suppliers in Norway?", _exists),
    Rule("over_time", "How many orders came in per month?", _over_time),
    Rule("top_n", "Which product is the most expensive?", _superlative),
    Rule("by_group", "How many customers are there per country?", _by_group),
    Rule("count", "How many different countries do customers come from?", _count_distinct),
    Rule("average", "What is the average freight per order?", _average),
    Rule("sum", "What was the total revenue in 1997?", _sum),
    Rule("count", "How many orders were placed in 1997?", _count),
    Rule("list", "What is the phone number of Ernst Handel?", _lookup),
    Rule("list", "Which customers are located in Germany?", _list),
)
"""Tried in this order. To add a kind, add one rule with an example; the golden pairs say what it moves."""
