"""Follow-ups that name values, times, numbers and conditions: replaced where one of the kind stands, else added."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from agent.following.english import Edit, added, edited, is_many, plural, same_word
from agent.following.phrases import (
    TIMES,
    UNITS,
    Phrase,
    group_of,
    head,
    is_noun,
    phrases,
    signature,
    without,
)
from agent.following.reading import ASKED, Change, Followup, Places, Signature
from agent.linked import Link
from agent.nationalities import adjective_of
from agent.wording import name_tokens, words

FILLER = words(
    """and or but also now then ok please what about how same thing the those these this that ones one only just them
    they it its for in of me show give get list see do to from with who which where is are was were be been so a an
    too if we you i want would like located living based placed made happened all our my there their at on by year
    month day limit restrict filter narrow down keep many much rather again question not except excluding without
    outside other than apart any came come went lives live s"""
)
"""Little words that a follow-up may hold beside what it names."""

_PLACES = frozenset(
    token.stem
    for token in name_tokens(
        "country city town region state nation land location place county district province village territory continent"
    )
)
_QUOTES = "\"'\u2018\u201c"


def literal(f: Followup) -> Iterator[Change]:
    """Each phrase takes the place of one of its kind, else it is added where the question can hold it."""
    if not f.phrases or not _only_filler(f):
        return
    work = _Replacing(f)
    for one in f.phrases:
        if not work.take(one):
            return
    texts = [work.text]
    for one in work.added:
        texts = [text for before in texts for text in _spots(before, one, f)]
    wanted = (*work.columns, *_wanted(work.added, f))
    for columns in dict.fromkeys((wanted, tuple(work.columns))):
        for text in texts:
            free = frozenset(work.free)
            yield Change(text, tuple(work.gone), kinds=work.kinds, free=free, columns=columns, denied=work.denied)


@dataclass
class _Replacing:
    """The work of one `literal`: what is replaced in the question before, and what is left to be added."""

    f: Followup
    edits: list[Edit] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    gone: list[Link] = field(default_factory=list)
    columns: list[tuple[Signature, Places]] = field(default_factory=list)
    added: list[Phrase] = field(default_factory=list)
    free: set[str] = field(default_factory=set)
    kinds: frozenset[str] = frozenset()
    denied: int = 0

    @property
    def text(self) -> str:
        text = edited(self.f.question, self.edits)
        for phrase in self.late:
            text = added(text, phrase)
        return text

    def take(self, one: Phrase) -> bool:
        """Find the place of a phrase; False where it may be several, or none can be."""
        slots = _slots(self.f, one)
        if not slots and self._take_for_group(one):
            return True
        if one.kind == "condition" and slots and not _is_told(slots[0], self.f):
            return False
        if len(slots) > 1 or (not slots and one.kind in {"limit", "number"}):
            return False
        if not slots:
            self.added.append(one)
            self.free |= {"comparisons"} if one.kind == "compared" else set()
            self.denied += one.excludes
            self.kinds |= {"missing"} if one.excludes else {"having"} if one.kind == "compared" else set()
            return True
        slot = slots[0]
        if len(slot.links) > len(one.links) and self.f.kind in {"compare", "both", "missing"}:
            return False
        if self.f.beside:
            if one.kind not in {"value", "time"}:
                return False
            self.edits.append(Edit(slot.end, slot.end, f" {self.f.beside} {_stored(one)}"))
            return True
        self.gone += slot.links
        if one.kind == "time":
            edit, late = _time_in(slot, one)
            self.late += [late] if late else []
        elif one.kind == "value":
            edit = _value_in(slot, one, self.f.question)
            places = _places(slot)
            self.columns += [(signature(link), places) for link in one.links if places & one.columns]
        elif one.kind == "condition":
            edit = Edit(slot.at, slot.end, one.text)
        else:
            edit = _number_in(slot, one, self.f)
            self.free |= {"limit"} if slot.kind == "limit" or slot.kind != one.kind else set()
            self.free |= {"comparisons"} if slot.kind != one.kind else set()
        self.edits.append(edit)
        return True

    def _take_for_group(self, one: Phrase) -> bool:
        """`of each employee` and the name of one: that one's is asked for."""
        group = group_of(self.f.was)
        named = one.kind == "value" and one.links[0].role == "name" and not one.excludes
        if not named or group is None or group.link is None or group.link.table != one.links[0].table:
            return False
        self.gone.append(group.link)
        self.edits.append(Edit(group.start, group.end, f"of {_stored(one)}"))
        self.kinds |= {"sum", "average", "count", "list"}
        return not re.match(r"(?:each|every)\b", self.f.question[group.start :], re.IGNORECASE)


def _is_told(condition: Phrase, f: Followup) -> bool:
    """Whether a condition stands behind `are` or before the noun, so that another can stand there."""
    noun = head(f.was)
    before_noun = noun is not None and noun.start == condition.end + 1
    return before_noun or re.search(r"\b(?:is|are|was|were|be|been) \Z", f.question[: condition.at]) is not None


def _only_filler(f: Followup) -> bool:
    """Whether nothing is said beside the phrases but little words and the noun that is asked about anyway."""
    subject = head(f.was)
    asked = re.match(rf"{ASKED}\b", f.rest, re.IGNORECASE)
    if asked and not f.question.casefold().startswith(asked[0].casefold()):
        return False
    same = {k.text.casefold() for k in f.said.chosen if subject is not None and _means(k, subject)}
    return all(
        word.casefold() in FILLER | same or (subject is not None and same_word(word, subject.text))
        for word in re.findall(r"\w+", f.rest)
    )


def _means(link: Link, subject: Link) -> bool:
    """Whether a name is another word for the noun that is asked about: `companies` for customers."""
    return link.table == subject.table and (is_noun(link) or (link.kind == "column" and link.quality == "part"))


def _slots(f: Followup, one: Phrase) -> list[Phrase]:
    """The phrases of the question before that a new one may take the place of."""
    parts = [part for part in f.parts if part.excludes == one.excludes]
    if one.kind == "condition":
        return [part for part in parts if part.kind == "condition" and not f.narrows]
    if one.kind in {"time", "compared"}:
        return [part for part in parts if part.kind == one.kind]
    if one.kind in {"limit", "number"}:
        return [part for part in parts if part.kind in {"compared", "limit", "number"}]
    values = [part for part in parts if part.kind == "value"]
    same = [part for part in values if _stands_in(part, one, f)]
    if same or f.narrows or one.excludes:
        return same
    tables = {table for table, _ in one.columns}
    near = [part for part in values if is_place(part) and is_place(one) and part.links[0].table in tables]
    names = [part for part in values if part.links[0].role == one.links[0].role == "name"]
    return near or [part for part in names if part.lead and part.lead == one.lead]


def _stands_in(slot: Phrase, one: Phrase, f: Followup) -> bool:
    """Whether a value is one of the column of a slot. Alone it may link to less than it does in its place."""
    places = _places(slot)
    if places & one.columns:
        return True
    placed = f.understand(edited(f.question, [_value_in(slot, one, f.question)])).grounding
    return any(signature(k) in one.literals and (k.table, k.column) in places for k in placed.values)


def _places(phrase: Phrase) -> Places:
    return frozenset((link.table or "", link.column or "") for link in phrase.links)


def is_place(phrase: Phrase) -> bool:
    """Whether a value may stand in a column that says where."""
    return any({token.stem for token in name_tokens(column)} & _PLACES for _, column in phrase.columns)


# In the place of another


def _time_in(slot: Phrase, one: Phrase) -> tuple[Edit, str]:
    """The edit that puts another time into the place of one, and what is to be added at the end instead, or `""`."""
    new_is_plain, old_is_plain = one.links[0].start == one.at, slot.links[0].start == slot.at
    said = _bare(one.lead)
    if new_is_plain and old_is_plain:
        alike = {link.kind for link in slot.links} == {link.kind for link in one.links}
        if not slot.lead or (alike and said in {"", "in", "on", "for", "during", "of"}):
            return Edit(slot.at, slot.end, one.text), ""
    elif new_is_plain and not one.lead and len(slot.links) == 1:
        return Edit(slot.links[0].start, slot.links[0].end, one.text), ""
    if slot.lead or not old_is_plain:
        return Edit(slot.start, slot.end, _tied_time(one)), ""
    return Edit(slot.at, slot.end, ""), _tied_time(one)


def _tied_time(one: Phrase) -> str:
    """A time with its preposition: `in the first quarter of 1997`, `on 1997-03-05`, `after 1996`."""
    if one.links[0].start != one.at:
        return f"but not {one.text}" if one.excludes else one.text
    if one.excludes:
        return f"but not {'on' if one.links[0].kind == 'date' else 'in'} {one.text}"
    said = _bare(one.lead)
    lead = said if said in {"in", "on", "during", "within"} else "on" if one.links[0].kind == "date" else "in"
    article = re.match(r"(?:first|second|third|fourth|last|[1-4]\w\w) ", one.text, re.IGNORECASE)
    return f"{lead} {'the ' if article else ''}{one.text}"


def _bare(lead: str) -> str:
    """A lead without what joins it and without articles.

    >>> _bare("but in the")
    'in'
    """
    return " ".join(re.sub(r"\b(?:but|and|or|the|our|a|an|all)\b", " ", lead.casefold()).split())


def _stored(phrase: Phrase) -> str:
    """The literal with each value as it is stored."""
    text = phrase.text
    for link in reversed(phrase.links):
        start, end = link.start - phrase.at, link.end - phrase.at
        text = f"{text[:start]}{link.value}{text[end:]}" if link.value and start >= 0 else text
    return text


def _named(phrase: Phrase) -> str:
    """The literal as it is stored, with the article of a place that was said with one: `the UK`."""
    article = is_place(phrase) and re.search(r"\bthe\Z", phrase.lead, re.IGNORECASE)
    return f"{'the ' if article else ''}{_stored(phrase)}"


def _value_in(slot: Phrase, one: Phrase, question: str) -> Edit:
    """The edit that puts a value into the place of another, in the form that the other has there."""
    led = slot.lead and not re.search(r"\bthe\Z", slot.lead, re.IGNORECASE)
    text = _named(one) if led else _stored(one)
    old = slot.links[0]
    if len(slot.links) == 1 and old.value and old.text.casefold() != old.value.casefold():
        if not slot.lead and len(one.links) == 1:
            text = adjective_of(text) or text
        if is_many(old.text) and same_word(old.text, old.value) and not is_many(old.value):
            text = plural(text)
    if not slot.lead and slot.text[:1] in _QUOTES and text[:1] not in _QUOTES:
        text = f"{slot.text[0]}{text}{slot.text[-1]}"
    if article := re.search(r"\b(?P<a>an?) \Z", question[: slot.at], re.IGNORECASE):
        return Edit(article.start("a"), slot.end, f"{'an' if text[:1].casefold() in 'aeiou' else 'a'} {text}")
    return Edit(slot.at, slot.end, text)


def _number_in(slot: Phrase, one: Phrase, f: Followup) -> Edit:
    """The edit that puts a number into the place of another; `more than` stays where it is said again."""
    if one.kind == slot.kind == "compared":
        old = next(c for c in f.was.comparisons if c.start == slot.start)
        new = next(c for c in f.said.comparisons if c.start == one.start)
        if old.operator != new.operator or old.operator == "between" or old.text[:1] in "<>=":
            return Edit(slot.start, slot.end, f.text[one.start : one.end])
    return Edit(slot.links[0].start, slot.links[0].end, one.links[0].text)


# Where nothing of the kind stands


def _wanted(new: Sequence[Phrase], f: Followup) -> tuple[tuple[Signature, Places], ...]:
    """Values added should stand in the table that is asked about, where it can hold them."""
    subject = head(f.was)
    found: list[tuple[Signature, Places]] = []
    for one in new:
        here = frozenset(place for place in one.columns if subject is not None and place[0] == subject.table)
        found += [(signature(link), here) for link in one.links if one.kind == "value" and here]
    return tuple(found)


def _spots(text: str, one: Phrase, f: Followup) -> Iterator[str]:
    """The question with a phrase added, where it may stand, the likeliest first."""
    asked = f.understand(text).grounding
    noun = head(asked)
    if one.kind == "condition" and one.excludes:
        be = "are" if noun is None or is_many(noun.text) else "is"
        if noun is not None:
            yield edited(text, [Edit(noun.end, noun.end, f" that {be} not {one.text}")])
        yield added(text, f"that {be} not {one.text}")
        return
    if one.kind == "condition":
        if noun is not None:
            whole = same_word(one.text.split()[-1], noun.text)
            yield edited(text, [Edit(noun.start, noun.end if whole else noun.start, f"{one.text} ")])
            be = "are" if is_many(noun.text) else "is"
            yield edited(text, [Edit(noun.end, noun.end, f" that {be} {one.text}")])
        yield added(text, one.text)
        return
    for phrase in _ties(one, f, noun):
        if noun is None or one.kind == "time":
            yield added(text, phrase)
            continue
        behind = next((p for p in phrases(asked) if p.start == noun.end + 1 and p.kind == "value"), None)
        at = behind.end if behind else noun.end
        both = added(text, phrase), edited(text, [Edit(at, at, f" {phrase}")])
        told_apart = asked.direction is not None or asked.negations or asked.comparisons
        own = noun.table in {table for table, _ in one.columns} or asked.negations
        crowded = is_place(one) and any(is_place(p) and not p.excludes for p in phrases(asked))
        early = (told_apart and own) or (crowded and not one.excludes)
        yield from reversed(both) if early else both


def _ties(one: Phrase, f: Followup, noun: Link | None) -> Iterator[str]:
    """A phrase with words that tie it to a question in which nothing of the kind stands, the likeliest first."""
    lead = _bare(one.lead)
    if one.kind == "time":
        yield _tied_time(one)
    elif one.kind == "compared":
        amounts = {signature(k): k.text for k in f.was.chosen if k.role in {"amount", "measure"}}
        for text in amounts.values() if len(amounts) == 1 else ():
            yield f"with {'an' if text[0].casefold() in 'aeiou' else 'a'} {text} {one.text}"
    elif one.excludes:
        inner = re.search(r"\b(?:in|from|for|of|to|by)\b", lead)
        if lead.startswith("not"):
            yield f"but not {inner[0] if inner else 'in' if is_place(one) else 'for'} {_named(one)}"
        yield f"except {f'{inner[0]} ' if inner and is_place(one) else ''}{_named(one)}"
    else:
        if re.sub(r"\b(?:with|for|of|about)\b", "", lead).strip():
            yield f"{lead} {_named(one)}"
        elif is_place(one):
            yield f"in {_named(one)}"
            yield f"from {_named(one)}"
        elif one.links[0].role == "name":
            yield f"{lead if lead in {'of', 'for', 'with'} else 'for'} {_named(one)}"
        else:
            for column in dict.fromkeys(c for t, c in sorted(one.columns) if noun is None or t == noun.table):
                yield f"with {' '.join(t.text.lower() for t in name_tokens(column))} {_named(one)}"
        yield f"for {_named(one)}"


# The time before or after


_SHIFTED = re.compile(
    r"(?:(?:in|for|of|during) )?(?:the )?(?:(?:same )?(?P<unit>year|month|quarter) (?P<way>before|after|earlier|later)|"
    r"(?P<way_first>previous|prior|preceding|next|following|last) (?P<unit_last>year|month|quarter)|"
    r"(?:a|one) (?P<unit_one>year|month|quarter) (?P<way_one>earlier|later|before|after))(?: that)?",
    re.IGNORECASE,
)
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)


_WHOLE_YEAR = re.compile(r"(?:(?:in|for|over|of) )?(?:the|that) (?:whole|entire|full|complete) year", re.IGNORECASE)


def shifted(f: Followup) -> Iterator[Change]:
    """`and the year before?`"""
    match = _SHIFTED.fullmatch(f.text)
    year = _WHOLE_YEAR.fullmatch(f.text)
    times = [part for part in f.parts if part.kind == "time"]
    if not (match or year) or len(times) != 1 or len(times[0].links) != 1:
        return
    link = times[0].links[0]
    if match is None:
        if (
            link.kind != "year"
            and link.value
            and len(link.value) > len("12")
            and times[0].links[0].start == times[0].at
        ):
            text = edited(f.question, [Edit(times[0].start, times[0].end, f"in {link.value[:4]}")])
            yield Change(text, (link,), frozenset({("time", link.value[:4])}))
        return
    unit = (match["unit"] or match["unit_last"] or match["unit_one"]).lower()
    way = (match["way"] or match["way_first"] or match["way_one"]).lower()
    step = 1 if way in {"after", "later", "next", "following"} else -1
    if found := moved(link.value or "", unit, step):
        text = edited(f.question, [Edit(link.start, link.end, found[0])])
        yield Change(text, (link,), frozenset({("time", found[1])}))


def moved(value: str, unit: str, step: int) -> tuple[str, str] | None:
    """A time moved by a unit, as people write it and as it is linked; None where the unit is finer than the time.

    >>> moved("1997", "year", -1), moved("1997-01", "month", -1), moved("1997-Q4", "quarter", 1)
    (('1996', '1996'), ('December 1996', '1996-12'), ('Q1 1998', '1998-Q1'))
    """
    if re.fullmatch(r"\d{4}", value) and unit == "year":
        year = str(int(value) + step)
        return year, year
    if month := re.fullmatch(r"(\d{4})-(\d\d)", value):
        at = int(month[1]) * 12 + int(month[2]) - 1 + step * {"year": 12, "quarter": 3, "month": 1}[unit]
        return f"{_MONTHS[at % 12]} {at // 12}", f"{at // 12}-{at % 12 + 1:02d}"
    if (quarter := re.fullmatch(r"(\d{4})-Q(\d)", value)) and unit != "month":
        at = int(quarter[1]) * 4 + int(quarter[2]) - 1 + step * (4 if unit == "year" else 1)
        return f"Q{at % 4 + 1} {at // 4}", f"{at // 4}-Q{at % 4 + 1}"
    return None


# Taking a restriction out, and adding one in words of its own


_WIDER = re.compile(
    r"(?:(?:for|in|of|over|across) )?(?:all|any|every|each and every) (?:the |our )?(?P<what>[\w ]+?)(?: together)?|"
    r"(?:regardless of|no matter|without|ignore|ignoring|drop|remove) (?:the |which )?(?P<dropped>[\w ]+?)"
    r"(?: (?:filter|restriction|limit|part))?|"
    r"(?P<over>overall|in total|altogether|in general)|(?P<where>everywhere|worldwide)|(?P<when>all time|ever)",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"(?:(?:the|those|these|all) )?(?:ones? |those |(?P<noun>\w+) )?(?P<clause>(?:with|without|that|who|which|whose|"
    r"where|having|costing|cheaper|older|younger|heavier|longer|shorter|from|ordered|placed|shipped|bought|sold|living|"
    r"located|hired|born|(?!(?:sort|rank|group|arrang|order)ed\b)\w+ed(?= (?:by|in|to|from|on|at|after|before)\b)|"
    r"(?:for|of|to|in|on)(?= \w+ \w))\b.+)",
    re.IGNORECASE,
)


def wider(f: Followup) -> Iterator[Change]:
    """`for all years`: the only restriction of that kind is taken out."""
    match = _WIDER.fullmatch(f.text)
    if match is None:
        return
    what = (match["what"] or match["dropped"] or "").casefold()
    named = {token.stem for token in name_tokens(what)}
    times = [part for part in f.parts if part.kind == "time"]
    values = [part for part in f.parts if part.kind == "value"]
    if match["when"] or re.fullmatch(rf"{UNITS}s?|times?|dates?|periods?", what):
        out = times
    elif match["over"]:
        out = [*times, *values]
    elif match["where"]:
        out = [part for part in values if is_place(part)]
    else:
        out = [part for part in values if any(named <= _stems(*place) for place in part.columns)]
    if len(out) == 1:
        free = frozenset({"tables", "negations"} if out[0].excludes else {"tables"})
        yield Change(without(f.question, out[0]), out[0].links, free=free, unsaid=True)


def _stems(table: str, column: str) -> set[str]:
    return {token.stem for token in name_tokens(f"{table} {column}")}


def clause(f: Followup) -> Iterator[Change]:
    """`only those with more than 10 orders`: a restriction in words of its own."""
    match = _CLAUSE.fullmatch(f.text)
    noun = head(f.was)
    if match is None or (match["noun"] and not (noun and same_word(match["noun"], noun.text))):
        return
    text = match["clause"]
    first, _, then = text.partition(" ")
    if first.casefold() in {"which", "who"} and any(k.start == 0 for k in f.understand(then).grounding.chosen):
        return
    said = f.understand(text).grounding
    if text.casefold().startswith("ordered by ") and not said.values:
        return  # that says how to sort
    if said.leftover or not any(k.table or k.kind in {"number", *TIMES} for k in said.chosen):
        return
    if noun is not None and re.match(r"(?:cheaper|older|younger|heavier|longer|shorter)\b", text, re.IGNORECASE):
        text = f"that {'are' if is_many(noun.text) else 'is'} {text}"
    named = frozenset(signature(k) for k in said.chosen if not k.verb)
    kinds = frozenset({"having", "missing", "list", "versus_average"})
    free = frozenset({"negations", "comparisons"})
    if noun is not None:
        behind = next((p for p in f.parts if p.start == noun.end + 1 and p.kind == "value"), None)
        at = behind.end if behind else noun.end
        yield Change(edited(f.question, [Edit(at, at, f" {text}")]), (), named, kinds, free)
    yield Change(added(f.question, text), (), named, kinds, free)
