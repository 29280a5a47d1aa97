"""A run of training that is killed, cut off or starved at any point is finished later, with the same accounts.

What it has learned is there in the next run on the same brain.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import memory
from agent.learning.runs import Run, RunLog
from memory.lease import writer_lease
from memory.ledger import EventKind, Ledger
from memory.lessons import Lessons
from procedural.store import SynapseStore, replayed
from procedural.synapse import HALF_LIFE, Synapse, salience
from tests.agent.learning.run_worker import answer

WORKER = Path(__file__).with_name("run_worker.py")
ROOT = Path(memory.__path__[0]).parent
SAME_ANYHOW = ("attempt", "seconds")
"""Of a step: what is never the same twice."""


@dataclass(frozen=True)
class Ended:
    """How a life ended: the names of its writes, what was said, and how the process did."""

    status: int
    told: list[str]
    said: list[str]

    @property
    def killed(self) -> bool:
        return os.WIFSIGNALED(self.status) and os.WTERMSIG(self.status) == signal.SIGKILL


Live = Callable[..., Ended]


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """Live one life of a run at a place, in a fork of a process that has everything loaded."""
    folder = tmp_path_factory.mktemp("runs")
    with subprocess.Popen(
        [sys.executable, str(WORKER), str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    ) as server:

        def one(place: str, **wanted: Any) -> Ended:
            assert server.stdin and server.stdout
            print(json.dumps({"place": str(folder / place), **wanted}), file=server.stdin, flush=True)
            return Ended(**json.loads(server.stdout.readline()))

        one.folder = folder  # type: ignore[attr-defined]
        yield one
        assert server.stdin
        server.stdin.close()


def accounts(live: Live, place: str) -> dict[str, Any]:
    """All that a run came to, and all that was learned; nothing of it may be half or counted twice."""
    folder: Path = live.folder  # type: ignore[attr-defined]
    with closing(Ledger.open(folder / place / "brain" / "brain.sqlite", database="boats", create=False)) as ledger:
        verified = ledger.verify()
        assert verified.ok, verified.problems
        with ledger.connection() as connection:
            synapses = SynapseStore().synapses(connection)
        moved = (event.content for event in ledger.events(kinds=(EventKind.WEIGHTS_MOVED,)))
        assert synapses == replayed(moved), "the weights are what the history says they are"
        [id] = RunLog(ledger).ids()
        run = RunLog(ledger).read(id)
        asked = Counter((step.part, step.epoch, step.question) for step in run.steps)
        assert set(asked.values()) <= {1}, "no question is counted twice"
        settled = Counter(event.subject for event in ledger.events(kinds=(EventKind.ATTEMPT_SETTLED,)))
        assert settled == Counter(step.attempt for step in run.steps) or run.pauses
        steps = [{name: value for name, value in asdict(one).items() if name not in SAME_ANYHOW} for one in run.steps]
        active = sorted(str(one.id) for count in ledger.buckets() for one in ledger.episodes(count.bucket))
        lessons = sorted(str(one.id) for count in ledger.buckets() for one in Lessons(ledger).of(count.bucket))
        remembered = Counter(event.subject for event in ledger.events(kinds=(EventKind.EPISODE_REMEMBERED,)))
        assert set(remembered.values()) <= {1}, "an episode is remembered once"
        return {
            "finished": run.finished is not None,
            "steps": steps,
            "checkpoints": [asdict(one) for one in run.checkpoints],
            "cost": run.cost_usd,
            "episodes": active,
            "lessons": lessons,
            "fired": {
                (one.bucket, one.target_kind, one.target): (one.successes, one.failures, one.weight) for one in synapses
            },
        }


@pytest.fixture(scope="module")
def undisturbed(live: Live) -> dict[str, Any]:
    ended = live("undisturbed")
    assert (ended.status, ended.said[-1]) == (0, "finished")
    came = accounts(live, "undisturbed")
    assert [one["right"] for one in came["steps"]].count(False) == 1, "one is wrong once, and then learned by seeding"
    assert len(came["steps"]) == 8 and came["checkpoints"][1]["seeded"] and len(came["lessons"]) == 1
    assert any(one["path"] == "habit" for one in came["steps"]) or came["cost"] == 1.0
    return came


def test_a_run_killed_at_every_write_of_an_epoch_is_finished_with_the_same_accounts(
    live: Live, undisturbed: dict[str, Any]
) -> None:
    """Each life dies one write later than the last, until a step or a checkpoint stays; then it begins anew with 1."""
    kill_at, deaths, written = 1, 0, set[str]()
    while True:
        ended = live("killed", kill_at=kill_at)
        assert ended.killed, ended.said
        deaths += 1
        written.add(ended.told[-1])
        kept = _last_transaction(ended.told) if ended.told[-1] == "after commit" else set()
        kill_at = 1 if kept & {"run_stepped event", "run_checked event"} else kill_at + 1
        if "run_checked event" in kept and any(one["closes"] for one in accounts(live, "killed")["checkpoints"]):
            break
    assert {"model asked", "run_stepped content", "lesson row", "store file", "marker current"} <= written
    assert 100 < deaths < 400
    assert live("killed").said[-1] == "finished"
    assert accounts(live, "killed") == undisturbed


def _last_transaction(told: list[str]) -> set[str]:
    """Names of the writes of the transaction that was committed last."""
    began = max((n for n, name in enumerate(told[:-1]) if name == "after commit"), default=-1)
    return set(told[began + 1 :])


def test_killed_again_and_again_while_it_clears_up_a_death_it_is_finished_with_the_same_accounts(
    live: Live, undisturbed: dict[str, Any]
) -> None:
    for _ in range(2):
        next(n for n in count(1) if live("twice", kill_at=n).told[-1] == "model asked")
        written = set[str]()
        for n in count(1):
            ended = live("twice", kill_at=n, opening=True)
            if "attempt_started event" in ended.told:
                break
            assert ended.killed
            written.add(ended.told[-1])
        assert {"attempt_abandoned event", "attempt_abandoned content"} <= written
    assert live("twice").said[-1] == "finished"
    assert accounts(live, "twice") == undisturbed


@pytest.mark.parametrize("write", [3, 5, 6, 17, 25, 31, 48])
def test_ctrl_c_at_any_write_pauses_the_run_and_nothing_is_counted_twice(
    live: Live, undisturbed: dict[str, Any], write: int
) -> None:
    place = f"interrupted-{write}"
    ended = live(place, kill_at=write, by=signal.SIGINT)
    assert "KeyboardInterrupt" in ended.said[-1]
    assert accounts(live, place)["finished"] is False
    assert live(place).said[-1] == "finished"
    assert accounts(live, place) == undisturbed


def test_a_network_that_is_lost_pauses_the_run_and_the_next_life_goes_on(
    live: Live, undisturbed: dict[str, Any]
) -> None:
    for asked in (0, 2, 0, 1):
        ended = live("lost", down=asked)
        assert ended.status == 0
        assert ended.said[-1] == "paused: sailor gave no reply: the network is gone."
    assert live("lost").said[-1] == "finished"
    assert accounts(live, "lost") == undisturbed


@pytest.mark.parametrize(
    ("full", "said"),
    [
        ({"pages": 0}, "is full"),
        ({"pages": 3}, "is full"),
        ({"limit": 1}, "cannot be read or written"),
        ({"limit": 100_000}, "cannot be read or written"),
        ({"limit": 250_000}, "cannot be read or written"),
        ({"limit": 400_000}, "cannot be read or written"),
    ],
)
def test_a_full_disk_is_said_and_leaves_a_run_that_is_finished_once_there_is_room(
    live: Live, undisturbed: dict[str, Any], full: dict[str, int], said: str
) -> None:
    place = f"full-{full}"
    ended = live(place, **full)
    assert ended.said[-1].startswith("paused: ") and said in ended.said[-1], ended.said
    assert "delete" not in ended.said[-1], "nothing is lost that would have to be thrown away"
    assert live(place).said[-1] == "finished"
    assert accounts(live, place) == undisturbed


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_an_endpoint_that_goes_away_and_comes_back_is_waited_for(live: Live, port: int) -> None:
    """A real server on a real port, which is closed after the third call and opened again while the run waits."""
    calls, closing_now = 0, threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            nonlocal calls
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            calls += 1
            message = {"role": "assistant", "content": answer(body["messages"][-1]["content"])}
            choice = {"index": 0, "finish_reason": "stop", "message": message}
            head = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
            payload = json.dumps({**head, "choices": [choice]}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)
            if calls == 3:
                closing_now.set()

        def log_message(self, *arguments: object) -> None:
            del arguments

    def serve() -> HTTPServer:
        server = HTTPServer(("127.0.0.1", port), Handler)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        return server

    def go_away() -> None:
        closing_now.wait(60)
        servers[0].shutdown()
        servers[0].server_close()
        time.sleep(0.5)
        servers.append(serve())

    servers = [serve()]
    going = threading.Thread(target=go_away)
    going.start()
    ended = live("away", url=f"http://127.0.0.1:{port}/v1", patience=60.0)
    going.join()
    assert ended.said[-1] == "finished", ended.said
    assert len(accounts(live, "away")["steps"]) == 8
    servers[-1].shutdown()
    servers[-1].server_close()


def test_a_second_trainer_is_refused_and_told_which_process_trains(live: Live) -> None:
    place = live.folder / "held"  # type: ignore[attr-defined]
    with writer_lease(place / "brain", wait=0.0):
        ended = live("held")
    assert f"process {os.getpid()}" in ended.said[-1] and "BrainLockedError" in ended.said[-1]
    assert live("held").said[-1] == "finished"


def test_a_run_of_many_workers_that_is_killed_and_interrupted_asks_each_question_once(
    live: Live, undisturbed: dict[str, Any]
) -> None:
    for write in (3, 8, 20, 45, 60):
        assert live("crew", kill_at=write, workers=3).killed
    for write in (6, 30):
        assert "KeyboardInterrupt" in live("crew", kill_at=write, workers=3, by=signal.SIGINT).said[-1]
    assert live("crew", workers=3).said[-1] == "finished"
    came = accounts(live, "crew")
    asked = [sorted((one["epoch"], one["question"]) for one in account["steps"]) for account in (came, undisturbed)]
    assert asked[0] == asked[1]
    assert came["cost"] >= sum(not one["replayed"] and one["calls"] for one in came["steps"]) * 0.125


# The next night


@dataclass(frozen=True)
class Brain:
    """What a brain holds: its runs, its synapses, which episodes are active, and how often each was remembered."""

    runs: tuple[Run, ...]
    synapses: tuple[Synapse, ...]
    episodes: frozenset[str]
    remembered: Counter[str]

    def right(self, run: int, epoch: int) -> list[bool]:
        return [step.right for step in self.runs[run].of(epoch)]

    def habits(self, run: int, epoch: int) -> int:
        return sum(step.is_habit for step in self.runs[run].of(epoch))


def brain(live: Live, place: str) -> Brain:
    folder: Path = live.folder  # type: ignore[attr-defined]
    with closing(Ledger.open(folder / place / "brain" / "brain.sqlite", database="boats", create=False)) as ledger:
        assert ledger.verify().ok
        log = RunLog(ledger)
        with ledger.connection() as connection:
            synapses = SynapseStore().synapses(connection)
        return Brain(
            tuple(map(log.read, log.ids())),
            synapses,
            frozenset(str(one.id) for one in ledger.episodes()),
            Counter(event.subject for event in ledger.events(kinds=(EventKind.EPISODE_REMEMBERED,))),
        )


def test_a_second_night_begins_with_all_that_the_first_one_learned(live: Live) -> None:
    assert live("nights").said[-1] == "finished"
    first = brain(live, "nights")
    assert first.right(0, 1).count(False) == 1 and all(first.right(0, 2)), "there was something to learn"
    assert live("nights", again=True).said[-1] == "finished"
    second = brain(live, "nights")
    assert second.runs[0] == first.runs[0] and len(second.runs) == 2
    assert sorted(second.right(1, 1)) == sorted(first.right(0, 2)), "it goes on where the first ended"
    assert second.episodes == first.episodes and second.remembered == first.remembered, "no pair is learned twice"
    before = {(one.bucket, one.target_kind, one.target): one for one in first.synapses}
    after = {(one.bucket, one.target_kind, one.target): one for one in second.synapses}
    assert before.keys() <= after.keys()
    grown = [(old, after[key]) for key, old in before.items() if after[key] != old]
    assert grown and all(new.successes > old.successes and new.failures == old.failures for old, new in grown)


def test_what_is_not_used_for_long_fades_by_the_clock_until_it_is_used_again(live: Live) -> None:
    for again in (False, True):
        assert live("weeks", again=again).said[-1] == "finished"
    folder: Path = live.folder  # type: ignore[attr-defined]
    shutil.copytree(folder / "weeks", folder / "weeks later")
    assert live("weeks", again=True).said[-1] == "finished"
    assert live("weeks later", again=True, later=1.1 * HALF_LIFE).said[-1] == "finished"
    at_once, later = brain(live, "weeks"), brain(live, "weeks later")
    assert at_once.habits(1, 2), "what was right three times is a habit"
    assert later.habits(2, 1) <= 1 < at_once.habits(2, 1), "they fade; two questions share the one that is woken first"
    assert later.habits(2, 2) == at_once.habits(2, 2)
    assert all(later.right(2, 1)), "an episode does not fade"
    fired = [one for one in later.synapses if one.target_kind == "habit"]
    unused = [one for one in at_once.synapses if one.target_kind == "habit"]
    now = time.time() + 1.1 * HALF_LIFE
    assert all(salience(one, now) < 0.5 for one in unused) and all(salience(one, now) > 0.9 for one in fired)
