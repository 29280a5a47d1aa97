"""One try at one question: a frozen value that grows by appending."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import Literal

from agent.database.result import Result
from agent.grounding import Grounding
from agent.intent import Intent
from agent.models.port import Prompt, Reply, Usage
from memory.recall import Recalled

Status = Literal["answered", "abstained", "refused", "failed"]
Path = Literal["habit", "model"]
Aim = Literal["query", "note"]

MOST_DRAFTS = 3
"""One draft and at most two repairs."""

_MISTAKES = """
    no_sql cut failed empty syntax shape ambiguous unknown_column unknown_table unknown_source foreign_function depth
    length unstable known_types"""
MISTAKES = frozenset(_MISTAKES.split())
"""Rules that a model breaks by mistake. A draft that broke any other was refused for what it would do."""

OUTAGES = frozenset({"locked", "connection", "worker"})
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
    written. A `note` is no query: the model was asked to think first, and what it wrote is shown to it later.
    """

    prompt: Prompt | None
    reply: Reply
    aim: Aim = "query"
    sql: str = ""
    tables: tuple[str, ...] = ()
    result: Result | None = None
    problem: str = ""
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Replay:
    """What a habit answers with: its name, its query with the new literals, which ran, and the episode behind it."""

    habit: str
    draft: Draft
    recalled: Recalled


@dataclass(frozen=True, slots=True)
class Attempt:
    """Everything about one try: what the model saw is what is stored, audited and learned from.

    `status` is None while the attempt is open. `recall_seconds` and `total_seconds` are wall time.
    """

    id: str
    question: str
    model: str
    understood: Understood | None = None
    recalled: tuple[Recalled, ...] = ()
    recall_seconds: float = 0.0
    approach: str = ""
    drafts: tuple[Draft, ...] = ()
    status: Status | None = None
    message: str = ""
    path: Path = "model"
    habit: str = ""
    total_seconds: float = 0.0

    def grown(self, **parts: object) -> Attempt:
        """The same attempt with more known about it."""
        return replace(self, **parts)  # type: ignore[arg-type]

    def drafted(self, draft: Draft) -> Attempt:
        return replace(self, drafts=(*self.drafts, draft))

    @property
    def last(self) -> Draft | None:
        return self.drafts[-1] if self.drafts else None

    @property
    def result(self) -> Result | None:
        return self.last.result if self.last else None

    @property
    def sql(self) -> str:
        return self.last.sql if self.last else ""

    @property
    def usage(self) -> Usage:
        return reduce(Usage.__add__, (draft.reply.usage for draft in self.drafts), Usage())

    @property
    def wants_draft(self) -> bool:
        """Whether another draft may help: none ran yet, drafts are left, and the model did not repeat itself."""
        if self.status is not None or self.result is not None or len(self.drafts) >= MOST_DRAFTS:
            return False
        if self.last and (self.last.reply.declined or self.last.rule in OUTAGES):
            return False
        return len(self.drafts) < 2 or self.drafts[-1].reply.text != self.drafts[-2].reply.text

    def concluded(self) -> Attempt:
        """Close the attempt by what its last draft came to."""
        if self.status is not None:
            return self
        last = self.last
        if last is None:
            return replace(self, status="failed", message="No draft was made.")
        if last.result is not None:
            return replace(self, status="answered", message=_cut(last.result))
        if last.reply.declined:
            return replace(self, status="abstained", message=last.reply.declined)
        if last.rule in OUTAGES:
            return replace(self, status="failed", message=last.problem)
        if last.rule not in MISTAKES:
            return replace(self, status="refused", message=last.problem)
        tried = f"No query ran after {len(self.drafts)} drafts" if len(self.drafts) > 1 else "The query did not run"
        return replace(
            self,
            status="failed",
            message=f"{tried}. {last.problem} Put the question another way, teach the right SQL with "
            f'`hebbql feedback {self.id} --sql "…"`, or ask a larger model with --model.',
        )


def _cut(result: Result) -> str:
    if result.truncated is None:
        return ""
    cap = {"rows": "row", "bytes": "size"}.get(result.truncated, result.truncated)
    return f"Only the first {len(result.rows):,} rows are shown: the {cap} cap was reached."
