"""The versions of a brain: what is in it, snapshots, what differs between them, and going to one."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from agent.forgetting import select
from agent.keeping.building import Builder, Built, Plan
from agent.weights import KeptWeights
from memory.brain.batches import Batch, Prefix, RememberedVectors, batches, without
from memory.brain.bisecting import BisectionError, Found, Probe, bisect, most_probes
from memory.brain.differences import Action, Edit, apply, counted, diff, in_words, worth_telling
from memory.brain.history import Entry, history, of_batch
from memory.brain.reading import LIVE, Taken, read, resolve, snapshots, take
from memory.brain.snapshot import RecordKind, Snapshot, SnapshotError, to_text
from memory.brain.writing import Written, write_edits
from memory.chain import Content
from memory.episode import Episode
from memory.ledger import EventKind
from memory.outbox import standing
from memory.store import Archiving, StoreError

if TYPE_CHECKING:
    from agent.app import App
    from agent.keeping.seeking import Sought


__all__ = [
    "LIVE",
    "Batch",
    "Between",
    "BisectionError",
    "Built",
    "Edit",
    "Entry",
    "Episode",
    "Exported",
    "Found",
    "Look",
    "Plan",
    "Probe",
    "Reverted",
    "Snapshot",
    "SnapshotError",
    "Status",
    "Taken",
    "Versions",
    "apply",
    "counted",
    "in_words",
    "most_probes",
    "to_text",
    "worth_telling",
]

Counts = Mapping[RecordKind, Mapping[Action, int]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Status:
    """What is in a brain. Episodes are counted by who wrote them and by what vouches for them.

    `position` and `head` are the newest event of the ledger and its hash, `hash` that of the content. `since` counts
    how far the brain is from the last snapshot, moves of weights too small to tell left out.
    """

    database: str
    folder: str
    ledger: str
    format: int
    created: float
    position: int
    head: str
    hash: str
    buckets: int
    episodes: int
    by_origin: Mapping[str, int]
    by_verifier: Mapping[str, int]
    batches: int
    gone: Mapping[str, int]
    terms: int
    lessons: int
    synapses: int
    schema: str
    schema_versions: int
    snapshots: int
    last: Taken | None
    since: Counts
    outbox: int
    generation: int
    store: str


@dataclass(frozen=True, slots=True)
class Between:
    """What leads from one snapshot to another, with their hashes."""

    old: str
    new: str
    edits: tuple[Edit, ...]

    def worth_telling(self, moved: float) -> tuple[Edit, ...]:
        """The edits without the weights that moved no more than that."""
        return worth_telling(self.edits, moved=moved)


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written down: the hash of it, and how much in words."""

    hash: str
    told: str


@dataclass(frozen=True, slots=True)
class Look:
    """One probe of a bisection, with what its recall found of what is sought: its rank, and the best of it."""

    probe: Probe
    episodes: int
    rank: int | None
    found: Episode | None


@dataclass(frozen=True, slots=True)
class Reverted:
    """What was taken out, by its edits; `proof` where it was erased as well."""

    batch: str
    written: Written
    hash: str
    proof: tuple[str, ...] = ()


@dataclass(kw_only=True)
class Versions:
    """Reads and moves the versions of one opened app's brain."""

    app: App

    @cached_property
    def weights(self) -> KeptWeights:
        return KeptWeights(self.app.ledger, self.app.synapses)

    @cached_property
    def builder(self) -> Builder:
        return Builder(versions=self, run=self.app.checked_run, schema=self.app.schema)

    @property
    def live(self) -> Snapshot:
        """What the brain knows now."""
        return read(self.app.ledger, self.weights)

    def taken(self) -> tuple[Taken, ...]:
        """The snapshots that were taken, oldest first."""
        return snapshots(self.app.ledger)

    def take(self, name: str = "", *, why: str = "") -> Taken:
        """Write down that the brain is worth coming back to. Raises SnapshotError."""
        return take(self.app.ledger, self.weights, name=name, why=why)

    def find(self, name: str) -> Snapshot:
        """A snapshot by name, hash, position or file. Raises SnapshotError."""
        return resolve(self.app.ledger, self.weights, name)

    def diff(self, old: str, new: str = LIVE) -> tuple[Edit, ...]:
        """Every edit that leads from one snapshot to another. Raises SnapshotError."""
        return self.between(old, new).edits

    def between(self, old: str, new: str = LIVE) -> Between:
        """What leads from one snapshot to another, and which they are. Raises SnapshotError."""
        before, after = self.find(old), self.find(new)
        return Between(before.hash, after.hash, diff(before, after))

    def text(self, name: str = LIVE) -> str:
        """A snapshot in canonical text. Raises SnapshotError."""
        return to_text(self.find(name))

    def text_to(self, file: Path, name: str = LIVE) -> Exported:
        """Write a snapshot into a file, whole or not at all. Raises SnapshotError, OSError."""
        found = self.find(name)
        put_text(file, to_text(found))
        return Exported(found.hash, f"{len(found)} records, {len(found.gone)} gone")

    def status(self) -> Status:
        """Count what is in the brain. Cognee is not opened for it."""
        ledger, live, taken = self.app.ledger, self.live, self.taken()
        position, head = ledger.head()
        kinds = Counter(kind for kind, _ in live.records)
        versions = self.app.semantic.versions()
        last = taken[-1] if taken else None
        since = diff(read(ledger, self.weights, until=last.position), live) if last else ()
        states = Counter(ledger.episode_states().values())
        return Status(
            database=ledger.database,
            folder=str(self.app.folder),
            ledger=ledger.where,
            format=ledger.format,
            created=ledger.created,
            position=position,
            head=head,
            hash=live.hash,
            buckets=len({episode.bucket for episode in live.episodes}),
            episodes=kinds["episode"],
            by_origin=_most_first(_source(episode.origin) for episode in live.episodes),
            by_verifier=_most_first(episode.verifier for episode in live.episodes),
            batches=len({episode.batch for episode in live.episodes}),
            gone={state: states[state] for state in ("forgotten", "erased")},
            terms=kinds["term"],
            lessons=kinds["lesson"],
            synapses=kinds["synapse"],
            schema=versions[-1].fingerprint if versions else "",
            schema_versions=len(versions),
            snapshots=len(taken),
            last=last,
            since=counted(worth_telling(since)),
            outbox=len(ledger.outbox()),
            generation=ledger.generation,
            store=standing(ledger, self.app.store_folder, index=self.app.embedder.id).state,
        )

    def log(self, *, batch: str | None = None) -> tuple[Entry, ...]:
        """Who wrote what and when, newest first: all, or what is about one batch."""
        entries = history(self.app.ledger)
        return tuple(reversed(entries if batch is None else of_batch(entries, batch)))

    def batches(self) -> tuple[Batch, ...]:
        """The batches that are remembered, in the order in which they came."""
        return batches(self.app.ledger)

    def plan(self, path: Path | None = None, *, edited: bool = False) -> Plan:
        """What a file, or the accepted brain, would make of this one. Raises SnapshotError."""
        return self.builder.plan(path or self.app.accepted_brain, edited=edited)

    def build(self, plan: Plan) -> Built:
        """Make the brain what a plan says. Raises SnapshotError."""
        return self.builder.carry_out(plan)

    def load_accepted(self) -> Built:
        """Bring the accepted brain into one that nothing was loaded into; what is there stays. Raises SnapshotError."""
        say = self.app.say
        say(f"Building the brain from {self.app.accepted_brain.name}: each episode is run and checked …")
        done = self.builder.carry_out(self.builder.plan(self.app.accepted_brain, adding=True), adding=True)
        remembered = sum(edit.kind == "episode" for edit in done.written.edits)
        say(f"{remembered} episodes remembered, {len(done.plan.refused)} refused.")
        for one in done.plan.refused:
            say(f"  {one.name}: {one.reason}")
        return done

    def sought(
        self, *, check: str | None = None, text: str | None = None, sql: str | None = None, checks: Path | None = None
    ) -> Sought:
        """What a bisection looks for: what a check of `checks` forbids, or a text or a piece of SQL.

        Raises:
            BisectionError: there is no such check, or it has no first batch.
        """
        from agent.database.uses import used
        from agent.keeping.seeking import Forbidden, named, sought

        if check is not None:
            place = checks or self.app.checking.folder
            if place is None:
                raise BisectionError("No checks are shipped for this database. Name their folder with --checks.")
            forbidden = named(place, check)
        else:
            try:
                forbidden = Forbidden(kind="forbidden", name="given", text=text, sql=sql)
            except ValueError as error:
                raise BisectionError("Look for a letter or a digit at least, and 2,000 signs at most.") from error
        return sought(forbidden, used=partial(used, schema=self.app.schema))

    def archive(self, folder: Path) -> Exported:
        """Write the live brain into a folder as Cognee's own archives, one for each bucket.

        What Cognee does not keep (weights, lessons, terms) is beside them in canonical text.

        Raises:
            SnapshotError: something is in the folder already.
            OSError: the folder cannot be written.
            StoreError: Cognee cannot be read, or does not hold all episodes.
        """
        if folder.exists() and any(folder.iterdir()):
            raise SnapshotError(f"{folder} is not empty, and archives of other days must not mix. Name a new folder.")
        self.app.get_ready_to_recall()
        live = self.live
        by_bucket: dict[str, dict[UUID, Content]] = {}
        for record in live.of_kind("episode"):
            told = {name: value for name, value in record.body.items() if name not in ("question", "since")}
            by_bucket.setdefault(record.episode.bucket, {})[record.episode.id] = told
        store = self.app.store
        assert isinstance(store, Archiving), "episodes are kept in Cognee"
        put_text(folder / f"{live.database}.brain", to_text(live))
        held = sum(store.archive(bucket, folder / bucket, told) for bucket, told in by_bucket.items())
        if held != len(live.episodes):
            raise StoreError(
                f"Cognee gave {held} of {len(live.episodes)} episodes. Run `hebbql doctor`, then export again."
            )
        return Exported(live.hash, f"{held} episodes in {len(by_bucket)} archives of Cognee")

    def bisect(self, sought: Sought, *, show: Callable[[Look], None] = lambda _look: None) -> tuple[Batch, Found]:
        """Find the batch that first made something recallable. `show` is told each probe as it is taken.

        A probe is one recall over the batches it looks at and no others, with nothing left out.

        Raises:
            BisectionError: it is not recallable now.
            EmbedderError: the embedding model cannot run.
        """
        ordered = self.batches()
        understood = self.app.understand(sought.question)
        vectors = RememberedVectors(self.app.vectors)
        looked: list[tuple[int, int | None, Episode | None]] = []

        def is_red(some: Sequence[Batch]) -> bool:
            prefix = Prefix(some, embedder=self.app.embedder, vectors=vectors)
            recalled = prefix.recall(
                bucket=understood.bucket,
                kind=understood.intent.kind,
                tables=understood.intent.tables,
                question=understood.grounding.question,
                masked=understood.masked,
            )
            found = [(rank, one.episode) for rank, one in enumerate(recalled, start=1) if sought.shows(one.episode)]
            rank, episode = found[0] if found else (None, None)
            looked.append((len(recalled), rank, episode))
            return bool(found)

        looks = bisect(ordered, is_red=is_red)
        while True:
            try:
                probe = next(looks)
            except StopIteration as end:
                found: Found = end.value
                return ordered[found.place], found
            show(Look(probe, *(looked[-1] if looked else (0, None, None))))

    def taking_out(self, batch: str, *, erase: bool = False) -> tuple[Edit, ...]:
        """The edits that take out just one batch; with `erase` none where all of it was forgotten before.

        Raises:
            SnapshotError: nothing of the batch is there to be taken out.
        """
        try:
            return without(self.live, batch, told_by=self._told_by(batch), habit=self.app.habit_of)
        except SnapshotError:
            if erase and any(one.batch == batch for one in self._forgotten()):
                return ()
            raise

    def revert(self, batch: str, *, erase: bool = False) -> Reverted:
        """Take out just one batch, in one transaction. With `erase` its bytes leave too, and with them every snapshot.

        Raises:
            SnapshotError: nothing of the batch is remembered.
            StoreError: the episode store still holds some of it.
        """
        edits = self.taking_out(batch, erase=erase)
        written = write_edits(self.app.ledger, self.weights, edits, why="reverted", subject=batch)
        self.app.bring_up_to_date()
        proof: tuple[str, ...] = ()
        if erase:
            proof = self.app.forget(select(self.app.ledger, batch=batch, forgotten=True), erase=True).proof
        return Reverted(batch, written, self.live.hash, proof)

    def _forgotten(self) -> Iterator[Episode]:
        states = self.app.ledger.episode_states()
        gone = (UUID(id) for id, state in states.items() if state == "forgotten")
        return (episode for id in gone if (episode := self.app.ledger.episode(id)) is not None)

    def _told_by(self, batch: str) -> Callable[[Content], bool]:
        """Whether a lesson was learned in the epoch of training that a batch is of.

        Its origin names run and attempt; which epoch that was, the steps of the run tell.
        """
        parts = batch.split(":epoch-")
        if len(parts) != 2 or not parts[0].startswith("train:"):
            return lambda _body: False
        run = parts[0].removeprefix("train:")
        attempts = set()
        for event in self.app.ledger.events(kinds=(EventKind.RUN_STEPPED,), subject=run):
            body: Any = event.content or {}
            if str(body.get("epoch")) == parts[1] and body.get("part") == "training":
                attempts.add(f"train:{run}:{body.get('attempt')}")
        return lambda body: body.get("origin") in attempts


def put_text(file: Path, text: str) -> None:
    """Put a file in place whole or not at all, with the same ends of line everywhere. Raises OSError."""
    unborn = file.with_name(f".{file.name}.unborn")
    file.parent.mkdir(parents=True, exist_ok=True)
    with unborn.open("w", encoding="utf-8", newline="\n") as written:
        written.write(text)
        written.flush()
        os.fsync(written.fileno())
    unborn.replace(file)


def _source(origin: str) -> str:
    """Who wrote an episode, without the number of the attempt or run.

    >>> _source("seed:northwind"), _source("feedback:1a2b"), _source("train:r1")
    ('seed:northwind', 'feedback', 'train')
    """
    kind = origin.partition(":")[0]
    return origin if kind == "seed" else kind


def _most_first(words: Any) -> dict[str, int]:
    return dict(sorted(Counter(words).items(), key=lambda one: (-one[1], one[0])))
