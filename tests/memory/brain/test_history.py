"""The history tells of a batch that a change of the whole brain brought as of any other."""

from __future__ import annotations

from agent.weights import KeptWeights
from memory.brain.history import history
from memory.brain.snapshot import Snapshot, of_episode
from memory.brain.writing import make_so
from memory.ledger import Ledger
from tests.memory.brain.conftest import episode_about


def test_every_episode_of_a_batch_that_a_build_brings_is_counted_once(ledger: Ledger, weights: KeptWeights) -> None:
    episodes = [episode_about(what, batch="seed:boats") for what in ("tugs", "yachts", "ferries")]
    wanted = Snapshot.of("harbour", [of_episode(one, 1) for one in episodes])
    for snapshot in (wanted, Snapshot.of("harbour", []), wanted):
        make_so(ledger, weights, snapshot, why="build")
    [batch] = [entry for entry in history(ledger) if entry.what == "batch"]
    assert batch.counts == {"episodes remembered": 3} and batch.left == 3
