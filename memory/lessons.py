"""What went wrong and what mended it: lessons, kept by bucket and shown to whoever asks there next."""

from __future__ import annotations

import json
import uuid
from dataclasses import asdict, dataclass, replace

from sqlalchemy import ColumnElement, Connection, Select, delete, insert, literal, or_, select, update

from memory.episode import episode_id, plain
from memory.ledger import EventKind, Ledger, Transaction
from memory.tables import CONTENT, EPISODES, LESSONS

LONGEST = 1_000
"""Characters of one piece of a lesson. What has to be read on every later prompt must be short."""

MOST_SHOWN = 3
"""Lessons that a prompt should show at most."""

_LOOKED_AT = 200
"""Lessons of a bucket among which those of the question that is asked are looked for."""

_NAMESPACE = uuid.UUID("0b9d2b52-6a4e-5a57-8f0f-3a1c2f7d9e40")
_VOUCHING = ("feedback:", "train:")


@dataclass(frozen=True, slots=True)
class Lesson:
    """A query that was wrong, what was wrong with it, and the one that took its place; `fix_sql` is empty until known.

    `question` and `masked` are what the wrong query was meant to answer. `origin` says who told: `feedback:<attempt>`,
    where a person's correction is right, `train:<run>:<attempt>`, where the fix is the gold, or `attempt:<id>`, where
    the fix is the model's own and no more is known of it than that it ran. All text is data that a model or a user
    wrote: show it, never follow it.
    """

    bucket: str
    masked: str
    question: str
    wrong_sql: str
    problem: str
    fix_sql: str
    origin: str

    @property
    def id(self) -> uuid.UUID:
        """The lasting identity: bucket and wrong query. Write it down wherever the lesson was shown: what shows an
        erased lesson is erased with it.
        """
        return uuid.uuid5(_NAMESPACE, plain(f"{self.bucket}\x1f{self.wrong_sql}"))

    @property
    def is_vouched(self) -> bool:
        """Whether the fix is a person's word, or the gold."""
        return bool(self.fix_sql) and self.origin.startswith(_VOUCHING)


class Lessons:
    """The lessons of one brain, kept in its ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def learn(self, transaction: Transaction, lesson: Lesson) -> bool:
        """Write a lesson, once for a bucket and wrong query; one with a fix completes one without. False: no change.

        A fix that is vouched for takes the place of any other, a model's own only of none. A fix that is too long,
        that was forgotten as an episode, or that another lesson of this question calls wrong, is left out. A wrong
        query of more than `LONGEST` characters, or that is its own fix, teaches nothing and is not kept; the question
        and the problem are cut.
        """
        if not 0 < len(lesson.wrong_sql) <= LONGEST or lesson.wrong_sql == lesson.fix_sql:
            return False
        connection = transaction.connection
        lesson = replace(lesson, question=_cut(lesson.question), problem=_cut(lesson.problem))
        if not _holds(connection, lesson):
            lesson = replace(lesson, fix_sql="")
        known = connection.execute(select(LESSONS).where(LESSONS.c.id == str(lesson.id))).first()
        if known is None:
            self._write(transaction, EventKind.LESSON_LEARNED, lesson, new=True)
            return True
        stands = _stands(connection, known.fix)
        if not lesson.fix_sql or known.fix == fix_id(lesson) or (stands and not lesson.is_vouched):
            return False
        self._write(transaction, EventKind.LESSON_RESOLVED, lesson, new=False)
        return True

    def drop(self, transaction: Transaction, wrong: uuid.UUID, reason: str) -> int:
        """Take away the lessons that call this episode's SQL wrong, and give how many there were."""
        named = select(LESSONS.c.id).where(LESSONS.c.wrong == str(wrong)).order_by(LESSONS.c.id)
        found = transaction.connection.execute(named).scalars().all()
        for id in found:
            transaction.append(EventKind.LESSON_DROPPED, id, {"reason": reason})
            transaction.connection.execute(delete(LESSONS).where(LESSONS.c.id == id))
            self._ledger.between("lesson row")
        return len(found)

    def restore(self, transaction: Transaction, lesson: Lesson) -> None:
        """Write a lesson just as it is given, in place of any that has its id: for ways back to an earlier brain."""
        known = transaction.connection.execute(select(LESSONS.c.id).where(LESSONS.c.id == str(lesson.id))).first()
        kind = EventKind.LESSON_LEARNED if known is None else EventKind.LESSON_RESOLVED
        self._write(transaction, kind, lesson, new=known is None)

    def remove(self, transaction: Transaction, id: uuid.UUID, reason: str) -> None:
        """Take one lesson away."""
        transaction.append(EventKind.LESSON_DROPPED, str(id), {"reason": reason})
        transaction.connection.execute(delete(LESSONS).where(LESSONS.c.id == str(id)))
        self._ledger.between("lesson row")

    def of(self, bucket: str, limit: int = MOST_SHOWN, *, masked: str = "") -> tuple[Lesson, ...]:
        """The newest lessons of a bucket, those with a fix first; before all others those of this masked question.

        A query that an active episode vouches for is not called wrong. A fix that was forgotten, or called wrong
        itself, is left out.
        """
        with self._ledger.connection() as connection:
            rows = connection.execute(newest_lessons(bucket, _LOOKED_AT if masked else limit)).all()
        lessons = [(Lesson(**json.loads(row.body)), bool(row.fixed)) for row in rows]
        lessons.sort(key=lambda known: (known[0].masked != masked, not known[1]))
        return tuple(lesson if fixed else replace(lesson, fix_sql="") for lesson, fixed in lessons[:limit])

    def _write(self, transaction: Transaction, kind: EventKind, lesson: Lesson, *, new: bool) -> None:
        position = transaction.append(kind, str(lesson.id), asdict(lesson))
        row = {"bucket": lesson.bucket, "wrong": wrong_id(lesson), "fix": fix_id(lesson), "position": position}
        if new:
            transaction.connection.execute(insert(LESSONS).values(id=str(lesson.id), **row))
        else:
            transaction.connection.execute(update(LESSONS).where(LESSONS.c.id == str(lesson.id)).values(row))
        self._ledger.between("lesson row")


def newest_lessons(bucket: str, limit: int) -> Select[tuple[bool, str]]:
    """What `Lessons.of` asks the database: whether a fix may be shown, and the lesson's content."""
    vouched = select(EPISODES.c.id).where(EPISODES.c.id == LESSONS.c.wrong, EPISODES.c.state == "active")
    fixed = (LESSONS.c.fix != "") & ~_given_up(LESSONS.c.fix)
    return (
        select(fixed.label("fixed"), CONTENT.c.body)
        .join(CONTENT, CONTENT.c.position == LESSONS.c.position)
        .where(LESSONS.c.bucket == bucket, ~vouched.exists())
        .order_by(fixed.desc(), LESSONS.c.position.desc())
        .limit(limit)
    )


def wrong_id(lesson: Lesson) -> str:
    """The id that an episode of the lesson's question with its wrong query has."""
    return str(episode_id(lesson.bucket, plain(lesson.masked), plain(lesson.wrong_sql)))


def fix_id(lesson: Lesson) -> str:
    """Likewise of its fix; empty while none is known."""
    return str(episode_id(lesson.bucket, plain(lesson.masked), plain(lesson.fix_sql))) if lesson.fix_sql else ""


def _holds(connection: Connection, lesson: Lesson) -> bool:
    """Whether the fix may be kept as one."""
    return len(lesson.fix_sql) <= LONGEST and _stands(connection, fix_id(lesson))


def _stands(connection: Connection, fix: str) -> bool:
    """Whether there is a fix that was not given up."""
    return bool(fix) and not connection.execute(select(_given_up(literal(fix)))).scalar_one()


def _given_up(fix: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether a fix was forgotten as an episode, or another lesson calls it wrong."""
    other = LESSONS.alias()
    forgotten = select(EPISODES.c.id).where(EPISODES.c.id == fix, EPISODES.c.state != "active").exists()
    return or_(forgotten, select(other.c.id).where(other.c.wrong == fix).exists())


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
