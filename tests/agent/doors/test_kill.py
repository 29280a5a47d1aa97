"""Killed or interrupted at any point, a command loses nothing it was sure of and counts nothing twice."""

from __future__ import annotations

import random
import signal
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from memory.ledger import EventKind, Ledger
from procedural.store import SynapseStore, replayed

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.agent.doors.conftest import Endpoint, Home

QUESTION = "How many customers are there in Sao Paulo?"
SQL = "SELECT COUNT(*) FROM Customers WHERE City = 'Sao Paulo'"
BRAZIL = "How many customers are there in Brazil?"


def _check_ledger(home: Home) -> None:
    """What must hold right after a death, before anything is repaired."""
    with Ledger.open(home.brain / "brain.sqlite", database="northwind", create=False) as ledger:
        verified = ledger.verify()
        assert verified.ok, verified.problems
        given = list(ledger.events(kinds=(EventKind.FEEDBACK_GIVEN,)))
        moved = list(ledger.events(kinds=(EventKind.WEIGHTS_MOVED,)))
        assert len(moved) == len(given) <= 1, "one verdict moves the weights once"
        with ledger.connection() as connection:
            assert SynapseStore().synapses(connection) == replayed(event.content for event in moved)


def _attempts(home: Home) -> dict[str, str]:
    with Ledger.open(home.brain / "brain.sqlite", database="northwind", create=False) as ledger:
        started = [event.subject for event in ledger.events(kinds=(EventKind.ATTEMPT_STARTED,))]
        return {id: record.state for id in started if (record := ledger.attempt(id))}


def _children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for path in found for child in path.read_text().split()]


def _runs(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    try:
        return status.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_question_killed_at_any_write_is_closed_by_the_next_one(
    home: Home, endpoint: Endpoint, whole: Callable[[Home], None]
) -> None:
    endpoint.says = lambda _question, _before: SQL
    points = (
        "attempt_started content",
        "attempt_settled event",
        "attempt_abandoned content",
        "attempt_settled content",
    )
    for kill_at in points:
        assert home.run("ask", QUESTION, kill_at=kill_at).code == -signal.SIGKILL, kill_at
        _check_ledger(home)
    assert home.ask(QUESTION)["status"] == "answered"
    assert sorted(_attempts(home).values()) == ["abandoned", "abandoned", "settled"]
    whole(home)


def test_feedback_killed_at_any_write_counts_once(
    home: Home, endpoint: Endpoint, whole: Callable[[Home], None]
) -> None:
    endpoint.says = lambda _question, _before: SQL
    id = home.ask(QUESTION)["id"]
    for kill_at in ("feedback_given content", "episode words"):
        assert home.run("feedback", id, "good", kill_at=kill_at).code == -signal.SIGKILL, kill_at
        _check_ledger(home)
    assert home.run("feedback", id, "good").code == 0
    for kill_at in ("marker writing", "store rewritten", "generation"):  # written by the next question that recalls
        assert home.run("ask", QUESTION, kill_at=kill_at).code == -signal.SIGKILL, kill_at
        _check_ledger(home)
    assert home.run("feedback", id, "good").code == 0
    _check_ledger(home)
    assert home.ask(QUESTION)["recalled"][0]["question"] == QUESTION
    whole(home)


def test_erasing_killed_at_any_write_is_finished_by_the_next_try(
    home: Home, endpoint: Endpoint, whole: Callable[[Home], None]
) -> None:
    endpoint.says = lambda _question, _before: SQL
    [id] = home.run("feedback", home.ask(QUESTION)["id"], "good", "--json").json["remembered"]
    for kill_at in ("contents erased", "before commit", "after commit"):
        assert home.run("forget", id, "--erase", kill_at=kill_at).code == -signal.SIGKILL, kill_at
        _check_ledger(home)
    assert home.run("forget", id, "--erase", kill_at="store rewritten").code == -signal.SIGKILL
    home.run("forget", id, "--erase")
    with Ledger.open(home.brain / "brain.sqlite", database="northwind", create=False) as ledger:
        assert ledger.episode_state(uuid.UUID(id)) == "erased"
    left = [path for path in home.brain.rglob("*") if path.is_file() and b"Sao Paulo" in path.read_bytes()]
    assert left == []
    assert home.ask(BRAZIL)["status"] == "answered"
    whole(home)


def test_killed_after_any_delay_the_brain_is_whole_after_one_more_question(
    home: Home, endpoint: Endpoint, whole: Callable[[Home], None]
) -> None:
    endpoint.says = lambda _question, _before: SQL
    chance = random.Random(7)
    whole_time = time.monotonic()
    home.ask(QUESTION)
    whole_time = time.monotonic() - whole_time
    for _ in range(4):
        running = home.start("ask", QUESTION)
        time.sleep(chance.uniform(0.05, 1.0) * whole_time)
        running.signal(signal.SIGKILL)
        running.wait()
        _check_ledger(home)
    assert home.ask(QUESTION)["status"] == "answered"
    whole(home)


def test_killed_while_the_model_writes_nothing_of_it_lives_on(
    home: Home, endpoint: Endpoint, whole: Callable[[Home], None]
) -> None:
    endpoint.says = lambda _question, _before: SQL
    endpoint.hold()
    running = home.start("ask", QUESTION)
    assert endpoint.called.wait(60)
    workers = _children(running.pid)
    running.signal(signal.SIGKILL)
    running.wait()
    endpoint.free.set()
    assert workers, "the query worker is a process of its own"
    until = time.monotonic() + 20
    while any(map(_runs, workers)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(_runs, workers))
    [killed] = _attempts(home)
    assert _attempts(home) == {killed: "started"}
    home.ask(QUESTION)
    assert _attempts(home)[killed] == "abandoned"
    judged = home.run("feedback", killed, "good")
    assert judged.code == 2 and judged.says("cut off")
    whole(home)


def test_an_interrupted_question_says_so_and_harms_nothing(
    home: Home, endpoint: Endpoint, whole: Callable[[Home], None]
) -> None:
    endpoint.hold()
    running = home.start("ask", QUESTION, "--json")
    assert endpoint.called.wait(60)
    running.signal(signal.SIGINT)
    ended = running.wait()
    endpoint.free.set()
    assert ended.code == 130 and ended.json["status"] == "failed"
    assert ended.err == "hebbql: Interrupted. What was settled is kept.\n"
    assert home.ask(QUESTION)["status"] == "answered"
    assert sorted(_attempts(home).values()) == ["abandoned", "settled"]
    whole(home)
