"""A real ledger with synapses of its own, and makers of what it remembers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.weights import KeptWeights
from memory.episode import Episode
from memory.ledger import Ledger
from procedural.store import SynapseStore


class Clock:
    """Seconds that go on by one whenever they are read."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def episode_about(what: str, *, bucket: str = "harbour", batch: str = "pack:1", sql: str = "") -> Episode:
    """An episode of a small harbour that asks about one thing."""
    return Episode(
        bucket=bucket,
        kind="count",
        tables=("boats",),
        question=f"How many {what} are there?",
        masked=f"how many {what} are there",
        sql=sql or f"SELECT COUNT(*) FROM boats WHERE kind = '{what}'",
        skeleton="SELECT COUNT(*) FROM ? WHERE ? = ?",
        origin="seed:harbour",
        verifier="gold",
        batch=batch,
        schema_fingerprint="s1",
        result_fingerprint="r1",
    )


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "brain.sqlite", database="harbour", clock=Clock()) as ledger:
        yield ledger


@pytest.fixture
def weights(ledger: Ledger) -> KeptWeights:
    synapses = SynapseStore()
    with ledger.transaction() as entry:
        synapses.create(entry.connection)
    return KeptWeights(ledger, synapses)
