"""Forgetting by words: everything of a brain that holds a text, taken out together, and looked for afterwards.

What matches: an episode whose question or SQL holds the text, a lesson in its question or its queries, a term in its
names, meaning or expression. Case does not count, and neither does how much space is between words; a value is
matched as it stands in the SQL. Erasing takes every attempt that shows the text as well, which forgetting leaves in
the history.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import UUID

from agent.database.uses import used
from agent.keeping.forbidden import Proof
from agent.keeping.measuring import answering
from agent.learning.feedback import FeedbackError, Outcome
from agent.school import School
from memory.brain.checks import Checked, Forbidden
from memory.brain.forbidding import Needle, leaves
from memory.brain.reading import nameless
from memory.episode import Episode
from memory.ledger import BLANKABLE, EventKind
from memory.lessons import Lesson, Lessons
from memory.semantic import Term, term_ids

if TYPE_CHECKING:
    from agent.app import App

__all__ = ["Matched", "Matching", "Taken"]

_ATTEMPTS = (EventKind.ATTEMPT_STARTED, EventKind.ATTEMPT_SETTLED, EventKind.FEEDBACK_GIVEN)
_LESSONS = (EventKind.LESSON_LEARNED, EventKind.LESSON_RESOLVED, EventKind.LESSON_DROPPED)


_VERSIONS = (
    EventKind.SNAPSHOT_TAKEN,
    EventKind.BRAIN_CHANGED,
    EventKind.EPISODE_FORGOTTEN,
    EventKind.CANARY_BEGAN,
    EventKind.CANARY_ENDED,
)
"""Events that hold the names of snapshots, files and batches, and why something was done."""


@dataclass(frozen=True, slots=True)
class Matched:
    """What holds a text. `attempts` are the ids of those that show it, which only erasing takes."""

    text: str
    episodes: tuple[Episode, ...]
    lessons: tuple[Lesson, ...]
    terms: tuple[Term, ...]
    attempts: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.episodes) + len(self.lessons) + len(self.terms) + len(self.attempts)

    def lines(self) -> Iterator[str]:
        """What would be taken, a line each."""
        for episode in self.episodes:
            yield f"episode {str(episode.id)[:8]}: {episode.question} → {episode.sql}"
        for lesson in self.lessons:
            yield f"lesson {str(lesson.id)[:8]}: {lesson.question} → not {lesson.wrong_sql}"
        for term in self.terms:
            yield f"term: {', '.join(term.names)} → {term.expression or term.meaning}"
        if self.attempts:
            yield f"{len(self.attempts)} attempts in the history"


@dataclass(frozen=True, slots=True)
class Taken:
    """What came of it: the outcome with its proof, and the check that looked for the text afterwards."""

    outcome: Outcome
    proof: Checked


@dataclass(kw_only=True)
class Matching:
    """Finds and forgets by words in one opened app."""

    app: App

    def find(self, text: str, *, erase: bool = False) -> Matched:
        """What holds the text: of what is remembered, and for erasing of all that ever was.

        Raises:
            FeedbackError: there is nothing, or the text has no letter and no digit.
        """
        if not any(sign.isalnum() for sign in text):
            raise FeedbackError("Give a text with a letter or a digit; what holds it is forgotten.")
        self.app.get_ready_to_recall()
        ledger, needle = self.app.ledger, self._needle(text)
        episodes = ledger.episodes()
        if erase:
            ever = {event.subject: None for event in ledger.events(kinds=(EventKind.EPISODE_REMEMBERED,))}
            episodes = tuple(filter(None, map(ledger.episode, map(UUID, ever))))
        found = Matched(
            text,
            tuple(one for one in episodes if needle.in_text(one.question) or needle.in_text(one.sql)),
            tuple(one for one in self._lessons() if _holds(needle, one.question, one.wrong_sql, one.fix_sql)),
            tuple(
                term
                for term in self.app.semantic.glossary()
                if _holds(needle, *term.names, term.meaning, term.expression or "")
            ),
            tuple(self._attempts(needle)) if erase else (),
        )
        if not len(found) and not (erase and self._left(needle)):
            raise FeedbackError(f"Nothing that is remembered holds {text!r}.")
        return found

    def forget(self, found: Matched, *, erase: bool = False) -> Taken:
        """Take it out by the ways that there are for each, then look for the text in every place.

        Raises:
            StoreError: the episode store still holds an episode.
            RunError, ReplyFileError: files of runs or replies cannot be written anew.
        """
        app, needle = self.app, self._needle(found.text)
        outcome = app.forget(found.episodes, erase=erase) if found.episodes else Outcome("", (), (), ())
        lessons = {lesson.id for lesson in self._lessons()} & {lesson.id for lesson in found.lessons}
        with app.ledger.transaction() as entry:
            for id in sorted(lessons):
                Lessons(app.ledger).remove(entry, id, "asked for")
            for term in found.terms:
                app.semantic.drop(entry, term, "asked for")
        if erase and (running := app.canaries.running()) and needle.in_text(running.snapshot):
            app.canaries.stop()
        blanked = self._blank(found, needle) if erase else ()
        told = [
            *outcome.proof,
            f"lessons: {len(found.lessons)} taken away",
            f"glossary: {len(found.terms)} terms dropped",
        ]
        if erase:
            dropped, written = School(app=app).erase([found.text, *self._written(needle)])
            told.append(f"history: {len(blanked)} more contents erased")
            told.append(f"completion cache: {dropped} more replies dropped; files of {written} runs written anew")
            told += [
                f"the term {term.names[0]!r} comes from {term.origin}: it stays away, but take it out there too"
                for term in found.terms
                if term.origin.startswith("glossary:")
            ]
        app.read_terms_anew()
        proof = self._proof(found.text, erase=erase)
        told.append(f"looked for in {len(proof.looked)} places: {'nothing left' if proof.ok else proof.reason}")
        message = (
            f"{len(found.episodes)} episode(s), {len(found.lessons)} lesson(s) and {len(found.terms)} term(s) "
            f"{'erased' if erase else 'forgotten'}; {'nothing' if proof.ok else 'something'} is left that holds it."
        )
        return Taken(Outcome(message, (), outcome.forgotten, tuple(told)), proof)

    def _proof(self, text: str, *, erase: bool) -> Checked:
        check = Forbidden(kind="forbidden", name="matching", text=text, erased=erase)
        with answering(self.app, asks_model=False):
            return Proof(app=self.app, used=lambda sql: used(sql, self.app.schema)).of(check)

    def _needle(self, text: str) -> Needle:
        return Needle.of(Forbidden(kind="forbidden", name="matching", text=text), lambda _sql: None)

    def _lessons(self) -> tuple[Lesson, ...]:
        """The lessons that hold now."""
        held: dict[str, Lesson] = {}
        for event in self.app.ledger.events(kinds=_LESSONS):
            held.pop(event.subject, None)
            if event.kind != EventKind.LESSON_DROPPED and event.content is not None:
                held[event.subject] = Lesson(**event.content)  # type: ignore[arg-type]
        return tuple(held.values())

    def _attempts(self, needle: Needle) -> Iterable[str]:
        """Attempts of which any event shows it."""
        events = self.app.ledger.events(kinds=_ATTEMPTS)
        return dict.fromkeys(event.subject for event in events if _holds(needle, *leaves(event.content)))

    def _left(self, needle: Needle) -> bool:
        events = self.app.ledger.events(kinds=BLANKABLE)
        return any(_holds(needle, *leaves(event.content)) for event in events)

    def _blank(self, found: Matched, needle: Needle) -> tuple[int, ...]:
        """Erase all that is left of attempts, lessons and terms, together with what would tell it again."""
        ledger, attempts = self.app.ledger, set(found.attempts)
        gone = [event.position for event in ledger.events(kinds=_ATTEMPTS) if event.subject in attempts]
        told: dict[str, list[int]] = {}
        shown: set[str] = set()
        for event in ledger.events(kinds=_LESSONS):
            told.setdefault(event.subject, []).append(event.position)
            if _holds(needle, *leaves(event.content)):
                shown.add(event.subject)
        gone += [position for subject in shown for position in told[subject]]
        positions, again = self._terms(needle)
        versions = [
            event.position for event in ledger.events(kinds=_VERSIONS) if _holds(needle, *leaves(event.content))
        ]
        barred = self._erased_ids(needle) - {id for term in again for id in term_ids(term)}
        with ledger.transaction() as entry:
            for term in again:
                self.app.semantic.write(entry, term)
            nameless(ledger, entry, versions)
            return entry.blank([*gone, *positions, *versions], "asked for", terms=barred)

    def _erased_ids(self, needle: Needle) -> set[str]:
        """The lasting ids of all terms that were ever taught and hold it."""
        taught = (one.term for one in self.app.semantic.history())
        return {
            id
            for term in taught
            if _holds(needle, *term.names, term.meaning, term.expression or "")
            for id in term_ids(term)
        }

    def _terms(self, needle: Needle) -> tuple[list[int], list[Term]]:
        """Positions of all teachings that hold it, and of those that share a name with one of them; terms to keep.

        Of two that share a name the history of one cannot be told without that of the other. What still holds names,
        and does not match, is taught anew.
        """
        events = [*self.app.ledger.events(kinds=(EventKind.TERM_TAUGHT, EventKind.TERM_DROPPED))]
        names = {event.position: _names(event.content) for event in events}
        gone = {event.position for event in events if _holds(needle, *leaves(event.content))}
        while more := {at for at in names.keys() - gone if any(names[at] & names[other] for other in gone)}:
            gone |= more
        held = [
            replace(taught.term, names=taught.names_held)
            for taught in self.app.semantic.history()
            if taught.position in gone and taught.names_held
        ]
        return sorted(gone), held

    def _written(self, needle: Needle) -> Iterator[str]:
        """The queries of evaluations that show it, which their files are written anew without."""
        for folder in School(app=self.app).folders:
            with suppress(OSError, ValueError, KeyError, TypeError):
                for step in json.loads((folder / "evaluation.json").read_text("utf-8"))["steps"]:
                    if needle.in_text(step["sql"]) or needle.in_text(step["reason"]):
                        yield step["sql"]


def _holds(needle: Needle, *texts: str) -> bool:
    return any(map(needle.in_text, texts))


def _names(content: object) -> frozenset[str]:
    told = content.get("names", ()) if isinstance(content, dict) else ()
    return frozenset(str(name).casefold() for name in told)
