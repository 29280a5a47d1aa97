"""The versions of a brain: snapshots, what differs between them, and going to one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from agent.weights import KeptWeights
from memory.brain.differences import Edit, diff
from memory.brain.reading import LIVE, Taken, read, resolve, snapshots, take
from memory.brain.snapshot import Snapshot

if TYPE_CHECKING:
    from agent.app import App


__all__ = ["LIVE", "Edit", "Snapshot", "Taken", "Versions"]


@dataclass(kw_only=True)
class Versions:
    """Reads and moves the versions of one opened app's brain."""

    app: App

    @cached_property
    def weights(self) -> KeptWeights:
        return KeptWeights(self.app.ledger, self.app.synapses)

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
        return diff(self.find(old), self.find(new))
