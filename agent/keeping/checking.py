"""Running the checks of a brain on an opened app: what it must know, what it must not, and how it is made."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from agent.database.comparing import same
from agent.database.guard import sorts
from agent.database.result import DatabaseError, QueryFailed, QueryRejected, Result
from agent.database.uses import used
from agent.journal import Unwritten
from agent.keeping.forbidden import Proof
from agent.keeping.matching import Matching
from agent.keeping.measuring import answering
from agent.learning.feedback import asked_alike
from agent.learning.questions import Pair
from agent.learning.runs import RunError
from agent.models.port import ModelError
from agent.question import QuestionError
from agent.school import School
from memory.brain import holding
from memory.brain.checks import (
    Checked,
    Contradiction,
    Coverage,
    Evidence,
    Fault,
    Forbidden,
    Freshness,
    Loaded,
    MustKnow,
    Structure,
    concluded,
    faulty,
    read_checks,
)
from memory.brain.snapshot import Snapshot
from memory.errors import BrainError
from memory.ledger import EventKind

if TYPE_CHECKING:
    from agent.app import App
    from memory.episode import Episode

__all__ = ["Checked", "Checking", "Evidence"]

_UNREACHED = (
    BrainError,
    DatabaseError,
    ModelError,
    QueryFailed,
    QueryRejected,
    QuestionError,
    RunError,
    sqlite3.Error,
    OSError,
)
"""What keeps a check from looking. Then it is red: nothing is shown."""


@dataclass(kw_only=True)
class Checking:
    """Runs checks on one opened app. Nothing is learned, and no model is asked."""

    app: App

    @property
    def folder(self) -> Path | None:
        """The checks that are shipped with this database, if it is a shipped one."""
        settings = self.app.settings
        place = Path(settings.database.removeprefix("sqlite:///")).expanduser().resolve()
        return settings.data / "brain" / "checks" if place.is_relative_to(settings.data.resolve()) else None

    def test(self, folder: Path | None = None, *, only: str = "") -> tuple[Checked, ...]:
        """Run the checks of a folder, the shipped ones by default; `only` that of one name. Faults come first.

        At least one result is given. All are green or the brain is red.
        """
        place = folder or self.folder
        if place is None:
            fault = Fault("checks", "", "no checks are shipped for this database; name their folder with --checks")
            return (faulty(fault),)
        return self.run(read_checks(place), only=only)

    @cached_property
    def matching(self) -> Matching:
        """Forgetting by words."""
        return Matching(app=self.app)

    def run(self, loaded: Loaded, *, only: str = "") -> tuple[Checked, ...]:
        """Run checks that were read."""
        wanted = [(file, check) for file, check in loaded.checks if only in ("", check.name)]
        faults = loaded.faults
        if not wanted and not faults:
            faults = (Fault("checks", only, "there is no check of this name"),)
        self.app.load_native()
        with answering(self.app, asks_model=False), closing(_Looking(self.app)) as looking:
            return (*map(faulty, faults), *(looking.at(check, file) for file, check in wanted))


@dataclass
class _Looking:
    """What checks look at, read once for all of them."""

    app: App
    _proof: Proof | None = field(default=None, init=False)
    _school: School | None = field(default=None, init=False)

    def close(self) -> None:
        if self._school is not None:
            self._school.close()

    def at(self, check: object, file: str) -> Checked:
        """Run one check. Never raises for what it looks at."""
        began = time.monotonic()
        name, kind = str(getattr(check, "name", "")), str(getattr(check, "kind", ""))
        try:
            self.app.get_ready_to_recall()
            found = self._looked(check)
        except _UNREACHED as trouble:
            told = f"it could not be looked at: {trouble}"
            found = Checked(name, kind, file, False, told, {}, (Evidence("check", name, str(trouble)),))
        return replace(found, file=file, seconds=time.monotonic() - began)

    def _looked(self, check: object) -> Checked:
        match check:
            case MustKnow():
                return self._must_know(check)
            case Forbidden():
                return self.proof.of(check)
            case Structure():
                return holding.structure(check, self.live, used=self.used, schema=self.columns, buckets=self.buckets)
            case Freshness():
                return holding.freshness(check, self.live, schema=self.app.schema.fingerprint, now=time.time())
            case Coverage():
                return holding.coverage(check, self.live, buckets=self.buckets)
            case Contradiction():
                return holding.contradiction(check, self.live, _Reader(self.app))
            case _:
                raise AssertionError(f"no kind of check: {check!r}")

    @cached_property
    def live(self) -> Snapshot:
        """What the brain knows now, by its events."""
        return self.app.versions.live

    @cached_property
    def used(self) -> Callable[[str], frozenset[tuple[str, str]] | None]:
        return cache(partial(used, schema=self.app.schema))

    @property
    def proof(self) -> Proof:
        if self._proof is None:
            self._proof = Proof(app=self.app, used=self.used)
        return self._proof

    @cached_property
    def columns(self) -> dict[str, frozenset[str]]:
        tables = self.app.schema.tables
        return {table.name.casefold(): frozenset(one.name.casefold() for one in table.columns) for table in tables}

    @cached_property
    def buckets(self) -> dict[str, str]:
        """Every bucket that an episode or a synapse was ever in, with the kind of question."""
        with self.app.ledger.connection() as connection:
            found = {one.bucket: one.kind for one in self.app.synapses.buckets(connection)}
        for event in self.app.ledger.events(kinds=(EventKind.EPISODE_REMEMBERED,)):
            if event.content is not None:
                found[str(event.content["bucket"])] = str(event.content["kind"])
        return {bucket: kind for bucket, kind in found.items() if kind}

    def _must_know(self, check: MustKnow) -> Checked:
        """Ask as always, but let no model answer, and compare what habits and adapted episodes give."""
        *_, attempt = self.app.ask(check.question, journal=Unwritten())
        looked = {"episodes": len({one.episode.id for one in (*attempt.recalled, *attempt.nearby)})}
        if attempt.status != "answered" or attempt.result is None:
            wrong = "no episode that was recalled gives an answer"
            return concluded(check, looked, [Evidence("answer", attempt.sql, attempt.message)], red=wrong)
        if check.sql is not None:
            pair = Pair(check.name, check.question, check.sql, (), check.ordered, "", "", "", 0)
            if self._school is None:
                self._school = School(app=self.app)
            verdict = self._school.verdict(pair, attempt)
            wrong = "" if verdict.right else verdict.reason
        else:
            rows = tuple(tuple(row) for row in check.rows or ())
            right = same(Result(tuple(map(str, rows[0])), rows), attempt.result, ordered=check.ordered)
            given = "; ".join(", ".join(map(str, row)) for row in attempt.result.rows[:3])
            wrong = "" if right else f"other rows were given: {given or 'none'}"
        if wrong:
            return concluded(check, looked, [Evidence("answer", attempt.sql, wrong)], red=wrong)
        looked["rows"] = len(attempt.result.rows)
        return concluded(check, looked, [], green=f"{attempt.path}: {attempt.sql}")


@dataclass(frozen=True)
class _Reader:
    """Reads and runs episodes; a `memory.brain.holding.Contradicting`."""

    app: App
    _results: dict[str, Result | str] = field(default_factory=dict, init=False)

    def asked(self, episode: Episode) -> Iterable[Hashable]:
        """Its words, and its masked question with what its literals stand for."""
        yield "words", asked_alike(episode.question).rstrip(" ?!.;:")
        links = self.app.understand(episode.question).grounding.chosen
        yield "masked", episode.masked, tuple(self._literals(links))

    def _literals(self, links: Iterable[object]) -> Iterator[str]:
        for link in links:
            if getattr(link, "kind", "") not in ("table", "column", "term"):
                yield str(getattr(link, "value", None) or getattr(link, "text", "")).casefold()

    def differ(self, one: str, other: str) -> str:
        first, second = self._run(one), self._run(other)
        if isinstance(first, str) or isinstance(second, str):
            return f"cannot be compared ({first if isinstance(first, str) else second})"
        dialect = self.app.schema.dialect
        ordered = sorts(one, dialect) and sorts(other, dialect)
        if same(first, second, ordered=ordered):
            return ""
        told = f"gives {len(first.rows)} and {len(second.rows)} rows, which are not the same"
        return f"{told}, or not in the same order" if ordered else told

    def _run(self, sql: str) -> Result | str:
        """The result of a query, or why there is none; each is run once."""
        if sql not in self._results:
            try:
                result = self.app.checked_run(sql)
            except (QueryRejected, QueryFailed) as problem:
                self._results[sql] = str(problem)
            else:
                self._results[sql] = result if result.truncated is None else "its result is cut off"
        return self._results[sql]
