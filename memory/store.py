"""The port to episodic memory: one dataset per bucket, searched by meaning."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from memory.errors import BrainError


class StoreError(BrainError):
    """Failure: the episode store cannot be read or written now. Nothing is lost, the ledger holds every episode."""


class StoreBusyError(StoreError):
    """Another process, or another brain of this process, has the store open."""


class StoreDamagedError(StoreError):
    """Files of the store are missing or broken. Without the store's folder it is rebuilt from the ledger."""


@dataclass(frozen=True, slots=True)
class Indexed:
    """What a store keeps of an episode: its id and the text it is found by."""

    id: uuid.UUID
    text: str


@dataclass(frozen=True, slots=True)
class Hit:
    """One found episode. `score` is cosine similarity in [-1, 1]: rank by it, never threshold on it."""

    id: uuid.UUID
    score: float


@runtime_checkable
class Archiving(Protocol):
    """A store that writes its episodes down in a format of its own."""

    def archive(self, bucket: str, folder: Path, told: Mapping[uuid.UUID, Mapping[str, object]]) -> int:
        """Write a bucket into a folder, with what is `told` of each episode besides; give how many it holds."""
        ...


class EpisodeStore(Protocol):
    """Episodes by bucket. Every write is idempotent: the same call again changes nothing."""

    def remember(self, bucket: str, episodes: Sequence[Indexed]) -> None: ...

    def recall(self, bucket: str, text: str, limit: int) -> Sequence[Hit]:
        """Find the most alike episodes of one bucket, best first; none for a bucket never written."""
        ...

    def recall_each(self, buckets: Sequence[str], text: str, limit: int) -> Sequence[Hit]:
        """Find the most alike episodes of several buckets, at most `limit` of each, bucket after bucket."""
        ...

    def forget(self, bucket: str, ids: Sequence[uuid.UUID]) -> None:
        """Take episodes out. Unknown ids are no error."""
        ...

    def erase(self, bucket: str, survivors: Sequence[Indexed]) -> None:
        """Drop the whole dataset and write the survivors anew, so that no byte of the rest stays."""
        ...

    def members(self, bucket: str) -> frozenset[uuid.UUID]:
        """Ids the store really holds, read without going through the registry that `forget` edits."""
        ...

    def close(self) -> None: ...
