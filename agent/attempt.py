"""One try at one question: a frozen value that grows by appending."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Literal

from agent.database.comparing import same
from agent.database.result import Result
from agent.grounding import Grounding
from agent.intent import Intent
from agent.models.port import BudgetExhaustedError, ModelError, ModelUnavailableError, Prompt, Reply, Usage
from agent.settings import Think
from memory.recall import Recalled

if TYPE_CHECKING:  # it brings SQLAlchemy
    from memory.lessons import Lesson

Status = Literal["answered", "abstained", "refused", "failed"]
Path = Literal["habit", "adapted", "model"]
Origin = Literal["model", "adapted", "habit"]
Way = Literal["next", "others", "sampled"]
"""How the model comes to a draft: the `next` one sees those before it; `others` is shown other episodes, `sampled` is
written with chance, and both see no other draft."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is done for one answer.

    `sure` is the confidence from which on no model is asked; above 1 it always is. `drafts` are the most that the
    model writes: one draft and its repairs, or several that vote. `apart` are ways in which it writes one draft more
    each, whatever came of those, so that results can be compared. `adapted` are the most episodes that are adapted, in
    at most so many `seconds`, less than one query's deadline over.
    """

    name: Think
    sure: float
    drafts: int
    adapted: int
    apart: tuple[Way, ...] = ()
    seconds: float = 5.0


EFFORTS: tuple[Effort, ...] = (
    Effort("fast", sure=0.5, drafts=1, adapted=6),
    Effort("normal", sure=0.85, drafts=3, adapted=12),
    Effort("deep", sure=1.1, drafts=3, adapted=20, apart=("others", "sampled")),
)
USUAL = EFFORTS[1]


def effort_named(name: Think) -> Effort:
    return next(effort for effort in EFFORTS if effort.name == name)


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
class Doubt:
    """One way in which a query does not say what the question says: the rule, and the words that tell a writer."""

    rule: str
    text: str


@dataclass(frozen=True, slots=True)
class Draft:
    """One query and what came of it: a result, or a problem that the model is shown next.

    `prompt` is what the model was shown; None where no model was called. `rule` names the guard's rule that was
    broken, or `failed` when the database could not run the query. `sql` is what ran where it ran, else what was
    written. `origin` says who wrote it: the model, code that adapted `episode` (its id), or a habit. `notes` are what
    code changed in what was written, in words; `doubts` what of the question the query leaves out or makes up.
    `strain` is how far an adapted query was bent, 0 for other literals only; `bent` how far each episode that gave it
    was, by its id, `episode` first. Where several did, `strain` is that of the least bent.
    `confidence` is the chance in [0, 1] that the result is right, a habit's from its own record; None where it was not
    weighed.
    """

    prompt: Prompt | None
    reply: Reply
    sql: str = ""
    tables: tuple[str, ...] = ()
    result: Result | None = None
    problem: str = ""
    rule: str = ""
    origin: Origin = "model"
    episode: str = ""
    notes: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    strain: float = 0.0
    bent: tuple[tuple[str, float], ...] = ()
    confidence: float | None = None
    way: Way = "next"

    @property
    def support(self) -> int:
        """How many episodes gave it."""
        return max(1, len(self.bent))

    def supported(self, episode: str, *, strain: float) -> Draft:
        """The same draft, given by another episode as well, which had to be bent so far for it."""
        bent = (*(self.bent or ((self.episode, self.strain),)), (episode, strain))
        return replace(self, strain=min(self.strain, strain), bent=bent)

    @property
    def complaint(self) -> str:
        """What its writer is told next: why it did not run, or what it does not say; `""` where all is well."""
        if self.problem:
            return self.problem
        return f"The query runs, but {'; '.join(doubt.text for doubt in self.doubts)}." if self.doubts else ""


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
    model was shown anything, where a habit answered or the question was declined. `recalled` are the episodes that the
    model is shown, `nearby` those that were adapted, most of which are the same. `out_of_reach`: the model or the
    database could not be reached, so the attempt says nothing about the question, though one of several drafts may
    have answered it. `recall_seconds` and `total_seconds` are wall time. `canary` names the canary that answered.
    """

    id: str
    question: str
    model: str
    understood: Understood | None = None
    recalled: tuple[Recalled, ...] = ()
    nearby: tuple[Recalled, ...] = ()
    recall_seconds: float = 0.0
    approach: str = ""
    why: str = ""
    votes: int = 1
    lessons: tuple[Lesson, ...] = ()
    effort: Effort = USUAL
    drafts: tuple[Draft, ...] = ()
    status: Status | None = None
    message: str = ""
    path: Path = "model"
    habit: str = ""
    out_of_reach: bool = False
    total_seconds: float = 0.0
    canary: str = ""

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
    def written(self) -> tuple[Draft, ...]:
        """The drafts of the model, in the order in which it wrote them."""
        return tuple(draft for draft in self.drafts if draft.origin == "model")

    @property
    def ran(self) -> tuple[Draft, ...]:
        """The drafts that have a result."""
        return tuple(draft for draft in self.drafts if draft.result is not None)

    @property
    def answer(self) -> Draft | None:
        """The draft that counts: of those that ran the one most likely right, the earliest among equals.

        Where none was weighed it is the one whose result most others share; where none ran it is the last. There is
        none where the model declined, whatever code had made of an episode.
        """
        return None if self.status == "abstained" else self._best(self.ran) or self.last

    @property
    def runner_up(self) -> Draft | None:
        """The most likely draft with another result than the answer's; None where there is no other."""
        answer = self.answer
        return self._best([draft for draft in self.ran if answer and not agree(answer, draft)])

    @property
    def confidence(self) -> float | None:
        """The chance in [0, 1] that the answer is right; None where there is no result or it was not weighed."""
        answer = self.answer
        return answer.confidence if answer and answer.result is not None else None

    def _best(self, drafts: Sequence[Draft]) -> Draft | None:
        """The most likely of some drafts; of equals the one with the fewest doubts, then the earliest.

        Where none was weighed fewest doubts come first, then what a model wrote, then what most agree with.
        """
        if any(draft.confidence is not None for draft in drafts):
            return max(drafts, key=lambda draft: (draft.confidence or 0.0, -len(draft.doubts)))

        def worth(draft: Draft) -> tuple[int, bool, int, float]:
            return -len(draft.doubts), draft.origin == "model", self.agreeing(draft), -draft.strain

        return max(drafts, key=worth, default=None)

    def agreeing(self, draft: Draft) -> int:
        """How many drafts gave the result of this one, itself included; 0 where it has none."""
        return sum(agree(draft, one) for one in self.drafts)

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
        return self.wanted is not None

    @property
    def wanted(self) -> Way | None:
        """How the model is to come to another draft that may help; None where none may.

        The next one is wanted until one ran that leaves nothing of the question out, or, where several vote, until two
        agree; as long as drafts are left and the model does not repeat itself. Then come those apart. What is sure
        enough without it is not drafted.
        """
        written, last = self.written, self.last
        if self.status is not None or self.path == "habit" or (last and last.rule in OUTAGES):
            return None
        if self.confidence is not None and self.confidence >= self.effort.sure:
            return None
        if all(draft.way == "next" for draft in written) and self._goes_on(written):
            return "next"
        if any(draft.reply.declined for draft in written if draft.way == "next"):
            return None
        done = {draft.way for draft in written} | ({"others"} if not self.others else set())
        return next((way for way in self.effort.apart if way not in done), None)

    def _goes_on(self, written: Sequence[Draft]) -> bool:
        """Whether the drafts that see one another are to have one more."""
        if len(written) >= self.effort.drafts or (written and written[-1].reply.declined):
            return False
        if self.votes > 1:
            return len(written) < self.votes and all(self.agreeing(draft) < 2 for draft in written)
        if not written:
            return True
        again = len(written) > 1 and written[-1].reply.text == written[-2].reply.text
        return bool(written[-1].complaint) and not again

    @property
    def others(self) -> tuple[Recalled, ...]:
        """The nearest episodes that the model is not shown, as many as it is."""
        shown = {one.episode.id for one in self.recalled}
        return tuple(one for one in self.nearby if one.episode.id not in shown)[: len(self.recalled)]

    def seen(self, way: Way) -> Attempt:
        """The attempt as the prompt of a draft is written from it."""
        if way == "next":
            return self
        return replace(self, drafts=(), recalled=self.others if way == "others" else self.recalled)

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
        declined = next((draft.reply.declined for draft in reversed(self.written) if draft.way == "next"), None)
        if declined and all(draft.result is None for draft in self.written):
            return replace(self, status="abstained", message=declined)
        if answer.result is not None:
            away = last.rule in OUTAGES
            told = filter(None, (self._vote(answer), _cut(answer.result), last.problem if away else ""))
            path = "habit" if self.path == "habit" else answer.origin
            return replace(self, status="answered", message=" ".join(told), out_of_reach=away, path=path)
        answer = last = self.written[-1] if self.written else last
        if last.rule in OUTAGES:
            return replace(self, status="failed", message=last.problem, out_of_reach=True)
        if last.rule not in MISTAKES:
            return replace(self, status="refused", message=last.problem)
        tried = f"No query ran after {len(self.written)} drafts" if len(self.written) > 1 else "The query did not run"
        return replace(
            self,
            status="failed",
            message=f"{tried}. {last.problem} Put the question another way, teach the right SQL with "
            f'`hebbql feedback {self.id} --sql "…"`, or ask a larger model with --model.',
        )

    def _vote(self, answer: Draft) -> str:
        """How the drafts agreed, where several voted and not all gave the same."""
        agreed, made = sum(agree(answer, one) for one in self.written), len(self.written)
        return f"{agreed} of {made} drafts gave this result." if self.votes > 1 and agreed < made else ""


def agree(one: Draft, other: Draft) -> bool:
    """Whether two drafts ran and gave the same rows."""
    if one.result is None or other.result is None:
        return False
    return one.result is other.result or same(one.result, other.result, ordered=False)


def _cut(result: Result) -> str:
    if result.truncated is None:
        return ""
    cap = {"rows": "row", "bytes": "size"}.get(result.truncated, result.truncated)
    return f"Only the first {len(result.rows):,} rows are shown: the {cap} cap was reached."
