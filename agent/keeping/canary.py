"""A canary: a candidate answers a share of the questions, until what comes of them says which brain is to stay."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.attempt import OUTAGES, Attempt
from agent.learning.arms import MEMORY
from agent.learning.runs import new_id
from agent.models.port import Model
from memory.brain import candidates
from memory.brain.canary import Decision, Tally, Trial, decide, edits_on, takes
from memory.brain.differences import Edit, apply
from memory.brain.reading import read
from memory.brain.snapshot import Snapshot, SnapshotError
from memory.brain.writing import make_so, write_edits
from memory.embedder import Embedder
from memory.ledger import LEDGER_FILE, EventKind, Ledger
from memory.semantic import SemanticMemory
from memory.store import EpisodeStore
from procedural.store import SynapseStore

if TYPE_CHECKING:
    from agent.app import App
    from memory.embedder import Vector

__all__ = ["Canaries", "CanaryStatus", "Tally"]

_KNOWLEDGE = (
    EventKind.EPISODE_REMEMBERED,
    EventKind.EPISODE_FORGOTTEN,
    EventKind.EPISODE_ERASED,
    EventKind.TERM_TAUGHT,
    EventKind.TERM_DROPPED,
    EventKind.LESSON_LEARNED,
    EventKind.LESSON_RESOLVED,
    EventKind.LESSON_DROPPED,
    EventKind.WEIGHTS_MOVED,
    EventKind.BRAIN_CHANGED,
)
"""What changes the live brain, so that the candidate on top of it has to be made anew."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A canary as it was begun. `base` is the position of the live brain it is compared with, `share` in [0, 1]."""

    id: str
    snapshot: str
    hash: str
    base: int
    share: float
    at: float


@dataclass(frozen=True, slots=True)
class CanaryStatus:
    """How a canary stands, or stood when it ended. `ended` is "", or promoted, rolled back or stopped."""

    begun: Begun
    live: Tally
    canary: Tally
    decision: Decision
    edits: tuple[Edit, ...]
    ended: str = ""
    why: str = ""


@dataclass(kw_only=True)
class Canaries:
    """Begins, asks, judges and ends canaries on one opened app; one at a time.

    `in_memory` makes an empty episode store that keeps nothing on a disk.
    """

    app: App
    in_memory: Callable[[Embedder], EpisodeStore]
    _made: tuple[int, App] | None = field(default=None, init=False, repr=False)
    _opened: ExitStack = field(default_factory=ExitStack, init=False, repr=False)

    def begin(self, snapshot: str, share: float) -> CanaryStatus:
        """Send a share of the questions to a snapshot from now on. A file stays where it is and is read again.

        Raises:
            SnapshotError: there is no such snapshot, it is what the brain knows already, or a canary is running.
        """
        app = self.app
        if not 0.0 < share <= 1.0:
            raise SnapshotError(f"A canary takes a share above 0 and up to 100 %, not {share:.0%}.")
        app.get_ready_to_recall()
        if (running := self.running()) is not None:
            raise SnapshotError(f"{running.id} is running already. End it with: hebbql brain canary --stop.")
        candidate, base = app.versions.find(snapshot), app.ledger.head()[0]
        if candidate.database != app.ledger.database:
            raise SnapshotError(f"This snapshot is of {candidate.database!r}, the brain of {app.ledger.database!r}.")
        live = app.versions.live
        if not edits_on(live, candidate, live):
            raise SnapshotError(f"{snapshot} is what the brain knows already, so there is nothing to try.")
        name = str(Path(snapshot).resolve()) if _is_file(snapshot, app) else snapshot
        body = {"snapshot": name, "hash": candidate.hash, "base": base, "share": share}
        with app.ledger.transaction() as entry:
            entry.append(EventKind.CANARY_BEGAN, f"canary-{new_id()}", body)
        found = self.status()
        assert found is not None, "it was begun just now"
        return found

    def running(self) -> Begun | None:
        """The canary that runs, or None. One whose promotion was made by a process that was killed then is ended."""
        begun = self._newest()
        if begun is None or any(self.app.ledger.events(kinds=(EventKind.CANARY_ENDED,), subject=begun.id)):
            return None
        if self._is_promoted(begun):
            self._end(begun, "promoted", self._trial(begun).decision.why)
            return None
        return begun

    def status(self) -> CanaryStatus | None:
        """How the newest canary stands or ended; None where there never was one. Raises SnapshotError."""
        self.running()
        begun = self._newest()
        if begun is None:
            return None
        for event in self.app.ledger.events(kinds=(EventKind.CANARY_ENDED,), subject=begun.id):
            body: Any = event.content
            if not body:
                return None
            live, canary = Tally(**body["live"]), Tally(**body["canary"])
            return CanaryStatus(begun, live, canary, decide(live, canary), (), body["outcome"], body["why"])
        trial = self._trial(begun)
        return CanaryStatus(begun, trial.live, trial.canary, trial.decision, self._edits(begun))

    def takes(self, question: str) -> bool:
        """Whether a canary answers a question."""
        begun = self.running()
        return begun is not None and takes(question, begun.share)

    def ask(self, question: str, *, model: Model | None = None) -> Iterator[Attempt]:
        """Answer a question by the canary; the attempt is written into the live brain's history, and says so.

        Where the snapshot cannot be had any more the canary is ended, and the live brain answers.
        """
        app, begun = self.app, self.running()
        assert begun is not None, "what no canary takes is not asked of one"
        try:
            candidate = self._candidate(begun)
        except SnapshotError as gone:
            app.say(f"{begun.id} is rolled back: {gone}")
            self._end(begun, "rolled back", str(gone))
            yield from app.ask(question, model=model)
            return
        candidate.model = app.model
        journal = replace(app.journal, habit=candidate.habit_name, about={"canary": begun.id})
        for attempt in candidate.ask(question, arm=MEMORY, model=model, journal=journal):
            yield attempt.grown(canary=begun.id)
        if told := self.consider():
            app.say(told)

    def consider(self) -> str:
        """Promote or roll back the canary that runs if the rule says so; what was done, or ""."""
        begun = self.running()
        if begun is None:
            return ""
        decision = self._trial(begun).decision
        if decision.word == "go on":
            return ""
        outcome = "promoted" if decision.word == "promote" else "rolled back"
        if decision.word == "promote":
            self._promote(begun)
        self._end(begun, outcome, decision.why)
        return f"{begun.id} is {outcome}: {decision.why}."

    def stop(self) -> CanaryStatus | None:
        """End the canary that runs; the live brain stays as it is. None where none runs."""
        begun = self.running()
        if begun is None:
            return None
        self._end(begun, "stopped", "a person stopped it")
        return self.status()

    def _promote(self, begun: Begun) -> None:
        """Make the candidate's edits on the live brain, once."""
        app = self.app
        if self._is_promoted(begun):
            return
        app.versions.take(f"{begun.id}-before", why="what a canary takes the place of")
        write_edits(app.ledger, app.versions.weights, self._edits(begun), why="canary promoted", subject=begun.id)
        app.bring_up_to_date()

    def _is_promoted(self, begun: Begun) -> bool:
        """Whether its edits were made on the live brain. A process may have been killed before it could say so."""
        changed = self.app.ledger.events(kinds=(EventKind.BRAIN_CHANGED,), after=begun.base)
        return any(begun.id in (event.subject, (event.content or {}).get("of")) for event in changed)

    def _end(self, begun: Begun, outcome: str, why: str) -> None:
        trial = self._trial(begun)
        body = {"outcome": outcome, "why": why, "live": _plain(trial.live), "canary": _plain(trial.canary)}
        with self.app.ledger.transaction() as entry:
            entry.append(EventKind.CANARY_ENDED, begun.id, body)
        self.drop()

    def _newest(self) -> Begun | None:
        begun = None
        for event in self.app.ledger.events(kinds=(EventKind.CANARY_BEGAN,)):
            body: Any = event.content
            if not body:
                continue  # erased, after it had ended
            begun = Begun(event.subject, body["snapshot"], body["hash"], body["base"], body["share"], event.at)
        return begun

    def _trial(self, begun: Begun) -> Trial:
        """What was said of the live brain's answers and of the canary's since it began, in the order of the answers.

        The newest word of a person on an answer counts. One that failed is bad without a word, if a query was written
        and the database was there. Answers that a training run asked for say nothing: they were judged there.
        """
        ledger = self.app.ledger
        judged = {
            str(event.content["attempt"])
            for event in ledger.events(kinds=(EventKind.RUN_STEPPED,), after=begun.base)
            if event.content
        }
        words = {
            event.subject: event.content["verdict"] == "good"
            for event in ledger.events(kinds=(EventKind.FEEDBACK_GIVEN,), after=begun.base)
            if event.content
        }
        trial, sides = Trial(), {"": False, begun.id: True}
        for event in ledger.events(kinds=(EventKind.ATTEMPT_SETTLED,), after=begun.base):
            body: Any = event.content or {}
            side, good = body.get("canary", ""), words.get(event.subject)
            if good is None and _failed(body):
                good = False
            if good is not None and side in sides and event.subject not in judged:
                trial = trial.grown(canary=sides[side], good=good)
        return trial

    def _edits(self, begun: Begun) -> tuple[Edit, ...]:
        """The edits on the live brain as it is now that make it the candidate. Raises SnapshotError."""
        versions = self.app.versions
        base = read(self.app.ledger, versions.weights, until=begun.base)
        gone = self.app.ledger.events(kinds=(EventKind.EPISODE_FORGOTTEN, EventKind.EPISODE_ERASED), after=begun.base)
        taken_out = {event.subject for event in gone}
        return edits_on(base, self._snapshot(begun), versions.live, taken_out=taken_out)

    def _snapshot(self, begun: Begun) -> Snapshot:
        found = self.app.versions.find(begun.snapshot)
        if _is_file(begun.snapshot, self.app) and found.hash != begun.hash:
            raise SnapshotError(f"{begun.snapshot} holds something else than when the canary began")
        return found

    def _candidate(self, begun: Begun) -> App:
        """The candidate as an app of its own over the same database, as long as the live brain stays the same."""
        app = self.app
        if self._made is not None and not any(app.ledger.events(kinds=_KNOWLEDGE, after=self._made[0])):
            return self._made[1]
        self.drop()
        position, live = app.ledger.head()[0], app.versions.live
        wanted = apply(live, self._edits(begun))
        candidates.clear(app.folder, server=app.settings.ledger)
        folder = app.folder / candidates.FOLDER / begun.id
        self._opened.callback(candidates.remove, candidates.Candidate(folder))
        folder.mkdir(parents=True)
        made = self._built(wanted, folder)
        self._made = position, made
        return made

    def _built(self, wanted: Snapshot, folder: Path) -> App:
        """An app whose brain knows what a snapshot says. It is searched in memory and closed with the live one."""
        from agent.weights import KeptWeights

        app = self.app
        ledger = Ledger.open(folder / LEDGER_FILE, database=app.ledger.database)
        self._opened.callback(ledger.close)
        synapses = SynapseStore()
        with ledger.transaction() as entry:
            synapses.create(entry.connection)
        semantic = SemanticMemory(ledger)
        semantic.see(app.schema.name, app.schema.text, app.schema.fingerprint)
        make_so(ledger, KeptWeights(ledger, synapses), wanted, why="canary")
        made = replace(
            app,
            folder=folder,
            ledger=ledger,
            semantic=semantic,
            synapses=synapses,
            seeding=False,
            opened=self._opened,
        )
        vectors = app.vectors.of(wanted.episodes, "question")
        texts = [episode.question for episode in wanted.episodes]
        made.store = self.in_memory(_Known(app.embedder, dict(zip(texts, vectors, strict=True))))
        made.vectors = app.vectors
        return made

    def drop(self) -> None:
        """Close the candidate and delete its folder. The next question that a canary takes makes it anew."""
        self._made = None
        self._opened.close()
        self._opened = ExitStack()
        self.app.opened.callback(self._opened.close)


class _Known:
    """An embedder that looks up the texts whose vectors are kept."""

    def __init__(self, embedder: Embedder, vectors: dict[str, Vector]) -> None:
        self._embedder = embedder
        self._vectors = vectors
        self.id = embedder.id
        self.dimensions = embedder.dimensions

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        missing = [text for text in texts if text not in self._vectors]
        known = self._vectors | dict(zip(missing, self._embedder.embed(missing), strict=True))
        return [known[text] for text in texts]


def _is_file(snapshot: str, app: App) -> bool:
    """Whether a snapshot is known by its file alone."""
    if snapshot.isdigit() or any(one.name == snapshot for one in app.versions.taken()):
        return False
    return Path(snapshot).is_file()


def _failed(body: dict[str, Any]) -> bool:
    """Whether a settled attempt came to nothing though a query was written and the database was there."""
    drafts: Any = body.get("drafts")
    return body.get("status") == "failed" and bool(drafts) and drafts[-1]["rule"] not in OUTAGES


def _plain(tally: Tally) -> dict[str, int]:
    return {"good": tally.good, "bad": tally.bad, "bad_in_a_row": tally.bad_in_a_row}
