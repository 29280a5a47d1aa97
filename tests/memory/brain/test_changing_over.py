"""Killed at any write of a change-over, the brain is the old one or the new one, whole, and its history verifies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import memory
from agent.weights import KeptWeights
from memory.brain.candidates import Candidate, begin, remove
from memory.brain.reading import read
from memory.brain.snapshot import Snapshot, of_episode, to_text
from memory.brain.writing import make_so
from memory.embedder import MiniLM
from memory.ledger import LEDGER_FILE, EventKind, Ledger
from memory.outbox import drain
from memory.recall import indexed_text
from memory.reference_store import ReferenceStore
from procedural.store import METADATA, SynapseStore, replayed
from tests.memory.brain.conftest import episode_about
from tests.memory.brain.test_snapshot import fill, fire

WORKER = Path(__file__).with_name("changing.py")
ROOT = Path(memory.__path__[0]).parent


@pytest.fixture
def change_over() -> Iterator[Callable[..., dict[str, Any]]]:
    server = subprocess.Popen(
        [sys.executable, str(WORKER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"},
    )
    assert server.stdin and server.stdout

    def one(brain: str, snapshot: Path, kill_at: int | None) -> dict[str, Any]:
        assert server.stdin and server.stdout
        server.stdin.write(json.dumps({"brain": brain, "snapshot": str(snapshot), "kill_at": kill_at}) + "\n")
        server.stdin.flush()
        answer: dict[str, Any] = json.loads(server.stdout.readline())
        return answer

    yield one
    server.stdin.close()
    server.wait()


@pytest.fixture(params=["sqlite", "postgresql"])
def server(request: pytest.FixtureRequest) -> str | None:
    """The URL of an empty PostgreSQL database for the ledger, or None where it is to be a file."""
    return str(request.getfixturevalue("postgres_database")) if request.param == "postgresql" else None


def test_a_kill_at_any_write_leaves_one_whole_brain(
    change_over: Callable[..., dict[str, Any]], place: Path, server: str | None, embedder: MiniLM
) -> None:
    snapshot = place / "wanted.brain"
    with Ledger.open(server or place / LEDGER_FILE, database="harbour") as ledger:
        weights = KeptWeights(ledger, SynapseStore())
        with ledger.transaction() as entry:
            weights.synapses.create(entry.connection)
        fill(ledger, weights)
        old = read(ledger, weights)
        take_out = {record.key: record for record in old.records.values() if "yachts" not in record.line}
        added = of_episode(episode_about("tugs", bucket="quay"), 7)
        wanted = Snapshot.of("harbour", [*take_out.values(), added])
        fire(ledger, weights, "direct", 0.0)
        old = read(ledger, weights)
    snapshot.write_text(to_text(wanted), encoding="utf-8")

    def copied(id: str) -> tuple[Candidate, str]:
        made = begin(place, id, server=server, beside=METADATA.tables)
        return made, made.server or str(made.folder / LEDGER_FILE)

    whole, where = copied("whole")
    ended = change_over(where, snapshot, None)
    remove(whole)
    steps = ended["steps"]
    assert ended["status"] == 0 and len(steps) > 25 and {"before commit", "synapses restored"} <= set(steps)
    seen = set()
    for kill_at in range(1, len(steps) + 1):
        left, where = copied(f"kill-{kill_at}")
        ended = change_over(where, snapshot, kill_at)
        assert os.WTERMSIG(ended["status"]) == signal.SIGKILL, (steps[kill_at - 1], ended)
        with Ledger.open(where, database="harbour") as ledger:
            weights, store = KeptWeights(ledger, SynapseStore()), ReferenceStore(embedder=embedder)
            assert ledger.verify().ok, ledger.verify()
            live = read(ledger, weights)
            seen.add(live.hash)
            assert live.hash in (old.hash, wanted.hash), steps[kill_at - 1]
            moved = (event.content for event in ledger.events(kinds=(EventKind.WEIGHTS_MOVED,)))
            with ledger.connection() as connection:
                assert replayed(moved) == weights.synapses.synapses(connection)
            drain(ledger, store, text=indexed_text)
            for bucket in ("harbour", "quay"):
                assert store.members(bucket) == {one.id for one in ledger.episodes(bucket)}
            make_so(ledger, weights, wanted, why="again")
            assert read(ledger, weights).hash == wanted.hash and ledger.verify().ok
        remove(left)
    assert seen == {old.hash, wanted.hash}
