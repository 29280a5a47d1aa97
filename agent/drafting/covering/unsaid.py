"""Whether words that narrow down what is asked for, but link to nothing, are in a query at all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from rapidfuzz.distance import OSA
from sqlglot import exp

from agent.asides import SCOPE, talk_kept
from agent.drafting.covering.case import Case, name_of
from agent.drafting.literals import Column
from agent.linked import Link
from agent.wording import COMMON, DETERMINERS, STOP, Token, fold, tokens, words

_GENERAL = words(
    """unit units separate individual actual single missing moving whole entire various chronological numeric
    numerical negative positive calendar decimal decimals digit digits size sizes file hand point stock practice
    detail general particular addition advance main overall whatever such certain given said relevant respective
    usual different nothing rounded round units pls plz adn wich actually possible respect equal rank plus minus
    capital letter letters code codes text whose gap gaps combination combinations headcount active alphabet spread
    outside inside euro euros dollar dollars pounds currency"""
)
"""Words that say how something is shown or counted, not which of it."""

_MADE = words(
    """booked processed registered situated submitted entered generated logged filed created issued added recorded
    established employed stocked involved concerned present available headquartered books begun opened written held
    dealt served tracked documented observed noted captured stated indicated mentioned described fulfilled executed
    performed conducted accepted raised lodged made formed settled active"""
)
"""Words for being there or having come to be, which keep every row."""

_COMMON_BUT_NARROW = words("returned paid")
_DONE = words("lost won broken stolen kept given written known made sent cut")
_BE = words("was were is are been being be got")
_OWNER = re.compile("(?:['\u2019]s?|s['\u2019])\\s+")
_BETWEEN_BE = words("not ever never also still yet already actually")
_AFTER = words("in on at during this last since between before after until to from within and or there per")
_NEVER = re.compile(
    r"(?<!['\"])\b(?:never|nobody|no one|not a single|(?:have|has|had|did|does|was|were)n['\u2019]?t)\b", re.IGNORECASE
)
_WHICH_KIND = words("in with without via using through from by on")
_FIGURES = words("average total median mean maximum minimum")
_PRONOUNS = words(
    "i we you they he she it who that to would could can may might will shall must not didn don doesn how"
)
_OWNERS = words("we they you people anyone")
_HAD = words("have has had did")
_WEEKDAY = re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\bweekends?\b|\bweekdays?\b", re.IGNORECASE)
_DAY_OF_WEEK = re.compile(r"%[wuaAj]|\bdow\b|weekday|dayname|isodow|\bDay\b|\bDy\b|\bID?\b|% ?7", re.IGNORECASE)
_LATELY = re.compile(
    r"\b(?:last|this|past) (?:week|month|year|quarter)\b(?! (?:of|in|with|that|when|there))|\b(?:recently|yesterday)\b",
    re.IGNORECASE,
)
_LEAD_IN = re.compile(r"\A[^.?!:]*?\bi(?:'d| would)?\s+(?:need|like|want)\b", re.IGNORECASE)
_TOLD = re.compile(r",?\s*(?:\(|that is\b|i\.e\.|meaning\b)|\s*:", re.IGNORECASE)
_HAVING = re.compile(r"\b(?:with|without|have|has|had|having)\s+(?:an?|no|any)\s+\Z", re.IGNORECASE)
_CLAUSE = re.compile(r"[.:;?!]\s+(?=\S)")
_ASKS = re.compile(r"\b(?:how (?:many|much)|which|what|list|show|count|number of|who)\b", re.IGNORECASE)
_PLAIN_CALLS = words(
    """count sum total avg round strftime date datetime julianday coalesce ifnull nullif cast lower upper trim
    extract to_char date_trunc abs concat"""
)
_SHORTEST_TYPO = 5
_STEM = 4


def unsaid(case: Case) -> Iterator[str]:
    """Each word that narrows down what is asked for is a link, or the query holds something that it may stand for.

    Only words in a place where they narrow: before what is asked for (`organic products`), behind `were` or a noun
    (`orders were cancelled`), behind a preposition at the end (`in bags`). Verbs and words of showing do not.
    """
    loose = [(word, place) for place, word in enumerate(_words(case)) if _is_loose(case, word)]
    narrowing = [word for word, place in loose if _narrows(case, place) or _is_owned(case, place)]
    narrowing += _in_scope(case)
    if narrowing and not any(_stands_for(case, word) for word in narrowing) and not _holds_more(case):
        yield f"nothing in the query stands for {narrowing[0].text!r} of the question"


def in_talk(case: Case) -> Iterator[str]:
    """A value that only leads to the question may be nothing to look for: `I was told that Oncology has beds.`"""
    end = talk_kept(case.question, case.lexicon.kinds_in)
    for link in case.grounding.chosen:
        if link.kind == "value" and link.value is not None and link.end <= end:
            yield f"{link.text!r} stands only in what leads to the question"
            return


def times_of_week(case: Case) -> Iterator[str]:
    """A day of the week, or a time that is told from now, bounds a date."""
    asked = case.question[_begin(case) :]
    match = _WEEKDAY.search(asked)
    if match is not None and not _DAY_OF_WEEK.search(case.tree.sql()) and not _is_linked(case, match[0]):
        yield f"{match[0]!r} of the question is in no condition"
    match = _LATELY.search(asked)
    if match is None or case.grounding.periods or _is_linked(case, match[0]):
        return
    if not any(case.names.date_part(one.other) for one in case.compared) and not _dated(case):
        yield f"{match[0]!r} of the question is in no condition"


def denied(case: Case) -> Iterator[str]:
    """What the question says is not so, or that nobody did, is left out in some way."""
    if not case.says(_NEVER) or case.denies or case.reads_views:
        return
    if not case.called & {"min", "max", "coalesce", "ifnull"} and case.tree.find(exp.LT, exp.LTE, exp.Sub) is None:
        yield "the question asks for what is not so, the query leaves nothing out (NOT EXISTS)"


def owned(case: Case) -> Iterator[str]:
    """What rows are said to have, or to lack, is in a condition: `with a fax`, `without a region`."""
    for link in case.asked:
        if link.kind != "column" or link.quality != "exact" or not _HAVING.search(case.question[: link.start]):
            continue
        meant = [(one.table, one.column) for one in case.stretches[link.start, link.end] if one.table and one.column]
        if meant and not any(case.uses((table, column)) for table, column in meant if table and column):
            yield f"{link.text!r} of the question is in no condition"


def _words(case: Case) -> tuple[Token, ...]:
    return tokens(case.question)


def _begin(case: Case) -> int:
    """Where what is asked begins: behind sentences and clauses that only lead to it."""
    lead = _LEAD_IN.match(case.question)
    found = [lead.end() if lead is not None else 0]
    if case.asked and len(case.asked) < len(case.grounding.chosen):
        found.append(case.asked[0].start)
    first = _ASKS.search(case.question)
    starts = [match.end() for match in _CLAUSE.finditer(case.question)]
    found += [start for start in starts if first is not None and first.start() == start]
    return max(found)


def _is_loose(case: Case, word: Token) -> bool:
    if word.kind != "latin" or word.start < _begin(case) or _linked(case, word) is not None:
        return False
    if word.folded in _COMMON_BUT_NARROW:
        return True
    if _is_in_name(case, word):
        return False
    if (
        word.text not in case.grounding.leftover
        or word.folded in _GENERAL | _MADE | _BETWEEN_BE
        or word.folded.endswith(("ly", "ing"))
        or (word.folded.endswith("est") and len(word.folded) > _SHORTEST_TYPO)
    ):
        return False
    if _TOLD.match(case.question[word.end :]) or (_opens(case, word) and word.text[:1].isupper()):
        return False
    return not _WEEKDAY.fullmatch(word.text) and not _is_mistyped(word.folded)


def _is_in_name(case: Case, word: Token) -> bool:
    """Whether a word stands where the name of a column that the query uses has another one: `web page` for HomePage."""
    link = next((one for one in case.grounding.chosen if one.start == word.end + 1), None)
    if link is None or link.kind != "column" or not link.table or not link.column:
        return False
    column, said = (link.table, link.column), {token.stem for token in tokens(link.text)}
    return column in case.columns and said < case.lexicon.column_words.get(column, frozenset())


def _opens(case: Case, word: Token) -> bool:
    """Whether a word is the first of a sentence, where a verb tells what to do."""
    return case.question[: word.start].rstrip()[-1:] in ("", ".", "?", "!", ":", ";")


def _linked(case: Case, word: Token) -> Link | None:
    return next((link for link in case.grounding.chosen if link.start <= word.start < link.end), None)


def _is_linked(case: Case, text: str) -> bool:
    return any(text in link.text or link.text in text for link in case.grounding.chosen if link.kind == "value")


@lru_cache(maxsize=4_096)
def _is_mistyped(word: str) -> bool:
    """Whether a word is an everyday one with a letter lost, doubled or at the wrong place."""
    if len(word) < _SHORTEST_TYPO:
        return False
    near = (one for one in COMMON if abs(len(one) - len(word)) <= 1 and len(one) >= _STEM)
    return any(
        OSA.distance(word, one, score_cutoff=1) <= 1 and (len(one) != len(word) or sorted(one) == sorted(word))
        for one in near
    )


def _narrows(case: Case, place: int) -> bool:
    """Whether the word at a place tells which of what is asked for is meant."""
    all_words = _words(case)
    word = all_words[place]
    before, after = _neighbours(case, all_words, place)
    ends = after is None or after.folded in _AFTER | _BE or after.kind == "number" or _is_time(case, after)
    lead = before.folded if before is not None else ""
    said_of = _linked(case, before) if before is not None and before.folded not in STOP else None
    common = word.folded in _COMMON_BUT_NARROW
    named = _linked(case, after) if after is not None else None
    apart = said_of is None and (
        lead not in _PRONOUNS or (lead == "to" and named is not None and named.kind == "value")
    )
    if named is not None and _is_thing(named) and apart:
        return not common or lead not in _BE
    if before is None or not ends:
        return lead in _FIGURES and after is not None and after.folded == "of"
    at = place - 1
    while at > 0 and all_words[at].folded in _BETWEEN_BE:
        at -= 1
    if all_words[at].folded in _BE:
        return at == 0 or all_words[at - 1].folded != "that"
    if common:
        return said_of is not None and _is_thing(said_of) and said_of.role not in ("amount", "measure", "aggregate")
    participle = word.folded.endswith("ed") or word.folded in _DONE
    if _is_thing(said_of) and participle:
        return True
    if lead in _OWNERS and participle and at > 0 and all_words[at - 1].folded in _HAD:
        return True
    while at > 0 and all_words[at].text in case.grounding.leftover and _linked(case, all_words[at]) is None:
        # `green` of `with green hats`
        at, lead = at - 1, all_words[at - 1].folded
    if lead in DETERMINERS and at > 0:
        at, lead = at - 1, all_words[at - 1].folded
    return lead in _WHICH_KIND


def _is_owned(case: Case, place: int) -> bool:
    """Whether a word is what something asked for has and no name tells: the `cousins` of `suppliers' cousins`."""
    word = _words(case)[place]
    owner = next(
        (link for link in case.grounding.chosen if _OWNER.fullmatch(case.question, link.end, word.start)), None
    )
    return _is_thing(owner)


def _in_scope(case: Case) -> list[Token]:
    """The words that link to nothing in what talk says the question is about: `We are looking at women, so how …`."""
    scope = SCOPE.search(case.question)
    if scope is None:
        return []
    start, end = scope.span("what")
    inside = [word for word in _words(case) if start <= word.start < end and word.text in case.grounding.leftover]
    return inside if not any(start <= link.start < end for link in case.grounding.chosen) else []


def _neighbours(case: Case, all_words: tuple[Token, ...], place: int) -> tuple[Token | None, Token | None]:
    """The words before and behind, where nothing but a space parts them from a word."""
    word = all_words[place]
    before = all_words[place - 1] if place else None
    after = all_words[place + 1] if place + 1 < len(all_words) else None
    if before is not None and case.question[before.end : word.start].strip():
        before = None
    if after is not None and case.question[word.end : after.start].strip():
        after = None
    return before, after


def _is_thing(link: Link | None) -> bool:
    if link is None or link.verb:
        return False
    return link.kind in ("table", "column", "value") or (link.kind == "term" and link.role != "condition")


def _is_time(case: Case, word: Token) -> bool:
    return any(period.start <= word.start < period.end for period in case.grounding.periods)


def _stands_for(case: Case, word: Token) -> bool:
    """Whether a literal or a name in the query is of that word."""
    root = word.stem[: max(_STEM, len(word.stem) - 2)]
    if any(root in text for text in case.texts):
        return True
    names = {part for column in case.columns for part in case.lexicon.column_words.get(column, ())}
    names |= {token.stem for table in case.names.tables for token in tokens(table)}
    return any(name.startswith(root) or (len(name) >= _STEM and word.stem.startswith(name)) for name in names)


def _holds_more(case: Case) -> bool:
    """Whether the query holds a condition, a value or a reckoning that no link of the question explains."""
    if case.denies and not case.grounding.negations and case.kind != "missing":
        return True
    if {name for name in case.called if name not in _PLAIN_CALLS and name not in ("min", "max")}:
        return True
    if case.called & {"min", "max"} and case.grounding.direction is None and not case.grounding.terms:
        return True
    if case.tree.find(exp.If, exp.Window, exp.Case) is not None or case.reads_views or _holds_columns(case):
        return True
    if any(fold(one.literal.name) not in _told(case) and _is_text(case, one.literal) for one in case.compared):
        return True
    return bool(_used(case) - explained(case))


def _holds_columns(case: Case) -> bool:
    """Whether a column that is no key is held against another one, which no term of the glossary explains."""
    told = [set(case.told(term.expression or "")) for term in case.grounding.terms]
    for node in case.tree.find_all(exp.LT, exp.LTE, exp.GT, exp.GTE, exp.EQ, exp.NEQ):
        sides = [case.names.column(side) for side in (node.this, node.expression) if isinstance(side, exp.Column)]
        found = {side for side in sides if side is not None and not case.is_key(side)}
        if len(found) == 2 and not any(found <= one for one in told):
            return True
    return False


def _is_text(case: Case, literal: exp.Literal) -> bool:
    return literal.is_string and not literal.name[:4].isdigit()


def _told(case: Case) -> str:
    values = " ".join(link.value or "" for link in case.grounding.links)
    return fold(f"{case.question} {values} {case.grounding.told}")


def _used(case: Case) -> set[Column]:
    """The real columns that the query names itself, those that only join left out."""
    found = set()
    for node in case.tree.find_all(exp.Column):
        column = case.names.column(node)
        if column is not None and not case.is_key(column) and column not in case.lexicon.naming:
            found.add(column)
    return found


def explained(case: Case) -> set[Column]:
    """The columns that links, terms and times of the question are about."""
    grounding = case.grounding
    found = {(link.table, link.column) for link in grounding.links if link.table and link.column}
    found |= {column for term in grounding.terms for column in case.told(term.expression or "")}
    found |= {column for text in (*grounding.filters, *grounding.expressions) for column in case.told(text)}
    if grounding.periods or grounding.grouping or _LATELY.search(case.question):
        found |= {(one.table, one.column) for one in case.lexicon.date_columns}
    values = {fold(link.value) for link in grounding.values if link.value}
    found |= {
        column
        for one in case.compared
        if (column := case.names.column(one.other)) is not None and fold(one.literal.name) in values
    }
    own = case.said - STOP
    found |= {column for column in _used(case) if own & case.lexicon.column_words.get(column, frozenset())}
    return {(table, column) for table, column in found if table and column}


def _dated(case: Case) -> bool:
    return any((one.table, one.column) in case.columns for one in case.lexicon.date_columns) or any(
        name_of(call) in ("date", "datetime", "now") for call in case.tree.find_all(exp.Anonymous)
    )
