"""Episodes in memory, searched exactly: what every other store is measured against, and enough for a dry run."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Sequence

from memory.embedder import Embedder
from memory.store import Hit, Indexed


class ReferenceStore:
    """Keeps texts in a dictionary per bucket and compares all of them. Gone when the process ends."""

    def __init__(self, *, embedder: Embedder) -> None:
        self._embedder = embedder
        self._buckets: dict[str, dict[uuid.UUID, str]] = {}
        self._lock = threading.Lock()

    def remember(self, bucket: str, episodes: Sequence[Indexed]) -> None:
        with self._lock:
            if episodes:
                self._buckets.setdefault(bucket, {}).update({episode.id: episode.text for episode in episodes})

    def recall(self, bucket: str, text: str, limit: int) -> Sequence[Hit]:
        with self._lock:
            held = list(self._buckets.get(bucket, {}).items())
        if limit < 1 or not held:
            return ()
        wanted, *vectors = self._embedder.embed([text, *(text for _, text in held)])
        hits = [Hit(id, float(vector @ wanted)) for (id, _), vector in zip(held, vectors, strict=True)]
        return tuple(sorted(hits, key=lambda hit: -hit.score)[:limit])

    def recall_each(self, buckets: Sequence[str], text: str, limit: int) -> Sequence[Hit]:
        return tuple(hit for bucket in buckets for hit in self.recall(bucket, text, limit))

    def forget(self, bucket: str, ids: Sequence[uuid.UUID]) -> None:
        with self._lock:
            for id in ids:
                self._buckets.get(bucket, {}).pop(id, None)

    def erase(self, bucket: str, survivors: Sequence[Indexed]) -> None:
        with self._lock:
            self._buckets[bucket] = {episode.id: episode.text for episode in survivors}

    def members(self, bucket: str) -> frozenset[uuid.UUID]:
        with self._lock:
            return frozenset(self._buckets.get(bucket, ()))

    def close(self) -> None:
        """Nothing to free."""
