"""What a question links to in one database: names, values, terms, times, numbers, and the joins between them."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from itertools import pairwise

from agent.asides import asked
from agent.choosing import Choice
from agent.cues import COUNTERS, superlative
from agent.database.schema import Schema
from agent.keys import KeyGraph, qualified
from agent.linked import Comparison, Direction, Evidence, Grounding, Link, Role, first_of
from agent.linking import Lexicon, Meaning, Quality
from agent.periods import Moment, Period, filter_sql, grain_of, grouping_sql, moments, periods
from agent.quantities import (
    comparisons,
    digits,
    is_excluded,
    is_magnitude,
    is_still_to_come,
    is_unit,
    negations,
    number_of,
    offset,
    superlatives,
)
from agent.spelling import respelt
from agent.wording import (
    AT_LEAST,
    COMMON,
    FOREIGN,
    KOREAN,
    LESS_THAN,
    LOWEST,
    MORE_THAN,
    QUOTED,
    STOP,
    SUPERLATIVE,
    Token,
    is_plural,
    words,
)

__all__ = ["Comparison", "Evidence", "Grounding", "Lexicon", "Link", "ground", "narrow"]

_HELD_AGAINST = re.compile(
    r"\b(?:ratio|divided by|versus|vs|compar\w+|side by side|next to (?:each other|one another)|as many|"
    r"difference|more|fewer)\b",
    re.IGNORECASE,
)
_NEW_SENTENCE = re.compile(r"[?.!;]\s")
_GO_BY = re.compile(r"\b(?:by|of|per|on|in|count\w*|us(?:e|ing)|mean\w*)\b", re.IGNORECASE)
_ENDS = (
    ("lowest|smallest|cheapest|minimum|min|fewest|least", "highest|largest|biggest|dearest|maximum|max|most"),
    ("first|earliest|oldest", "last|latest|newest|youngest|most recent(?:ly)?"),
    ("shortest|slowest|worst", "longest|fastest|best"),
)
_BETWEEN_ENDS = r"\b(?:\s*,)?\s+(?:[\w-]+,?\s+){0,6}?(?:and|or|,)\s+(?:[\w-]+\s+){0,5}?"
_BOTH_ENDS = re.compile(
    "|".join(
        rf"\b(?:{one}){_BETWEEN_ENDS}(?:{other})\b(?! names?\b)"
        for low, high in _ENDS
        for one, other in ((low, high), (high, low))
    ),
    re.IGNORECASE,
)
"""`the lowest and the highest`: two figures are asked for, not one row."""
_KEY_WORD = words("number no nr id code")
_ORDINAL_END = words("st nd rd th")
_DONE_AT = words(
    "placed made came taken took sent sold bought went received got given dated begun began born left shipped"
)
_NEAR_VERB = 4
_HOW_MANY = "\uba87"
_TAKEN_AS_ROWS = 4
_TIME_LEADS = words("in on at during since last this until by from over within about some around there we only")
_ASKING = words("which what who list show give name find tell display return get top best")
_TELLING = words("was were are is had has have did came went left died got began took stayed arrived")
_BARE_YEAR = re.compile(r"\d\d")
_ROUND_YEAR = re.compile(r"\d\d00")
_HELD = re.compile(
    rf"\b(?:(?P<over>over)|{MORE_THAN}|{LESS_THAN}|{AT_LEAST})\s+(?:a\s+)?[$\u20ac\u00a3]?\s?\Z", re.IGNORECASE
)
_BEFORE_YEAR = re.compile(r"(?P<said>\w+(?:ed|ing))\s+(?:in|from|before|after|until|since)\s+\Z", re.IGNORECASE)
_BETWEEN_YEARS = re.compile(r"\s*(?:,|and|or|to|until|-|\u2013)\s*(?:in\s+)?")
_YEARS_AROUND = 5
"""Years past the first and last date of a database in which two digits are still read as a year."""
_TYPED_WORD_LIMIT = 3


def ground(question: str, lexicon: Lexicon) -> Grounding:
    """Link a question to the database behind the lexicon. Pure, and never raises for what a person types.

    The `question` of what comes out is the one that was read: everyday words that were mistyped are mended in it, and
    greetings and what only leads to the asking are left out. All offsets are into it.
    """
    spelt = respelt(question, lexicon.edits)
    read = _Reading(asked(spelt, lexicon.kinds_in), lexicon)
    if read.choice.anchors or read.question == spelt:
        return read.grounding()
    return _Reading(spelt, lexicon).grounding()


def narrow(schema: Schema, grounding: Grounding, limit: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Choose the tables to show in full, at most `limit` (linked ones always); the second part is only named.

    Linked tables come first, then their neighbours over the keys, ring by ring. Both parts are in schema order.
    """
    if len(schema.tables) <= limit:
        return tuple(table.name for table in schema.tables), ()
    keys = KeyGraph(schema)
    shown = list(grounding.tables)
    for name in shown:
        for near in keys.neighbours(name):
            if len(shown) < limit and near not in shown:
                shown.append(near)
    kept = set(shown)
    return keys.in_order(kept), tuple(table.name for table in schema.tables if table.name not in kept)


class _Reading:
    """The work of one `ground`: each step adds to what the steps before found."""

    def __init__(self, question: str, lexicon: Lexicon) -> None:
        self.question = question
        self.lexicon = lexicon
        self.words = lexicon.read(question)
        self.moments: tuple[Moment, ...] = self._times(moments(question)) if lexicon.date_columns else ()
        self.comparisons = comparisons(question, dated=[(m.start, m.end) for m in self.moments])
        self.quotes = [self._quote(match) for match in QUOTED.finditer(question)]
        taken = {place for place, word in enumerate(self.words) if _inside(word, self.moments)}
        spans = lexicon.spans(self.words, taken=taken, quotes=[(a, b) for a, b, _, _ in self.quotes if a < b])
        self.spans = spans
        self.choice = Choice(self.words, spans, lexicon)
        self.glossed: list[tuple[int, int]] = []
        self._drop_glossed()
        self.linked = [self._offsets(place) for place in self.choice.chosen]

    def grounding(self) -> Grounding:
        lexicon, choice, dialect = self.lexicon, self.choice, self.lexicon.schema.dialect
        place, limit, direction = self._limit()
        numbers = self._numbers(place)
        found = periods(self.question, self.moments)
        grain = grain_of(self.question)
        dated = self._date_column(found) if found or grain else None
        if dated is not None:
            choice.anchor(dated[0])
        named = lexicon.keys.in_order(choice.anchors)
        held_against = _HELD_AGAINST.search(self.question) is not None
        tables, joins = (named, ()) if choice.side_by_side(held_against=held_against) else lexicon.keys.connect(named)
        links = self._links(numbers)
        values = tuple(link for link in first_of(links) if link.kind == "value" and link.table)
        keyed = (link for link in numbers if link.column)
        filters = [self._condition(link) for link in (*values, *keyed)]
        filters += [filter_sql(period, *dated, dialect) for period in found if dated is not None]
        leftover = self._leftover(links)
        places = [m.term for at in sorted(choice.chosen) for m in choice.chosen[at][:1] if m.term is not None]
        terms = tuple(lexicon.glossary[at] for at in dict.fromkeys(places))
        said = [lexicon.glossary[at].expression for at in places if lexicon.term_classes[at] != "entity"]
        return Grounding(
            question=self.question,
            links=links,
            named=named,
            tables=tables,
            joins=tuple(join.sql(dialect) for join in joins),
            terms=terms,
            values=values,
            periods=found,
            date_column=dated,
            comparisons=self.comparisons,
            direction=direction,
            limit=limit,
            negations=negations(self.question),
            leftover=leftover,
            filters=tuple(dict.fromkeys(filters)),
            expressions=tuple(dict.fromkeys(expression for expression in said if expression)),
            grouping=grouping_sql(grain, *dated, dialect) if grain and dated else None,
            evidence=self._evidence(links, leftover, found if dated else ()),
            english=self._english(links),
            grain=lexicon.keys.grain(tables),
            offset=offset(self.question) if direction else None,
        )

    def _quote(self, match: re.Match[str]) -> tuple[int, int, int, int]:
        """A quoted stretch as places of words and as offsets, the marks not included."""
        start, end = next(match.span(name) for name, text in match.groupdict().items() if text is not None)
        inside = [place for place, word in enumerate(self.words) if start <= word.start and word.end <= end]
        return (inside[0], inside[-1] + 1, start, end) if inside else (0, 0, start, end)

    def _drop_glossed(self) -> None:
        """Take out what is said again in brackets right behind: the `\ub3c5\uc77c` of `\ub3c5\uc77c(Germany)`."""
        places = sorted(self.choice.chosen, key=lambda place: self.spans[place].first)
        for place, after in pairwise(places):
            end, start = self._offsets(place)[1], self._offsets(after)[0]
            one, other = self.choice.chosen[place], self.choice.chosen[after]
            said = {(m.table, m.column, m.value) for m in one}
            again = any((m.table, m.column, m.value) in said for m in other)
            if again and one[0].column and self.question[end:start].strip() == "(":
                del self.choice.chosen[place]
                self.glossed.append(self._offsets(place))

    # Numbers and times

    def _times(self, found: Sequence[Moment]) -> tuple[Moment, ...]:
        """Times without numbers that are amounts: two bare digits, `from 70 to 85`, where people are aged so or where
        no date of the database comes near; and four that something is held against, `a price above 2000`."""
        kept: list[Moment] = []
        amount: Moment | None = None
        for moment in found:
            if self._is_held(moment):
                continue
            bare = moment.grain == "year" and _BARE_YEAR.fullmatch(moment.text) is not None
            goes_on = amount is not None and _BETWEEN_YEARS.fullmatch(self.question, amount.end, moment.start)
            if bare and (goes_on or self._is_amount(moment)):
                amount = moment
            else:
                kept.append(moment)
        return tuple(kept)

    def _is_held(self, moment: Moment) -> bool:
        """Whether four digits are a number that something is held against; over a year something may last."""
        if moment.grain != "year" or not moment.text.isdigit():
            return False
        held = _HELD.search(self.question[: moment.start])
        return held is not None and (held["over"] is None or _ROUND_YEAR.fullmatch(moment.text) is not None)

    def _is_amount(self, moment: Moment) -> bool:
        first, last = (int(end[:4]) if end and end[:4].isdigit() else None for end in self.lexicon.date_range)
        year = int(moment.value)
        if (first is not None and year < first - _YEARS_AROUND) or (last is not None and year > last + _YEARS_AROUND):
            return True
        before = _BEFORE_YEAR.search(self.question[: moment.start])
        if before is None:
            return False
        said = {word.stem for word in self.words if word.start == before.start("said")}
        return any(said == self.lexicon.column_words[column] for column in self.lexicon.amounts)

    def _limit(self) -> tuple[int | None, int | None, Direction | None]:
        """The place of the word that limits the rows, the limit, and the direction of the first superlative."""
        free = [
            m
            for m in superlatives(self.question)
            if not _covered(m.start(), self.linked, but_for=self._extremes()) and not self._timed(m.start())
        ]
        extreme = free[0] if free else None
        direction: Direction | None = None
        other = None if extreme else superlative(self.question)
        if extreme is not None:
            direction = "low" if extreme[0].lower() in LOWEST else "high"
        elif other is not None:
            direction = "low" if other[1] == "low" else "high"
        for place, word in enumerate(self.words):
            number = number_of(word)
            if number is None or not number.isdigit() or self._busy(word):
                continue
            ahead = self.words[place + 1 : place + 1 + _TAKEN_AS_ROWS]
            if ahead and (is_unit(ahead[0]) or (ahead[0].start == word.end and ahead[0].folded in _ORDINAL_END)):
                continue
            if self._is_told(place):
                continue
            leads = place > 0 and re.fullmatch(SUPERLATIVE, self.words[place - 1].folded) is not None
            followed = any(re.fullmatch(SUPERLATIVE, other.folded) for other in ahead[:2])
            counted = any(self._plural_at(place + 1 + step) for step in range(len(ahead)))
            alone = extreme is None and any(self.spans[at].first < place for at in self.choice.chosen)
            beside = bool(ahead) and (word.kind == "other" or ahead[0].start == word.end)
            behind = beside and ahead[0].text.startswith(COUNTERS)
            behind = behind or self._names_a_table(place + 1)
            if leads or followed or (counted and not alone) or (other is not None and (behind or counted)):
                return place, int(number), direction
        if _BOTH_ENDS.search(self.question):
            return None, None, None
        if extreme is None:
            return None, 1 if other is not None else None, direction
        return None, None if self._asks_for_several(extreme) else 1, direction

    def _extremes(self) -> set[int]:
        """Where measures begin that ask for an end themselves: the `best sellers` of all goods are those sold most."""
        measures = (at for at, m in self.choice.chosen.items() if m[0].kind == "term" and self.lexicon.is_measure(m[0]))
        return {self._offsets(at)[0] for at in measures}

    def _is_told(self, place: int) -> bool:
        """Whether a number counts the subject of what is told: `45 patients were admitted`, `50 patients came`."""
        here = self.words[place]
        first = max((m.end() for m in _NEW_SENTENCE.finditer(self.question, 0, here.start)), default=0)
        before = [word.folded for word in self.words if first <= word.start < here.start]
        last = _NEW_SENTENCE.search(self.question, here.end)
        behind = [w for w in self.words[place + 1 :] if last is None or w.start < last.start()]
        at = next((step for step, word in enumerate(behind[:_TAKEN_AS_ROWS]) if is_plural(word.folded)), None)
        if at is None or at + 1 >= len(behind) or (before and before[0] not in _TIME_LEADS):
            return False
        if any(re.fullmatch(SUPERLATIVE, word.folded) for word in behind) or set(before) & _ASKING:
            return False
        verb = behind[at + 1].folded
        return verb in _TELLING or (bool(before) and verb.endswith("ed"))

    def _asks_for_several(self, extreme: re.Match[str]) -> bool:
        """`best customers`, `which products … the most`: several rows, how many is not said."""
        after = [place for place, word in enumerate(self.words) if word.start >= extreme.end()][:3]
        if any(a == extreme.start() and is_plural(self.question[a:b].split()[-1].lower()) for a, b in self.linked):
            return True
        counts = extreme[0].lower() in {"most", "fewest", "least"}
        for place in after:
            if self.words[place].folded in {"number", "amount", "value", "sum", "total", "count", "quantity"}:
                counts = True
        if not counts and any(self._plural_at(place) for place in after):
            return True
        asked = [
            place for place, word in enumerate(self.words) if word.folded in {"which", "what", "who", "list", "show"}
        ]
        return any(self._plural_at(place + 1) for place in asked if self.words[place].start < extreme.start())

    def _busy(self, word: Token) -> bool:
        """Whether a number is already spoken for by a time, a comparison or a linked stretch."""
        compared = [(c.start, c.end) for c in self.comparisons]
        return _covered(word.start, compared) or _covered(word.start, self.linked) or self._timed(word.start)

    def _timed(self, at: int) -> bool:
        return any(moment.start <= at < moment.end for moment in self.moments)

    def _plural_at(self, place: int) -> bool:
        """Whether a plural name of a table or column stands at a place."""
        for at, span in enumerate(self.spans):
            if at in self.choice.chosen and span.first <= place < span.last:
                meaning = self.choice.chosen[at][0]
                thing = self.choice.is_entity(meaning) or meaning.column is not None
                return (
                    thing
                    and meaning.kind != "value"
                    and not meaning.verb
                    and is_plural(self.words[span.last - 1].folded)
                )
        return False

    def _names_a_table(self, place: int) -> bool:
        """Whether a name of a table begins at a place."""
        return any(
            self.spans[at].first == place and self.choice.is_entity(meanings[0])
            for at, meanings in self.choice.chosen.items()
        )

    def _numbers(self, limited: int | None) -> list[Link]:
        found = []
        multiplied: set[int] = set()
        for place, word in enumerate(self.words):
            compared = any(c.start <= word.start < c.end for c in self.comparisons)
            number = number_of(word, one=compared)
            if number is None or place in multiplied or _covered(word.start, self.linked) or self._timed(word.start):
                continue
            if place == limited:
                found.append(Link(word.start, word.end, word.text, "limit", value=number))
                continue
            key = None if compared else self._key_before(place)
            table, column = key or (None, None)
            start = word.start
            if place and self.words[place - 1].folded == "a" and number_of(word) is not None and word.kind != "number":
                start = self.words[place - 1].start
            role: Role = "name" if key else ""
            end = word.end
            if compared and place + 1 < len(self.words) and is_magnitude(self.words[place + 1]):
                end = self.words[place + 1].end
                number = digits(self.question[word.start : end])
                multiplied.add(place + 1)
            found.append(Link(start, end, self.question[start:end], "number", table, column, number, role=role))
        return [link for link in found if not any(a <= link.start < b for _, _, a, b in self.quotes)]

    def _key_before(self, place: int) -> tuple[str, str] | None:
        """The key that a number names: `order 10248`, `customer number 5`."""
        at = place - 1
        while at >= 0 and self.words[at].folded in _KEY_WORD:
            at -= 1
        for here, meanings in self.choice.chosen.items():
            if self.spans[here].last == at + 1 and self.choice.is_entity(meanings[0]):
                glued = place + 1 < len(self.words) and self.words[place + 1].start == self.words[place].end
                if meanings[0].verb or glued or is_plural(self.words[at].folded):
                    return None
                keys = self.lexicon.primary_keys.get(meanings[0].table, ())
                one = len(keys) == 1 and (meanings[0].table, keys[0]) in self.lexicon.number_keys
                return (meanings[0].table, keys[0]) if one else None
        return None

    def _date_column(self, found: Sequence[Period]) -> tuple[str, str] | None:
        """The likeliest date column: one that is named, whose words are used, whose dates fit, or the nearest."""
        columns = self.lexicon.date_columns
        for at, meanings in sorted(self.choice.chosen.items()):
            if is_still_to_come(self.question, *self._offsets(at)) or self._is_only_shown(at, found):
                continue
            for dated in columns:
                said = meanings[0].quality != "part"
                if said and (meanings[0].table, meanings[0].column) == (dated.table, dated.column):
                    return dated.table, dated.column
        if not self.choice.anchors:
            return None
        mentions = {
            place
            for at, meanings in self.choice.chosen.items()
            for place in range(self.spans[at].first, self.spans[at].last)
            if self.choice.is_entity(meanings[0])
        }
        refused = {
            place + step for place, word in enumerate(self.words) if word.folded in {"not", "never"} for step in (1, 2)
        }
        refused |= {
            place for place, word in enumerate(self.words) if is_still_to_come(self.question, word.start, word.end)
        }
        own = {word.stem for place, word in enumerate(self.words) if place not in mentions | refused}
        nearest = self._verb_of(found) if found else None
        if nearest is not None:
            own = {nearest.stem}
        references = {table.name: len(table.foreign_keys) for table in self.lexicon.schema.tables}
        ranked = []
        for order, dated in enumerate(columns):
            away = self.choice.away(dated.table)
            used = len(own & dated.words) if away <= 1 else 0
            fits = away <= 1 and all(_overlaps(period, dated.minimum, dated.maximum) for period in found)
            if away < len(references):
                ranked.append(((-used, not fits, away, -references[dated.table], order), (dated.table, dated.column)))
        return min(ranked)[1] if ranked else None

    def _verb_of(self, found: Sequence[Period]) -> Token | None:
        """The verb that the first period tells the time of: the `placed` of `placed in 1998 and shipped to France`.

        The last word of doing before it, none but little words between; None where there is no such word.
        """
        before = [word for word in self.words if word.end <= found[0].start]
        for word in reversed(before[-_NEAR_VERB:]):
            if word.folded in _DONE_AT or (word.folded.endswith("ed") and len(word.folded) > 4):
                return word
            if word.folded not in STOP:
                break
        return None

    def _is_only_shown(self, place: int, found: Sequence[Period]) -> bool:
        """Whether a column is named in a later sentence than the times: `in May 1998? Order number and due date`."""
        start = self._offsets(place)[0]
        if not found or start < found[-1].end:
            return False
        between = self.question[found[-1].end : start]
        return _NEW_SENTENCE.search(between) is not None and _GO_BY.search(between) is None

    # What comes out

    def _links(self, numbers: Sequence[Link]) -> tuple[Link, ...]:
        links: list[tuple[int, int, int, Link]] = []
        for place, meanings in self.choice.chosen.items():
            start, end = self._offsets(place)
            if meanings[0].value is not None:
                start, end = self._as_stored(meanings[0].value, start, end)
            for rank, meaning in enumerate(meanings):
                links.append((start, -end, rank, self._link(start, end, self.spans[place].quality, meaning)))
        links += [(link.start, -link.end, 0, link) for link in numbers]
        links += [(m.start, -m.end, 0, Link(m.start, m.end, m.text, m.grain, value=m.value)) for m in self.moments]
        covered = [(start, -end) for start, end, _, _ in links]
        for _, _, start, end in self.quotes:
            if not any(a < end and start < b for a, b in covered):
                text = self.question[start:end]
                links.append((start, -end, 0, Link(start, end, text, "value", value=text)))
        return tuple(link for *_, link in sorted(links, key=lambda entry: entry[:3]))

    def _link(self, start: int, end: int, spelt: Quality, meaning: Meaning) -> Link:
        value = meaning.value if meaning.term is None else self.lexicon.glossary[meaning.term].names[0]
        quality: Quality = "typo" if spelt == "typo" else meaning.quality
        role: Role = self.lexicon.class_of(meaning)
        if meaning.kind == "value" and (meaning.table, meaning.column) in self.lexicon.naming:
            role = "name"
        elif role in {"", "column"} and (meaning.table, meaning.column) in self.lexicon.amounts:
            role = "amount"
        table = meaning.table or None
        text = self.question[start:end]
        return Link(start, end, text, meaning.kind, table, meaning.column, value, quality, role, meaning.verb)

    def _leftover(self, links: Sequence[Link]) -> tuple[str, ...]:
        covered = [*((link.start, link.end) for link in links), *self.glossed]
        left = []
        english = self._english(links)
        for before, word in zip(("", *(word.folded for word in self.words)), self.words, strict=False):
            if word.folded in KOREAN or before == _HOW_MANY or (not english and word.text.lower() in FOREIGN):
                continue
            plain = word.folded in COMMON or word.stem in COMMON or re.fullmatch(SUPERLATIVE, word.folded)
            if word.kind == "number" or plain or len(word.folded) < 2 or _covered(word.start, covered):
                continue
            if word.kind == "other" and any(end == word.start for _, end in covered):
                continue
            left.append(word.text)
        return tuple(dict.fromkeys(left))

    def _evidence(self, links: Sequence[Link], leftover: Sequence[str], found: Sequence[Period]) -> Evidence:
        found_links = [link for link in first_of(links) if link.table]
        firm = [k for k in found_links if k.kind in {"table", "term"} or (k.kind == "column" and k.quality == "exact")]
        vague = [k for k in found_links if k not in firm and (k.kind in {"column", "value"} or k.column)]
        reasons = [f"{k.text!r} is {_thing(k)}" for k in (*firm, *vague)]
        if leftover:
            reasons.append("nothing in the database is called " + ", ".join(repr(word) for word in leftover))
        mistyped = all(k.quality == "typo" for k in firm)
        if firm and not (mistyped and len(leftover) > _TYPED_WORD_LIMIT * (len(firm) + len(vague))):
            return Evidence("strong", tuple(reasons))
        if vague and not leftover:
            return Evidence("strong" if any(k.kind != "column" for k in vague) else "weak", tuple(reasons))
        partly = any(k.kind == "column" or k.role == "name" for k in vague)
        if firm or partly or len(vague) > len(leftover):
            return Evidence("weak", tuple(reasons))
        if not self._english(links):
            reasons.append("the question is not in English, so words of it may be known by meaning only")
            return Evidence("weak", tuple(reasons))
        hinted = [word for word in leftover if word.casefold() in self.lexicon.glossary_words]
        hinted += [
            word.text for word in self.words if word.folded in self.lexicon.glossary_words and word.folded in COMMON
        ]
        if (found and any(_overlaps(period, *self.lexicon.date_range) for period in found) and not leftover) or hinted:
            reasons.append("only a time or a word of the glossary is known")
            return Evidence("weak", tuple(reasons))
        return Evidence("none", tuple(reasons) or ("no word of the question is in the database",))

    def _condition(self, link: Link) -> str:
        """The SQL that keeps the rows of a value, or leaves them out where the question says so."""
        value = link.value or ""
        literal = value if link.kind == "number" else "'" + value.replace("'", "''") + "'"
        sign = "<>" if is_excluded(self.question, link.start) else "="
        return f"{qualified(link.table or '', link.column or '', self.lexicon.schema.dialect)} {sign} {literal}"

    def _as_stored(self, value: str, start: int, end: int) -> tuple[int, int]:
        """The stretch widened to all of the stored value where it is written out, with its `The` and its `Ltd.`"""
        text, wanted = self.question.lower(), value.lower()
        at = (
            text.find(wanted, max(0, start - len(wanted)), end + len(wanted)) if len(text) == len(self.question) else -1
        )
        return (at, at + len(wanted)) if 0 <= at <= start and at + len(wanted) >= end else (start, end)

    def _english(self, links: Sequence[Link]) -> bool:
        """Whether the words outside the links read like English: fewer little words of others than of it, or none."""
        covered = [(link.start, link.end) for link in links]
        free = [word for word in self.words if not _covered(word.start, covered)]
        if any(word.kind == "other" or not word.text.isascii() for word in free):
            return False
        foreign = sum(word.text.lower() in FOREIGN and word.folded not in STOP for word in free)
        return not foreign or foreign < sum(word.folded in STOP for word in free)

    def _offsets(self, place: int) -> tuple[int, int]:
        span = self.spans[place]
        return self.words[span.first].start, self.words[span.last - 1].end


def _covered(at: int, stretches: Iterable[tuple[int, int]], *, but_for: Container[int] = ()) -> bool:
    """Whether an offset lies in one of the stretches; at the start of those that begin at `but_for` it does not."""
    return any(start <= at < end and not (start == at and at in but_for) for start, end in stretches)


def _inside(word: Token, found: Sequence[Moment]) -> bool:
    return any(moment.start <= word.start < moment.end for moment in found)


def _overlaps(period: Period, minimum: str | None, maximum: str | None) -> bool:
    """Whether any date from minimum to maximum (ISO text) lies in the period; not when they are unknown."""
    if minimum is None or maximum is None:
        return False
    early = period.since is None or maximum[:10] >= period.since.isoformat()
    return early and (period.until is None or minimum[:10] < period.until.isoformat())


def _thing(link: Link) -> str:
    if link.kind == "table":
        return f"the table {link.table}"
    if link.kind == "term":
        return f"the term {link.value}"
    if link.kind == "column":
        return f"the column {link.table}.{link.column}"
    return f"a value of {link.table}.{link.column}"
