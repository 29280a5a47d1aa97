"""One try at one question: a frozen value that grows by appending."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Literal

from agent.database.comparing import same
from agent.database.result import Result
from agent.grounding import Grounding
from agent.intent import Intent
from agent.models.port import BudgetExhaustedError, ModelError, ModelUnavailableError, Prompt, Reply, Usage
from memory.recall import Recalled

if TYPE_CHECKING:  # it brings SQLAlchemy
    from memory.lessons import Lesson

Status = Literal["answered", "abstained", "refused", "failed"]
Path = Literal["habit", "model"]

MOST_DRAFTS = 3
"""One draft and at most two repairs, or three that vote."""

_MISTAKES = """
    no_sql cut failed empty syntax shape ambiguous unknown_column unknown_table unknown_source foreign_function depth
    length unstable known_types"""
MISTAKES = frozenset(_MISTAKES.split())
"""Rules that a model breaks by mistake. A draft that broke any other was refused for what it would do."""

OUTAGES = frozenset({"locked", "connection"})
"""Failures of the database that no other query mends. They end the attempt."""


@dataclass(frozen=True, slots=True)
class Understood:
    """What the question alone says: its links into the database, its intent, its bucket and its masked form."""

    grounding: Grounding
    intent: Intent
    bucket: str
    masked: str


@dataclass(frozen=True, slots=True)
class Declined:
    """Why a question gets no draft: nothing to answer it from (`abstained`), or more than reading (`refused`)."""

    status: Literal["abstained", "refused"]
    message: str


@dataclass(frozen=True, slots=True)
class Draft:
    """One query and what came of it: a result, or a problem that the model is shown next.

    `prompt` is what the model was shown; None where no model was called. `rule` names the guard's rule that was
    broken, or `failed` when the database could not run the query. `sql` is what ran where it ran, else what was
    written.
    """

    prompt: Prompt | None
    reply: Reply
    sql: str = ""
    tables: tuple[str, ...] = ()
    result: Result | None = None
    problem: str = ""
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The approach to take and why. `votes` is how many drafts it makes to compare their results.

    `lessons` are those that it shows to the model.
    """

    approach: str
    why: str = ""
    votes: int = 1
    lessons: tuple[Lesson, ...] = ()


@dataclass(frozen=True, slots=True)
class Replay:
    """What a habit answers with: its name, its query with the new literals, which ran, and the episode behind it."""

    habit: str
    draft: Draft
    recalled: Recalled


@dataclass(frozen=True, slots=True)
class Attempt:
    """Everything about one try: what the model saw is what is stored, audited and learned from.

    `status` is None while the attempt is open. `habit` names the habit that answered. `approach` is empty, and no
    model was shown anything, where a habit answered or the question was declined. `out_of_reach`: the model or the
    database could not be reached, so the attempt says nothing about the question, though one of several drafts may
    have answered it. `recall_seconds` and `total_seconds` are wall time.
    """

    id: str
    question: str
    model: str
    understood: Understood | None = None
    recalled: tuple[Recalled, ...] = ()
    recall_seconds: float = 0.0
    approach: str = ""
    why: str = ""
    votes: int = 1
    lessons: tuple[Lesson, ...] = ()
    drafts: tuple[Draft, ...] = ()
    status: Status | None = None
    message: str = ""
    path: Path = "model"
    habit: str = ""
    out_of_reach: bool = False
    total_seconds: float = 0.0

    def grown(self, **parts: object) -> Attempt:
        """The same attempt with more known about it."""
        return replace(self, **parts)  # type: ignore[arg-type]

    def taking(self, chosen: Chosen) -> Attempt:
        return replace(self, approach=chosen.approach, why=chosen.why, votes=chosen.votes, lessons=chosen.lessons)

    def drafted(self, draft: Draft) -> Attempt:
        return replace(self, drafts=(*self.drafts, draft))

    @property
    def last(self) -> Draft | None:
        return self.drafts[-1] if self.drafts else None

    @property
    def answer(self) -> Draft | None:
        """The draft that counts: of those that ran the one whose result most others share, the earliest among equals.

        Where none ran it is the last.
        """
        ran = [draft for draft in self.drafts if draft.result is not None]
        return max(ran, key=self.agreeing) if ran else self.last

    def agreeing(self, draft: Draft) -> int:
        """How many drafts gave the result of this one, itself included; 0 where it has none."""
        mine = draft.result
        return sum(mine is not None and one.result is not None and _agree(mine, one.result) for one in self.drafts)

    @property
    def result(self) -> Result | None:
        return self.answer.result if self.answer else None

    @property
    def sql(self) -> str:
        return self.answer.sql if self.answer else ""

    @property
    def usage(self) -> Usage:
        return reduce(Usage.__add__, (draft.reply.usage for draft in self.drafts), Usage())

    @property
    def wants_draft(self) -> bool:
        """Whether another draft may help.

        So it is until one ran, or, where several vote, until two agree; as long as drafts are left and the model
        does not repeat a draft that did not work.
        """
        if self.status is not None or len(self.drafts) >= MOST_DRAFTS:
            return False
        if self.last and (self.last.reply.declined or self.last.rule in OUTAGES):
            return False
        if self.votes > 1:
            return len(self.drafts) < self.votes and all(self.agreeing(draft) < 2 for draft in self.drafts)
        return self.result is None and (
            len(self.drafts) < 2 or self.drafts[-1].reply.text != self.drafts[-2].reply.text
        )

    def broken_off(self, failure: ModelError) -> Attempt:
        """Close the attempt because the model cannot be asked; a draft that ran before still counts."""
        away = isinstance(failure, ModelUnavailableError | BudgetExhaustedError)
        if self.result is not None:
            closed = self.concluded()
            return replace(closed, message=f"{closed.message} {failure}".lstrip(), out_of_reach=away)
        return replace(self, status="failed", message=str(failure), out_of_reach=away)

    def concluded(self) -> Attempt:
        """Close the attempt by what its last draft came to."""
        if self.status is not None:
            return self
        answer, last = self.answer, self.last
        if answer is None or last is None:
            return replace(self, status="failed", message="No draft was made.")
        if answer.result is not None:
            away = last.rule in OUTAGES
            told = filter(None, (self._vote(answer), _cut(answer.result), last.problem if away else ""))
            return replace(self, status="answered", message=" ".join(told), out_of_reach=away)
        if last.reply.declined:
            return replace(self, status="abstained", message=last.reply.declined)
        if last.rule in OUTAGES:
            return replace(self, status="failed", message=last.problem, out_of_reach=True)
        if last.rule not in MISTAKES:
            return replace(self, status="refused", message=last.problem)
        tried = f"No query ran after {len(self.drafts)} drafts" if len(self.drafts) > 1 else "The query did not run"
        return replace(
            self,
            status="failed",
            message=f"{tried}. {last.problem} Put the question another way, teach the right SQL with "
            f'`hebbql feedback {self.id} --sql "…"`, or ask a larger model with --model.',
        )

    def _vote(self, answer: Draft) -> str:
        """How the drafts agreed, where several voted and not all gave the same."""
        agreed, made = self.agreeing(answer), len(self.drafts)
        return f"{agreed} of {made} drafts gave this result." if self.votes > 1 and agreed < made else ""


def _agree(one: Result, other: Result) -> bool:
    return one is other or same(one, other, ordered=False)


def _cut(result: Result) -> str:
    if result.truncated is None:
        return ""
    cap = {"rows": "row", "bytes": "size"}.get(result.truncated, result.truncated)
    return f"Only the first {len(result.rows):,} rows are shown: the {cap} cap was reached."
