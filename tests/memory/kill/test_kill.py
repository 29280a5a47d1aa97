"""Killed between any two writes, a brain loses nothing it was sure of and counts nothing twice."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from sqlalchemy import inspect

import memory
from memory.ledger import FORMAT, EventKind, Ledger
from memory.lessons import Lessons
from memory.opening import engine_for
from memory.outbox import Drained, drain, standing
from procedural.store import SynapseStore, replayed

WORKER = Path(__file__).with_name("worker.py")
ROOT = Path(memory.__path__[0]).parent

Live = Callable[..., dict[str, Any]]
KillAt = int | str | dict[str, float] | None


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("kill_worker", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


worker = _load(WORKER)


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    """Live one life in a fork of a process that has everything loaded, and give what it noted."""
    server = subprocess.Popen(
        [sys.executable, str(WORKER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"},
    )
    assert server.stdin and server.stdout

    def one(
        folder: Path,
        where: str,
        *,
        life: int = 0,
        kill_at: KillAt,
        cognee: bool = False,
        recover_first: bool = False,
        upgrade: bool = False,
    ) -> dict[str, Any]:
        assert server.stdin and server.stdout
        order = {"folder": str(folder), "where": where, "life": life, "kill_at": kill_at}
        order |= {"cognee": cognee, "recover_first": recover_first, "upgrade": upgrade}
        server.stdin.write(json.dumps(order) + "\n")
        server.stdin.flush()
        answer: dict[str, Any] = json.loads(server.stdout.readline())
        errors = [note[1] for note in answer["notes"] if note[0] == "error"]
        assert not errors, errors[0]
        return answer

    yield one
    server.stdin.close()
    server.wait()


def _check_after_a_death(where: str, notes: list[list[str]]) -> None:
    """What must hold right after reopening, before anything is repaired."""
    with Ledger.open(where, database="shop") as ledger:
        verified = ledger.verify()
        assert verified.ok, verified
        for what, id, *_ in notes:
            if what in ("started", "settled"):
                record = ledger.attempt(id)
                assert record, f"lost attempt {id}"
                assert what == "started" or record.state == "settled", f"lost settlement of {id}"
            if what in ("forgotten", "erased"):
                assert ledger.episode_state(uuid.UUID(id)) == what
        settled = {event.subject for event in ledger.events(kinds=(EventKind.ATTEMPT_SETTLED,))}
        moved = [event for event in ledger.events(kinds=(EventKind.WEIGHTS_MOVED,))]
        assert sorted(event.subject for event in moved) == sorted(settled), "weights moved once per settled attempt"
        with ledger.connection() as connection:
            kept = SynapseStore().synapses(connection) if moved else ()
        assert kept == replayed(event.content for event in moved)
        assert sum(one.successes + one.failures for one in kept) == 2 * len(settled)
        for one in map(worker.episode, range(100)):
            remembered = ledger.episode_state(one.id) == "active"
            assert ledger.masked(one.masked) == ((one,) if remembered else ())
        erased = {event.subject for event in ledger.events(kinds=(EventKind.EPISODE_ERASED,))}
        lessons = [lesson for bucket in worker.BUCKETS for lesson in Lessons(ledger).of(bucket.bucket, 100)]
        assert len(lessons) == len(settled) - len(erased), "one lesson of each settled attempt, but of what is erased"


def _recover_and_check(folder: Path, where: str) -> None:
    """Pick up what the dead left; then store and ledger agree, and a replay changes nothing."""
    with Ledger.open(where, database="shop") as ledger:
        store = worker.FileStore(folder / "cognee", lambda _step: None)

        def same() -> bool:
            return all(
                store.members(bucket.bucket) == {one.id for one in ledger.episodes(bucket.bucket)}
                for bucket in worker.BUCKETS
            )

        ledger.abandon("a crash left it")
        drain(ledger, store, text=worker.text, folder=folder / "cognee")
        assert standing(ledger, folder / "cognee").state in ("current", "new")
        assert same() and ledger.outbox() == () == ledger.unsettled()
        assert drain(ledger, store, text=worker.text, folder=folder / "cognee") == Drained()
        with ledger.transaction() as transaction:
            transaction.connection.exec_driver_sql("UPDATE outbox SET acked = NULL")
        drain(ledger, store, text=worker.text, folder=folder / "cognee")
        assert same() and ledger.verify().ok
        _check_nothing_is_left(ledger, folder)


def _check_nothing_is_left(ledger: Ledger, folder: Path) -> None:
    """No byte of an erased episode, in any file."""
    gone = {event.subject for event in ledger.events(kinds=(EventKind.EPISODE_ERASED,))}
    erased = [one for one in map(worker.episode, range(100)) if str(one.id) in gone]
    assert len(erased) == len(gone)
    files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    left = [
        (path.name, words)
        for one in erased
        for words in (one.question, one.masked)
        for path, content in files.items()
        if words.encode() in content
    ]
    assert left == []


def _steps(live: Live, folder: Path, where: str) -> list[str]:
    whole = live(folder, where, life=0, kill_at=None)
    assert whole["status"] == 0
    return [note[1] for note in whole["notes"] if note[0] == "step"]


def test_a_kill_at_any_step_and_often_a_second_at_another_loses_and_doubles_nothing(live: Live, place: Path) -> None:
    steps = _steps(live, place / "whole", str(place / "whole" / "brain.sqlite"))
    _recover_and_check(place / "whole", str(place / "whole" / "brain.sqlite"))
    assert len(steps) > 100 and {"store: file erased", "marker writing", "outbox acked", "generation"} <= set(steps)
    for kill_at, name in enumerate(steps, 1):
        folder = place / f"kill-{kill_at}"
        where = str(folder / "brain.sqlite")
        notes: list[list[str]] = []
        second = [(2, 1 + kill_at * 37 % 60)] if kill_at % 4 == 0 else []
        for life, at in ((1, kill_at), *second):
            ended = live(folder, where, life=life, kill_at=at)
            assert os.WTERMSIG(ended["status"]) == signal.SIGKILL, (name, ended)
            notes += ended["notes"]
            _check_after_a_death(where, notes)
        _recover_and_check(folder, where)
        shutil.rmtree(folder)


def test_the_same_holds_on_postgresql(live: Live, place: Path, postgres_database: str) -> None:
    import psycopg

    def where(schema: str) -> str:
        with psycopg.connect(postgres_database.replace("+psycopg", ""), autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {schema}".encode())
        return f"{postgres_database}&options=-csearch_path%3D{schema}"

    steps = _steps(live, place / "whole", where("whole"))
    for kill_at in range(3, len(steps), 13):
        folder, url = place / f"kill-{kill_at}", where(f"kill_{kill_at}")
        ended = live(folder, url, life=1, kill_at=kill_at)
        assert os.WTERMSIG(ended["status"]) == signal.SIGKILL
        _check_after_a_death(url, ended["notes"])
        _recover_and_check(folder, url)


def test_a_kill_at_any_step_of_an_upgrade_leaves_the_old_brain_or_the_new_one(
    live: Live, place: Path, write_format_1: Callable[[str], None]
) -> None:
    def where(name: str) -> str:
        file = place / name / "brain.sqlite"
        write_format_1(str(file))
        return str(file)

    _check_upgrades(live, place, where)


def test_the_same_holds_for_an_upgrade_on_postgresql(
    live: Live, place: Path, postgres_database: str, write_format_1: Callable[[str], None]
) -> None:
    import psycopg

    def where(name: str) -> str:
        schema = name.replace("-", "_")
        with psycopg.connect(postgres_database.replace("+psycopg", ""), autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {schema}".encode())
        (place / name).mkdir()
        url = f"{postgres_database}&options=-csearch_path%3D{schema}"
        write_format_1(url)
        return url

    _check_upgrades(live, place, where)


def _check_upgrades(live: Live, place: Path, where: Callable[[str], str]) -> None:
    """Kill an upgrade at each of its steps, look at what is left, and upgrade again."""
    whole = live(place / "whole", where("whole"), kill_at=None, upgrade=True)
    steps = [note[1] for note in whole["notes"]]
    assert {"masked_questions table", "masked questions", "format", "before commit"} <= set(steps)
    for kill_at, name in enumerate(steps, 1):
        url = where(f"kill-{kill_at}")
        ended = live(place / f"kill-{kill_at}", url, kill_at=kill_at, upgrade=True)
        assert os.WTERMSIG(ended["status"]) == signal.SIGKILL, (name, ended)
        engine = engine_for(url)
        with engine.connect() as connection:
            tables = {"masked_questions", "lessons"} & set(inspect(connection).get_table_names())
            format, events = connection.exec_driver_sql(
                "SELECT format, (SELECT max(position) FROM ledger) FROM brain"
            ).one()
        engine.dispose()
        left = (format, events, len(tables))
        assert left == ((FORMAT, 13, 2) if name == "after commit" else (1, 12, 0)), name
        with Ledger.open(url, database="shop") as ledger:
            assert ledger.format == FORMAT and ledger.head()[0] == 13
            assert ledger.verify().ok, ledger.verify()
            assert len(ledger.masked("How many zebrafish did <value> order?")) == 2


KILLS_WITH_COGNEE: tuple[KillAt, ...] = (
    "marker writing",
    {"remember": 0.02},
    {"remember": 0.1},
    {"remember": 0.4},
    "store: remember done",
    {"forget": 0.02},
    "store: forget done",
    {"erase": 0.02},
    {"erase": 0.08},
    {"erase": 0.15},
    "store: erase done",
    "generation",
)


def test_the_same_holds_with_real_cognee(live: Live, tmp_path: Path) -> None:
    """Each life picks up what the one before left, checks that it is whole, and dies at the next point."""
    where, notes = str(tmp_path / "brain.sqlite"), []
    for life, kill_at in enumerate((*KILLS_WITH_COGNEE, None)):
        ended = live(tmp_path, where, life=life, kill_at=kill_at, cognee=True, recover_first=True)
        if kill_at is None:
            assert ended["status"] == 0
        else:
            assert os.WTERMSIG(ended["status"]) == signal.SIGKILL, (kill_at, ended)
        held = [note[1:] for note in ended["notes"] if note[0] == "held"]
        assert len(held) == len(worker.BUCKETS), kill_at
        assert all(members and found for _, members, found in held), (life, KILLS_WITH_COGNEE[life - 1], held)
        notes += ended["notes"]
        _check_after_a_death(where, notes)
    assert sum(active for active, *_ in held) >= 12
    with Ledger.open(where, database="shop") as ledger:
        assert standing(ledger, tmp_path / "cognee").state == "current" and ledger.outbox() == ()
        _check_nothing_is_left(ledger, tmp_path)
        kept = ledger.episodes()[-1].masked.encode()
    stored = [path for path in (tmp_path / "cognee").rglob("*") if path.is_file() and kept in path.read_bytes()]
    assert stored, "what is kept can be read in the files, so what is erased could be"
