"""Keeping attempts: started before the model is called, settled in one transaction after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agent.attempt import Attempt
from agent.database.fingerprint import fingerprint
from agent.database.skeleton import skeleton
from memory.ledger import Ledger
from procedural.synapse import Target


@dataclass(frozen=True, slots=True)
class LedgerJournal:
    """Writes attempts into the ledger. `schema` is the fingerprint of the schema that is asked."""

    ledger: Ledger
    schema: str
    dialect: str

    def start(self, attempt: Attempt) -> None:
        with self.ledger.transaction() as entry:
            entry.start_attempt(attempt.id, {"question": attempt.question, "model": attempt.model, **_read(attempt)})

    def settle(self, attempt: Attempt) -> None:
        with self.ledger.transaction() as entry:
            entry.settle_attempt(attempt.id, body_of(attempt, schema=self.schema, dialect=self.dialect))


def body_of(attempt: Attempt, *, schema: str, dialect: str) -> dict[str, Any]:
    """Write an attempt down: what was asked, recalled, shown, written, and what came out and what it cost."""
    result, usage = attempt.result, attempt.usage
    return {
        "question": attempt.question,
        "model": attempt.model,
        "schema": schema,
        **_read(attempt),
        "recalled": [
            {"episode": str(memory.episode.id), "score": memory.score, "level": memory.level, "why": memory.why}
            for memory in attempt.recalled
        ],
        "approach": attempt.approach,
        "path": attempt.path,
        "drafts": [
            {
                "turns": [[turn.role, turn.text] for turn in draft.prompt.turns],
                "reply": draft.reply.text,
                "sql": draft.sql,
                "problem": draft.problem,
                "rule": draft.rule,
            }
            for draft in attempt.drafts
        ],
        "status": attempt.status,
        "message": attempt.message,
        "sql": attempt.sql if result else "",
        "skeleton": skeleton(attempt.sql, dialect) if result else "",
        "result": {"rows": len(result.rows), "fingerprint": fingerprint(result, ordered=False)} if result else None,
        "seconds": {"total": attempt.total_seconds, "recall": attempt.recall_seconds},
        "usage": {"input": usage.input_tokens, "output": usage.output_tokens, "cost_usd": usage.cost_usd},
    }


def fired(body: Mapping[str, Any]) -> tuple[Target, ...]:
    """What fired in a settled attempt: its approach, the shape of its SQL, and the episodes it was shown.

    Nothing did where the model was never shown anything, as when none could be reached.
    """
    if body.get("path") == "model" and not body.get("drafts"):
        return ()
    targets = [Target("approach", body["approach"])] if body.get("approach") else []
    targets += [Target("skeleton", body["skeleton"])] if body.get("skeleton") else []
    return (*targets, *(Target("episode", memory["episode"]) for memory in body.get("recalled", ())))


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
