"""The gate: a better brain is built beside the live one, measured, and takes its place only from green to green."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from agent.keeping.enriching import NO_MODEL, enrich, enriches
from agent.keeping.measuring import Checks, Measured, Questions, measure, run_checks, why_red
from agent.keeping.sense import AppSense
from agent.keeping.trying import CandidateFailedError, Order, Tried, try_out
from agent.learning.evaluating import write_whole
from agent.learning.runs import RunError, new_id
from memory.brain import candidates
from memory.brain.differences import Edit, diff
from memory.brain.erased import erased_since
from memory.brain.improving import Change, improve
from memory.brain.snapshot import Snapshot
from memory.brain.writing import make_so, write_edits
from memory.errors import BrainError
from memory.store import StoreError
from procedural.store import METADATA

if TYPE_CHECKING:
    from agent.app import App

__all__ = ["Change", "Edit", "Gate", "Improvement", "Questions", "RolledBack"]

Outcome = Literal["accepted", "unchanged", "blocked", "refused"]


@dataclass(frozen=True, slots=True)
class Improvement:
    """What came of an improvement. `before` and `after` are what was measured, None where it did not come to that.

    accepted: the changes are made. unchanged: there was nothing to change. blocked: what the changes would make is
    red; none is made. refused: the brain was red before. `notes` say what is still to be done of what was accepted.
    """

    id: str
    outcome: Outcome
    why: str
    changes: tuple[Change, ...]
    hash_before: str
    hash_after: str
    before: Measured | None = None
    after: Measured | None = None
    cognee: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.outcome in ("accepted", "unchanged")


@dataclass(frozen=True, slots=True)
class RolledBack:
    """What going back came to: the edits that were made, and the episodes that stay away because they were erased.

    `is_exact`: nothing was erased since, so that the brain knows just what the snapshot said when it was taken, but for
    the schema, which is the database's. `notes` say what is still to be done.
    """

    snapshot: str
    hash: str
    edits: tuple[Edit, ...]
    erased: tuple[str, ...]
    is_exact: bool
    notes: tuple[str, ...] = ()


def _nothing(_step: str) -> None:
    """The hook between steps that does nothing."""


@dataclass(kw_only=True)
class Gate:
    """Improves the brain of one opened app, and brings it back. `between` is called between steps, for tests."""

    app: App
    checks: Checks = run_checks
    between: Callable[[str], None] = _nothing

    def improve(self, asked: Questions) -> Improvement:
        """Build what would be better beside the live brain, measure both, and change over from green to green only.

        The change-over is one transaction: killed anywhere, the live brain is the old one or the new one. A snapshot
        is taken before and after it. The report is written as soon as the brain is changed: what comes then, bringing
        the episode store up to date and Cognee's own improve, can fail and be done later, and is only noted.

        Raises:
            RunError, BrainError, DatabaseError: something else than the candidate failed; nothing was changed.
        """
        app, id = self.app, f"improve-{new_id()}"
        app.get_ready_to_recall()
        sense, old = AppSense(app=app), app.versions.live
        made = improve(old, sense, confirmed=sense.confirmed())
        self.between("improved")

        def told(outcome: Outcome, why: str, **more: Any) -> Improvement:
            changed = made.snapshot.hash if outcome in ("accepted", "blocked") else old.hash
            found = Improvement(id, outcome, why, made.changes, old.hash, changed, **more)
            return self._written(found)

        with_cognee = enriches(app)
        cognee: tuple[str, ...] = () if with_cognee else (NO_MODEL,)
        if not made.changes and not with_cognee:
            return told("unchanged", "There is nothing to improve.", cognee=cognee)
        before = measure(app, asked, self.checks)
        self.between("measured before")
        if before.red:
            why = "; ".join(f"the check {one.name} is red" for one in before.red)
            return told("refused", f"The brain is red before: {why}.", before=before, cognee=cognee)
        try:
            tried = self._tried(id, made.edits, asked, with_cognee)
            if tried.hash != made.snapshot.hash:
                raise CandidateFailedError("what it knows is not what was meant")
        except CandidateFailedError as failed:
            app.say(f"The candidate could not be built: {failed}")
            why = f"The candidate could not be built: {failed.kind or failed}"
            return told("blocked", why, before=before, cognee=cognee)
        self.between("candidate measured")
        cognee = tried.enriched if with_cognee else cognee
        if why := why_red(before, tried.measured):
            return told("blocked", f"What it would become is red: {why}.", before=before, after=tried.measured)
        first = self._change_over(id, old, made.edits)
        done = told(
            "accepted", "Green before and after.", before=before, after=tried.measured, cognee=cognee, notes=first
        )
        self.between("reported")
        notes = self._brought_along(with_cognee)
        return self._written(replace(done, notes=(*first, *notes))) if notes else done

    def _brought_along(self, with_cognee: bool) -> tuple[str, ...]:
        """Bring the episode store to what the brain is now, and let Cognee improve; what did not work, in words."""
        app = self.app
        if waiting := self._waiting():
            return waiting
        try:
            if with_cognee:
                enrich(app)
        except StoreError as error:
            app.say(f"Cognee's own improve failed: {error}")
            return (f"The brain is changed whole, but Cognee's own improve failed: {type(error).__name__}.",)
        return ()

    def _waiting(self) -> tuple[str, ...]:
        """Bring the episode store to what the brain is now; what could not be done, in words."""
        self.app.bring_up_to_date()
        if not (waiting := len(self.app.ledger.outbox())):
            return ()
        return (
            "The brain is changed whole, but the episode store could not be brought up to date: "
            f"{waiting} of its changes wait in the ledger. The next command does it; see: hebbql doctor.",
        )

    def _tried(self, id: str, edits: tuple[Edit, ...], asked: Questions, with_cognee: bool) -> Tried:
        app = self.app
        candidate = candidates.begin(
            app.folder, id, server=app.settings.ledger, beside=METADATA.tables, between=self.between
        )
        try:
            settings = replace(app.settings, brain=str(candidate.folder), ledger=candidate.server)
            return try_out(Order(settings, id, edits, f"tried as {id}", asked, self.checks, with_cognee), say=app.say)
        finally:
            candidates.remove(candidate)

    def _change_over(self, id: str, old: Snapshot, edits: tuple[Edit, ...]) -> tuple[str, ...]:
        """Make the edits in one transaction, between two snapshots; what could not be done after them, in words."""
        app, versions = self.app, self.app.versions
        if versions.live.hash != old.hash:
            raise RunError("The brain has learned something meanwhile, so nothing was changed. Improve it again.")
        if not edits:
            return ()
        versions.take(f"{id}-before", why="what was improved")
        self.between("snapshot before")
        write_edits(app.ledger, versions.weights, edits, why="improve", subject=id)
        self.between("changed over")
        try:
            versions.take(f"{id}-after", why="what it became")
        except BrainError as error:
            app.say(str(error))
            return (f"The brain is changed whole, but no snapshot {id}-after was taken: {type(error).__name__}.",)
        self.between("snapshot after")
        return ()

    def roll_back(self, name: str) -> RolledBack:
        """Make the brain what a snapshot says, weights and episodes exactly; or change nothing.

        What was erased since stays erased and is told. The episode store is brought up to date.

        Raises:
            SnapshotError: there is no such snapshot, or it could not be restored exactly; then nothing was changed.
        """
        app, versions = self.app, self.app.versions
        app.get_ready_to_recall()
        wanted = versions.find(name)
        erased = set(erased_since(app.ledger, name))
        written = make_so(app.ledger, versions.weights, wanted, why="rollback", subject=name)
        after = versions.live
        notes = self._waiting()
        erased.update(written.erased)
        left = [edit for edit in diff(after, wanted) if edit.kind != "schema"]
        is_exact = not left and not erased
        return RolledBack(name, after.hash, written.edits, tuple(sorted(erased)), is_exact, notes)

    def back_to(self, name: str) -> tuple[Edit, ...]:
        """The edits that going back to a snapshot would make. Raises SnapshotError."""
        versions = self.app.versions
        return tuple(edit for edit in diff(versions.live, versions.find(name)) if edit.kind != "schema")

    def _written(self, found: Improvement) -> Improvement:
        """Write the report into the folder of runs: with ids and no texts, as it outlives what is erased."""
        from agent.keeping.reporting import report_json, report_markdown

        folder = self.app.settings.runs / found.id
        files = tuple(folder / name for name in ("improve.json", "improve.md"))
        found = replace(found, files=tuple(map(str, files)))
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(files[0], json.dumps(report_json(found), ensure_ascii=False, indent=2) + "\n")
            write_whole(files[1], report_markdown(found))
        except OSError as error:
            raise RunError(f"The report cannot be written into {folder}: {error}. What was done is done.") from error
        return found
