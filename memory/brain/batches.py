"""Batches: what each source wrote at one time, in order, and recall over the first few of them."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memory.brain.differences import Edit, diff
from memory.brain.loosening import loose_shapes
from memory.brain.snapshot import Record, Snapshot, SnapshotError
from memory.chain import Content
from memory.embedder import Embedder
from memory.episode import Episode, Part
from memory.ledger import BucketCount, EventKind, Ledger
from memory.recall import Recall, Recalled, Vectors
from memory.store import Hit

if TYPE_CHECKING:
    from memory.embedder import Vector


@dataclass(frozen=True, slots=True)
class Batch:
    """All that one source wrote at one time and that is still remembered.

    `position` is where in the ledger its first episode was remembered, `at` when, in seconds since 1970, UTC.
    """

    name: str
    position: int
    at: float
    episodes: tuple[Episode, ...]

    @property
    def origins(self) -> tuple[str, ...]:
        return tuple(sorted({episode.origin for episode in self.episodes}))


def batches(ledger: Ledger) -> tuple[Batch, ...]:
    """The batches that have an active episode, in the order in which their first one was remembered."""
    active: dict[str, list[Episode]] = {}
    for episode in ledger.episodes():
        active.setdefault(episode.batch, []).append(episode)
    first: dict[str, tuple[int, float]] = {}
    for event in ledger.events(kinds=(EventKind.EPISODE_REMEMBERED,)):
        body: Any = event.content
        if body and body["batch"] in active:
            first.setdefault(body["batch"], (event.position, float(body.get("since", event.at))))
    return tuple(Batch(name, *first[name], tuple(active[name])) for name in first)


def without(
    live: Snapshot,
    batch: str,
    *,
    told_by: Callable[[Content], bool] | None = None,
    habit: Callable[[Episode], str] | None = None,
) -> tuple[Edit, ...]:
    """The edits that take out just one batch: its episodes, the synapses that point to them, and what it taught.

    That is the lessons and terms whose origin is the batch, and those of which `told_by` says so by their body; and
    in a bucket of the batch the synapses to skeletons and habits that it alone has. `habit` names that of an episode.

    Raises:
        SnapshotError: nothing of this batch is remembered.
    """
    leaving = [one for one in live.episodes if one.batch == batch]
    gone = {str(one.id) for one in leaving}
    loose = loose_shapes(leaving, (one for one in live.episodes if one.batch != batch), habit)

    def belongs(record: Record) -> bool:
        match record.kind:
            case "episode":
                return record.body["batch"] == batch
            case "synapse":
                if record.body["target_kind"] == "episode":
                    return record.body["target"] in gone
                return tuple(record.body[part] for part in ("bucket", "target_kind", "target")) in loose
            case "lesson" | "term":
                return record.body["origin"] == batch or bool(told_by and told_by(record.body))
            case _:
                return False

    kept = [record for record in live.records.values() if not belongs(record)]
    edits = diff(live, Snapshot.of(live.database, kept, gone=live.gone, parent=live.parent))
    if not edits:
        raise SnapshotError(f"Nothing is remembered of a batch {batch!r}. List them with: hebbql brain log.")
    return edits


class Prefix:
    """Some batches as recall reads them, with the episodes of no other: a brain as if nothing else were in it.

    An `Episodes` and a `Meanings` of `memory.recall` in one. It holds no more than what it is given.
    """

    def __init__(self, some: Iterable[Batch], *, embedder: Embedder, vectors: Vectors) -> None:
        self._all = tuple(episode for batch in some for episode in batch.episodes)
        self._buckets: dict[str, list[Episode]] = {}
        for episode in self._all:
            self._buckets.setdefault(episode.bucket, []).append(episode)
        self._embedder = embedder
        self._vectors = vectors

    def __len__(self) -> int:
        return len(self._all)

    def recall(
        self, *, bucket: str, kind: str, tables: tuple[str, ...], question: str, masked: str
    ) -> tuple[Recalled, ...]:
        """Recall for one question with nothing left out: all episodes, best first.

        A recall that gives only the best few could find a memory in a few batches and lose it among more. Without
        bounds, what is found in some batches is found in more of them as well: this is what a bisection stands on.

        Raises:
            EmbedderError: the embedding model cannot run.
        """
        if not self._all:
            return ()
        recall = Recall(
            episodes=self,
            store=self,
            embedder=self._embedder,
            vectors=self._vectors,
            most_datasets=len(self._buckets),
            per_dataset=len(self._all),
        )
        self._embedder.embed([question, masked])
        found = recall.recall(
            bucket=bucket, kind=kind, tables=tables, question=question, masked=masked, limit=len(self._all)
        )
        assert len(found) == len(self._all), "a recall without bounds leaves nothing out"
        return found

    def intents(self) -> Sequence[BucketCount]:
        counted = Counter((one.bucket, one.kind, one.tables) for one in self._all)
        return [BucketCount(bucket, kind, tables, n, 0) for (bucket, kind, tables), n in sorted(counted.items())]

    def episodes(self, bucket: str | None = None) -> Sequence[Episode]:
        return self._all if bucket is None else self._buckets.get(bucket, ())

    def by_ids(self, ids: Sequence[uuid.UUID]) -> Sequence[Episode]:
        wanted = set(ids)
        return [episode for episode in self._all if episode.id in wanted]

    def first_of(self, buckets: Sequence[str]) -> Sequence[Episode]:
        return [self._buckets[bucket][0] for bucket in buckets if bucket in self._buckets]

    def search(self, text: str, limit: int) -> Sequence[Episode]:
        words = set(text.casefold().split())

        def shared(episode: Episode) -> int:
            return len(words.intersection(f"{episode.question} {episode.masked}".casefold().split()))

        return sorted((one for one in self._all if shared(one)), key=shared, reverse=True)[:limit]

    def search_buckets(self, text: str, limit: int) -> Sequence[str]:
        return [episode.bucket for episode in self.search(text, limit)]

    def recall_each(self, buckets: Sequence[str], text: str, limit: int) -> Sequence[Hit]:
        [wanted] = self._embedder.embed([text])
        hits: list[Hit] = []
        for bucket in buckets:
            held = self._buckets.get(bucket, [])
            vectors = self._vectors.of(held, "question")
            found = [Hit(one.id, float(vector @ wanted)) for one, vector in zip(held, vectors, strict=True)]
            hits += sorted(found, key=lambda hit: -hit.score)[:limit]
        return hits


class RememberedVectors:
    """Vectors of episodes that are read once, however many prefixes are recalled over."""

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors
        self._known: dict[tuple[uuid.UUID, Part], Vector] = {}

    def of(self, episodes: Sequence[Episode], part: Part) -> list[Vector]:
        missing = [one for one in episodes if (one.id, part) not in self._known]
        if missing:
            made = zip(missing, self._vectors.of(missing, part), strict=True)
            self._known.update({(one.id, part): vector for one, vector in made})
        return [self._known[one.id, part] for one in episodes]
