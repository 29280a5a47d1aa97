"""The index over names, glossary and stored values, and what of it a question mentions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rapidfuzz import process
from rapidfuzz.distance import OSA

from agent.database.schema import Facts, Schema, Table
from agent.keys import KeyGraph
from agent.wording import ALIASES, COMMON, STOP, Token, fold, name_tokens, stem, tokens
from memory.semantic import Term

TermClass = Literal["entity", "column", "measure", "aggregate", "condition"]
Quality = Literal["exact", "part", "typo"]

_LONGEST = 12
_TABLE_PREFIXES = frozenset({"tbl", "tb", "dim", "fact", "t", "vw", "v"})
_NAMING_WORDS = frozenset({"name", "titl", "label", "fullnam", "surnam"})
_COLUMN_ONLY = re.compile(r'\s*(?:"(?:[^"]|"")+"|\w+)\s*\.\s*(?:"(?:[^"]|"")+"|\w+)\s*\Z')
_CONDITION = re.compile(r"[<>=]|\b(?:IS|IN|LIKE|EXISTS|BETWEEN)\b", re.IGNORECASE)
_AGGREGATE = re.compile(r"\b(?:SUM|COUNT|AVG|MIN|MAX)\s*\(", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Meaning:
    """One thing that a stretch of words may mean. `part` means that only some words of a column's name are there."""

    kind: Literal["table", "column", "value", "term"]
    table: str
    column: str | None = None
    value: str | None = None
    term: int | None = None
    quality: Quality = "exact"


@dataclass(frozen=True, slots=True)
class Span:
    """Words `first` to `last` (not included) of a question with all they may mean, surest first."""

    first: int
    last: int
    meanings: tuple[Meaning, ...]
    quality: Quality = "exact"


@dataclass(frozen=True, slots=True)
class DateColumn:
    table: str
    column: str
    words: frozenset[str]


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
        self._known_tables = {table.name for table in schema.tables}
        self._index_tables()
        self.term_classes = tuple(self._class_of(term) for term in self.glossary)
        self._index_glossary()
        self.naming = self._index_values()
        self.date_columns = tuple(self._date_columns())
        self._vocabulary = _vocabulary([*self._names, *self._values])
        self._pieces = _pieces([*self._names, *self._values])
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
            found.extend(self._parted(token) if token.kind == "other" else (token,))
        return tuple(found)

    def spans(self, words: Sequence[Token], *, taken: Iterable[int] = (), quoted: Iterable[int] = ()) -> tuple[Span, ...]:
        """Link stretches of words, longest first; stretches do not overlap, but for a condition of the glossary.

        `taken` are the places of words already spoken for (dates), `quoted` those within quotation marks.
        """
        used, held = set(taken), set(quoted)
        found = self._match(words, used, held)
        mended = [self._mended(token) if place not in used else token for place, token in enumerate(words)]
        changed = {place for place, token in enumerate(mended) if token is not words[place]}
        if changed:
            for span in self._match(mended, used, held, only=changed):
                found.append(replace(span, quality="typo"))
        for place, token in enumerate(words):
            if place not in used and token.kind == "latin" and token.folded not in STOP:
                meanings = self._parts.get(token.stem, ()) or self._parts.get(mended[place].stem, ())
                agents = self._agents.get(_agent_root(token.stem), ())
                if meanings or agents:
                    found.append(Span(place, place + 1, (*agents, *meanings), "part"))
        return tuple(sorted(found, key=lambda span: (span.first, -span.last)))

    def _match(
        self, words: Sequence[Token], used: set[int], quoted: set[int], only: set[int] | None = None
    ) -> list[Span]:
        found: list[Span] = []
        for length in range(min(_LONGEST, len(words)), 0, -1):
            for first in range(len(words) - length + 1):
                last = first + length
                places = range(first, last)
                if used.intersection(places) or (only is not None and not only.intersection(places)):
                    continue
                meanings = self._meanings(words[first:last], quoted=quoted.issuperset(places))
                if not meanings:
                    continue
                found.append(Span(first, last, meanings))
                if not all(self._is_condition(meaning) for meaning in meanings):
                    used.update(places)
        return found

    def _meanings(self, words: Sequence[Token], *, quoted: bool) -> tuple[Meaning, ...]:
        stems = " ".join(word.stem for word in words)
        folded = " ".join(word.folded for word in words)
        names = list(self._names.get(stems, ()))
        values = list(self._values.get(folded, ()) or self._value_stems.get(stems, ()))
        for alias in ALIASES.get(folded, ()) if not values else ():
            values = values or list(self._values.get(alias, ()))
        if len(words) == 1 and not quoted:
            word = words[0]
            if word.folded in STOP or (word.kind == "number" and len(word.text) < 4):
                names = []
            plain = word.folded in COMMON or len(word.folded) < 4
            if plain or (word.kind == "number" and len(word.text) < 4):
                values = [m for m in values if _as_written(word, m.value or "")]
        if quoted and values:
            names = []
        return tuple(dict.fromkeys((*names, *values)))

    def _is_condition(self, meaning: Meaning) -> bool:
        return meaning.kind == "term" and meaning.term is not None and self.term_classes[meaning.term] == "condition"

    def _mended(self, token: Token) -> Token:
        """The word with a typo taken out, or the word itself when it is known, short, common or like nothing."""
        word = token.folded
        if token.kind != "latin" or len(word) < 5 or word in COMMON or token.stem in self._vocabulary.stems:
            return token
        near = self._vocabulary.nearest(word)
        return token if near is None else replace(token, folded=near, stem=stem(near))

    def _parted(self, token: Token) -> Iterable[Token]:
        text, here, pieces = token.folded, 0, []
        if len(text) != len(token.text):
            return (token,)
        anywhere = any("\u0e00" <= c <= "\u0e7f" or "\u3040" <= c <= "\u30ff" or "\u3400" <= c <= "\u9fff" for c in text)
        loose = 0
        while here < len(text):
            length = next((n for n in range(len(text) - here, 0, -1) if text[here : here + n] in self._pieces), 0)
            if length < 2 and not (length == len(text)):
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
            words = [token.stem for token in name_tokens(table.name)]
            self._name(words, Meaning("table", table.name))
            if len(words) > 1 and words[0] in _TABLE_PREFIXES:
                self._name(words[1:], Meaning("table", table.name))
            if len(words) == 1 and words[0].endswith(("er", "or")):
                self._agents.setdefault(_agent_root(words[0]), []).append(Meaning("table", table.name, quality="part"))
        for table in self.schema.tables:
            for column in table.columns:
                words = [token.stem for token in name_tokens(column.name)]
                self._name(words, Meaning("column", table.name, column.name))
                if len(words) > 1:
                    for word in dict.fromkeys(words):
                        if len(word) > 2 and word not in {"code", "num"}:
                            part = Meaning("column", table.name, column.name, quality="part")
                            self._parts.setdefault(word, []).append(part)

    def _name(self, words: Sequence[str], meaning: Meaning) -> None:
        for key in dict.fromkeys((" ".join(words), "".join(words))):
            if key and meaning not in self._names.setdefault(key, []):
                self._names[key].append(meaning)

    def _index_glossary(self) -> None:
        for place, term in enumerate(self.glossary):
            home = next((name for name in term.tables if name in self._known_tables), "")
            for name in term.names:
                self._name([token.stem for token in tokens(name)], Meaning("term", home, term=place))

    def _class_of(self, term: Term) -> TermClass:
        if not term.expression:
            return "entity"
        named = {
            meaning.table
            for name in term.names
            for meaning in self._names.get(" ".join(token.stem for token in tokens(name)), ())
            if meaning.kind == "table"
        }
        if named.intersection(term.tables):
            return "entity"
        if _COLUMN_ONLY.match(term.expression):
            return "column"
        if _AGGREGATE.search(term.expression) and not _CONDITION.search(term.expression):
            return "aggregate"
        bare = re.sub(r"\([^()]*\)", "()", term.expression)
        return "condition" if _CONDITION.search(bare) else "measure"

    def _index_values(self) -> frozenset[tuple[str, str]]:
        """Index stored values; gives the columns whose values name one row."""
        foreign = {(t.name, c) for t in self.schema.tables for key in t.foreign_keys for c in key.columns}
        sizes: dict[str, dict[str, int]] = {}
        for known in self.facts.columns:
            if known.is_date:
                continue
            if known.values:
                sizes.setdefault(known.table, {})[known.column] = len(known.values)
            for value in known.values:
                words = tokens(value)
                if not 0 < len(words) <= _LONGEST or (known.table, known.column) in foreign:
                    continue
                meaning = Meaning("value", known.table, known.column, value)
                self._values.setdefault(" ".join(word.folded for word in words), []).append(meaning)
                if len(words) <= 3 and words[-1].kind == "latin":
                    self._value_stems.setdefault(" ".join(word.stem for word in words), []).append(meaning)
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
            if keys.get(known.table) == [known.column] and known.minimum and known.maximum:
                if known.minimum.lstrip("-").isdigit() and known.maximum.lstrip("-").isdigit():
                    rows[known.table] = int(known.maximum) - int(known.minimum) + 1
        return rows

    def _date_columns(self) -> Iterable[DateColumn]:
        dated = {(known.table, known.column) for known in self.facts.columns if known.is_date}
        for table in self.schema.tables:
            for column in table.columns:
                kind = column.type.lower()
                if (table.name, column.name) in dated or kind.startswith(("date", "timestamp")):
                    words = frozenset(token.stem for token in name_tokens(column.name)) - {"date", "time", "at", "on"}
                    yield DateColumn(table.name, column.name, words)


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


def _vocabulary(keys: Iterable[str]) -> _Vocabulary:
    words = {word for key in keys for word in key.split(" ") if len(word) > 3 and word.isalpha()}
    letters: dict[str, list[str]] = {}
    for word in sorted(words):
        letters.setdefault(word[0], []).append(word)
    return _Vocabulary({k: tuple(v) for k, v in letters.items()}, frozenset({stem(word) for word in words} | words))


def _pieces(keys: Iterable[str]) -> frozenset[str]:
    return frozenset(word for key in keys for word in key.split(" ") if not word.isascii())


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

    With none but a key, the first column that differs in nine of ten rows is taken as well.
    """
    most = max(rows, *sizes.values()) if sizes else rows
    own = {token.stem for token in name_tokens(table.name)}
    found = False
    for column in table.columns:
        words = [token.stem for token in name_tokens(column.name)]
        size = sizes.get(column.name, 0)
        named = bool(words) and (words[-1] in _NAMING_WORDS or set(words) == own)
        if size and (named or column.primary_key) and 2 * size >= most:
            found = found or named
            yield column.name
    if not found:
        distinct = (column.name for column in table.columns if sizes.get(column.name) and not column.primary_key)
        yield from [name for name in distinct if 10 * sizes[name] >= 9 * most][:1]
