"""What a question speaks of, in the order in which it does: rows and values, amounts, conditions, literals."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from agent.drafting.literals import Column
from agent.drafting.patterns import Pattern, covered, patterns
from agent.keys import qualified
from agent.linked import Grounding, Link
from agent.linking import Lexicon
from agent.periods import grain_of
from agent.quantities import is_denied, is_still_to_come
from agent.wording import fold, is_plural, stem

_BETWEEN_NAME_AND_VALUE = re.compile(
    r"[\s\"'\u201c\u201d\u2018\u2019,:()-]*(?:(?:the|called|named)\s+)?\Z", re.IGNORECASE
)
_AGGREGATES = (
    ("AVG", re.compile(r"\b(?:average|averages|averaged|averaging|mean|avg|typical|typically|on average)\b", re.I)),
    ("COUNT", re.compile(r"\b(?:how many|number of|count of|counts?|how often)\b|#\s?of", re.I)),
    ("SUM", re.compile(r"\b(?:total|totals|sum|sums|altogether|combined|overall|in all|how much)\b", re.I)),
)
_WHOSE = re.compile(r"(?:['\u2019]s|s['\u2019])?\s+")
_FEW_WORDS = 2
_FEW_LETTERS = 12
_FEW_ITEM_WORDS = 3
_LONGEST_ASKED = 12
_STOP_MARK = re.compile(r"[?.!:;]\s+|,\s+(?=(?:just|only|with)\b)")
_LIST_BREAK = re.compile(r"[?.!:;]\s+|,\s+|\s\(|\s+[-\u2013\u2014]\s+")
_BESIDES = re.compile(r"(?:and|plus|with|together|along|also|how many)\b", re.IGNORECASE)
_WITH_ITS = re.compile(r"\s*(?:and|plus|(?:together |along )?with)\s+(?:its|their|his|her)\b", re.IGNORECASE)
_LIST_HEAD = re.compile(r"\s+(?:of|for)\s+(?:every|each|all|the|any|our)\b", re.IGNORECASE)
_LIST_JOINED = re.compile(r",|&|\b(?:and|und|plus)\b", re.IGNORECASE)
_ORDER_ONLY = re.compile(
    r"[,;.]?\s+(?:\(?(?:best|worst|top|biggest|largest|highest|lowest|smallest|newest|oldest|latest|earliest|most|fewest)"
    r"(?:\s+\w+)?\s+first|in (?:the )?order of \w+|yes or no|side by side|next to each ?other)\)?\s*\Z",
    re.IGNORECASE,
)
_LIST_WORD = re.compile(
    r"(?:a|an|all|also|along|amount|amounts|and|are|as|be|both|code|codes|count|do|each|enough|every|figures?|for|"
    r"full|give|how|i|id|ids|in|is|it|its|just|list|many|me|money|much|name|names|need|no|nos|number|numbers|of|"
    r"on|one|only|our|place|please|pls|plus|position|rank|ranks|respective|show|sum|that|the|their|them|there|they|to|together|total|"
    r"totals|value|want|we|well|will|with|would|you|suffice)\Z",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+")
_COUNTED = re.compile(r"\b(?:numbers?\s+of|how\s+many)\s+(?:\w+\s+)?\Z", re.IGNORECASE)
_COUNT_OF = re.compile(r"numbers?\s+of\s+\w+s\b", re.IGNORECASE)
_FIRST_AND = re.compile(r"\bfirst\s*(?:and|&|,)\s*\Z", re.IGNORECASE)
_LACKS = re.compile(
    r"(?:\b(?:without|no|lack(?:s|ing)?|missing|neither|nor|(?:do|does|did)(?:\s+not|n['\u2019]?t)\s+have|"
    r"(?:have|has|had)(?:\s+not|n['\u2019]?t)(?:\s+got)?))\s+(?:(?:a|an|any|the|their|its|his|her)\s+)*\Z",
    re.IGNORECASE,
)
_OR = re.compile(r"(?:\s+(?:number|no))?\s*(?:or|and|nor)\s+(?:(?:a|an|any)\s+)?", re.IGNORECASE)
_EMPTY = re.compile(
    r"\s+(?:(?:number|field|entry)\s+)?(?:(?:is|are|was|were|both|all)\s+){0,2}(?:missing|empty|blank|unknown|"
    r"not\s+(?:known|given|filled|set|recorded|on\s+(?:file|record)))\b",
    re.IGNORECASE,
)
_PLAIN_ASKED = re.compile(r"\b(?:names?|numbers?|ids?|codes?)\b", re.IGNORECASE)
_OF = re.compile(r"\b(?:of|for)\s+(?:(?:the|our|all|every|each|any|a|an)\s+)*\Z", re.IGNORECASE)
_NAME = re.compile(r"names?", re.IGNORECASE)
_WHICH = re.compile(r"\b(?:which|what|the|name|list|show|give(?: me)?|find)\s+\Z", re.IGNORECASE)
_THAT_HAVE = re.compile(
    r"[^.?!:;]{0,40}\b(?:that|which|who)\s+(?:have|had|has|got)\s+(?:one|any|some)\b", re.IGNORECASE
)
_WHICH_ARE = re.compile(
    r"\A(\W*(?:which|what)\s+(?:\w+\s+){1,2}?)(?:is|are|was|were)\s+(?:(?:currently|still|now|already)\s+)?",
    re.IGNORECASE,
)
_OTHER_THAN = re.compile(r"\b(?:other than|except|outside)\b", re.IGNORECASE)
_DAYS = re.compile(r"\W*(?:days?|dates?)\b", re.IGNORECASE)
_DISTINCT = re.compile(r"\b(?:different|distinct|unique|separate)\b", re.IGNORECASE)
_GIVEN_NAMES = re.compile(r"first|last|given|family|sur|fore|middle", re.IGNORECASE)
_KEY_ASKED = re.compile(r"\b(?:numbers?|nos?|ids?|codes?)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Thing:
    """Rows of a table, or values of one of its columns, that a question asks about or groups by."""

    table: str
    column: str | None = None

    def __str__(self) -> str:
        return f"{self.table}.{self.column}" if self.column else self.table


@dataclass(frozen=True, slots=True)
class Said:
    """What a question speaks of. SQL is in the writing of `canonical`.

    `measures` are expressions over amounts, `conditions` those of glossary terms. `values` link to stored values or
    keys, `numbers` to nothing. `limit` is how many rows are asked for, `asked` the number that says so where it does
    not link to a limit. `aggregates` are AVG, COUNT and SUM where a word asks for them; `distinct` of what
    different ones are counted; `grain` the unit of time that is grouped by; `shown` the columns to be shown where rows
    are shown as they are, empty where the words do not tell. `listed` says that the words do nothing but list these,
    before the rows or behind them. `patterns` are of the letters of columns, whose words count for nothing else.
    """

    things: tuple[Thing, ...]
    measures: tuple[str, ...]
    conditions: tuple[str, ...]
    values: tuple[Link, ...]
    numbers: tuple[Link, ...]
    limit: int | None
    asked: Link | None
    aggregates: frozenset[str]
    distinct: Thing | None
    grain: str | None
    shown: tuple[Column, ...]
    listed: bool = False
    patterns: tuple[Pattern, ...] = ()


def said(grounding: Grounding, lexicon: Lexicon) -> Said:
    """Read what a question speaks of off its links. A table whose row is named beside it is not asked about itself."""
    dialect = lexicon.schema.dialect
    lacked = _lacked(grounding, lexicon)
    found = patterns(grounding, lexicon, called=lambda table: display(table, lexicon))
    stretches = {(link.start, link.end) for link in lacked}
    grounding = replace(
        grounding,
        links=tuple(k for k in grounding.links if (k.start, k.end) not in stretches and not covered(k, found)),
    )
    expressions = {term.names[0]: term.expression for term in lexicon.glossary if term.expression}
    single = frozenset(term.names[0] for term in lexicon.glossary if len(term.tables) == 1)
    things: list[Thing] = []
    measures: list[str] = []
    conditions = [
        canonical(f"{qualified(link.table or '', link.column or '', dialect)} IS NULL", dialect) for link in lacked
    ]
    told = tuple(canonical(text, dialect) for text in expressions.values())
    values: list[Link] = []
    numbers: list[Link] = []
    for link in grounding.chosen:
        expression = expressions.get(link.value or "") if link.kind == "term" else None
        if link.kind == "value" or (link.kind == "number" and link.column is not None):
            if link.table is not None:
                values.append(link)
        elif link.kind == "number":
            numbers.append(link)
        elif link.verb and link.role != "amount":
            continue
        elif link.role == "condition":
            if expression:
                text = canonical(expression, dialect)
                if _is_narrowed(text, grounding, dialect):
                    continue
                denied = is_denied(grounding.question, link.start)
                conditions.append(opposite(text, dialect, told) if denied else text)
        elif link.role in ("measure", "aggregate") and expression:
            measures.append(canonical(expression, dialect))
        elif link.role == "amount" and link.table and link.column:
            name = qualified(link.table, link.column, dialect)
            if _has_any(link, grounding):
                conditions.append(canonical(f"{name} > 0", dialect))
            if not _is_said_of_rows(link, grounding):
                measures.append(canonical(name, dialect))
        elif _is_rows(link, single):
            if link.table and not _is_named(link, grounding, lexicon) and not qualifies(link, grounding):
                things.append(Thing(link.table))
        elif link.kind in ("column", "term") and link.table and link.column and not _NAME.fullmatch(link.text):
            named = link.column in display(link.table, lexicon)
            things.append(Thing(link.table, None if named else link.column))
    asked = _rows_asked(numbers, grounding)
    return Said(
        tuple(
            one
            for one in dict.fromkeys(things)
            if not _says_where(one, values, grounding) and not _says_when(one, grounding, lexicon)
        ),
        tuple(dict.fromkeys(measures)),
        tuple(dict.fromkeys(conditions)),
        _once_each(values),
        tuple(link for link in numbers if link is not asked),
        int(asked.value) if asked is not None and asked.value is not None else grounding.limit,
        asked,
        frozenset(name for name, pattern in _AGGREGATES if _is_asked(pattern, grounding)),
        _counted_apart(grounding) or _counted_values(grounding, lexicon),
        grain_of(grounding.question),
        *_shown(grounding, lexicon, single),
        patterns=found,
    )


def _has_any(link: Link, grounding: Grounding) -> bool:
    """Whether only rows with some of an amount are meant: the discount of `those that have one`."""
    rest = grounding.question[link.end :]
    behind = _THAT_HAVE.match(rest)
    other = [
        k for k in grounding.chosen if behind and link.end < k.start < link.end + behind.end() and k.role == "amount"
    ]
    return (behind is not None and not other) or _is_said_of_rows(link, grounding)


def _is_said_of_rows(link: Link, grounding: Grounding) -> bool:
    """Whether an amount is what rows are: the `on order` of `which goods are on order`."""
    match = _WHICH_ARE.match(grounding.question)
    at = {match.end(), match.end(1)} if match else set()
    return link.start in at and not grounding.comparisons


def _is_asked(aggregate: re.Pattern[str], grounding: Grounding) -> bool:
    """Whether a word asks for an aggregate; the `number of` of `the phone number of` does not."""
    ends = [link.end for link in grounding.chosen if link.column is not None and link.kind in ("column", "term")]
    return any(
        not (match[0].casefold().startswith("number") and any(_next_to(grounding, end, match.start()) for end in ends))
        for match in aggregate.finditer(grounding.question)
    )


def _next_to(grounding: Grounding, end: int, start: int) -> bool:
    return end <= start and not grounding.question[end:start].strip()


def _once_each(values: Iterable[Link]) -> tuple[Link, ...]:
    """The first link of each value."""
    found: dict[tuple[str | None, str | None, str | None], Link] = {}
    for link in values:
        found.setdefault((link.table, link.column, link.value), link)
    return tuple(found.values())


def _rows_asked(numbers: Iterable[Link], grounding: Grounding) -> Link | None:
    """The number of rows that a question asks for without a word for a limit: `which four products have the fewest`."""
    if grounding.direction is None or any(link.kind == "limit" for link in grounding.chosen):
        return None
    for link in numbers:
        held = any(sign.start <= link.start < sign.end for sign in grounding.comparisons)
        if not held and (link.value or "").isdigit() and _WHICH.search(grounding.question[: link.start]):
            return link
    return None


def _counted_apart(grounding: Grounding) -> Thing | None:
    """What stands behind `different`."""
    match = _DISTINCT.search(grounding.question)
    if match and _DAYS.match(grounding.question, match.end()) and grounding.date_column is not None:
        return Thing(*grounding.date_column)
    for link in grounding.chosen if match else ():
        if match and link.start >= match.end() and link.table and link.kind in ("table", "column", "term"):
            rows = link.kind == "table" or link.role == "entity" or link.column is None
            return Thing(link.table, None if rows else link.column)
    return None


def _counted_values(grounding: Grounding, lexicon: Lexicon) -> Thing | None:
    """The column whose values are counted, each once: `how many countries`, `at least 15 countries`."""
    keys = {(table, column) for table, columns in lexicon.primary_keys.items() for column in columns}
    ends = [sign.end for sign in grounding.comparisons]
    for link in grounding.chosen:
        if link.kind not in ("column", "term") or link.role in (
            "entity",
            "condition",
            "measure",
            "amount",
            "aggregate",
        ):
            continue
        home = (link.table or "", link.column or "")
        if (
            link.verb
            or not _is_many(link)
            or home in keys | lexicon.amounts
            or link.column in display(home[0], lexicon)
        ):
            continue
        counted = any(0 <= link.start - end <= 1 for end in ends)
        if counted or _COUNTED.search(grounding.question[: link.start]):
            return Thing(*home)
    return None


def _shown(grounding: Grounding, lexicon: Lexicon, single: frozenset[str]) -> tuple[tuple[Column, ...], bool]:
    """The columns that a question asks to see, and whether it lists them: those of words that only say what to show,
    else the rows asked for with what stands beside them. A table of which a column is asked is not shown itself."""
    question = grounding.question
    head = next((k for k in grounding.chosen if _is_rows(k, single) and not _is_named(k, grounding, lexicon)), None)
    stretch = _list_asked(grounding)
    listed = stretch is not None
    if stretch is None and (at := _last_words(grounding)) is not None:
        stretch = (at, len(question))
    if stretch is not None:
        # A name of rows that no word names may be the name of anything.
        named = [(k.start, k.end) for k in grounding.chosen if k.table and not _NAME.fullmatch(k.text)]
        sure = head is not None or not any(
            _NAME.fullmatch(word[0]) and not any(start <= word.start() < end for start, end in named)
            for word in _WORD.finditer(question, *stretch)
        )
        asked = _listed(grounding, lexicon, single, head, *stretch)
        if head is not None and head.table and head.end <= stretch[0] and _WITH_ITS.match(question, stretch[0]):
            asked = (*((head.table, column) for column in display(head.table, lexicon)), *asked)
        return tuple(dict.fromkeys(asked)), listed and sure
    shown: list[Column] = []
    held = {c.start for c in grounding.comparisons}
    for link in grounding.chosen:
        if link is head and link.table and not _OF.search(question[: link.start]):
            shown += [(link.table, column) for column in display(link.table, lexicon)]
        elif (
            link.kind in ("column", "term")
            and link.column
            and link.table
            and not _is_rows(link, single)
            and not link.verb
        ):
            compared = any(0 <= start - link.end <= _FEW_LETTERS for start in held)
            shown += [] if compared else [(link.table, link.column)]
    return tuple(dict.fromkeys(shown)), False


def _listed(
    grounding: Grounding, lexicon: Lexicon, single: frozenset[str], head: Link | None, at: int, end: int
) -> tuple[Column, ...]:
    """The columns of a stretch of a question that says what to show."""
    question = grounding.question
    found: list[tuple[int, str, str]] = []
    links = [
        link
        for link in grounding.chosen
        if at <= link.start < end and not link.verb and not (_COUNTED.search(question[: link.start]) and _is_many(link))
    ]
    for start, word in ((m.start(), m[0].casefold()) for m in _PLAIN_ASKED.finditer(question, at, end)):
        if _COUNT_OF.match(question, start):
            continue
        near = (k for k in links if _is_rows(k, single) and k.end <= start and not question[k.end : start].strip())
        before = next(near, None)
        rows = before or head
        if rows is None or rows.table is None or any(k.start <= start < k.end and k.column for k in links):
            continue
        keys = lexicon.primary_keys.get(rows.table, ())
        columns = display(rows.table, lexicon) if word.startswith("name") else keys[:1]
        found += [(start, rows.table, column) for column in columns]
        links = [k for k in links if k is not before]
    for link in links:
        if _is_rows(link, single) and link.table and not qualifies(link, grounding):
            whose = any(table == link.table and start < link.start for start, table, _ in found) or any(
                other.table == link.table and other.column and other.end <= link.start and other.role != "entity"
                for other in links
            )
            if not (whose and _OF.search(question[: link.start])):
                found += [(link.start, link.table, column) for column in display(link.table, lexicon)]
        elif link.column and link.table and link.kind in ("column", "term"):
            named = display(link.table, lexicon)
            both = link.column in named and (_FIRST_AND.search(question[: link.start]) or _NAME.fullmatch(link.text))
            found += [(link.start, link.table, column) for column in (named if both else (link.column,))]
    return tuple(dict.fromkeys((table, column) for _, table, column in sorted(found, key=lambda one: one[0])))


def _is_many(link: Link) -> bool:
    return is_plural(link.text.split()[-1].casefold())


def _list_asked(grounding: Grounding) -> tuple[int, int] | None:
    """The words before the rows or behind them that do nothing but list what to show: `order date and freight of
    every order`, `suppliers in Japan, name and phone`."""
    question = grounding.question
    end = len(question.rstrip(" ?.!"))
    if (order := _ORDER_ONLY.search(question[:end])) is not None:
        end = order.start()
    before = -1
    for stop in _LIST_BREAK.finditer(question, 0, end):
        between = question[max(before, 0) : stop.start()].split()
        whole = before < 0 or not stop[0].startswith(",") or len(between) > _FEW_ITEM_WORDS
        if between and stop.end() < end and _only_lists(grounding, stop.end(), end):
            return (stop.end(), end) if whole and not _BESIDES.match(question, stop.end()) else None
        before = stop.end()
    first = _LIST_HEAD.search(question)
    if (
        first is not None
        and _LIST_JOINED.search(question[: first.start()])
        and _only_lists(grounding, 0, first.start())
    ):
        return 0, first.start()
    return None


def _only_lists(grounding: Grounding, at: int, end: int) -> bool:
    """Whether all words of a stretch name something to show, or are little words between."""
    inside = [link for link in grounding.chosen if at <= link.start < end]
    if any(link.verb or link.kind not in ("table", "column", "term") or link.role == "condition" for link in inside):
        return False
    if any(at <= sign.start < end for sign in grounding.comparisons):
        return False
    covered = [(link.start, link.end) for link in inside]
    names = bool(inside)
    rows = {stem(fold(link.text)) for link in grounding.chosen if link.kind == "table" or link.role == "entity"}
    for word in _WORD.finditer(grounding.question, at, end):
        if any(start <= word.start() < stop for start, stop in covered):
            continue
        named = stem(fold(word[0])) in rows
        if not named and not _LIST_WORD.match(word[0]):
            first = word[0].casefold() == "first"
            if not (first and _first_and(grounding, word.end())):
                return False
        names = names or _PLAIN_ASKED.fullmatch(word[0]) is not None
    return names


def _first_and(grounding: Grounding, at: int) -> bool:
    return any(_FIRST_AND.search(grounding.question[: link.start]) for link in grounding.chosen if link.start > at)


def _is_rows(link: Link, single: frozenset[str]) -> bool:
    """Whether words stand for the rows of a table. A word that the glossary has for several tables is a doing: `sold`.

    `single` are the first names of the terms that are about one table.
    """
    named = link.role == "entity" and (link.column is not None or link.value in single)
    return (link.kind == "table" or named) and not link.verb


def _last_words(grounding: Grounding) -> int | None:
    """Where words begin that only say what to show: behind the last stop, few, and with something to show in them."""
    stops = [match.end() for match in _STOP_MARK.finditer(grounding.question.rstrip(" ?.!"))]
    if not stops or len(grounding.question[stops[-1] :].split()) > _LONGEST_ASKED:
        return None
    at = stops[-1]
    named = any(link.start >= at and link.table for link in grounding.chosen)
    values = any(link.start >= at and link.kind in ("value", "number", "year", "month") for link in grounding.chosen)
    return at if (named or _PLAIN_ASKED.search(grounding.question, at)) and not values else None


@lru_cache(maxsize=4_096)
def canonical(expression: str, dialect: str) -> str:
    """SQL of an expression in one writing, all names in quotes, so that two can be compared as text.

    It comes back as it is where it cannot be read.

    >>> canonical('sum( "Orders" . Freight )', "sqlite")
    'SUM("Orders"."Freight")'
    """
    from sqlglot import parse_one
    from sqlglot.errors import SqlglotError

    from agent.database.dialects import dialect as read_dialect

    try:
        return parse_one(expression, read=read_dialect(dialect)).sql(
            read_dialect(dialect), comments=False, identify=True
        )
    except (SqlglotError, RecursionError):
        return expression


def _is_narrowed(condition: str, grounding: Grounding, dialect: str) -> bool:
    """Whether a question tells which rows are lacking, where a condition is that there are none at all.

    `customers who never ordered` lack any order; `who never ordered in 1998` or `never ordered tea` are others.
    """
    about = _about(condition, dialect)
    if not about:
        return False
    told = {link.table for link in grounding.values}
    told |= {grounding.date_column[0]} if grounding.periods and grounding.date_column else set()
    return bool(told - about - {None})


@lru_cache(maxsize=1_024)
def _about(condition: str, dialect: str) -> frozenset[str]:
    """The tables of whose rows a condition says that nothing belongs to them; none where it says something else.

    >>> sorted(_about('NOT EXISTS(SELECT 1 FROM "Orders" WHERE "Orders"."CustomerID" = "Customers"."ID")', "sqlite"))
    ['Customers']
    """
    from sqlglot import exp, parse_one
    from sqlglot.errors import SqlglotError

    from agent.database.dialects import dialect as read_dialect

    try:
        tree = parse_one(condition, read=read_dialect(dialect))
    except (SqlglotError, RecursionError):
        return frozenset()
    if not isinstance(tree, exp.Not) or tree.find(exp.Exists, exp.In) is None or tree.find(exp.Select) is None:
        return frozenset()
    inner = {table.name for table in tree.find_all(exp.Table)}
    return frozenset(column.table for column in tree.find_all(exp.Column) if column.table) - inner


@lru_cache(maxsize=1_024)
def opposite(condition: str, dialect: str, told: tuple[str, ...] = ()) -> str:
    """What holds where a condition does not, for rows where what it is about is known.

    Where `told` has just one condition that holds the same column against another literal, it is that one.

    >>> opposite('"a"."b" < 3', "sqlite"), opposite('"a"."b" = 1', "sqlite", ('"a"."b" = 0',))
    ('"a"."b" >= 3', '"a"."b" = 0')
    """
    from sqlglot import exp, parse_one

    from agent.database.dialects import dialect as read_dialect

    signs = {exp.EQ: exp.NEQ, exp.NEQ: exp.EQ, exp.LT: exp.GTE, exp.GTE: exp.LT, exp.GT: exp.LTE, exp.LTE: exp.GT}

    def column_held(tree: exp.Expr) -> str | None:
        whole = isinstance(tree, exp.EQ) and isinstance(tree.this, exp.Column)
        return tree.this.sql() if whole and isinstance(tree.expression, exp.Literal) else None

    read = read_dialect(dialect)
    tree = parse_one(condition, read=read)
    column = column_held(tree)
    start = condition.partition(" = ")[0] + " = "
    others = {text for text in told if column and text != condition and text.startswith(start)}
    others = {text for text in others if column_held(parse_one(text, read=read)) == column}
    if len(others) == 1:
        return others.pop()
    sign = signs.get(type(tree))  # type: ignore[arg-type]
    if sign is not None:
        fresh: exp.Expr = sign(this=tree.this, expression=tree.expression)
    elif isinstance(tree, exp.Not):
        fresh = tree.this.unnest()
    else:
        fresh = exp.Not(this=tree if isinstance(tree, exp.Is) else exp.paren(tree))
    return fresh.sql(read, comments=False, identify=True)


def _lacked(grounding: Grounding, lexicon: Lexicon) -> tuple[Link, ...]:
    """The columns that are asked to be empty: `without a fax`, `neither a region nor a fax`, `have not been shipped`.

    One that is asked about elsewhere as well is not: `the fax, or 'none' where there is no fax`.
    """
    question = grounding.question
    empty = {(t.name, c.name) for t in lexicon.schema.tables for c in t.columns if c.nullable and not c.primary_key}
    empty -= lexicon.amounts
    dates = {(date.table, date.column) for date in lexicon.date_columns}
    links = [k for k in grounding.chosen if k.kind in ("column", "term") and (k.table, k.column) in empty]
    found: list[Link] = []
    for link in links:
        if link.role in ("entity", "condition", "measure"):
            continue
        after = bool(found) and _OR.fullmatch(question[found[-1].end : link.start]) is not None
        lacks = _LACKS.search(question[: link.start]) or _EMPTY.match(question, link.end)
        due = (link.table, link.column) in dates and is_still_to_come(question, link.start, link.end)
        if after or lacks or due:
            found.append(link)
    for link, other in reversed(list(pairwise(links))):
        # `region and fax are both missing`
        joined = other in found and link not in found and _OR.fullmatch(question[link.end : other.start])
        if joined and link.role not in ("entity", "condition", "measure") and _EMPTY.match(question, links[-1].end):
            found.insert(found.index(other), link)
    sure = {(link.table, link.column) for link in links if link not in found}
    return tuple(link for link in found if (link.table, link.column) not in sure)


def display(table: str, lexicon: Lexicon) -> tuple[str, ...]:
    """The columns that show a row of a table to people: what it is called, first and last names together, else its key.

    What the glossary calls such a row comes first.
    """
    keys = lexicon.primary_keys.get(table, ())
    named = [c for t, c in _in_order(lexicon.naming, lexicon) if t == table and c not in keys]
    dialect = lexicon.schema.dialect
    told = {canonical(term.expression, dialect) for term in lexicon.glossary if term.expression}
    called = (c for c in named if canonical(qualified(table, c, dialect), dialect) in told)
    first = next(called, next(iter(named), None))
    if first is None:
        return keys
    if _GIVEN_NAMES.search(first):
        return tuple(c for c in named if _GIVEN_NAMES.search(c))
    return (first,)


def _in_order(columns: Iterable[Column], lexicon: Lexicon) -> list[Column]:
    wanted = set(columns)
    return [(t.name, c.name) for t in lexicon.schema.tables for c in t.columns if (t.name, c.name) in wanted]


def _says_where(thing: Thing, values: Iterable[Link], grounding: Grounding) -> bool:
    """Whether a column only says what a value beside it is: the `city` of `the city of Boise`, `the title Ms.`"""
    for value in values:
        if thing.column is None or (value.table, value.column) != (thing.table, thing.column):
            continue
        for link in grounding.chosen:
            if (link.table, link.column) == (thing.table, thing.column) and link.kind in ("column", "term"):
                first, last = (link, value) if link.end <= value.start else (value, link)
                gap = _OTHER_THAN.sub("", grounding.question[first.end : last.start])
                if first.end <= last.start and len(gap.split()) <= _FEW_WORDS:
                    return True
    return False


def _says_when(thing: Thing, grounding: Grounding, lexicon: Lexicon) -> bool:
    """Whether a column only says of what the time behind it is: the `order date` of `with an order date in 1998`."""
    if not any((date.table, date.column) == (thing.table, thing.column) for date in lexicon.date_columns):
        return False
    links = [k for k in grounding.chosen if (k.table, k.column) == (thing.table, thing.column)]
    starts = [period.start for period in grounding.periods]
    return bool(links) and all(
        any(link.end <= at and len(grounding.question[link.end : at].split()) <= _FEW_WORDS for at in starts)
        for link in links
    )


def qualifies(link: Link, grounding: Grounding) -> bool:
    """Whether a table only says whose column comes next: the `category` of `category description`."""
    after = (other for other in grounding.chosen if other.start >= link.end and other.table == link.table)
    column = next((other for other in after if other.column is not None and other.kind in ("column", "term")), None)
    return column is not None and _WHOSE.fullmatch(grounding.question[link.end : column.start]) is not None


def _is_named(link: Link, grounding: Grounding, lexicon: Lexicon) -> bool:
    """Whether a row of the table is named right beside it: `the customer Ana`, `Produce category`, `order 10248`."""
    for other in grounding.chosen:
        if other.table != link.table or other.column is None or other.kind not in ("value", "number"):
            continue
        home = (other.table, other.column)
        if home not in lexicon.naming and other.column not in lexicon.primary_keys.get(other.table or "", ()):
            continue
        first, last = (link, other) if link.end <= other.start else (other, link)
        gap = _KEY_ASKED.sub("", grounding.question[first.end : last.start])
        if first.end <= last.start and _BETWEEN_NAME_AND_VALUE.match(gap):
            return True
    return False
