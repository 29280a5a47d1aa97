"""The loop: ground, (habit), recall, adapt, (draft, check, run, repair), choose, answer, learn."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from agent.attempt import OUTAGES, Attempt, Chosen, Declined, Doubt, Draft, Replay, Understood
from agent.database.guard import CheckedQuery
from agent.database.result import QueryFailed, QueryRejected, Result
from agent.drafting.reply import read_sql
from agent.models.port import Model, ModelError, Prompt
from memory.recall import Recalled

CHANCE = 0.7
"""The temperature of a sampled draft."""


class Database(Protocol):
    """The guarded way to the rows: nothing runs that was not checked."""

    def check(self, sql: str) -> CheckedQuery:
        """Raises QueryRejected."""
        ...

    def run(self, query: CheckedQuery) -> Result:
        """Raises QueryFailed."""
        ...


class Journal(Protocol):
    """Where attempts are kept: started before a model is called, settled in one transaction after."""

    def start(self, attempt: Attempt) -> None: ...

    def settle(self, attempt: Attempt) -> None: ...


@dataclass(frozen=True, slots=True)
class Craft:
    """What code does about drafts beside the model. Each part may be left out; then drafts are taken as they are.

    `nearby` recalls episodes to adapt, and `adapt` makes drafts of them without a model. `mend` gives a query with
    names and dialect put right, and what was changed, in words. `doubt` says what of the question a query leaves out
    or makes up. `weigh` gives each draft its confidence.
    """

    nearby: Callable[[Attempt], tuple[Recalled, ...]] = lambda _attempt: ()
    adapt: Callable[[Attempt], Iterable[Draft]] = lambda _attempt: ()
    mend: Callable[[Attempt, Draft], tuple[str, tuple[str, ...]]] = lambda _attempt, draft: (draft.sql, ())
    doubt: Callable[[Attempt, Draft], tuple[Doubt, ...]] = lambda _attempt, _draft: ()
    weigh: Callable[[Attempt], Attempt] = lambda attempt: attempt


def ask(
    attempt: Attempt,
    *,
    understand: Callable[[str], Understood],
    decline: Callable[[Understood], Declined | None],
    habit: Callable[[Understood], Replay | None],
    recall: Callable[[Understood], tuple[Recalled, ...]],
    approach: Callable[[Attempt], Chosen],
    prompt: Callable[[Attempt], Prompt],
    model: Model,
    database: Database,
    journal: Journal,
    craft: Craft = Craft(),
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Attempt]:
    """Answer one question. Yields the attempt each time it has grown; the last one is settled.

    `decline` says why a question gets no draft at all, or None. `habit` answers what is so well learned that no
    model is asked, or None. Else memories are recalled and adapted. Where none of that is sure enough, the model
    drafts by the approach that was chosen; a draft that does not run, or does not say what the question says, goes
    back to it. With more effort it drafts anew from other episodes and with chance (`Attempt.wanted`). The most
    likely of all drafts is the answer. Never raises for what a model writes.
    """
    began = clock()
    attempt = attempt.grown(understood=(understood := understand(attempt.question)))
    if declined := decline(understood):
        attempt = attempt.grown(status=declined.status, message=declined.message)
    elif replay := habit(understood):
        attempt = attempt.grown(path="habit", habit=replay.habit, recalled=(replay.recalled,)).drafted(replay.draft)
    else:
        yield attempt
        attempt = attempt.grown(recalled=recall(understood), recall_seconds=clock() - began)
        chosen = approach(attempt)
        attempt = attempt.taking(chosen)
        journal.start(attempt)
        attempt = attempt.grown(nearby=craft.nearby(attempt))
        attempt = craft.weigh(_adapted(attempt, database, craft, clock))
    yield attempt
    while way := attempt.wanted:
        try:
            shown = replace(prompt(attempt.seen(way)), temperature=CHANCE if way == "sampled" else 0.0)
            draft = Draft(shown, model.complete(shown), way=way)
            attempt = craft.weigh(attempt.drafted(_judge(attempt, draft, database, craft)))
        except ModelError as failure:
            attempt = attempt.broken_off(failure)
        yield attempt
    attempt = attempt.concluded().grown(total_seconds=clock() - began)
    journal.settle(attempt)
    yield attempt


def _adapted(attempt: Attempt, database: Database, craft: Craft, clock: Callable[[], float]) -> Attempt:
    """The attempt with what nearby episodes give, as long as there is time and the database is there."""
    ends = clock() + attempt.effort.seconds
    for draft in craft.adapt(attempt):
        attempt = attempt.drafted(_judge(attempt, draft, database, craft))
        if clock() > ends or (attempt.last and attempt.last.rule in OUTAGES):
            break
    return attempt


def _judge(attempt: Attempt, draft: Draft, database: Database, craft: Craft) -> Draft:
    """Read, mend, check and run what was written; its result or its problem, and its doubts, complete the draft."""
    if draft.reply.declined:
        return draft
    cut = draft.reply.stop == "length"
    try:
        draft = replace(draft, sql=read_sql(draft.reply.text))
        mended, notes = (draft.sql, ()) if cut else craft.mend(attempt, draft)
        query = database.check(mended)
        draft = replace(draft, sql=query.sql, tables=query.tables, notes=(*draft.notes, *notes))
        draft = replace(draft, result=database.run(query))
        return replace(draft, doubts=craft.doubt(attempt, draft))
    except QueryRejected as rejected:
        problem = "The reply was cut off before the query ended; write a shorter one." if cut else rejected.reason
        return replace(draft, problem=problem, rule="cut" if cut else rejected.rule)
    except QueryFailed as failed:
        return replace(draft, problem=failed.reason, rule=failed.kind if failed.kind in OUTAGES else "failed")
