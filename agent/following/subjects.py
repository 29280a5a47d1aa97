"""Follow-ups about what is measured, of what, for each of what, and as a share of what."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent.following.english import Edit, added, agreeing, closed, edited, is_many, plural, same_word, singular, tidy
from agent.following.phrases import (
    AGGREGATE,
    TIMES,
    Group,
    Phrase,
    group_of,
    head,
    is_noun,
    measures,
    often,
    pace_of,
    phrases,
    signature,
    unit_of,
    without,
)
from agent.following.reading import Change, Followup
from agent.linked import Link

_WHAT_IS = r"(?:(?:what|which|how)(?: (?:is|was|were|are)|'s) )?(?:the |their |its )?"

# For each of what

_SPLIT = re.compile(
    r"(?:grouped|broken down|split(?: up)?|divided|separately|separated|breakdown|it|them|that|"
    r"(?:break|group|split) (?:it|them|that)(?: down| up)?) (?=(?:by|per|for)\b)",
    re.IGNORECASE,
)
_BY = re.compile(r"(?:by|each|every|across)\b(?: the)?", re.IGNORECASE)


def grouping(f: Followup) -> Iterator[Change]:
    """`by month instead`, `per country`, `broken down by category`."""
    unit = unit_of(f.text)
    text = f"per {unit}" if unit else _BY.sub("per", _SPLIT.sub("", f.text, count=1), count=1)
    said = f.understand(text).grounding
    group = group_of(said)
    if group is None or group.start != 0 or group.end < len(text):
        return
    if f.kind in {"list", "exists"} or (f.kind == "top_n" and f.was.direction is None):
        return
    if group.link is not None:
        text = f"{text[: group.link.start]}{singular(group.link.text)}"
    named = frozenset() if group.link is None else frozenset({signature(group.link)})
    kinds, free = frozenset({"by_group", "over_time", "top_per_group", "share"}), frozenset({"words"})
    old, pace = group_of(f.was), pace_of(f.was)
    if old is None and pace is not None:
        if group.link is None:
            how = often(text.split()[-1].casefold().rstrip("s"))
            yield Change(edited(f.question, [Edit(pace.start, pace.end, how)]), (), named, kinds, free)
        else:
            text = added(edited(f.question, [Edit(pace.start, pace.end, "")]), text)
            yield Change(text, (), named, kinds, free)
        return
    if old is not None:
        if re.match(r"(?:each|every)\b", f.question[old.start :], re.IGNORECASE):
            if group.link is None:
                return
            text = re.sub(r"\A(?:per|(?:for|in|of|from) (?:each|every))\b", "each", text, flags=re.IGNORECASE)
        gone = (old.link,) if old.link else ()
        yield Change(edited(f.question, [Edit(old.start, old.end, text)]), gone, named, kinds, free)
        return
    over = next((part for part in f.parts if _supersedes(group, text, part)), None)
    base = without(f.question, over) if over else f.question
    yield Change(added(base, text), over.links if over else (), named, kinds, free)


def _supersedes(group: Group, text: str, part: Phrase) -> bool:
    """Whether a restriction goes where all of its kind are asked for: `in Germany` with `per country`."""
    if group.link is None:
        return part.kind == "time" and text.endswith("year") and [k.kind for k in part.links] == ["year"]
    if part.kind != "value":
        return False
    column, value = group.link.column, part.links[0]
    named = value.role == "name" and value.table == group.link.table
    return named or (column is not None and any(c == column for _, c in part.columns))


# Another measure

_AGGREGATE = re.compile(rf"\b(?:{AGGREGATE})\b", re.IGNORECASE)
_AND_THE = re.compile(rf"{_WHAT_IS}(?:on )?(?P<how>{AGGREGATE})(?: (?P<what>[\w ]+))?", re.IGNORECASE)
_NAME_ENDS = re.compile(r" (?:numbers?|names?|address(?:es)?|codes?|dates?|titles?)\b", re.IGNORECASE)
_MEASURED_IN = re.compile(
    rf"(?:in terms of|measured (?:in|by)|by|in|with|for) |{_WHAT_IS}(?:(?:is|was|are|were) )?(?:the )?", re.IGNORECASE
)
_HOW_MUCH = re.compile(r"how much [\w ]*?\b(?:was|were|is|are|did|do|does|have|has)\b", re.IGNORECASE)


def aggregate(f: Followup) -> Iterator[Change]:
    """`and the average?`"""
    match = _AND_THE.fullmatch(f.text)
    measured = measures(f.was)
    if match is None or not measured:
        return
    olds = (m for m in _AGGREGATE.finditer(f.question) if not any(k.start <= m.start() < k.end for k in f.was.chosen))
    old = next(olds, None)
    wanted = next(name for name, said in match.groupdict().items() if said and name not in {"how", "what"})
    if wanted == "total" and group_of(f.was) is not None and old is None:
        return
    if match["what"]:
        named = [k for k in f.said.chosen if k.kind in {"column", "term", "table"}]
        if not named or signature(named[-1]) != signature(measured[0]):
            return
    kinds = frozenset({"sum", "average", "top_n", "by_group", "over_time", "list"})
    free = frozenset({"direction", "limit", "words"})
    spelt = "total" if wanted == "total" else match["how"].lower()
    at = measured[0].start
    if old is not None:
        if old.lastgroup != wanted:
            yield Change(edited(f.question, [Edit(old.start(), old.end(), spelt)]), kinds=kinds, free=free)
    elif re.search(r"\b(?:the|our|is|was) \Z", f.question[:at], re.IGNORECASE):
        yield Change(edited(f.question, [Edit(at, at, f"{spelt} ")]), kinds=kinds, free=free)
    elif _HOW_MUCH.match(f.question) and f.was.direction is None:
        yield from _remade(f, f"What was the {spelt} {measured[0].text}", measured[0], kinds)


def measured(f: Followup) -> Iterator[Change]:
    """`and the freight?`, `in units instead`: what is measured or read off is another."""
    name = _MEASURED_IN.sub("", f.text, count=1)
    how = re.match(rf"(?:{AGGREGATE}) (?=\w)", name, re.IGNORECASE)
    spelt = how[0].lower() if how else ""
    name = re.sub(r"\A(?:the|their|its|his|her|of) ", "", name[len(spelt) :], flags=re.IGNORECASE)
    found = f.understand(name).grounding
    news = measures(found)
    if len(news) != 1 or phrases(found) or head(found) is not None or found.leftover:
        return
    if _stretch(name, news[0]) != (0, len(name)):
        return
    named = frozenset({signature(news[0])})
    kinds = frozenset({"sum", "average", "list", "by_group", "over_time", "top_n", "top_per_group"})
    olds = measures(f.was)
    if len(olds) == 1:
        start, end = _stretch(f.question, olds[0])
        before = list(_AGGREGATE.finditer(f.question[:start]))
        if spelt and before and before[-1].end() + 1 == start:
            start = before[-1].start()
        text = edited(f.question, [Edit(start, end, f"{spelt}{name}")])
        many = is_many(name)
        if re.match(r"what (?:is|are|was|were)\b", text, re.IGNORECASE) and many != is_many(f.question[:end]):
            text = agreeing(text, 0, many=many)
        yield Change(text, (olds[0],), named, kinds, frozenset({"words"}))
    elif not olds and f.kind in {"count", "by_group", "over_time"}:
        opening = spelt or ("" if news[0].role == "aggregate" else "total ")
        yield from _remade(f, f"What was the {opening}{name}", news[0], kinds)


def _stretch(text: str, link: Link) -> tuple[int, int]:
    """A name with the words that go with it but link to nothing: `phone number`."""
    after = _NAME_ENDS.match(text[link.end :])
    return link.start, link.end + (after.end() if after else 0)


def _remade(f: Followup, opening: str, new: Link, kinds: frozenset[str]) -> Iterator[Change]:
    """A question with another opening, and the restrictions and groups of the one before."""
    group, noun = group_of(f.was), head(f.was)
    parts = [part for part in f.parts if part.kind in {"value", "time"}]
    if f.was.comparisons or f.was.negations or any(part.kind == "value" and not part.lead for part in parts):
        return
    kept = [(part.start, part.end) for part in parts] + ([(group.start, group.end)] if group else [])
    tail = " ".join(f.question[start:end] for start, end in sorted(kept))
    if group is None and (pace := pace_of(f.was)):
        tail = f"{tail} per {unit_of(f.question[pace.start : pace.end])}"
    gone = tuple(k for k in f.was.chosen if k.kind not in {"value", *TIMES} and not (group and group.holds(k)))
    named, free = frozenset({signature(new)}), frozenset({"words", "direction", "limit", "tables"})
    timed = any(part.kind == "time" for part in parts)
    another = noun is not None and new.table != noun.table and not is_noun(new) and not (group and group.holds(noun))
    if noun is not None and another and f.kind == "count" and not timed:
        whose = f"the {noun.text}" if is_many(noun.text) else noun.text
        yield Change(tidy(f"{opening} of {whose} {tail}?"), gone, named, kinds, free)
    yield Change(tidy(f"{opening} {tail}?"), gone, named, kinds, free)


# Another subject

_HOW_MANY = re.compile(
    r"(?:how many|(?:the )?(?:number|count) of) (?P<what>[\w ]+?)(?: (?:(?:were|are) there|(?:is|are|was) that|"
    r"did (?:they|we|he|she) (?:place|make|have)))?",
    re.IGNORECASE,
)


def subject(f: Followup) -> Iterator[Change]:
    """`what about suppliers?`, `how many orders instead?`"""
    many = _HOW_MANY.fullmatch(f.text)
    name = many["what"] if many else f.text
    name = re.sub(r"\A(?:(?:for|of|by|which|what|with) )?(?:(?:the|our|all) )?", "", name, flags=re.IGNORECASE)
    new = head(f.understand(name).grounding)
    if new is None or (new.start, new.end) != (0, len(name)):
        return
    named, free = frozenset({signature(new)}), frozenset({"tables", "words"})
    group, old = group_of(f.was), head(f.was)
    nouns = [k for k in f.was.chosen if is_noun(k) and not k.verb and not (group and group.holds(k))]
    if many and f.kind != "count" and measures(f.was):
        kinds = frozenset({"count", "by_group", "over_time"})
        yield from _remade(f, f"How many {plural(name)} were there", new, kinds)
    elif many and f.kind in {"top_n", "by_group", "over_time"} and len(nouns) > 1:
        last = nouns[-1]
        yield Change(edited(f.question, [Edit(last.start, last.end, plural(name))]), (last,), named, free=free)
    elif old is not None and not (group and group.link == old):
        same = [k for k in f.was.chosen if is_noun(k) and not k.verb and k.table == old.table]
        for olds in dict.fromkeys((tuple(same), (old,))):
            edits = [Edit(k.start, k.end, plural(name) if is_many(k.text) else singular(name)) for k in olds]
            yield Change(edited(f.question, edits), olds, named, free=free)


# As a share

_SHARE = re.compile(
    r"(?:(?:what|which|how (?:much|large|big|many)) )?(?:(?:is|are|was) (?:that|this|it|the) )?"
    r"(?:(?:show|give|express|put|have) )?(?:me )?(?:(?:it|that|this|them) )?(?:(?:as|in) )?"
    r"(?:(?:an?|the|what|which) )?"
    r"(?:percentages?|percents?|per cent|shares?|proportion|fraction|%)"
    r"(?: (?:is|are|was) (?:that|this|it|these|those))?"
    r"(?: of (?:(?:all|the|our) )*(?P<of>[\w ]+?))?(?: (?:is|are|was) (?:that|this|it|these|those))?",
    re.IGNORECASE,
)
_WHOLE = frozenset({"", "total", "whole", "all", "overall", "sum", "them", "it"})
_COUNTED = re.compile(r"how many |(?:what (?:is|was) )?the (?:total )?number of ", re.IGNORECASE)


def share(f: Followup) -> Iterator[Change]:
    """`as a percentage`, `what share is that?`"""
    match = _SHARE.fullmatch(f.text)
    if match is None or f.kind in {"share", "list", "top_n", "missing", "exists"}:
        return
    noun, group, of = head(f.was), group_of(f.was), (match["of"] or "").casefold()
    if of not in _WHOLE and not (noun is not None and same_word(of, noun.text)):
        return
    parted = group is not None or f.kind in {"by_group", "having", "over_time"}
    if not parted and not f.was.negations and all(part.kind in {"limit", "number"} for part in f.parts):
        return
    kinds, free = frozenset({"share"}), frozenset({"words"})
    how_many = _COUNTED.match(f.question)
    if how_many and not parted:
        yield Change(f"What percentage of {f.question[how_many.end() :]}", kinds=kinds, free=free)
    yield Change(closed(f.question, ", as a percentage of the total"), kinds=kinds, free=free)
