"""The loop: ground, (habit), recall, draft, check, run, (repair), answer, learn."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Protocol

from agent.attempt import OUTAGES, Attempt, Chosen, Declined, Draft, Replay, Understood
from agent.database.guard import CheckedQuery
from agent.database.result import QueryFailed, QueryRejected, Result
from agent.drafting.reply import read_sql
from agent.models.port import Model, ModelError, Prompt
from memory.recall import Recalled


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
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Attempt]:
    """Answer one question. Yields the attempt each time it has grown; the last one is settled.

    `decline` says why a question gets no draft at all, or None. `habit` answers what is so well learned that no
    model is asked, or None. Else memories are recalled, an approach is chosen, and the model drafts; a draft that
    the guard or the database turns down goes back to it, at most twice. Never raises for what a model writes.
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
    yield attempt
    while attempt.wants_draft:
        try:
            shown = prompt(attempt)
            attempt = attempt.drafted(_judge(Draft(shown, model.complete(shown)), database))
        except ModelError as failure:
            attempt = attempt.broken_off(failure)
        yield attempt
    attempt = attempt.concluded().grown(total_seconds=clock() - began)
    journal.settle(attempt)
    yield attempt


def _judge(draft: Draft, database: Database) -> Draft:
    """Read, check and run what the model wrote; its result or its problem completes the draft."""
    if draft.reply.declined:
        return draft
    try:
        draft = replace(draft, sql=read_sql(draft.reply.text))
        query = database.check(draft.sql)
        draft = replace(draft, sql=query.sql, tables=query.tables)
        return replace(draft, result=database.run(query))
    except QueryRejected as rejected:
        cut = draft.reply.stop == "length"
        problem = "The reply was cut off before the query ended; write a shorter one." if cut else rejected.reason
        return replace(draft, problem=problem, rule="cut" if cut else rejected.rule)
    except QueryFailed as failed:
        return replace(draft, problem=failed.reason, rule=failed.kind if failed.kind in OUTAGES else "failed")
