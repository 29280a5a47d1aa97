"""Proving the ledger: hash it again, and replay it against what is projected from it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import Connection, Row, select

from memory import lexicon
from memory.chain import GENESIS, chain_hash, content_hash
from memory.ledger import EventKind, Verification, masked_digest, tables_key
from memory.lessons import Lesson, fix_id, wrong_id
from memory.tables import (
    ATTEMPTS,
    BRAIN,
    CONTENT,
    EPISODES,
    LEDGER,
    LESSONS,
    MASKED_QUESTIONS,
    OUTBOX,
    SCHEMA_VERSIONS,
    TERM_NAMES,
)

_MOST_PROBLEMS = 20


@dataclass(slots=True)
class _Replay:
    """What the projections must be, grown event by event."""

    episodes: dict[str, tuple[str, str, str, str, int]] = field(default_factory=dict)
    buckets: dict[str, str] = field(default_factory=dict)
    attempts: dict[str, tuple[str, int, int | None]] = field(default_factory=dict)
    doubted: dict[int, str] = field(default_factory=dict)
    outbox: list[tuple[int, str, str]] = field(default_factory=list)
    schemas: set[int] = field(default_factory=set)
    names: dict[str, int] = field(default_factory=dict)
    digests: dict[int, str] = field(default_factory=dict)
    lessons: dict[str, tuple[str, str, str, int]] = field(default_factory=dict)
    format: int = 0
    blank: set[int] = field(default_factory=set)
    pardoned: set[int] = field(default_factory=set)

    def apply(self, row: Row[tuple[object, ...]]) -> None:
        kind, subject, position = row.kind, row.subject, row.position
        body = {} if row.body is None else json.loads(row.body)
        if row.body is None:
            self.blank.add(position)
        if kind.startswith("episode_") and "bucket" in body:
            self.buckets[subject] = body["bucket"]
        match kind:
            case EventKind.EPISODE_REMEMBERED:
                tables = tables_key(body.get("tables", ()))
                self.episodes[subject] = ("active", body.get("kind", ""), tables, body.get("batch", ""), position)
                self.digests[position] = masked_digest(body.get("masked", ""))
                self.outbox.append((position, "remember", subject))
            case EventKind.EPISODE_FORGOTTEN:
                self.episodes[subject] = ("forgotten", *self.episodes[subject][1:])
                self.outbox.append((position, "forget", subject))
            case EventKind.EPISODE_ERASED:
                self.episodes[subject] = ("erased", "", "[]", "", self.episodes[subject][-1])
                if body.get("bucket"):
                    self.outbox.append((position, "rewrite", subject))
                self.pardoned.update(body.get("positions", ()))
                self.lessons = {id: one for id, one in self.lessons.items() if one[-1] not in self.pardoned}
            case EventKind.EPISODE_BARRED:
                self.episodes[subject] = (body.get("state", ""), "", "[]", "", position)
            case EventKind.CONTENT_ERASED:
                self.pardoned.update(body.get("positions", ()))
            case EventKind.ATTEMPT_STARTED:
                self.attempts[subject] = ("started", position, None)
            case EventKind.ATTEMPT_SETTLED | EventKind.ATTEMPT_ABANDONED:
                state = "settled" if kind == EventKind.ATTEMPT_SETTLED else "abandoned"
                self.attempts[subject] = (state, self.attempts[subject][1], position)
            case EventKind.BUCKET_DOUBTED:
                self.outbox.append((position, "rewrite", ""))
                self.doubted[position] = subject
            case EventKind.LESSON_LEARNED | EventKind.LESSON_RESOLVED:
                # Its content is gone only where an erasing follows, and that takes the row away.
                lesson = Lesson(**body) if body else None
                named = (lesson.bucket, wrong_id(lesson), fix_id(lesson)) if lesson else ("", "", "")
                self.lessons[subject] = (*named, position)
            case EventKind.LESSON_DROPPED:
                self.lessons.pop(subject, None)
            case EventKind.BRAIN_CREATED | EventKind.BRAIN_UPGRADED:
                self.format = body.get("to", body.get("format", 0))
            case EventKind.SCHEMA_SEEN:
                self.schemas.add(position)
            case EventKind.TERM_TAUGHT:
                self.names.update({name.casefold(): position for name in body.get("names", ())})
            case EventKind.TERM_DROPPED:
                self.names = {name: at for name, at in self.names.items() if name not in body.get("names", ())}
            case _:
                pass


def verify(connection: Connection) -> Verification:
    """Hash every event and content again; then compare all that is projected from them."""
    problems: list[str] = []
    broken: int | None = None
    replay = _Replay()
    previous, expected = GENESIS, 0
    chained = select(LEDGER, CONTENT.c.salt, CONTENT.c.body, CONTENT.c.position.label("kept"))
    chained = chained.join(CONTENT, CONTENT.c.position == LEDGER.c.position, isouter=True).order_by(LEDGER.c.position)
    for row in connection.execute(chained.execution_options(yield_per=500)):
        expected += 1
        if (wrong := _wrong(row, previous, expected)) and broken is None:
            broken = row.position
            problems.append(f"position {row.position}: {wrong}")
        previous = row.hash
        if broken is None:
            replay.apply(row)
    if broken is not None:
        return Verification(expected, previous, broken, tuple(problems))
    if unpardoned := replay.blank - replay.pardoned:
        broken = min(unpardoned)
        problems.append(f"position {broken}: the content is gone, and no event erased it")
    problems += _projections(connection, replay)
    return Verification(expected, previous, broken, tuple(problems[:_MOST_PROBLEMS]))


def _wrong(row: Row[tuple[object, ...]], previous: str, expected: int) -> str:
    if row.position != expected:
        return f"position {expected} is missing"
    if row.previous != previous:
        return "it does not follow the event before"
    if row.hash != chain_hash(previous, row.position, row.at, row.kind, row.subject, row.content_hash):
        return "the event was changed"
    if row.kept is None:
        return "the row of its content is missing"
    if (row.body is None) != (row.salt is None):
        return "the content is half erased"
    if row.body is not None and content_hash(row.salt, row.body) != row.content_hash:
        return "the content was changed"
    return ""


def _projections(connection: Connection, replay: _Replay) -> list[str]:
    episodes = {id: (replay.buckets.get(id, ""), *rest) for id, rest in replay.episodes.items()}
    stored_episodes = {
        row.id: (row.bucket, row.state, row.kind, row.tables, row.batch, row.position)
        for row in connection.execute(select(EPISODES))
    }
    stored_attempts = {row.id: (row.state, row.started, row.settled) for row in connection.execute(select(ATTEMPTS))}
    outbox = {
        str(position): (action, replay.doubted.get(position, replay.buckets.get(subject, "")), subject)
        for position, action, subject in replay.outbox
    }
    stored_outbox = [
        (str(row.position), (row.action, row.bucket, row.subject)) for row in connection.execute(select(OUTBOX))
    ]
    problems = _differences("episode", episodes, stored_episodes)
    problems += _differences("attempt", replay.attempts, stored_attempts)
    problems += _differences("outbox change of position", outbox, dict(stored_outbox))
    if len(stored_outbox) != len(dict(stored_outbox)):
        problems.append("outbox: a change is queued twice")
    active = {position for state, *_, position in replay.episodes.values() if state == "active"}
    if active != lexicon.positions(connection):
        problems.append("lexicon: it does not hold the words of exactly the active episodes")
    masked = {row.position: row.digest for row in connection.execute(select(MASKED_QUESTIONS))}
    if masked != {position: replay.digests[position] for position in active}:
        problems.append("masked_questions: they are not those of exactly the active episodes")
    lessons = {row.id: (row.bucket, row.wrong, row.fix, row.position) for row in connection.execute(select(LESSONS))}
    problems += _differences("lesson", replay.lessons, lessons)
    if (format := connection.execute(select(BRAIN.c.format)).scalar_one()) != replay.format:
        problems.append(f"brain: the events say format {replay.format}, the table says {format}")
    schemas = set(connection.execute(select(SCHEMA_VERSIONS.c.position)).scalars())
    if schemas != replay.schemas:
        problems.append("schema_versions: they are not the ones that were seen")
    names = {row.name: row.position for row in connection.execute(select(TERM_NAMES)).all()}
    return problems + _differences("term", replay.names, names)


def _differences(what: str, expected: Mapping[str, object], stored: Mapping[str, object]) -> list[str]:
    return [
        f"{what} {key}: the events say {expected.get(key)}, the table says {stored.get(key)}"
        for key in sorted(expected.keys() | stored.keys())
        if expected.get(key) != stored.get(key)
    ]
