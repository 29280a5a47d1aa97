"""The index over names, glossary and stored values, and what of it a question mentions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from rapidfuzz import process
from rapidfuzz.distance import OSA
from Stemmer import Stemmer

from agent.abroad import OF_PEOPLE, country_abroad, names_abroad
from agent.database.schema import Facts, Schema, Table
from agent.keys import KeyGraph
from agent.meanings import DateColumn, Meaning, Quality, Span, TermClass
from agent.pieces import MONEY, Pieces, doer, done, money_places
from agent.spelling import is_word
from agent.wording import (
    ABBREVIATIONS,
    ALIASES,
    COMMON,
    DETERMINERS,
    FOREIGN,
    HIGHEST,
    LOWEST,
    STOP,
    SYNONYMS,
    Token,
    fold,
    is_plural,
    name_tokens,
    stem,
    tokens,
)

if TYPE_CHECKING:  # it brings SQLAlchemy, which a habit has no time to import
    from memory.semantic import Term

__all__ = ["DateColumn", "Lexicon", "Meaning", "Quality", "Span", "TermClass"]

_LONGEST = 12
_FAR = 9
_SHORT = 5
_LEAST_PART = 4
_LEAST_COMPOUND = 8
_BETWEEN_PARTS = ("", "s", "es", "n", "en", "e")
"""What German puts between the parts of a compound."""
_NO_PART = STOP | HIGHEST | LOWEST
_TABLE_PREFIXES = frozenset({"tbl", "tb", "dim", "fact", "t", "vw", "v"})
_NAMING_WORDS = frozenset({"name", "label", "fullnam", "surnam"})
_PART_OF_NAME = frozenset(map(stem, ("first", "last", "given", "family", "middle", "nick", "sur", "fore", "maiden")))
_OF_PERSONS = frozenset(
    map(stem, ("firstname", "lastname", "surname", "forename", "nickname", "fname", "lname", "vorname", "nachname"))
)
_PERSONAL = frozenset(
    map(
        stem,
        (
            "birth",
            "birthday",
            "born",
            "gender",
            "sex",
            "salary",
            "wage",
            "employee",
            "staff",
            "person",
            "people",
            "worker",
            "teacher",
            "doctor",
            "nurse",
            "crew",
            "member",
            "contact",
        ),
    )
)
_COLUMN_ONLY = re.compile(r'\s*("(?:[^"]|"")+"|\w+)\s*\.\s*("(?:[^"]|"")+"|\w+)\s*\Z')
_AMOUNT_TYPE = re.compile(r"int|real|num|dec|float|double|money", re.IGNORECASE)
_CONDITION = re.compile(r"[<>=]|\b(?:IS|IN|LIKE|EXISTS|BETWEEN)\b", re.IGNORECASE)
_UNSPACED = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")
_AGGREGATE = re.compile(r"\b(?:SUM|COUNT|AVG|MIN|MAX)\s*\(", re.IGNORECASE)


class Lexicon:
    """All that a question can link to in one database. Built once for an open database, then only read."""

    def __init__(self, schema: Schema, facts: Facts, glossary: Sequence[Term]) -> None:
        self.schema = schema
        self.facts = facts
        self.glossary = tuple(glossary)
        self.keys = KeyGraph(schema)
        self._names: dict[str, list[Meaning]] = {}
        self._values: dict[str, list[Meaning]] = {}
        self._value_stems: dict[str, list[Meaning]] = {}
        self._parts: dict[str, list[Meaning]] = {}
        self._agents: dict[str, list[Meaning]] = {}
        self._first_words: dict[str, list[Meaning]] = {}
        self._pieces = Pieces(self)
        self._spelt: set[str] = set()
        self._known_tables = {table.name for table in schema.tables}
        self.foreign = {(t.name, c) for t in schema.tables for key in t.foreign_keys for c in key.columns}
        self.refers = {
            (table.name, here): (key.referred_table, there)
            for table in schema.tables
            for key in table.foreign_keys
            for here, there in zip(key.columns, key.referred_columns, strict=False)
        }
        """The column that each column of a declared key refers to."""
        self._codes = {(t.name, c.name) for t in schema.tables for c in t.columns if c.primary_key}
        self._index_tables()
        self.naming = self._index_values()
        self.term_classes = tuple(self._class_of(term) for term in self.glossary)
        self._index_glossary()
        self._index_pieces()
        self._people = frozenset(self._tables_of_people())
        self._index_abroad()
        self.date_columns = tuple(self._date_columns())
        self.amounts = frozenset(self._amounts())
        self._name_words = _vocabulary(self._spelt)
        self._german = {_german(name): name for name in sorted(self._spelt) if name.isalpha() and name.isascii()}
        self._money = next((found for word in MONEY if (found := self._sums(word))), ())
        self._value_words = _vocabulary(self._values)
        self._doers: dict[str, tuple[str, ...]] = {}
        for name in sorted({fold(name) for term in self.glossary for name in term.names}):
            meanings = [m for m in self._names.get(stem(name), ()) if m.table and self._stands_for_rows(m)]
            tables = tuple(
                m.table for m in meanings if len(name) > _SHORT or not any(m.kind == "table" for m in meanings)
            )
            if name.isalpha() and name.endswith(("er", "or")) and tables and stem(name) == name:
                self._doers.setdefault(doer(name), tables)
        self.doing = frozenset(tables[0] for tables in self._doers.values())
        self._synonyms = {
            stem(word): tuple(other for other in others if stem(other) in self._name_words.stems)
            for word, others in SYNONYMS.items()
        }
        self._parts_of_runs = _pieces((*self._names, *self._values, *self._parts))
        self.primary_keys = {t.name: tuple(c.name for c in t.columns if c.primary_key) for t in schema.tables}
        self.number_keys = frozenset(
            (t.name, c.name) for t in schema.tables for c in t.columns if c.primary_key and _AMOUNT_TYPE.search(c.type)
        )
        self.distinct = {(known.table, known.column): len(known.values) for known in facts.columns}
        ends = [(d.minimum, d.maximum) for d in self.date_columns if d.minimum and d.maximum]
        self.date_range = (min((a for a, _ in ends), default=None), max((b for _, b in ends), default=None))
        self.glossary_words = (
            frozenset(token.folded for term in self.glossary for name in term.names for token in tokens(name)) - STOP
        )
        self.column_words = {
            (table.name, column.name): frozenset(token.stem for token in name_tokens(column.name))
            for table in schema.tables
            for column in table.columns
        }

    @classmethod
    def build(cls, schema: Schema, facts: Facts, glossary: Sequence[Term] = ()) -> Lexicon:
        """Index a database. The same input gives the same index in every process."""
        return cls(schema, facts, glossary)

    def read(self, question: str) -> tuple[Token, ...]:
        """The words of a question; runs of other scripts are parted where a known name begins or ends."""
        found: list[Token] = []
        for token in tokens(question):
            found.extend(self._parted(token) if token.kind == "other" else self._decompound(token))
        return tuple(found)

    def _decompound(self, token: Token) -> tuple[Token, ...]:
        """The words in a word: `spend` and who does it in `spenders`; in an unknown German compound its last part,
        and the rows before it where that is a column of them, as in `Lieferantenland`."""
        word = token.folded
        if token.kind != "latin" or len(word) != len(token.text):
            return (token,)
        root = re.sub(r"(?:er|or)s?\Z", "", word)
        if root != word and any(self._stands_for_rows(m) for m in self._names.get(token.stem, ())):
            return _cut(token, root, word) if self._sums(root) else (token,)
        if len(word) < _LEAST_COMPOUND or self._knows(token) or is_word(word):
            return (token,)
        for at in range(3, len(word) - _LEAST_PART + 1):
            last = self._in_german(word[at:])
            leads = (self._in_german(word[:at].removesuffix(end)) for end in _BETWEEN_PARTS)
            first = next((name for name in leads if name), None)
            if last is None or first is None:
                continue
            if self._is_entity_name(last) or not self._is_entity_name(first):
                return (replace(token, folded=last, stem=stem(last)),)
            return _cut(token, word[:at], last, first)
        return (token,)

    def _is_entity_name(self, word: str) -> bool:
        return any(self._stands_for_rows(m) for m in self._names.get(stem(word), ()))

    def _in_german(self, word: str) -> str | None:
        """The name that a word is in one of its German forms: `artikel` for `artikeln`."""
        return word if word in self._spelt and stem(word) in self._names else self._german.get(_german(word))

    def _knows(self, token: Token) -> bool:
        """Whether a word is one of this database: in a name, in a stored value, a synonym or what somebody does."""
        known = token.stem in self._name_words.stems or token.stem in self._value_words.stems
        known = known or token.folded in self._spelt or token.folded in self._values or token.stem in self._synonyms
        return known or _agent_root(token.stem) in self._agents

    def named(self, key: str) -> Sequence[Meaning]:
        """What is called so, by stems."""
        return self._names.get(key, ())

    def is_part(self, word: str) -> bool:
        """Whether a stem is a part of the name of a column."""
        return word in self._parts

    def _sums(self, word: str) -> tuple[Meaning, ...]:
        """The measures and amounts that a word is a name of."""
        return tuple(m for m in self._names.get(stem(word), ()) if self.is_measure(m))

    def is_measure(self, meaning: Meaning) -> bool:
        """Whether it is a figure to be summed: a measure of the glossary, or a column of amounts."""
        return self.class_of(meaning) in {"measure", "aggregate"} or (
            (meaning.table, meaning.column) in self.amounts and meaning.quality == "exact"
        )

    def kinds_in(self, text: str) -> tuple[str, ...]:
        """What kinds of things the words of a text may name, those that are a part of a column's name left out."""
        return tuple(m.kind for span in self.spans(self.read(text)) for m in span.meanings if m.quality != "part")

    def spans(
        self, words: Sequence[Token], *, taken: Iterable[int] = (), quotes: Sequence[tuple[int, int]] = ()
    ) -> tuple[Span, ...]:
        """Link stretches of words, longest first; stretches do not overlap, but for a condition of the glossary.

        `taken` are the places of words already spoken for (dates). `quotes` are stretches within quotation marks
        (first, last): what they hold is a stored value as a whole, else a name, or nothing.
        """
        used = set(taken)
        found: list[Span] = []
        for first, last in quotes:
            if self._within_value(words, first, last):
                continue
            stems, folded = _keys(words[first:last])
            names = self._names.get(stems, []) if folded in self._spelt else []
            meanings = self._values_of(words[first:last], quoted=True)
            meanings = meanings or tuple(name for name in names if name.kind != "term")
            if meanings:
                found.append(Span(first, last, meanings))
            used.update(range(first, last))
        found += self._match(words, used)
        mended = [self._mended(token) if place not in used else token for place, token in enumerate(words)]
        changed = {place for place, token in enumerate(mended) if token is not words[place]}
        if changed:
            found += [replace(span, quality="typo") for span in self._match(mended, used, only=changed)]
        found = self._in_pieces(words, found, used)
        for place, token in enumerate(words):
            if place not in used and token.kind != "number" and token.folded not in _NO_PART:
                parts = self._parts.get(token.stem, ()) or self._parts.get(mended[place].stem, ())
                agents = self._agents.get(_agent_root(token.stem), ())
                if parts or agents:
                    found.append(Span(place, place + 1, (*agents, *parts), "part"))
        return tuple(sorted(found, key=lambda span: (span.first, -span.last)))

    def _in_pieces(self, words: Sequence[Token], found: list[Span], used: set[int]) -> list[Span]:
        """All stretches with those of names that are said in pieces."""
        for span in self._pieces.ended(words):
            found = [one for one in found if one.last <= span.first or span.last <= one.first]
            found.append(span)
            used.update(range(span.first, span.last))
        for place, meaning in self._pieces.amounts(words, used):
            found.append(Span(place, place + 1, (meaning,)))
            used.add(place)
        for place, meaning, beside in self._pieces.measures(words, found, used):
            if not any(self._stands_for_rows(m) for m in beside.meanings):
                found.remove(beside)
            found.append(Span(place, place + 1, (meaning,)))
            used.add(place)
        if self._money and not any(self.is_measure(m) for span in found for m in span.meanings):
            for place in money_places(words):
                found = [one for one in found if one.last <= place or place < one.first]
                found.append(Span(place, place + 1, self._money))
                used.add(place)
        for place, token in enumerate(words):
            if place not in used and (whole := self._by_first_word(token)):
                found.append(Span(place, place + 1, whole, "typo"))
                used.add(place)
        return found

    def _by_first_word(self, token: Token) -> tuple[Meaning, ...]:
        """The one named row whose name begins with a word that is no plain one: `Speedy Express` for `Speedy`."""
        meanings = self._first_words.get(token.folded, ())
        if len(meanings) != 1 or token.folded in COMMON:
            return ()
        return tuple(meanings) if (token.start and token.text[0].isupper()) or not is_word(token.folded) else ()

    def _within_value(self, words: Sequence[Token], first: int, last: int) -> bool:
        """Whether a quoted stretch is only a part of a stored value that has quotation marks in it."""
        starts = range(max(0, last - _LONGEST), first + 1)
        ends = range(last, min(len(words), first + _LONGEST) + 1)
        wider = ((a, b) for a in starts for b in ends if b - a > last - first)
        return any(self._values.get(_keys(words[a:b])[1]) for a, b in wider)

    def _match(self, words: Sequence[Token], used: set[int], only: set[int] | None = None) -> list[Span]:
        """The stretches that mean something: those of most words win, little words not counted, then the first."""
        found: list[Span] = []
        weights = [word.folded not in STOP for word in words]
        windows = sorted(
            (-sum(weights[first : first + length]), first, -length)
            for length in range(1, min(_LONGEST, len(words)) + 1)
            for first in range(len(words) - length + 1)
        )
        for _, first, negative in windows:
            last = first - negative
            places = range(first, last)
            if used.intersection(places) or (only is not None and not only.intersection(places)):
                continue
            meanings = self._meanings(words[first:last])
            if not meanings:
                continue
            found.append(Span(first, last, meanings))
            if not all(self.class_of(meaning) == "condition" for meaning in meanings):
                used.update(places)
        return found

    def _meanings(self, words: Sequence[Token]) -> tuple[Meaning, ...]:
        if len(words) > 1 and (words[0].folded in DETERMINERS or words[-1].folded in DETERMINERS):
            return ()
        stems, folded = _keys(words)
        apart = any(after.start - before.end > 1 for before, after in pairwise(words))
        names: Sequence[Meaning] = () if apart else self._names.get(stems, ())
        if not names and not apart and len(words) > 2 and words[1].folded == "of":
            return self._turned_round(words)
        if names and any(word.folded in STOP for word in words) and folded not in self._spelt:
            names = ()
        if len(words) == 1 and (words[0].folded in STOP or (words[0].kind == "number" and len(words[0].text) < 4)):
            names = ()
        if names and len(words) == 1 and folded not in self._spelt and f"{folded}e" in self._spelt and is_word(folded):
            names = ()  # `rang` is the stem of `range`, and another word
        verb = len(words) == 1 and words[0].folded.endswith(("ed", "ing")) and folded not in self._spelt
        if verb:
            names = tuple(replace(m, verb=True) if m.kind in {"table", "term"} else m for m in names)
        values = self._values_of(words, quoted=False)
        if any(folded not in self._spelt and value.value == " ".join(word.text for word in words) for value in values):
            names = ()
        return tuple(dict.fromkeys((*names, *values)))

    def _turned_round(self, words: Sequence[Token]) -> tuple[Meaning, ...]:
        """Tables and measures whose name is said with `of`: `type of room` for `room_types`."""
        stems, _ = _keys((*words[2:], words[0]))
        return tuple(m for m in self._names.get(stems, ()) if m.kind == "table" or self.class_of(m) == "measure")

    def _values_of(self, words: Sequence[Token], *, quoted: bool) -> tuple[Meaning, ...]:
        stems, folded = _keys(words)
        values = self._values.get(folded, []) or ([] if quoted else self._value_stems.get(stems, []))
        for alias in ALIASES.get(folded, ()) if not values else ():
            values = values or self._values.get(alias, [])
        if len(words) == 1 and not quoted:
            word = words[0]
            if word.folded in COMMON or (len(word.folded) < 4 and word.kind != "other"):
                values = [m for m in values if _as_written(word, m.value or "")]
        written = " ".join(word.text for word in words)
        if len(words) == 1 and folded not in self._values and words[0].text.islower():
            values = [m for m in values if not self._is_personal(m)]
        exact = [m for m in values if " ".join(t.text for t in tokens(m.value or "")) == written]
        loose = [m for m in values if (m.table, m.column) not in self._codes]
        return tuple(exact or loose or values)

    def _is_personal(self, meaning: Meaning) -> bool:
        """Whether a value is a part of somebody's name: `Bill` of `first_name`, which `bills` are not."""
        said = self.column_words.get((meaning.table, meaning.column or ""), frozenset())
        return bool(said & _OF_PERSONS) or bool(said & _PART_OF_NAME and said & _NAMING_WORDS)

    def class_of(self, meaning: Meaning) -> TermClass | Literal[""]:
        """What a term stands for; empty for what is no term."""
        return "" if meaning.term is None else self.term_classes[meaning.term]

    def _stands_for_rows(self, meaning: Meaning) -> bool:
        return meaning.kind == "table" or self.class_of(meaning) == "entity"

    def parts_of(self, meaning: Meaning) -> tuple[Meaning, ...]:
        """The columns of whose names the whole name of a column, when it is a single word, is a part."""
        own = self.column_words.get((meaning.table, meaning.column or ""), frozenset())
        return tuple(self._parts.get(next(iter(own)), ())) if len(own) == 1 else ()

    def doers(self, token: Token) -> tuple[str, ...]:
        """The tables of those who do what a verb says: `bought` and `buying` are what a `buyer` does."""
        return self._doers.get(done(token), ())

    def _mended(self, token: Token) -> Token:
        """The word with a typo taken out, or the word itself when it is known, short, common or like nothing."""
        word = token.folded
        full = ABBREVIATIONS.get(word)
        if full is not None and word not in self._spelt and stem(full) in self._name_words.stems:
            return replace(token, folded=full, stem=stem(full))
        for other in self._synonyms.get(token.stem, ()):
            if token.stem not in self._name_words.stems and word not in self._values:
                return replace(token, folded=other + "s" * is_plural(word), stem=stem(other))
        known = token.stem in self._name_words.stems or token.stem in self._value_words.stems
        known = known or token.stem in COMMON or _agent_root(token.stem) in self._agents
        if token.kind != "latin" or len(word) < 5 or word in COMMON | FOREIGN or known or is_word(word):
            return token
        if (other_form := self._german.get(_german(word))) is not None:
            return replace(token, folded=other_form, stem=stem(other_form))
        name = token.text[0].isupper() and token.start > 0
        near = self._value_words.nearest(word) if name else None
        near = near or self._name_words.nearest(word)
        near = near or (self._value_words.nearest(word) if len(word) > _SHORT else None)
        return token if near is None else replace(token, folded=near, stem=stem(near))

    def edits(self, token: Token) -> int:
        """How many edits part a word from the nearest of this database: 0 for one of its own, `_FAR` for none near."""
        word = token.folded
        if self._knows(token) or word in ABBREVIATIONS or word in self._first_words:
            return 0
        near = [vocabulary.nearest(word) for vocabulary in (self._name_words, self._value_words)]
        return min((int(OSA.distance(word, other)) for other in near if other is not None), default=_FAR)

    def _parted(self, token: Token) -> Iterable[Token]:
        text, here, pieces = token.folded, 0, []
        if len(text) != len(token.text):
            return (token,)
        anywhere = any(_UNSPACED.match(c) for c in text)
        loose = 0
        while here < len(text):
            lengths = [n for n in range(len(text) - here, 0, -1) if text[here : here + n] in self._parts_of_runs]
            whole = (
                n for n in lengths if text[here : here + n] in self._names or text[here : here + n] in self._values
            )
            length = next(whole, lengths[0] if lengths else 0)
            if length < 2 and length != len(text):
                here += 1
                if not anywhere:
                    break
                continue
            if loose < here:
                pieces.append((loose, here))
            pieces.append((here, here + length))
            here = loose = here + length
            if not anywhere:
                break
        if loose < len(text):
            pieces.append((loose, len(text)))
        return tuple(
            Token(token.start + a, token.start + b, token.text[a:b], text[a:b], text[a:b], "other") for a, b in pieces
        )

    def _index_tables(self) -> None:
        for table in self.schema.tables:
            words = name_tokens(table.name)
            self._name(words, Meaning("table", table.name))
            if len(words) > 1 and words[0].stem in _TABLE_PREFIXES:
                self._name(words[1:], Meaning("table", table.name))
            if len(words) == 1 and words[0].stem.endswith(("er", "or")):
                agent = Meaning("table", table.name, quality="part", verb=True)
                self._agents.setdefault(_agent_root(words[0].stem), []).append(agent)
        for table in self.schema.tables:
            for column in table.columns:
                words = name_tokens(column.name)
                self._name(words, Meaning("column", table.name, column.name))
                self._name(_in_full(words), Meaning("column", table.name, column.name))
                for word in dict.fromkeys(token.stem for token in words) if len(words) > 1 else ():
                    if len(word) > 2 and word not in {"code", "num"}:
                        part = Meaning("column", table.name, column.name, quality="part")
                        self._parts.setdefault(word, []).append(part)

    def _index_pieces(self) -> None:
        """Note what of the glossary and of the columns may be said in pieces, and the first words of named rows."""
        for place, term in enumerate(self.glossary):
            kind = self.term_classes[place]
            for name in term.names:
                meaning = next((m for m in self._names[_keys(tokens(name))[0]] if m.term == place), None)
                if meaning is None:
                    continue
                if kind in ("column", "measure") and (meaning.column is None or self._is_amount(meaning)):
                    self._pieces.note_amount(tokens(name), meaning)
                if kind in ("measure", "aggregate"):
                    self._pieces.note_measure(tokens(name), meaning)
                if kind == "condition":
                    self._pieces.note_condition(name, meaning)
        for known in self.facts.columns:
            if (known.table, known.column) in self.naming and (known.table, known.column) not in self._codes:
                for value in known.values:
                    said = tokens(value)
                    if len(said) > 1 and len(said[0].folded) >= _LEAST_PART and said[0].folded not in self._values:
                        meaning = Meaning("value", known.table, known.column, value)
                        self._first_words.setdefault(said[0].folded, []).append(meaning)

    def _is_amount(self, meaning: Meaning) -> bool:
        columns = (c for t in self.schema.tables if t.name == meaning.table for c in t.columns)
        return any(c.name == meaning.column and _AMOUNT_TYPE.search(c.type) for c in columns)

    def _name(self, words: Sequence[Token], meaning: Meaning) -> None:
        stems, folded = _keys(words)
        joined = stem(folded.replace(" ", "")) if meaning.kind == "column" else stems
        for key in dict.fromkeys((stems, stems.replace(" ", ""), joined)):
            if key and meaning not in self._names.setdefault(key, []):
                self._names[key].append(meaning)
        self._spelt |= {folded, folded.replace(" ", "")}

    def _index_glossary(self) -> None:
        for place, term in enumerate(self.glossary):
            home = next((name for name in term.tables if name in self._known_tables), "")
            column = None
            if match := _COLUMN_ONLY.match(term.expression or ""):
                home, column = self._as_stored(*(_bare(part) for part in match.groups()))
            for name in term.names:
                self._name(tokens(name), Meaning("term", home, column, term=place))

    def _index_abroad(self) -> None:
        """Index what names of this database, and countries among its values, are called in other languages."""
        for english, others in names_abroad():
            stems, _ = _keys(tokens(english))
            meanings = [m for m in self._names.get(stems, ()) if m.term is None or self.class_of(m) == "entity"]
            if english in OF_PEOPLE:
                meanings = [m for m in meanings if m.term is not None or m.table in self._people]
            for other in others:
                words = tokens(other)
                key, folded = _keys(words)
                if key not in self._names and folded not in self._values:
                    for meaning in meanings:
                        self._name(words, meaning)
                    if not meanings and stems in self._parts:
                        self._parts.setdefault(folded if words[0].kind == "other" else key, self._parts[stems])
        for name in [name for name, found in self._values.items() if any(len(m.value or "") > 1 for m in found)]:
            for english in (name, *ALIASES.get(name, ())):
                for other in country_abroad(english):
                    _, folded = _keys(tokens(other))
                    kept = self._values.setdefault(folded, [])
                    kept += [meaning for meaning in self._values[name] if meaning not in kept]

    def _tables_of_people(self) -> Iterable[str]:
        """The tables that tell of persons: a first or last name, a birth, a salary, or a name for those who work."""
        for table in self.schema.tables:
            said = {token.stem for column in table.columns for token in name_tokens(column.name)}
            own = {token.stem for token in name_tokens(table.name)}
            if said & _OF_PERSONS or (said & _PART_OF_NAME and said & _NAMING_WORDS) or (said | own) & _PERSONAL:
                yield table.name

    def _as_stored(self, table: str, column: str) -> tuple[str, str | None]:
        """A table and column as the schema writes them; the names themselves when it has no such column."""
        for known in self.schema.tables:
            if known.name.casefold() == table.casefold():
                names = (c.name for c in known.columns if c.name.casefold() == column.casefold())
                return known.name, next(names, None)
        return table, None

    def _class_of(self, term: Term) -> TermClass:
        if not term.expression:
            return "entity"
        named = {
            meaning.table
            for name in term.names
            for meaning in self._names.get(_keys(tokens(name))[0], ())
            if meaning.kind == "table"
        }
        if named.intersection(term.tables):
            return "entity"
        if match := _COLUMN_ONLY.match(term.expression):
            home = self._as_stored(*(_bare(part) for part in match.groups()))
            return "entity" if home in self.naming and home not in self._codes else "column"
        if "||" in term.expression:
            return "column"
        if _AGGREGATE.search(term.expression) and not _CONDITION.search(term.expression):
            return "aggregate"
        bare = re.sub(r"\([^()]*\)", "()", term.expression)
        return "condition" if _CONDITION.search(bare) else "measure"

    def _index_values(self) -> frozenset[tuple[str, str]]:
        """Index stored values; gives the columns whose values name one row."""
        sizes: dict[str, dict[str, int]] = {}
        for known in self.facts.columns:
            if known.is_date:
                continue
            if known.values:
                sizes.setdefault(known.table, {})[known.column] = len(known.values)
            for value in known.values:
                words = tokens(value)
                if not 0 < len(words) <= _LONGEST or (known.table, known.column) in self.foreign:
                    continue
                meaning = Meaning("value", known.table, known.column, value)
                stems, folded = _keys(words)
                self._values.setdefault(folded, []).append(meaning)
                if len(words) <= 3 and words[-1].kind == "latin":
                    self._value_stems.setdefault(stems, []).append(meaning)
        rows = self._rows()
        return frozenset(
            (table.name, column)
            for table in self.schema.tables
            for column in _naming(table, sizes.get(table.name, {}), rows.get(table.name, 0))
        )

    def _rows(self) -> dict[str, int]:
        """Roughly how many rows a table has, read off its single integer key; tables without one are left out."""
        keys = {t.name: [c.name for c in t.columns if c.primary_key] for t in self.schema.tables}
        rows = {}
        for known in self.facts.columns:
            ends = [end for end in (known.minimum, known.maximum) if end and end.lstrip("-").isdigit()]
            if keys.get(known.table) == [known.column] and len(ends) == 2:
                rows[known.table] = int(ends[1]) - int(ends[0]) + 1
        return rows

    def _amounts(self) -> Iterable[tuple[str, str]]:
        """Columns of numbers that are no keys: what can be summed."""
        for table in self.schema.tables:
            keys = {name for key in table.foreign_keys for name in key.columns}
            for column in table.columns:
                if _AMOUNT_TYPE.search(column.type) and not column.primary_key and column.name not in keys:
                    yield table.name, column.name

    def _date_columns(self) -> Iterable[DateColumn]:
        dated = {(known.table, known.column): known for known in self.facts.columns if known.is_date}
        for table in self.schema.tables:
            for column in table.columns:
                kind = column.type.lower()
                known = dated.get((table.name, column.name))
                if known is not None or kind.startswith(("date", "timestamp")):
                    words = frozenset(token.stem for token in name_tokens(column.name)) - {"date", "time"} - STOP
                    ends = (known.minimum, known.maximum) if known else (None, None)
                    yield DateColumn(table.name, column.name, words, *ends)


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    """Known words by first letter, and the stems of all of them."""

    by_letter: Mapping[str, tuple[str, ...]]
    stems: frozenset[str]

    def nearest(self, word: str) -> str | None:
        """The known word one edit away (two from nine letters on), None when none is. Ties go by the alphabet."""
        near = self.by_letter.get(word[0], ())
        allowed = 1 if len(word) < 9 else 2
        found = process.extract(word, near, scorer=OSA.distance, score_cutoff=allowed, limit=5)
        return min(((distance, text) for text, distance, _ in found), default=(0, None))[1]


def _keys(words: Sequence[Token]) -> tuple[str, str]:
    """What a stretch of words is looked up by: its stems and its folded words, without `the`, `our` and the like."""
    kept = [word for word in words if word.folded not in DETERMINERS] or list(words)
    return " ".join(word.stem for word in kept), " ".join(word.folded for word in kept)


def _bare(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def _vocabulary(keys: Iterable[str]) -> _Vocabulary:
    words = {word for key in keys for word in key.split(" ") if len(word) > 3 and word.isalpha()}
    letters: dict[str, list[str]] = {}
    for word in sorted(words):
        letters.setdefault(word[0], []).append(word)
    return _Vocabulary({k: tuple(v) for k, v in letters.items()}, frozenset({stem(word) for word in words} | words))


def _pieces(keys: Iterable[str]) -> frozenset[str]:
    return frozenset(word for key in keys for word in key.split(" ") if not word.isascii())


def _cut(token: Token, lead: str, last: str, first: str | None = None) -> tuple[Token, Token]:
    """A word as two: its letters `lead`, read as `first` where that is another word, and the rest, read as `last`."""
    at, first = token.start + len(lead), first or lead
    return (
        Token(token.start, at, token.text[: len(lead)], first, stem(first), token.kind),
        Token(at, token.end, token.text[len(lead) :], last, stem(last), token.kind),
    )


def _in_full(said: Sequence[Token]) -> tuple[Token, ...]:
    """The words of a name with abbreviations written out: `qty` as `quantity`."""
    full = ((token, ABBREVIATIONS.get(token.folded)) for token in said)
    return tuple(token if word is None else replace(token, folded=word, stem=stem(word)) for token, word in full)


@lru_cache(maxsize=65_536)
def _german(folded: str) -> str:
    """The German stem (from PyStemmer) of a folded word: `produkten` and `produkte` meet here."""
    return str(Stemmer("german").stemWord(folded)) if folded.isascii() else folded


def _agent_root(word: str) -> str:
    """`supplier` and `supply` meet here: the stem without `-er`, `-or` and final `y` or `i`."""
    root = word[:-2] if word.endswith(("er", "or")) and len(word) > 5 else word
    return root.rstrip("iy") if len(root) > 4 else root


def _as_written(word: Token, value: str) -> bool:
    """Whether a short or everyday word is surely meant as the value: written as stored, or a capital alias of it."""
    if fold(value) == word.folded:
        return value == word.text and (word.text[:1].isupper() or word.kind == "other")
    return word.text[:1].isupper()


def _naming(table: Table, sizes: Mapping[str, int], rows: int) -> Iterable[str]:
    """The columns whose values name one row: called a name or a key and different in at least half of the rows.

    First and last name name a row together, however many share one of them. With none but a key, the first column that
    differs in nine of ten rows is taken as well.
    """
    said = {column.name: {token.stem for token in name_tokens(column.name)} for column in table.columns}
    parts = [name for name, stems in said.items() if stems & _PART_OF_NAME and stems & _NAMING_WORDS]
    together = set(parts) if len(parts) > 1 else set()
    most = max(rows, *sizes.values()) if sizes else rows
    own = {token.stem for token in name_tokens(table.name)}
    found = False
    for column in table.columns:
        words = [token.stem for token in name_tokens(column.name)]
        size = sizes.get(column.name, 0)
        named = bool(words) and (words[-1] in _NAMING_WORDS or set(words) == own)
        if size and (column.name in together or ((named or column.primary_key) and 2 * size >= most)):
            found = found or named
            yield column.name
    if not found:
        distinct = (column.name for column in table.columns if sizes.get(column.name) and not column.primary_key)
        yield from [name for name in distinct if 10 * sizes[name] >= 9 * most][:1]
