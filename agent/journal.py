"""Keeping attempts: started before the model is called, settled in one transaction after."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agent.attempt import Attempt, Understood, agree
from agent.database.fingerprint import fingerprint
from agent.database.skeleton import skeleton
from agent.learning.mistakes import lessons_of, written
from memory.ledger import Ledger, Transaction
from memory.lessons import Lessons
from procedural.synapse import Target

HabitName = Callable[[Understood, str], str]
"""Names the habit that a question and its SQL belong to, or `""`."""


@dataclass(frozen=True, slots=True)
class LedgerJournal:
    """Writes attempts into the ledger. `schema` is the fingerprint of the schema that is asked.

    `about` is written down with how each attempt ended, such as the canary that answered.
    """

    ledger: Ledger
    schema: str
    dialect: str
    habit: HabitName = lambda _understood, _sql: ""
    about: Mapping[str, str] = field(default_factory=dict)

    def start(self, attempt: Attempt) -> None:
        with self.ledger.transaction() as entry:
            self._start(entry, attempt)

    def settle(self, attempt: Attempt) -> None:
        """Write how an attempt ended; one that asked no model is written whole, in this one transaction."""
        body = {**body_of(attempt, schema=self.schema, dialect=self.dialect, habit=self.habit), **self.about}
        with self.ledger.transaction() as entry:
            self.write(entry, attempt, body)
            for lesson in lessons_of(attempt.id, body, dialect=self.dialect):
                Lessons(self.ledger).learn(entry, lesson)

    def write(self, entry: Transaction, attempt: Attempt, body: Mapping[str, Any]) -> None:
        """Write how an attempt ended in somebody's transaction."""
        if not attempt.approach:
            self._start(entry, attempt)
        entry.settle_attempt(attempt.id, body)

    def _start(self, entry: Transaction, attempt: Attempt) -> None:
        entry.start_attempt(attempt.id, {"question": attempt.question, "model": attempt.model, **_read(attempt)})


class Unwritten:
    """A journal that keeps nothing: for questions that are asked to measure, not to learn."""

    def start(self, attempt: Attempt) -> None:
        """Nothing is written."""

    def settle(self, attempt: Attempt) -> None:
        """Nothing is written."""


def body_of(
    attempt: Attempt, *, schema: str, dialect: str, habit: HabitName = lambda _understood, _sql: ""
) -> dict[str, Any]:
    """Write an attempt down: what was asked, recalled, shown, written, and what came out and what it cost.

    Where the model declined, nothing came out, whatever an adapted draft had given.
    """
    answer, usage = attempt.answer, attempt.usage
    result = attempt.result if attempt.status != "abstained" else None
    named = attempt.habit
    if not named and result and attempt.understood is not None:
        named = habit(attempt.understood, attempt.sql)
    return {
        "question": attempt.question,
        "model": attempt.model,
        "schema": schema,
        **_read(attempt),
        "recalled": [
            {"episode": str(memory.episode.id), "score": memory.score, "level": memory.level, "why": memory.why}
            for memory in attempt.recalled
        ],
        "lessons": [str(lesson.id) for lesson in attempt.lessons],
        "approach": attempt.approach,
        "why": attempt.why,
        "path": attempt.path,
        "habit": named,
        "drafts": [
            {
                "turns": [[turn.role, turn.text] for turn in draft.prompt.turns] if draft.prompt else [],
                "reply": draft.reply.text,
                "sql": draft.sql,
                "problem": draft.problem,
                "rule": draft.rule,
                "origin": draft.origin,
                "episode": draft.episode,
                "strain": draft.strain,
                "support": draft.support,
                "bent": [[episode, strain] for episode, strain in draft.bent],
                "notes": list(draft.notes),
                "doubts": [[doubt.rule, doubt.text] for doubt in draft.doubts],
                "confidence": draft.confidence,
                "agrees": answer is not None and agree(draft, answer),
            }
            for draft in attempt.drafts
        ],
        "status": attempt.status,
        "message": attempt.message,
        "sql": attempt.sql if result else "",
        "skeleton": skeleton(attempt.sql, dialect) if result else "",
        "result": {"rows": len(result.rows), "fingerprint": fingerprint(result, ordered=False)} if result else None,
        "seconds": {"total": attempt.total_seconds, "recall": attempt.recall_seconds},
        "usage": {
            "input": usage.input_tokens,
            "output": usage.output_tokens,
            "cache_read": usage.cache_read_tokens,
            "cache_write": usage.cache_write_tokens,
            "cost_usd": usage.cost_usd,
        },
    }


def fired(body: Mapping[str, Any]) -> tuple[Target, ...]:
    """What fired in a settled attempt: its approach, the shape of its SQL, its habit, and the episodes it was shown.

    Where the answer was adapted, the episodes fired whose adapted queries gave it, and the approach only if a draft of
    the model gave it as well. Nothing did where the model was never shown anything, as when none could be reached.
    """
    path = body.get("path")
    if path == "model" and not written(body):
        return ()
    wrote = path != "adapted" or any(draft["agrees"] for draft in written(body))
    targets = [Target("approach", body["approach"])] if body.get("approach") and wrote else []
    targets += [Target("skeleton", body["skeleton"])] if body.get("skeleton") else []
    targets += [Target("habit", body["habit"])] if body.get("habit") else []
    if path == "adapted":
        return (*targets, *(Target("episode", episode) for episode in strains(body)))
    return (*targets, *(Target("episode", memory["episode"]) for memory in body.get("recalled", ())))


def strains(body: Mapping[str, Any]) -> dict[str, float]:
    """The episodes whose adapted queries gave the answer of a settled attempt, and how far each was bent for it.

    What was written before that was written down counts as not bent.

    >>> strains({"drafts": [{"episode": "e1", "agrees": True, "bent": [["e1", 0.5], ["e2", 0.0]]}]})
    {'e1': 0.5, 'e2': 0.0}
    """
    found: dict[str, float] = {}
    for draft in body.get("drafts", ()):
        if draft.get("episode") and draft["agrees"]:
            for episode, strain in draft.get("bent") or [[draft["episode"], draft.get("strain", 0.0)]]:
                found[episode] = min(strain, found.get(episode, strain))
    return found


def _read(attempt: Attempt) -> dict[str, Any]:
    """What the question alone said."""
    understood = attempt.understood
    if understood is None:
        return {}
    return {
        "kind": understood.intent.kind,
        "tables": list(understood.intent.tables),
        "grain": list(understood.intent.grain),
        "bucket": understood.bucket,
        "masked": understood.masked,
        "links": understood.grounding.noted(),
    }
