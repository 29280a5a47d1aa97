"""Building a brain from a file: each episode is checked and run before it is taken, and what is refused is named."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent.database.fingerprint import fingerprint
from agent.database.result import QueryFailed, QueryRejected, Result
from agent.learning.seed import Refused
from agent.learning.teaching import hold_expression
from agent.question import QuestionError, read_question
from memory.brain.differences import Edit, diff, without_taken_names
from memory.brain.snapshot import Record, Snapshot, SnapshotError, read_file
from memory.brain.writing import Written, make_so, write_edits
from memory.semantic import term_from

if TYPE_CHECKING:
    from agent.database.schema import Schema
    from agent.keeping.versions import Versions

_BUCKET = re.compile(r"[A-Za-z0-9_-]{1,64}")


class _Wrong(Exception):
    """A record that cannot be taken, with the reason."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a file would make of the live brain.

    `wanted` is what it says without what was `refused`. `other_results` names the episodes that give another result
    now than when they were verified; they are taken. `edits` lead from the live brain there.
    """

    file: str
    wanted: Snapshot
    refused: tuple[Refused, ...]
    other_results: tuple[str, ...]
    edits: tuple[Edit, ...]

    @property
    def takes_away(self) -> int:
        """How many records of the live brain would be removed or changed."""
        return sum(edit.before is not None for edit in self.edits)


@dataclass(frozen=True, slots=True)
class Built:
    """What came of it. `hash` is that of the brain now, `same` whether it is what the file says."""

    plan: Plan
    written: Written
    hash: str
    same: bool


@dataclass(frozen=True, kw_only=True)
class Builder:
    """Builds the brain of one opened app."""

    versions: Versions
    run: Callable[[str], Result]
    schema: Schema

    def plan(self, path: Path, *, edited: bool = False, adding: bool = False) -> Plan:
        """Read a file, check all that is in it, and tell what would change.

        `adding` takes nothing away and brings back nothing that was ever known here: for a brain that is in use.

        Raises:
            SnapshotError: the file cannot be read, was changed on the way, or is of another database.
        """
        ledger = self.versions.app.ledger
        read, live = read_file(path, edited=edited), self.versions.live
        if read.database != ledger.database:
            raise SnapshotError(f"{path.name} is of {read.database!r}, this brain of {ledger.database!r}.")
        kept, refused, others = [], [], []
        gone: set[str] = set()
        for record in read.records.values():
            try:
                as_then = self._checked(record)
            except _Wrong as wrong:
                refused.append(Refused(_name(record), str(wrong)))
                gone.add(record.key[1])
            else:
                kept.append(record)
                others += [] if as_then else [_name(record)]
        kept = [one for one in kept if one.kind != "synapse" or one.body["target"] not in gone]
        wanted = Snapshot.of(read.database, kept, gone=read.gone, parent=read.parent)
        edits = tuple(edit for edit in diff(live, wanted) if edit.kind != "schema")
        if adding:
            known = ledger.episode_states()
            edits = tuple(edit for edit in edits if edit.before is None and edit.key[1] not in known)
            edits = without_taken_names(edits, live)
        return Plan(path.name, wanted, tuple(refused), tuple(others), edits)

    def carry_out(self, plan: Plan, *, adding: bool = False) -> Built:
        """Make the brain what the plan says, in one transaction, and bring the episode store up to date."""
        app, weights = self.versions.app, self.versions.weights
        why = f"built from {plan.file}"
        if adding:
            written = write_edits(
                app.ledger, weights, plan.edits, why=why, subject=plan.wanted.hash, gone=plan.wanted.gone
            )
        else:
            written = make_so(app.ledger, weights, plan.wanted, why=why)
        app.bring_up_to_date()
        live = self.versions.live
        return Built(plan, written, live.hash, live.hash == plan.wanted.hash and not plan.refused)

    def _checked(self, record: Record) -> bool:
        """Whether a record's query gives what it gave when it was verified; True where there is none. Raises _Wrong."""
        try:
            if "\\u0000" in record.line:
                raise _Wrong("it holds the sign NUL, which is part of no text and which PostgreSQL does not keep")
            if record.kind == "term":
                term = term_from(record.body)
                if term.expression:
                    hold_expression(term.expression, self.schema, term.tables)
            if record.kind != "episode":
                return True
            episode = record.episode
            if not _BUCKET.fullmatch(episode.bucket):
                raise _Wrong(f"{episode.bucket!r} is no bucket")
            read_question(episode.question)
            result = self.run(episode.sql)
        except QuestionError as problem:
            raise _Wrong(f"its question cannot be asked: {problem}") from problem
        except (QueryRejected, QueryFailed) as problem:
            what = "its SQL does not run" if record.kind == "episode" else "its expression does not hold"
            raise _Wrong(f"{what}: {problem}") from problem
        return any(fingerprint(result, ordered=ordered) == episode.result_fingerprint for ordered in (False, True))


def _name(record: Record) -> str:
    """What a person knows a record by."""
    if record.kind == "episode":
        return f"{record.key[1][:8]} {record.episode.question}"
    return f"the {record.kind} {record.key[1]}".replace("\t", ", ")
