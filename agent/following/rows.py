"""Follow-ups about the rows of the answer: how many, from which end, counted or listed, in what order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from agent.following.english import (
    Edit,
    agreeing,
    capitalised,
    closed,
    edited,
    is_many,
    plural,
    same_word,
    singular,
    sorting,
    tidy,
)
from agent.following.phrases import AGGREGATE, Phrase, asked_for, extreme_of, group_of, head, measures, signature
from agent.following.reading import Change, Followup
from agent.linked import Link
from agent.wording import NUMBER_WORDS, SUPERLATIVE

_SCALAR = frozenset({"count", "sum", "average", "share", "exists", "duration"})
_ROWS = frozenset({"list", "missing", "having", "both", "versus_average"})

# How many

_NUMBER = r"\d+|" + "|".join(word for word, number in NUMBER_WORDS.items() if number and word.isascii())
_SHOW = r"(?:(?:show|give|list|see|get|make|limit|me|it|them|to|the|only|just|for|with) )*"
_LIMIT = re.compile(
    rf"{_SHOW}(?:(?P<end>top|first|best|highest|bottom|worst|lowest|last)[ -])?(?P<number>{_NUMBER})(?: (?P<what>.+))?",
    re.IGNORECASE,
)
_ANY_ROWS = re.compile(
    r"of (?:them|those|these|it)|(?:is|are) enough|will do|ones?|rows?|results?|entries|records|lines|items|names",
    re.IGNORECASE,
)
_ONE = re.compile(
    rf"{_SHOW}(?:(?:top|first|best|winner|number|no\.?)(?: (?:one|1))?|one(?: (?:of them|row|result))?)", re.IGNORECASE
)
_ALL = re.compile(
    r"(?:(?:show|give|list|see|get|me|i|want) )*(?:all(?: of)?(?: (?:them|it|those|these|(?:the )?(?:rows|results)))?|"
    r"everything|every one|everyone|the (?:whole|full|complete|entire) list|without (?:a |the )?limit|no limit)",
    re.IGNORECASE,
)


def limit(f: Followup) -> Iterator[Change]:
    """`top 3`, `just the first five`, `all of them`."""
    old = next((part for part in f.parts if part.kind == "limit"), None)
    if f.kind in _SCALAR:
        return
    if _ALL.fullmatch(f.text):
        if old is not None:
            yield _unlimited(f, old)
        return
    if _ONE.fullmatch(f.text) and (f.narrows or "one" in f.text.casefold()):
        yield from _only_one(f, old)
        return
    match = None if any(one.kind in {"time", "compared"} for one in f.phrases) else _LIMIT.fullmatch(f.text)
    if match is None or not (match["end"] or match["what"] or f.narrows or old):
        return
    noun = asked_for(f.was)
    if match["what"] and not _ANY_ROWS.fullmatch(match["what"]) and not (noun and same_word(match["what"], noun.text)):
        return
    if (match["end"] or "").casefold() in {"bottom", "worst", "lowest", "last"} and f.was.direction == "high":
        for turned in _turned(f, match["end"]):
            for change in _limited(f.of(f.understand(turned.question)), match["number"].lower()):
                yield replace(change, gone=turned.gone, free=change.free | turned.free | {"tables"})
    elif match["number"].casefold() in {"one", "1"}:
        yield from _only_one(f, old)
    else:
        yield from _limited(f, match["number"].lower())


def _unlimited(f: Followup, old: Phrase) -> Change:
    text = edited(f.question, [Edit(old.at, old.end, "")])
    text = re.sub(r"\b(?:top|first|bottom) (?=\w)", "", text, count=1, flags=re.IGNORECASE)
    text = capitalised(re.sub(r"\Athe ", "All ", text, flags=re.IGNORECASE))
    return Change(text, old.links, kinds=frozenset({"list", "top_n"}), free=frozenset({"limit", "direction"}))


def _only_one(f: Followup, old: Phrase | None) -> Iterator[Change]:
    """`just the first`: the noun becomes one."""
    noun = asked_for(f.was)
    if f.kind in {"by_group", "over_time"} and old is None:
        yield from _best_groups(f, "1")
    elif noun is not None and f.was.direction is None:
        at = old.at if old else _before_noun(f.question, noun)
        text = edited(f.question, [Edit(at, old.end if old else at, "one" if old else "one ")])
        yield Change(text, old.links if old else (), free=frozenset({"limit"}), unsaid=True)
    elif noun is not None and old is not None:
        text = agreeing(f.question, noun.end, many=False)
        text = edited(text, [Edit(old.at, old.end, ""), Edit(noun.start, noun.end, singular(noun.text))])
        said = frozenset({signature(noun)})
        yield Change(text, (*old.links, noun), said, frozenset({"top_n"}), frozenset({"limit"}), unsaid=True)


def _limited(f: Followup, number: str) -> Iterator[Change]:
    """Another number of rows, or one where there was none."""
    text, noun = f.question, asked_for(f.was)
    old = next((part for part in f.parts if part.kind == "limit"), None)
    kinds, free = frozenset({"top_n", "list"}), frozenset({"limit"})
    if old is not None:
        yield Change(edited(text, [Edit(old.at, old.end, number)]), old.links, kinds=kinds, free=free)
    elif f.kind in {"by_group", "over_time"}:
        yield from _best_groups(f, number)
    elif noun is not None:
        at = _before_noun(text, noun)
        edits = [Edit(at, at, f"{number} ")]
        said = frozenset({signature(noun)})
        if not is_many(noun.text):
            edits.append(Edit(noun.start, noun.end, plural(noun.text)))
            behind = agreeing(text, noun.end, many=True)
            text = edited(behind, edits) if behind != text else agreeing(edited(text, edits), 0, many=True)
        else:
            text = edited(text, edits)
        yield Change(text, (noun,), said, kinds, free)


def _before_noun(text: str, noun: Link) -> int:
    """Where a number goes: before the noun and its adjectives."""
    openings = re.finditer(
        r"\b(?:which|what|the|our|all|any|list|show|me|name|find|give|are|is) (?=(?:[\w-]+ ){0,3}\Z)",
        text[: noun.start],
        re.IGNORECASE,
    )
    return max((match.end() for match in openings), default=noun.start)


def _best_groups(f: Followup, number: str) -> Iterator[Change]:
    """`How many orders are there per country?` and `top 3`: which 3 countries have the most orders?"""
    group, noun = group_of(f.was), head(f.was)
    if group is None or group.link is None or f.was.direction is not None:
        return
    measured = [link for link in measures(f.was) if not group.holds(link)]
    what = measured[0] if measured else noun
    if what is None or what == group.link:
        return
    aggregate = re.search(rf"\b(?:{AGGREGATE})\b", f.question, re.IGNORECASE)
    how = "most" if not measured else f"highest {aggregate[0].lower()}" if aggregate else "highest"
    kept = " ".join(f.question[part.start : part.end] for part in f.parts if part.kind in {"value", "time"})
    many = number != "1"
    groups = plural(group.link.text) if many else singular(group.link.text)
    text = f"Which {f'{number} ' if many else ''}{groups} {'have' if many else 'has'} the {how} {what.text} {kept}?"
    named = frozenset({signature(what), signature(group.link)})
    gone = tuple(k for k in f.was.chosen if signature(k) not in named and k.kind in {"table", "term"})
    kinds, free = frozenset({"top_n", "top_per_group"}), frozenset({"limit", "direction", "tables"})
    yield Change(tidy(text), gone, named, kinds, free, unsaid=not many)


# From which end

_OPPOSITES = (
    "most least, highest lowest, largest smallest, biggest smallest, greatest smallest, best worst, top bottom, "
    "latest earliest, newest oldest, youngest oldest, longest shortest, maximum minimum, max min, heaviest lightest, "
    "strongest weakest, fastest slowest, richest poorest, last first, furthest nearest, priciest cheapest, "
    "costliest cheapest, dearest cheapest"
)
_PAIRS = tuple(tuple(pair.split()) for pair in _OPPOSITES.split(", "))
_OPPOSITE = {high: low for high, low in _PAIRS} | {low: high for high, low in reversed(_PAIRS)}
_OPPOSITE |= {"fewest": "most", "cheapest": "most expensive", "oldest": "newest", "recent": "oldest"}
_END = rf"(?:(?:most|least) (?!of\b)[a-z]+|{SUPERLATIVE})"
_OTHER_END = re.compile(
    rf"(?:(?:which|what|who)(?: one)?(?: (?:is|was|has|had|are|were|have))? |(?:with|has|have|is|are|show|me) )*"
    rf"(?:the )?(?P<end>{_END})(?: (?P<what>[\w ]+?))?",
    re.IGNORECASE,
)
_NTH = re.compile(
    r"(?:(?:which|what|who) (?:is|was|are) )?(?:the )?(?:(?P<nth>second|third|fourth|fifth|2nd|3rd|4th|5th)"
    rf"(?:[ -](?P<end>{_END}))?(?: (?:one|place))?|runner[ -]up)",
    re.IGNORECASE,
)
_TURN = re.compile(
    r"(?:the )?(?:other way a?round|opposite|reverse|other end|contrary|(?:in )?reversed?(?: order)?)", re.IGNORECASE
)


def other_end(f: Followup) -> Iterator[Change]:
    """`and the fewest?`, `the other way round`, `and the second?`."""
    if f.was.direction is None:
        return
    if nth := _NTH.fullmatch(f.text):
        yield from _ranked(f, (nth["nth"] or "second").lower(), nth["end"])
    elif _TURN.fullmatch(f.text):
        yield from _turned(f, "")
    elif match := _OTHER_END.fullmatch(f.text):
        nouns = [k.text for k in f.was.chosen if k.kind in {"table", "column", "term"}]
        if not match["what"] or re.fullmatch("ones?", match["what"]) or any(same_word(match["what"], n) for n in nouns):
            yield from _turned(f, match["end"])


def _ranked(f: Followup, nth: str, end: str | None) -> Iterator[Change]:
    extreme = extreme_of(f.was)
    if extreme is None:
        return
    free = frozenset({"direction", "words"})
    if f.was.offset is not None:
        text = re.sub(r"\b(?:second|third|fourth|fifth)\b", nth, f.question, count=1, flags=re.IGNORECASE)
    else:
        text = edited(f.question, [Edit(extreme.start, extreme.end, f"{nth} {end or extreme.text}")])
    yield Change(text, free=free, unsaid=True)


def _turned(f: Followup, said: str) -> Iterator[Change]:
    """The question with its superlative turned; `said` is the word that the user chose, or `""`."""
    extreme = extreme_of(f.was)
    if extreme is None:
        return
    word, own = extreme.word.casefold(), said.casefold()
    follows = next((k for k in f.was.chosen if k.start == extreme.end + 1), None)
    counted = follows is not None and (follows.kind == "table" or follows.role == "entity")
    options: list[str] = []
    if extreme.adjective:
        same = own.endswith(f" {extreme.adjective.casefold()}")
        another = own in _OPPOSITE and own not in {"most", "least", "fewest", "lowest", "highest"}
        options += [own] if same or another else []
        options.append(f"{'least' if word == 'most' else 'most'} {extreme.adjective}")
    else:
        options += [own] if own in _OPPOSITE and not (counted and own in {"lowest", "highest", "least"}) else []
        options += ["fewest" if counted else "least"] if word == "most" else []
        options += [_OPPOSITE[word]] if word in _OPPOSITE else []
    for option in dict.fromkeys(options):
        text = capitalised(edited(f.question, [Edit(extreme.start, extreme.end, option)]))
        if f.understand(text).grounding.direction not in {None, f.was.direction}:
            yield Change(text, free=frozenset({"direction", "limit", "words"}), unsaid=True)


# Counted, or listed

_COUNT_THEM = re.compile(
    r"how many(?: (?:of (?:them|those|these)|in total))?(?: (?:are|were)(?: (?:there|they|those|these))?| "
    r"(?:is|was) (?:that|it))?(?: in total)?|count (?:them|those|these)|"
    r"(?:what is |just )?(?:the|their) (?:number|count)",
    re.IGNORECASE,
)
_LIST_THEM = re.compile(
    r"(?:which|what|who)(?: ones?)?(?: (?:are|were) (?:they|those|these|that|there))?|(?:what are )?their names|"
    r"what are they called|"
    r"(?:list|show|name|give)(?: me)? (?:them|those|these|all|them all|the list|their names)",
    re.IGNORECASE,
)
_LISTED = re.compile(
    r"(?:please )?(?:list|show|give|name|find)(?: me)? (?:all )?(?:of )?(?:the |our )?(?:names of (?:the |our )?)?",
    re.IGNORECASE,
)


# A number of rows, an order or further columns make no sense of a count.
_DRESSED = re.compile(r", (?:sorted|in [\w ]*order\b|and (?:what|which|who|where|when)\b)", re.IGNORECASE)


def counted(f: Followup) -> Iterator[Change]:
    """`how many are there?` after a list, `which ones?` after a count."""
    text, noun = f.question, head(f.was)
    if noun is None:
        return
    if f.kind in _ROWS and _COUNT_THEM.fullmatch(f.text):
        if f.was.limit is not None or _DRESSED.search(text):
            return
        kinds, free = frozenset({"count"}), frozenset({"words", "limit"})
        which, listed = re.match(r"(?:which|what) ", text, re.IGNORECASE), _LISTED.match(text)
        if which:
            yield Change(f"How many {text[which.end() :]}", kinds=kinds, free=free)
        elif listed and listed.end() <= noun.start:
            rest = text[noun.end :].rstrip(" .?!")
            yield Change(f"How many {text[listed.end() : noun.end]} are there{rest}?", kinds=kinds, free=free)
    elif f.kind in {"exists", "missing"} and _COUNT_THEM.fullmatch(f.text):
        there = re.match(r"(?:are|is|were|was) there (?:any |an? )?", text, re.IGNORECASE)
        if there and there.end() <= noun.start:
            things = f"{text[there.end() : noun.start]}{plural(noun.text)}{text[noun.end :].rstrip(' .?!')}"
            yield Change(
                f"How many {things} are there?", (noun,), kinds=frozenset({"count"}), free=frozenset({"words"})
            )
    elif f.kind in {"count", "missing", "having"} and _LIST_THEM.fullmatch(f.text):
        many = re.match(r"how many ", text, re.IGNORECASE)
        if many:
            yield Change(f"Which {text[many.end() :]}", kinds=frozenset({"list"}), free=frozenset({"words"}))


# In what order

_SORT = re.compile(
    r"(?:sort(?:ed)?|order(?:ed)?|arranged?|ranked)(?: (?:it|them|that|those|these|the (?:list|rows|result|answer)))? "
    r"(?P<how>(?:by|in|from|alphabetically|descending|ascending)\b.*)",
    re.IGNORECASE,
)
_ORDERS: tuple[tuple[re.Pattern[str], str], ...] = (
    (_SORT, r", sorted \g<how>"),
    (re.compile(r"alphabetically|(?:in )?alphabetical order", re.IGNORECASE), ", sorted alphabetically"),
    (re.compile(r"(?P<how>by [\w ]+ (?:descending|ascending|desc|asc))", re.IGNORECASE), r", sorted \g<how>"),
    (re.compile(r"(?:in )?reversed?(?: \w+)?(?: order)?|backwards", re.IGNORECASE), ", in reverse order"),
    (
        re.compile(r"(?:in )?(?P<how>descending|ascending|chronological)(?: order)?", re.IGNORECASE),
        r", in \g<how> order",
    ),
    (
        re.compile(r"(?:with )?(?:the )?(?P<how>(?:[\w-]+ ){1,3})(?:first|(?:on|at the) top)", re.IGNORECASE),
        r", \g<how>first",
    ),
)
_REVERSED = (("descending", "ascending"), ("newest first", "oldest first"), ("latest first", "earliest first"))


def order(f: Followup) -> Iterator[Change]:
    """`sorted by name`, `newest first`, `in reverse`."""
    if f.kind in _SCALAR - {"share"} or re.match(r"(?:the )?(?:first|top)\b", f.text, re.IGNORECASE):
        return
    said = re.sub(
        r"\A(?:put|show|list|give|have)(?: me)? (?:(?:the|their) \w+|it|them) ", "", f.text, flags=re.IGNORECASE
    )
    found = ((pattern.fullmatch(said), tail) for pattern, tail in _ORDERS)
    tail = next((match.expand(tail) for match, tail in found if match), None)
    if tail is None:
        return
    text, free = f.question, frozenset({"words", "direction", "limit", "comparisons"})
    old = sorting(text)
    if old is None:
        yield Change(closed(text, tail), free=free)
    elif tail == ", in reverse order":
        yield Change(tidy(text[: old[0]] + _reversed(text[old[0] : old[1]]) + text[old[1] :]), free=free, unsaid=True)
    else:
        gone = tuple(link for link in f.was.chosen if old[0] <= link.start < old[1])
        yield Change(tidy(text[: old[0]] + tail + text[old[1] :]), gone, free=free)


def _reversed(sorted_: str) -> str:
    """The end of a question that says how to sort, the other way.

    >>> _reversed(", sorted by city"), _reversed(", newest first"), _reversed(", in reverse order")
    (', sorted by city in descending order', ', oldest first', '')
    """
    for one, other in (*_REVERSED, *((other, one) for one, other in _REVERSED)):
        if one in sorted_:
            return sorted_.replace(one, other)
    return "" if "reverse" in sorted_ else f"{sorted_} in descending order"
