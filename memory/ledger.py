"""The ledger: the append-only, hash-chained history of a brain, and what is projected from it."""

from __future__ import annotations

import hashlib
import json
import secrets
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Connection, Engine, Row, Select, delete, func, insert, select, text, update

from memory import lexicon, vectors
from memory.chain import GENESIS, Content, canonical, chain_hash, content_hash
from memory.episode import Episode, episode_id, folded, plain
from memory.errors import (
    BrainDamagedError,
    BrainForeignError,
    BrainFrozenError,
    BrainNewerError,
    ContentError,
    UnknownAttemptError,
    UnknownEpisodeError,
)
from memory.opening import (
    APPLICATION_ID,
    check_folder,
    check_sqlite_file,
    engine_for,
    explained,
    flush_folder,
    holds_tables,
    sqlite_file,
)
from memory.tables import ATTEMPTS, BRAIN, CONTENT, EPISODES, LEDGER, LESSONS, MASKED_QUESTIONS, METADATA, OUTBOX

FORMAT = 4
"""Raised when the tables or the meaning of an event change; `memory.migrating` then takes older brains along."""


class EventKind(StrEnum):
    """What can happen to a brain. A kind is never renamed: old events keep their word."""

    BRAIN_CREATED = "brain_created"
    BRAIN_UPGRADED = "brain_upgraded"
    SCHEMA_SEEN = "schema_seen"
    TERM_TAUGHT = "term_taught"
    TERM_DROPPED = "term_dropped"
    BATCH_OPENED = "batch_opened"
    EPISODE_REMEMBERED = "episode_remembered"
    EPISODE_FORGOTTEN = "episode_forgotten"
    EPISODE_ERASED = "episode_erased"
    EPISODE_BARRED = "episode_barred"
    EPISODE_PINNED = "episode_pinned"
    EPISODE_UNPINNED = "episode_unpinned"
    ATTEMPT_STARTED = "attempt_started"
    ATTEMPT_SETTLED = "attempt_settled"
    ATTEMPT_ABANDONED = "attempt_abandoned"
    FEEDBACK_GIVEN = "feedback_given"
    WEIGHTS_MOVED = "weights_moved"
    BUCKET_DOUBTED = "bucket_doubted"
    LESSON_LEARNED = "lesson_learned"
    LESSON_RESOLVED = "lesson_resolved"
    LESSON_DROPPED = "lesson_dropped"
    CONTENT_ERASED = "content_erased"
    RUN_BEGAN = "run_began"
    RUN_STEPPED = "run_stepped"
    RUN_CHECKED = "run_checked"
    RUN_PAUSED = "run_paused"
    RUN_FINISHED = "run_finished"
    SNAPSHOT_TAKEN = "snapshot_taken"
    BRAIN_CHANGED = "brain_changed"
    CANARY_BEGAN = "canary_began"
    CANARY_ENDED = "canary_ended"


LEDGER_FILE = "brain.sqlite"
"""What the file of a ledger is called, in the folder of its brain."""

BLANKABLE = frozenset(
    {
        EventKind.ATTEMPT_STARTED,
        EventKind.ATTEMPT_SETTLED,
        EventKind.FEEDBACK_GIVEN,
        EventKind.LESSON_LEARNED,
        EventKind.LESSON_RESOLVED,
        EventKind.LESSON_DROPPED,
        EventKind.TERM_TAUGHT,
        EventKind.TERM_DROPPED,
        EventKind.EPISODE_FORGOTTEN,
        EventKind.SNAPSHOT_TAKEN,
        EventKind.BRAIN_CHANGED,
        EventKind.CANARY_BEGAN,
        EventKind.CANARY_ENDED,
    }
)
"""Events whose content can be erased without an episode: what else the brain knows does not hang on it."""

_EPISODE_FIELDS = tuple(one.name for one in fields(Episode))

Action = Literal["remember", "forget", "rewrite"]
GoneState = Literal["forgotten", "erased"]
EpisodeState = Literal["active"] | GoneState
AttemptState = Literal["started", "settled", "abandoned"]


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened. `at` is seconds since 1970, UTC; `content` is None once erased."""

    position: int
    at: float
    kind: EventKind
    subject: str
    content: Content | None
    hash: str


@dataclass(frozen=True, slots=True)
class BucketCount:
    """How many episodes a bucket holds; `kind` and `tables` are those of one of its episodes."""

    bucket: str
    kind: str
    tables: tuple[str, ...]
    active: int
    forgotten: int


@dataclass(frozen=True, slots=True)
class AttemptRecord:
    """What the ledger knows of an attempt: the body it was started with and the one it was settled with."""

    id: str
    state: AttemptState
    started_at: float
    started: Content | None
    settled: Content | None


@dataclass(frozen=True, slots=True)
class Queued:
    """One change that the episode store has not confirmed yet. `episode` is None when the bucket is rewritten."""

    number: int
    action: Action
    bucket: str
    episode: uuid.UUID | None


@dataclass(frozen=True, slots=True)
class Verification:
    """Whether the history proves itself. `broken` is the first position that does not verify."""

    events: int
    head: str
    broken: int | None
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not self.problems


Spelling = Callable[[str], str]
"""Writes SQL as episodes have it, and leaves alone what it cannot read."""


def _nothing(_step: str) -> None:
    """The hook between writes that does nothing."""


class Transaction:
    """What is written together or not at all. Made by `Ledger.transaction`, valid inside its block only."""

    def __init__(
        self, connection: Connection, *, clock: Callable[[], float], between: Callable[[str], None], newest: bool
    ) -> None:
        self.connection = connection
        self.erased = False
        self._clock = clock
        self._between = between
        self._head: tuple[int, str] | None = (0, GENESIS) if newest else None

    @property
    def at(self) -> float:
        """The time now, in seconds since 1970, UTC."""
        return self._clock()

    def append(self, kind: EventKind, subject: str, content: Content) -> int:
        """Write one event and give its position.

        Raises:
            ContentError: the content is not plain JSON.
        """
        if self._head is None:
            newest = select(LEDGER.c.position, LEDGER.c.hash).order_by(LEDGER.c.position.desc()).limit(1)
            self._head = self.connection.execute(newest).one()._tuple()
        position, previous = self._head[0] + 1, self._head[1]
        at, salt, body = _micros(self._clock()), secrets.token_hex(16), canonical(content)
        hashed = content_hash(salt, body)
        link = chain_hash(previous, position, at, kind, subject, hashed)
        self.connection.execute(
            insert(LEDGER).values(
                position=position,
                at=at,
                kind=kind.value,
                subject=subject,
                content_hash=hashed,
                previous=previous,
                hash=link,
            )
        )
        self._between(f"{kind} event")
        self.connection.execute(insert(CONTENT).values(position=position, salt=salt, body=body))
        self._between(f"{kind} content")
        self._head = (position, link)
        return position

    def remember(self, episode: Episode, *, again: bool = False, since: int | None = None) -> bool:
        """Write an episode and queue it for the store. False, and no change, when it is known already.

        A forgotten or erased episode counts as known, so that no seed pack brings back what a person took out.
        `again` is the word of a new verifier that it is right after all. `since` is the second since 1970, UTC, when
        it was first remembered, where that was not now.
        """
        known = self._row(episode.id)
        if known is not None and (known.state == "active" or not again):
            return False
        written = _episode_content(episode) if since is None else {**_episode_content(episode), "since": since}
        position = self.append(EventKind.EPISODE_REMEMBERED, str(episode.id), written)
        row = {
            "id": str(episode.id),
            "state": "active",
            "bucket": episode.bucket,
            "kind": episode.kind,
            "tables": tables_key(episode.tables),
            "batch": episode.batch,
            "position": position,
        }
        if known is None:
            self.connection.execute(insert(EPISODES).values(row))
        else:
            self.connection.execute(update(EPISODES).where(EPISODES.c.id == str(episode.id)).values(row))
        self._between("episode row")
        lexicon.add(self.connection, position, episode.question, episode.masked)
        self._between("episode words")
        self.connection.execute(
            insert(MASKED_QUESTIONS).values(position=position, digest=masked_digest(episode.masked))
        )
        self._between("masked question")
        self._queue(position, "remember", episode.bucket, str(episode.id))
        return True

    def forget(self, id: uuid.UUID, reason: str) -> bool:
        """Stop recalling an episode; its history stays. False, and no change, when it was forgotten before.

        Raises:
            UnknownEpisodeError: there is no such episode.
        """
        known = self._known(id)
        if known.state != "active":
            return False
        position = self.append(EventKind.EPISODE_FORGOTTEN, str(id), {"reason": reason})
        self.connection.execute(update(EPISODES).where(EPISODES.c.id == str(id)).values(state="forgotten"))
        self._between("episode row")
        self._take_out(id, known.position)
        self._queue(position, "forget", known.bucket, str(id))
        return True

    def erase(self, id: uuid.UUID, reason: str = "", *, spelling: Spelling = str.strip) -> bool:
        """Take an episode's content out of everything, and out of every attempt and lesson that shows it.

        An attempt or lesson shows it where it names it, asks its question, however that is written, or has its SQL
        for its masked question; an attempt also where an adapted draft is its SQL, whatever was asked. `spelling`
        brings the SQL of attempts into the form in which episodes keep it.

        What stays is that an episode with this id was there, and the hashes of what is gone. The bucket's dataset
        is queued to be written anew without it. False, and no change, when it was erased before and nothing has
        shown it since.

        Raises:
            UnknownEpisodeError: there is no such episode.
        """
        known = self._known(id)
        gone = self._showing(id, spelling)
        if known.state == "erased" and not gone:
            return False
        position = self.append(
            EventKind.EPISODE_ERASED, str(id), {"reason": reason, "bucket": known.bucket, "positions": gone}
        )
        self.connection.execute(update(CONTENT).where(CONTENT.c.position.in_(gone)).values(salt=None, body=None))
        self._between("contents erased")
        blank = {"state": "erased", "kind": "", "tables": "[]", "batch": ""}
        self.connection.execute(update(EPISODES).where(EPISODES.c.id == str(id)).values(blank))
        self._between("episode row")
        self._take_out(id, known.position)
        self.connection.execute(delete(LESSONS).where(LESSONS.c.position.in_(gone)))
        self._between("lessons erased")
        if known.bucket:
            self._queue(position, "rewrite", known.bucket, str(id))
        self.erased = True
        return True

    def bar(self, id: uuid.UUID, state: GoneState) -> bool:
        """Note that an episode this brain never held is gone elsewhere, so that no pack brings it in.

        It then counts as forgotten or erased, without content. False, and no change, when the episode is known here.
        """
        if self._row(id) is not None:
            return False
        position = self.append(EventKind.EPISODE_BARRED, str(id), {"state": state})
        blank = {"bucket": "", "kind": "", "tables": "[]", "batch": ""}
        self.connection.execute(insert(EPISODES).values(id=str(id), state=state, position=position, **blank))
        self._between("episode row")
        return True

    def pin(self, id: uuid.UUID, reason: str) -> None:
        """Hold an episode important, which an audit then prefers, until it is unpinned.

        Raises:
            UnknownEpisodeError: there is no such episode.
        """
        self._known(id)
        self.append(EventKind.EPISODE_PINNED, str(id), {"reason": reason})

    def unpin(self, id: uuid.UUID, reason: str) -> None:
        """Hold an episode important no longer.

        Raises:
            UnknownEpisodeError: there is no such episode.
        """
        self._known(id)
        self.append(EventKind.EPISODE_UNPINNED, str(id), {"reason": reason})

    def blank(self, positions: Iterable[int], reason: str = "", *, terms: Iterable[str] = ()) -> tuple[int, ...]:
        """Take the contents at some positions out of the history, and give those that still had one.

        Only what nothing else is made of may go: see `BLANKABLE`. Lessons and terms must have been taken away before.
        `terms` are the lasting ids of terms (`memory.semantic.term_ids`) that no file may bring back from now on.

        Raises:
            ContentError: an event of another kind stands at one of the positions.
        """
        kept = select(LEDGER.c.position, LEDGER.c.kind).join(CONTENT, CONTENT.c.position == LEDGER.c.position)
        kept = kept.where(LEDGER.c.position.in_(tuple(positions)), CONTENT.c.body.is_not(None))
        found = self.connection.execute(kept.order_by(LEDGER.c.position)).all()
        if other := next((row for row in found if row.kind not in BLANKABLE), None):
            raise ContentError(f"Position {other.position} is {other.kind}, which is not erased by itself.")
        gone, barred = [row.position for row in found], sorted(set(terms))
        if gone or barred:
            body = {"reason": reason, "positions": gone, **({"terms": barred} if barred else {})}
            self.append(EventKind.CONTENT_ERASED, "", body)
        if gone:
            self.connection.execute(update(CONTENT).where(CONTENT.c.position.in_(gone)).values(salt=None, body=None))
            self._between("contents erased")
            self.erased = True
        return tuple(gone)

    def is_active(self, id: uuid.UUID) -> bool:
        """Whether an episode is remembered and neither forgotten nor erased, as this transaction sees it."""
        known = self._row(id)
        return known is not None and known.state == "active"

    def start_attempt(self, id: str, body: Content) -> None:
        """Write that an attempt began. Do so before the model is called.

        Raises:
            UnknownAttemptError: an attempt with this id was started before.
        """
        if self.connection.execute(select(ATTEMPTS.c.id).where(ATTEMPTS.c.id == id)).first():
            raise UnknownAttemptError(f"Attempt {id} was started before; every attempt needs an id of its own.")
        position = self.append(EventKind.ATTEMPT_STARTED, id, body)
        self.connection.execute(insert(ATTEMPTS).values(id=id, state="started", started=position))
        self._between("attempt row")

    def settle_attempt(self, id: str, body: Content) -> None:
        """Write how an attempt ended. Settling twice fails, so nothing in its transaction counts twice.

        Raises:
            UnknownAttemptError: no such attempt is open.
        """
        self._close_attempt(id, "settled", EventKind.ATTEMPT_SETTLED, body)

    def abandon_attempt(self, id: str, reason: str) -> None:
        """Close an attempt that a crash left open.

        Raises:
            UnknownAttemptError: no such attempt is open.
        """
        body = {"status": "failed", "message": reason}
        self._close_attempt(id, "abandoned", EventKind.ATTEMPT_ABANDONED, body)

    def doubt(self, bucket: str, reason: str) -> None:
        """Queue the dataset of a bucket to be written anew, because the store may not hold what it should."""
        position = self.append(EventKind.BUCKET_DOUBTED, bucket, {"reason": reason})
        self._queue(position, "rewrite", bucket, "")

    def ack(self, numbers: Sequence[int]) -> None:
        """Mark queued changes as confirmed by the store."""
        self.connection.execute(update(OUTBOX).where(OUTBOX.c.number.in_(numbers)).values(acked=_micros(self._clock())))
        self._between("outbox acked")

    def advance_generation(self) -> int:
        """Count that the episode store was brought up to date, and give the new generation."""
        self.connection.execute(update(BRAIN).values(generation=BRAIN.c.generation + 1))
        self._between("generation")
        generation: int = self.connection.execute(select(BRAIN.c.generation)).scalar_one()
        return generation

    def _close_attempt(self, id: str, state: AttemptState, kind: EventKind, body: Content) -> None:
        open_now = select(ATTEMPTS.c.state).where(ATTEMPTS.c.id == id)
        if (found := self.connection.execute(open_now).scalar_one_or_none()) != "started":
            known = "was never started" if found is None else f"is {found} already"
            raise UnknownAttemptError(f"Attempt {id} {known}, so it cannot be {state}.")
        position = self.append(kind, id, body)
        self.connection.execute(update(ATTEMPTS).where(ATTEMPTS.c.id == id).values(state=state, settled=position))
        self._between("attempt row")

    def _take_out(self, id: uuid.UUID, position: int) -> None:
        """Find the episode that was remembered here no more: not by its words, its masked question or its meaning."""
        lexicon.remove(self.connection, position)
        self._between("episode words")
        self.connection.execute(delete(MASKED_QUESTIONS).where(MASKED_QUESTIONS.c.position == position))
        self._between("masked question")
        vectors.remove(self.connection, id)
        self._between("vectors")

    def _queue(self, position: int, action: Action, bucket: str, subject: str) -> None:
        number = self.connection.execute(select(func.coalesce(func.max(OUTBOX.c.number), 0) + 1)).scalar_one()
        self.connection.execute(
            insert(OUTBOX).values(number=number, position=position, action=action, bucket=bucket, subject=subject)
        )
        self._between(f"outbox {action}")

    def _row(self, id: uuid.UUID) -> Row[tuple[str, str, int]] | None:
        wanted = select(EPISODES.c.state, EPISODES.c.bucket, EPISODES.c.position).where(EPISODES.c.id == str(id))
        return self.connection.execute(wanted).first()

    def _known(self, id: uuid.UUID) -> Row[tuple[str, str, int]]:
        if (row := self._row(id)) is None:
            raise UnknownEpisodeError(f"No episode has the id {id}. List them with: hebbql forget --help.")
        return row

    def _showing(self, id: uuid.UUID, spelling: Spelling) -> list[int]:
        """Positions of all contents that hold the episode: its own; lessons with its question or SQL; attempts that
        name it or such a lesson, ask its question, or have its SQL; and the lessons of those attempts.
        """
        own = select(LEDGER.c.position).where(
            LEDGER.c.subject == str(id),
            LEDGER.c.kind.in_((EventKind.EPISODE_REMEMBERED, EventKind.EPISODE_FORGOTTEN)),
        )
        kept = select(CONTENT.c.position, CONTENT.c.body, LEDGER.c.subject)
        kept = kept.join(LEDGER, LEDGER.c.position == CONTENT.c.position).where(CONTENT.c.body.is_not(None))
        found = set(self.connection.execute(kept.where(LEDGER.c.position.in_(own))).scalars())
        bodies = [json.loads(row.body) for row in self.connection.execute(kept.where(LEDGER.c.position.in_(found)))]
        traces = _Traces.of(id, bodies, spelling)
        telling = kept.where(LEDGER.c.kind.in_((EventKind.LESSON_LEARNED, EventKind.LESSON_RESOLVED)))
        lessons = [(row, json.loads(row.body)) for row in self.connection.execute(telling)]
        told = set(
            self.connection.execute(
                select(LESSONS.c.id).where((LESSONS.c.wrong == str(id)) | (LESSONS.c.fix == str(id)))
            ).scalars()
        )
        told.update(row.subject for row, lesson in lessons if traces.in_lesson(row.body, lesson))
        trying = (EventKind.ATTEMPT_STARTED, EventKind.ATTEMPT_SETTLED, EventKind.FEEDBACK_GIVEN)
        shown = kept.where(LEDGER.c.kind.in_(trying)).order_by(LEDGER.c.position)
        attempts: set[str] = set()
        asked: dict[str, tuple[str, str]] = {}
        for row in self.connection.execute(shown.execution_options(yield_per=200)):
            body = json.loads(row.body)
            if "masked" in body and "bucket" in body:
                asked[row.subject] = body["bucket"], body["masked"]
            if any(name in row.body for name in told) or traces.in_attempt(row.body, body, asked.get(row.subject)):
                attempts.add(row.subject)
        for attempt in sorted(attempts):
            whole = shown.where(LEDGER.c.subject == attempt)
            found.update(self.connection.execute(whole).scalars("position"))
        told.update(row.subject for row, lesson in lessons if lesson["origin"].rpartition(":")[2] in attempts)
        found.update(row.position for row, _ in lessons if row.subject in told)
        return sorted(found)


@dataclass(frozen=True, slots=True)
class _Traces:
    """By what an episode is found in other contents: its id, its questions in any writing, and its SQL."""

    id: uuid.UUID
    marks: tuple[str, ...]
    questions: frozenset[str]
    written: frozenset[str]
    spelling: Spelling

    @classmethod
    def of(cls, id: uuid.UUID, bodies: Sequence[Content], spelling: Spelling) -> _Traces:
        questions = {str(body["question"]) for body in bodies if body.get("question")}
        marks = (str(id), *(canonical({"": question})[4:-1] for question in questions))
        written = frozenset(str(body["sql"]) for body in bodies if "sql" in body)
        return cls(id, marks, frozenset(map(folded, questions)) - {""}, written, cache(spelling))

    def in_lesson(self, text: str, lesson: dict[str, str]) -> bool:
        """Whether a lesson names the episode, is about its question, or has its SQL, right or wrong."""
        told = (lesson["wrong_sql"], lesson["fix_sql"])
        return (
            any(mark in text for mark in self.marks)
            or folded(lesson["question"]) in self.questions
            or not self.written.isdisjoint(told)
            or self._has_sql((lesson["bucket"], lesson["masked"]), told)
        )

    def in_attempt(self, text: str, body: dict[str, object], asked: tuple[str, str] | None) -> bool:
        """Whether an event of an attempt does; `asked` is the bucket and the masked question of the attempt."""
        if any(mark in text for mark in self.marks) or folded(str(body.get("question", ""))) in self.questions:
            return True
        drafts = body.get("drafts")
        made = [draft for draft in drafts if isinstance(draft, dict)] if isinstance(drafts, list) else []
        if any(self._is_written(str(draft.get("sql") or "")) for draft in made if draft.get("origin") == "adapted"):
            return True
        return asked is not None and self._has_sql(asked, (str(part.get("sql") or "") for part in (body, *made)))

    def _is_written(self, sql: str) -> bool:
        return bool(sql) and (sql in self.written or self.spelling(sql) in self.written)

    def _has_sql(self, asked: tuple[str, str], queries: Iterable[str]) -> bool:
        bucket, masked = map(plain, asked)
        return any(
            episode_id(bucket, masked, plain(sql)) == self.id
            for query in queries
            if query
            for sql in (query, self.spelling(query))
        )


class Ledger:
    """The history of one brain, in SQLite or PostgreSQL. Use it from one writing process at a time (see lease)."""

    def __init__(self, engine: Engine, *, clock: Callable[[], float], between: Callable[[str], None]) -> None:
        self.between = between
        self.frozen = False
        self._engine = engine
        self._clock = clock
        self._intents: tuple[int | None, tuple[BucketCount, ...]] | None = None
        with self.connection() as connection:
            brain = connection.execute(select(BRAIN)).one()
        self.store: str = brain.store
        self.database: str = brain.database
        self.format: int = brain.format
        self.created: float = brain.created / 1e6

    @classmethod
    def open(
        cls,
        where: str | Path,
        *,
        database: str,
        clock: Callable[[], float] = time.time,
        create: bool = True,
        between: Callable[[str], None] = _nothing,
    ) -> Ledger:
        """Open the brain in a SQLite file (a path or URL) or in PostgreSQL (a URL), or make it.

        `database` names the one database that the brain is about. `clock` gives seconds since 1970, UTC.
        `between` is called between any two writes with the name of the one just done, for tests of crashes.

        A brain of an older format is upgraded first, in one transaction.

        Raises:
            BrainError: one of its kinds says what is in the way: missing, unwritable, damaged, foreign, newer,
                locked.
        """
        engine = engine_for(where)
        try:
            file = sqlite_file(engine)
            there = check_sqlite_file(file) if file is not None else holds_tables(engine)
            if not there and file is not None:
                check_folder(file, create=create)
                _create_sqlite(file, database=database, clock=clock, between=between)
            elif not there:
                _create(engine, database=database, clock=clock, between=between)
            if _check_brain(engine, database) < FORMAT:
                from memory.migrating import migrate

                migrate(engine, clock=clock, between=between)
            vectors.create(engine)
            ledger = cls(engine, clock=clock, between=between)
            ledger._truncate_log()
        except BaseException:
            engine.dispose()
            raise
        return ledger

    def close(self) -> None:
        """Close every connection. The ledger can be opened again."""
        self._engine.dispose()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    @contextmanager
    def connection(self, within: Transaction | None = None) -> Iterator[Connection]:
        """A connection that sees one state of the ledger and must not write; `within` a transaction, that of it."""
        if within is not None:
            yield within.connection
            return
        how = {} if self._engine.dialect.name == "sqlite" else {"isolation_level": "REPEATABLE READ"}
        with explained(self._engine), self._engine.connect().execution_options(**how) as connection:
            yield connection

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Write together or not at all: when the block raises, nothing of it is kept.

        Raises:
            BrainLockedError: another process writes, and did not stop within `PATIENCE` seconds.
            BrainFullError: the disk is full.
            BrainFrozenError: this ledger was frozen.
        """
        if self.frozen:
            raise BrainFrozenError("This brain is fixed and takes no change. Write to one of your own.")
        with explained(self._engine):
            with self._engine.connect().execution_options(writes=True) as connection, connection.begin():
                if connection.dialect.name == "postgresql":
                    connection.execute(text("LOCK TABLE ledger IN EXCLUSIVE MODE"))
                transaction = Transaction(connection, clock=self._clock, between=self.between, newest=False)
                yield transaction
                if transaction.erased:
                    lexicon.scrub(connection)
                self.between("before commit")
            self.between("after commit")
            if transaction.erased:
                self._scrub()

    @property
    def where(self) -> str:
        """The file it is in, or the URL of its database without a password."""
        return str(sqlite_file(self._engine) or self._engine.url.render_as_string())

    def freeze(self) -> None:
        """Refuse every transaction from now on, until the ledger is opened again."""
        self.frozen = True

    @property
    def generation(self) -> int:
        """How often the episode store was brought up to date."""
        with self.connection() as connection:
            return int(connection.execute(select(BRAIN.c.generation)).scalar_one())

    def head(self) -> tuple[int, str]:
        """The newest position and its hash, which stands for the whole history."""
        with self.connection() as connection:
            newest = select(LEDGER.c.position, LEDGER.c.hash).order_by(LEDGER.c.position.desc()).limit(1)
            position, link = connection.execute(newest).one()
            return position, link

    def events(
        self,
        *,
        kinds: Iterable[EventKind] = (),
        subject: str | None = None,
        after: int = 0,
        until: int | None = None,
        within: Transaction | None = None,
    ) -> Iterator[Event]:
        """Read events in order: of some kinds, of one subject, of positions in `(after, until]`.

        `within` a transaction also those that it has written; read them to the end before it writes more.
        """
        wanted = select(LEDGER, CONTENT.c.body).join(CONTENT, CONTENT.c.position == LEDGER.c.position, isouter=True)
        wanted = wanted.where(LEDGER.c.position > after).order_by(LEDGER.c.position)
        if until is not None:
            wanted = wanted.where(LEDGER.c.position <= until)
        if subject is not None:
            wanted = wanted.where(LEDGER.c.subject == subject)
        if kinds := tuple(kinds):
            wanted = wanted.where(LEDGER.c.kind.in_(kinds))
        with self.connection(within) as connection:
            for row in connection.execute(wanted.execution_options(yield_per=500)):
                content = None if row.body is None else json.loads(row.body)
                yield Event(row.position, row.at / 1e6, EventKind(row.kind), row.subject, content, row.hash)

    def episode(self, id: uuid.UUID) -> Episode | None:
        """An episode that is remembered or forgotten, or None when it is unknown or erased."""
        held = EPISODES.c.bucket != ""  # one that was only barred never had content
        return next(iter(self._episodes(_stored_episodes().where(EPISODES.c.id == str(id), held))), None)

    def episode_state(self, id: uuid.UUID) -> EpisodeState | None:
        with self.connection() as connection:
            state = connection.execute(select(EPISODES.c.state).where(EPISODES.c.id == str(id))).scalar_one_or_none()
        return state

    def episode_states(self, *, within: Transaction | None = None) -> dict[str, EpisodeState]:
        """What has become of every episode that was ever remembered or barred, by id; as `within` a transaction."""
        with self.connection(within) as connection:
            rows = connection.execute(select(EPISODES.c.id, EPISODES.c.state).order_by(EPISODES.c.id))
            return {row.id: row.state for row in rows}

    def pins(self) -> dict[str, str]:
        """Why each episode that is pinned was pinned, by its id."""
        held: dict[str, str] = {}
        for event in self.events(kinds=(EventKind.EPISODE_PINNED, EventKind.EPISODE_UNPINNED)):
            held.pop(event.subject, None)
            if event.kind == EventKind.EPISODE_PINNED:
                held[event.subject] = str((event.content or {}).get("reason", ""))
        return held

    def episodes(self, bucket: str | None = None, *, batch: str | None = None) -> tuple[Episode, ...]:
        """Active episodes in the order they were remembered: all, of one bucket, or of one batch."""
        wanted = _active_episodes()
        if bucket is not None:
            wanted = wanted.where(EPISODES.c.bucket == bucket)
        if batch is not None:
            wanted = wanted.where(EPISODES.c.batch == batch)
        return self._episodes(wanted)

    def masked(self, masked: str) -> tuple[Episode, ...]:
        """Active episodes of exactly this masked question, in the order they were remembered."""
        return self._episodes(episodes_of(masked))

    def by_ids(self, ids: Iterable[uuid.UUID]) -> tuple[Episode, ...]:
        """Those of the episodes that are active, in the order they were remembered."""
        return self._episodes(_active_episodes().where(EPISODES.c.id.in_([str(id) for id in ids])))

    def first_of(self, buckets: Iterable[str]) -> tuple[Episode, ...]:
        """The active episode of each bucket that was remembered first, in the order they were."""
        first = select(func.min(EPISODES.c.position)).where(
            EPISODES.c.state == "active", EPISODES.c.bucket.in_(tuple(buckets))
        )
        return self._episodes(_active_episodes().where(EPISODES.c.position.in_(first.group_by(EPISODES.c.bucket))))

    def by_kind(self, kind: str) -> tuple[Episode, ...]:
        """Active episodes of one kind of question, whatever tables it touches."""
        return self._episodes(_active_episodes().where(EPISODES.c.kind == kind))

    def by_tables(self, tables: Iterable[str]) -> tuple[Episode, ...]:
        """Active episodes that touch exactly these tables, whatever their kind."""
        return self._episodes(_active_episodes().where(EPISODES.c.tables == tables_key(tables)))

    def search(self, text: str, limit: int = 10) -> tuple[Episode, ...]:
        """Active episodes of the whole family that share words with the text, best first."""
        with self.connection() as connection:
            found = lexicon.search(connection, text, limit)
            rows = connection.execute(_active_episodes().where(EPISODES.c.position.in_(found))).all()
        by_position = {row.position: _episode(row) for row in rows}
        return tuple(by_position[position] for position in found if position in by_position)

    def search_buckets(self, text: str, limit: int = 10) -> tuple[str, ...]:
        """The bucket of each episode that `search` finds, best first."""
        with self.connection() as connection:
            found = lexicon.search(connection, text, limit)
            wanted = select(EPISODES.c.position, EPISODES.c.bucket)
            wanted = wanted.where(EPISODES.c.position.in_(found), EPISODES.c.state == "active")
            by_position = {row.position: row.bucket for row in connection.execute(wanted)}
        return tuple(by_position[position] for position in found if position in by_position)

    def buckets(self) -> tuple[BucketCount, ...]:
        """Every bucket that ever held an episode, by name, with how many it holds now."""
        with self.connection() as connection:
            rows = connection.execute(
                select(EPISODES.c.bucket, EPISODES.c.kind, EPISODES.c.tables, EPISODES.c.state, func.count())
                .where(EPISODES.c.bucket != "")
                .group_by(EPISODES.c.bucket, EPISODES.c.kind, EPISODES.c.tables, EPISODES.c.state)
                .order_by(EPISODES.c.bucket)
            ).all()
        counted: dict[str, BucketCount] = {}
        for bucket, kind, tables, state, count in rows:
            seen = counted.get(bucket, BucketCount(bucket, "", (), 0, 0))
            counted[bucket] = BucketCount(
                bucket,
                seen.kind or kind,
                seen.tables or tuple(json.loads(tables)),
                seen.active + (count if state == "active" else 0),
                seen.forgotten + (count if state != "active" else 0),
            )
        return tuple(counted.values())

    def intents(self) -> tuple[BucketCount, ...]:
        """Every intent that active episodes have, by bucket: one bucket may hold several sets of tables.

        Counted anew after an episode was remembered, forgotten or erased, each of which queues a change.
        """
        newest = select(func.max(OUTBOX.c.number))
        with self.connection() as connection:
            changes = connection.execute(newest).scalar_one()
            if self._intents is None or self._intents[0] != changes:
                self._intents = changes, self._count_intents(connection)
            return self._intents[1]

    def _count_intents(self, connection: Connection) -> tuple[BucketCount, ...]:
        wanted = (
            select(EPISODES.c.bucket, EPISODES.c.kind, EPISODES.c.tables, func.count())
            .where(EPISODES.c.state == "active")
            .group_by(EPISODES.c.bucket, EPISODES.c.kind, EPISODES.c.tables)
            .order_by(EPISODES.c.bucket, EPISODES.c.kind, EPISODES.c.tables)
        )
        rows = connection.execute(wanted).all()
        return tuple(BucketCount(bucket, kind, tuple(json.loads(tables)), n, 0) for bucket, kind, tables, n in rows)

    def attempt(self, id: str) -> AttemptRecord | None:
        """One attempt by its id, or None."""
        return next(iter(self._attempts(ATTEMPTS.c.id == id)), None)

    def unsettled(self) -> tuple[AttemptRecord, ...]:
        """Attempts that were started and never settled, oldest first: a crash left them, or they run now."""
        return self._attempts(ATTEMPTS.c.state == "started")

    def abandon(self, reason: str) -> tuple[str, ...]:
        """Close all attempts that a crash left, and give their ids. Call it when the lease is held."""
        left = tuple(attempt.id for attempt in self.unsettled())
        if left:
            with self.transaction() as transaction:
                for id in left:
                    transaction.abandon_attempt(id, reason)
        return left

    def outbox(self, limit: int | None = None) -> tuple[Queued, ...]:
        """Changes that the episode store has not confirmed, in the order they were made."""
        pending = select(OUTBOX).where(OUTBOX.c.acked.is_(None)).order_by(OUTBOX.c.number).limit(limit)
        with self.connection() as connection:
            return tuple(
                Queued(row.number, row.action, row.bucket, uuid.UUID(row.subject) if row.subject else None)
                for row in connection.execute(pending)
            )

    def ack(self, numbers: Sequence[int]) -> None:
        """Mark queued changes as confirmed by the store."""
        with self.transaction() as transaction:
            transaction.ack(numbers)

    def verify(self) -> Verification:
        """Hash the whole history again and compare what is projected from it. Seconds for 100,000 events."""
        from memory.verifying import verify

        with self.connection() as connection:
            return verify(connection)

    def _episodes(self, wanted: Select[tuple[int, str]]) -> tuple[Episode, ...]:
        with self.connection() as connection:
            return tuple(_episode(row) for row in connection.execute(wanted))

    def _attempts(self, which: object) -> tuple[AttemptRecord, ...]:
        begun, ended, happened = CONTENT.alias(), CONTENT.alias(), LEDGER.alias()
        wanted = (
            select(ATTEMPTS.c.id, ATTEMPTS.c.state, happened.c.at, begun.c.body, ended.c.body.label("ended"))
            .join(happened, happened.c.position == ATTEMPTS.c.started)
            .join(begun, begun.c.position == ATTEMPTS.c.started)
            .join(ended, ended.c.position == ATTEMPTS.c.settled, isouter=True)
            .where(which)  # type: ignore[arg-type]
            .order_by(ATTEMPTS.c.started)
        )
        with self.connection() as connection:
            return tuple(
                AttemptRecord(row.id, row.state, row.at / 1e6, _loaded(row.body), _loaded(row.ended))
                for row in connection.execute(wanted)
            )

    def _scrub(self) -> None:
        """Take what was erased out of the log of changes as well, and out of dead rows."""
        if self._engine.dialect.name == "sqlite":
            self._truncate_log()
            return
        with explained(self._engine), self._engine.connect() as connection:
            alone = connection.execution_options(isolation_level="AUTOCOMMIT")
            for table in ("content", "episodes", "lexicon", "lessons", "masked_questions", "vectors"):
                alone.execute(text(f"VACUUM (FULL) {table}"))

    def _truncate_log(self) -> None:
        """Write SQLite's log into the file and empty it: erased content must not live on in it."""
        if self._engine.dialect.name == "sqlite":
            with explained(self._engine), self._engine.connect() as connection:
                alone = connection.execution_options(isolation_level="AUTOCOMMIT")
                alone.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")


def _create(engine: Engine, *, database: str, clock: Callable[[], float], between: Callable[[str], None]) -> None:
    """Make the tables and the first event, in one transaction."""
    with explained(engine), engine.connect().execution_options(writes=True) as connection, connection.begin():
        METADATA.create_all(connection, checkfirst=False)
        lexicon.create(connection)
        store, at = str(uuid.uuid4()), clock()
        connection.execute(
            insert(BRAIN).values(store=store, generation=0, format=FORMAT, database=database, created=_micros(at))
        )
        transaction = Transaction(connection, clock=clock, between=between, newest=True)
        born: Content = {"store": store, "format": FORMAT, "database": database}
        transaction.append(EventKind.BRAIN_CREATED, database, born)


def _create_sqlite(file: Path, *, database: str, clock: Callable[[], float], between: Callable[[str], None]) -> None:
    """Make the file beside its place and move it there, so that a crash leaves no half-made brain."""
    unborn = file.with_name(file.name + ".unborn")
    for leftover in (unborn, *(unborn.with_name(unborn.name + end) for end in ("-wal", "-shm", "-journal"))):
        leftover.unlink(missing_ok=True)
    engine = engine_for(unborn)
    try:
        with explained(engine), engine.connect() as connection:
            alone = connection.execution_options(isolation_level="AUTOCOMMIT")
            alone.exec_driver_sql(f"PRAGMA application_id={APPLICATION_ID}")
        between("file")
        _create(engine, database=database, clock=clock, between=between)
    finally:
        engine.dispose()
    between("tables")
    unborn.rename(file)
    flush_folder(file.parent)
    between("brain created")


def _check_brain(engine: Engine, database: str) -> int:
    """Refuse what is not a brain of this database that we know how to read; give its format."""
    with explained(engine), engine.connect() as connection:
        where = engine.url.render_as_string()
        found = connection.execute(select(BRAIN.c.format, BRAIN.c.database)).all()
    if len(found) != 1:
        raise BrainDamagedError(f"{where} does not say which brain it is. Put a copy back, or delete it to begin anew.")
    if found[0].format > FORMAT:
        raise BrainNewerError(
            f"{where} was written by a newer HebbQL (format {found[0].format}; known is {FORMAT}): upgrade HebbQL."
        )
    if found[0].database != database:
        raise BrainForeignError(
            f"{where} is the brain of {found[0].database!r}, not of {database!r}. A brain belongs to one database: "
            "name another place with --brain."
        )
    format: int = found[0].format
    return format


def _stored_episodes() -> Select[tuple[int, str]]:
    joined = select(EPISODES.c.position, CONTENT.c.body).join(CONTENT, CONTENT.c.position == EPISODES.c.position)
    return joined.where(CONTENT.c.body.is_not(None)).order_by(EPISODES.c.position)


def episodes_of(masked: str) -> Select[tuple[int, str]]:
    """What `Ledger.masked` asks the database."""
    named = select(MASKED_QUESTIONS.c.position, CONTENT.c.body)
    named = named.join(CONTENT, CONTENT.c.position == MASKED_QUESTIONS.c.position)
    named = named.where(MASKED_QUESTIONS.c.digest == masked_digest(masked))
    return named.order_by(MASKED_QUESTIONS.c.position)


def _active_episodes() -> Select[tuple[int, str]]:
    return _stored_episodes().where(EPISODES.c.state == "active")


def _episode_content(episode: Episode) -> Content:
    return asdict(episode)


def _episode(row: Row[tuple[int, str]]) -> Episode:
    return episode_from(json.loads(row.body))


def episode_from(body: Content) -> Episode:
    """The episode that the content of an `episode_remembered` event holds."""
    told: dict[str, Any] = {name: body[name] for name in _EPISODE_FIELDS}
    return Episode(**{**told, "tables": tuple(told["tables"])})


def tables_key(tables: Iterable[str]) -> str:
    """The text by which episodes of the same tables are found, whatever the order."""
    return json.dumps(sorted(set(tables)), ensure_ascii=False)


def masked_digest(masked: str) -> str:
    """By what episodes of one masked question are found; text that comes back from JSON has the same.

    >>> masked_digest("How many <value>?")[:12]
    '79570de31dc2'
    """
    return hashlib.sha256(masked.encode("utf-16-le", "surrogatepass")).hexdigest()


def _loaded(body: str | None) -> Content | None:
    if body is None:
        return None
    content: Content = json.loads(body)
    return content


def _micros(seconds: float) -> int:
    return round(seconds * 1e6)
