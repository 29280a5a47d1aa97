"""A snapshot: all that a brain knew at one moment, in canonical text with a hash of its content."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from memory.chain import Content, canonical
from memory.episode import Episode
from memory.errors import BrainError, ContentError
from memory.ledger import GoneState, episode_from
from memory.lessons import Lesson
from memory.semantic import Term, term_from, term_ids

TERM_ERASED = "term erased"
"""The state of what is gone where an id is that of a term (`memory.semantic.term_ids`)."""

FORMAT = 1
"""Raised when a line of the text changes its meaning."""

RecordKind = Literal["schema", "term", "episode", "lesson", "synapse"]
Key = tuple[RecordKind, str]


class SnapshotError(BrainError):
    """A snapshot cannot be found, read, or made so."""


@dataclass(frozen=True, slots=True)
class Record:
    """One thing that is known, in plain JSON. `body` has what its kind has, and nothing of when it was read.

    schema: name, fingerprint. term: the fields of `memory.semantic.Term`. episode: those of `memory.episode.Episode`
    and `since`, the second since 1970, UTC, when it was first remembered. lesson: those of `memory.lessons.Lesson`.
    synapse: bucket, kind and tables of the bucket, target_kind, target, weight, successes, failures, last_fired.
    """

    kind: RecordKind
    body: Content

    @property
    def key(self) -> Key:
        """What a record keeps while the rest of it changes, and by what records are sorted."""
        return self.kind, _KEYS[self.kind](self.body)

    @property
    def line(self) -> str:
        """The record in canonical JSON, without an end of line."""
        return canonical({"record": self.kind, **self.body})

    @property
    def about(self) -> tuple[str, ...]:
        """The ids of what it holds or leads to: of an episode, a lesson or a target, or of each name of a term."""
        match self.kind:
            case "episode" | "lesson":
                return (self.key[1],)
            case "synapse":
                return (str(self.body["target"]),)
            case "term":
                return term_ids(term_from(self.body))
            case _:
                return ()

    @property
    def episode(self) -> Episode:
        """The episode that this record holds; only of the kind that does."""
        return episode_from(self.body)


def of_episode(episode: Episode, since: int) -> Record:
    """The record of an episode. `since` is seconds since 1970, UTC."""
    return Record("episode", {**_plain(episode), "since": since})


def of_term(term: Term) -> Record:
    return Record("term", _plain(term))


def of_lesson(lesson: Lesson) -> Record:
    return Record("lesson", _plain(lesson))


@dataclass(frozen=True)
class Snapshot:
    """What a brain knew: records by key, in order. `gone` are the ids of episodes that were forgotten or erased, with
    which of the two, and of terms that were erased; they are written down, so that no build brings one back. They are
    no part of the hash, which is of what is known, and have one of their own.

    `parent` is the hash of the snapshot that was taken before, or "" where there was none.
    """

    database: str
    records: Mapping[Key, Record] = field(repr=False)
    gone: Mapping[str, str] = field(default_factory=dict, repr=False)
    parent: str = ""

    @classmethod
    def of(
        cls, database: str, records: Iterable[Record], *, gone: Mapping[str, str] | None = None, parent: str = ""
    ) -> Snapshot:
        """Make one of records in any order. Raises SnapshotError where two have one key, or two terms one name."""
        by_key: dict[Key, Record] = {}
        held: dict[str, Key] = {}
        for record in sorted(records, key=lambda one: one.key):
            if record.key in by_key:
                raise SnapshotError(f"There are two records of {record.kind} {record.key[1]}. Keep one of them.")
            for name in names_of(record):
                if held.setdefault(name, record.key) != record.key:
                    raise SnapshotError(f"Two terms are called {name!r}. Keep the name in one of them.")
            by_key[record.key] = record
        return cls(database, by_key, dict(sorted((gone or {}).items())), parent)

    @cached_property
    def hash(self) -> str:
        """SHA-256 over the database's name and the lines of all records, in hexadecimal digits."""
        lines = (f"{one.line}\n" for one in self.records.values())
        return hashlib.sha256("".join((f"{self.database}\n", *lines)).encode()).hexdigest()

    @cached_property
    def gone_hash(self) -> str:
        """SHA-256 over the lines of what is gone, in hexadecimal digits; "" where nothing is."""
        lines = "".join(f"{_gone_line(id, state)}\n" for id, state in self.gone.items())
        return hashlib.sha256(lines.encode()).hexdigest() if lines else ""

    def of_kind(self, kind: RecordKind) -> Iterator[Record]:
        """The records of one kind, in order."""
        return (record for record in self.records.values() if record.kind == kind)

    @cached_property
    def episodes(self) -> tuple[Episode, ...]:
        """Its episodes, in the order of their ids."""
        return tuple(record.episode for record in self.of_kind("episode"))

    def __len__(self) -> int:
        return len(self.records)


def to_text(snapshot: Snapshot) -> str:
    """Write a snapshot down: a line that says what it is, one line for each record, one for each that is gone.

    Equal snapshots give equal text in every process; a record more is a line more.
    """
    head = {
        "brain": snapshot.database,
        "format": FORMAT,
        "hash": snapshot.hash,
        "parent": snapshot.parent,
        "records": len(snapshot),
        **({"gone": snapshot.gone_hash} if snapshot.gone else {}),
    }
    told = [canonical(head), *(record.line for record in snapshot.records.values())]
    told += [_gone_line(id, state) for id, state in snapshot.gone.items()]
    return "\n".join(told) + "\n"


def from_text(text: str, *, name: str = "snapshot", edited: bool = False) -> Snapshot:
    """Read a snapshot. The hash must fit what is read, unless a person `edited` it on purpose: then it is made anew.

    Raises:
        SnapshotError: a line is not what it should be, which is named by its number; or the hash does not fit.

    >>> from_text(to_text(Snapshot.of("shop", []))).database
    'shop'
    """
    lines = text.split("\n")  # JSON escapes no other end of line
    head = _read_line(lines[0] if lines else "", 1, name)
    if not isinstance(head.get("brain"), str) or head.get("format") != FORMAT:
        raise SnapshotError(
            f"{name} does not begin with the line of a snapshot of format {FORMAT}. Make one with: hebbql brain export."
        )
    records, gone = [], {}
    for number, line in enumerate(lines[1:], start=2):
        if not line.strip():
            continue
        body = _read_line(line, number, name)
        kind = body.pop("record", None)
        if kind == "gone":
            state, id = _text(body, "state", number, name), _text(body, "id", number, name)
            if state not in (*get_args(GoneState), TERM_ERASED) or not _is_id(id):
                raise SnapshotError(f"{name}, line {number}: an episode that is gone has its id and a state.")
            gone[id] = state
        elif kind in get_args(RecordKind):
            records.append(_checked(kind, body, number, name))
        else:
            raise SnapshotError(f"{name}, line {number}: {kind!r} is no kind of record.")
    held = (record for record in records if record.kind in ("episode", "term"))
    if both := next((record for record in held if not gone.keys().isdisjoint(record.about)), None):
        raise SnapshotError(f"{name}: the {both.kind} {both.key[1]} is there and gone. Keep one of its two lines.")
    parent = head.get("parent")
    try:
        read = Snapshot.of(head["brain"], records, gone=gone, parent=parent if isinstance(parent, str) else "")
    except SnapshotError as twice:
        raise SnapshotError(f"{name}: {twice}") from twice
    if not edited and head.get("hash") != read.hash:
        raise SnapshotError(
            f"{name} was changed after it was written: its records have the hash {read.hash[:12]}, its first line says "
            f"{str(head.get('hash'))[:12]}. If that is meant, take it as it is with --edited."
        )
    if not edited and head.get("gone", "") != read.gone_hash:
        raise SnapshotError(
            f"{name} was changed after it was written: what is gone in it is not what its first line stands for, so "
            "something could come back that was forgotten or erased. If that is meant, take it with --edited."
        )
    return read


def read_file(path: Path, *, edited: bool = False) -> Snapshot:
    """Read a snapshot from a file. Raises SnapshotError."""
    try:
        return from_text(path.read_text("utf-8"), name=path.name, edited=edited)
    except (OSError, UnicodeDecodeError) as trouble:
        raise SnapshotError(f"{path} cannot be read as a snapshot: {trouble}.") from trouble


_EPISODE_FIELDS = tuple(one.name for one in fields(Episode))
_LESSON_FIELDS = tuple(one.name for one in fields(Lesson))
_TERM_FIELDS = tuple(one.name for one in fields(Term))
_WORDS: Mapping[str, tuple[str, ...]] = {
    "schema": ("name", "fingerprint"),
    "term": _TERM_FIELDS,
    "episode": (*_EPISODE_FIELDS, "since"),
    "lesson": _LESSON_FIELDS,
    "synapse": (
        "bucket",
        "kind",
        "tables",
        "target_kind",
        "target",
        "weight",
        "successes",
        "failures",
        "last_fired",
    ),
}
_LISTS = {"tables", "names"}
_NUMBERS = {"weight", "last_fired"}
_COUNTS = {"successes", "failures", "since"}
_MAY_LACK = {"expression"}
_MOST = {"weight": 1.0, "since": 253_402_300_799, "successes": 2**31 - 1, "failures": 2**31 - 1}
"""What numbers are at most: a weight, the last second of the year 9999, and what a database takes for a count."""


def names_of(record: Record) -> frozenset[str]:
    """The names that a term holds, in small letters; none of another record."""
    names: Any = record.body["names"] if record.kind == "term" else ()
    return frozenset(str(name).casefold() for name in names)


def _gone_line(id: str, state: str) -> str:
    return canonical({"record": "gone", "id": id, "state": state})


def _episode_key(body: Content) -> str:
    return str(episode_from(body).id)


def _lesson_key(body: Content) -> str:
    told: dict[str, Any] = {name: body[name] for name in _LESSON_FIELDS}
    return str(Lesson(**told).id)


def _term_key(body: Content) -> str:
    names: Any = body["names"]
    return "\t".join(sorted(str(name).casefold() for name in names))


def _synapse_key(body: Content) -> str:
    return "\t".join(str(body[part]) for part in ("bucket", "target_kind", "target"))


_KEYS = {
    "schema": lambda body: str(body["name"]),
    "term": _term_key,
    "episode": _episode_key,
    "lesson": _lesson_key,
    "synapse": _synapse_key,
}


def _plain(value: Episode | Term | Lesson) -> dict[str, object]:
    told = {one.name: getattr(value, one.name) for one in fields(value)}
    return {name: list(part) if isinstance(part, tuple) else part for name, part in told.items()}


def _read_line(line: str, number: int, name: str) -> dict[str, Any]:
    try:
        body = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise SnapshotError(f"{name}, line {number}: this is not JSON ({error}).") from error
    if not isinstance(body, dict):
        raise SnapshotError(f"{name}, line {number}: a record is an object in braces.")
    return body


def _checked(kind: RecordKind, body: dict[str, Any], number: int, name: str) -> Record:
    """A record that has just the fields of its kind, each of its type."""
    words = _WORDS[kind]
    if odd := sorted(body.keys() ^ set(words)):
        raise SnapshotError(
            f"{name}, line {number}: a record of kind {kind} has just {', '.join(words)}; see {odd[0]}."
        )
    for word in words:
        value = body[word]
        if word in _LISTS:
            fits = isinstance(value, list) and all(isinstance(one, str) for one in value)
        elif word in _COUNTS:
            fits = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST[word]
        elif word in _NUMBERS:
            fits = isinstance(value, int | float) and not isinstance(value, bool)
            fits = fits and 0 <= value <= _MOST.get(word, 1e300)
        else:
            fits = isinstance(value, str) or (value is None and word in _MAY_LACK)
        if not fits:
            raise SnapshotError(f"{name}, line {number}: {word} cannot be {value!r:.80}.")
    if kind == "term" and not body["names"]:
        raise SnapshotError(f"{name}, line {number}: a term needs a name.")
    record = Record(kind, body)
    try:
        record.line.encode("utf-8")
    except (ContentError, UnicodeEncodeError) as error:
        raise SnapshotError(f"{name}, line {number}: {error}") from error
    return record


def _is_id(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False


def _text(body: Mapping[str, Any], word: str, number: int, name: str) -> str:
    if not isinstance(value := body.get(word), str):
        raise SnapshotError(f"{name}, line {number}: {word} must be a text.")
    return value
