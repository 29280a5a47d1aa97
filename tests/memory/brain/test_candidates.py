"""A candidate is a whole copy of the brain, in a file or in PostgreSQL; killed at any step, it is cleared away."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import create_engine, inspect

from agent.weights import KeptWeights
from memory.brain.candidates import FOLDER, begin, clear, remove
from memory.brain.reading import read
from memory.brain.snapshot import to_text
from memory.errors import BrainMissingError, BrainUnwritableError
from memory.ledger import LEDGER_FILE, Ledger
from procedural.store import METADATA, SynapseStore
from tests.memory.brain.conftest import episode_about
from tests.memory.brain.test_snapshot import fill, fire

Server = str | None


@pytest.fixture(params=["sqlite", "postgresql"])
def server(request: pytest.FixtureRequest) -> Server:
    """The URL of an empty PostgreSQL database for the ledger, or None where it is to be a file."""
    return str(request.getfixturevalue("postgres_database")) if request.param == "postgresql" else None


@pytest.fixture
def text(server: Server, tmp_path: Path) -> str:
    """What a brain knows that was filled there."""
    with Ledger.open(server or tmp_path / LEDGER_FILE, database="harbour") as ledger:
        weights = KeptWeights(ledger, SynapseStore())
        with ledger.transaction() as entry:
            weights.synapses.create(entry.connection)
        fill(ledger, weights)
        fire(ledger, weights, "direct", 0.0)
        return known(ledger)


def known(ledger: Ledger) -> str:
    assert ledger.verify().ok, ledger.verify().problems
    return to_text(read(ledger, KeptWeights(ledger, SynapseStore())))


def schemas(server: Server) -> set[str]:
    """The schemas of candidates."""
    if server is None:
        return set()
    engine = create_engine(server)
    try:
        return {name for name in inspect(engine).get_schema_names() if name.startswith("candidate")}
    finally:
        engine.dispose()


def killed_at(step: str, work: Callable[[Callable[[str], None]], object]) -> None:
    """Do the work in a fork that kills itself at a step."""

    def between(now: str) -> None:
        if now == step:
            os.kill(os.getpid(), signal.SIGKILL)

    if (child := os.fork()) == 0:
        signal.alarm(60)
        try:
            work(between)
        finally:
            os._exit(3)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL, step


def test_a_copy_has_the_whole_history_and_what_is_done_to_it_leaves_the_brain_alone(
    server: Server, text: str, tmp_path: Path
) -> None:
    made = begin(tmp_path, "improve-1a", server=server, beside=METADATA.tables)
    with (
        Ledger.open(made.server or made.folder / LEDGER_FILE, database="harbour") as copy,
        Ledger.open(server or tmp_path / LEDGER_FILE, database="harbour") as live,
    ):
        assert known(copy) == text and copy.head() == live.head() and copy.store == live.store
        assert [one.id for one in copy.search("how many yachts")] == [one.id for one in live.search("how many yachts")]
        with copy.transaction() as entry:
            entry.remember(episode_about("tugs", bucket="quay"))
        assert known(live) == text != known(copy)
    remove(made)
    assert not (tmp_path / FOLDER).exists() and not schemas(server)
    assert clear(tmp_path, server=server) == ()


def test_killed_at_any_step_what_is_left_is_cleared_and_the_brain_is_as_it_was(
    server: Server, text: str, tmp_path: Path
) -> None:
    steps: list[str] = []
    remove(begin(tmp_path, "a", server=server, beside=METADATA.tables, between=steps.append))
    assert steps[0] == "candidate folder" and steps[-1] == "candidate copied"
    assert (len(steps) > 12) is (server is not None), steps
    for step in steps:
        killed_at(
            step,
            lambda between: begin(tmp_path, "improve-1a", server=server, beside=METADATA.tables, between=between),
        )
        assert (tmp_path / FOLDER / "improve-1a").is_dir()
        assert bool(schemas(server)) is (server is not None and step == "candidate copied")
        assert clear(tmp_path, server=server) == ("improve-1a",)
        assert not (tmp_path / FOLDER).exists() and not schemas(server)
    with Ledger.open(server or tmp_path / LEDGER_FILE, database="harbour") as ledger:
        assert known(ledger) == text


def test_a_full_disk_at_any_step_leaves_nothing_of_a_candidate(server: Server, text: str, tmp_path: Path) -> None:
    steps: list[str] = []
    remove(begin(tmp_path, "a", server=server, beside=METADATA.tables, between=steps.append))
    for step in steps[:-1]:

        def full(now: str, step: str = step) -> None:
            if now == step:
                raise OSError(28, "No space left on device")

        with pytest.raises(BrainUnwritableError, match="No space left"):
            begin(tmp_path, "a", server=server, beside=METADATA.tables, between=full)
        assert not (tmp_path / FOLDER).exists() and not schemas(server)
    with Ledger.open(server or tmp_path / LEDGER_FILE, database="harbour") as ledger:
        assert known(ledger) == text


def test_a_server_that_is_gone_or_gives_no_schema_is_said(postgres_database: str, tmp_path: Path) -> None:
    with pytest.raises(BrainMissingError, match="HEBBQL_LEDGER"):
        begin(tmp_path, "a", server=postgres_database.replace("/test_", "/none_"))
    Ledger.open(postgres_database, database="harbour").close()
    engine = create_engine(postgres_database, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql("DROP ROLE IF EXISTS clerk; CREATE ROLE clerk LOGIN")
        connection.exec_driver_sql("GRANT ALL ON ALL TABLES IN SCHEMA public TO clerk")
    engine.dispose()
    with pytest.raises(BrainUnwritableError, match="permission denied for database"):
        begin(tmp_path, "a", server=postgres_database.replace("hebbql@", "clerk@"))
    assert not (tmp_path / FOLDER).exists() and not schemas(postgres_database)


def test_candidates_of_another_brain_in_one_database_are_left_alone(postgres_database: str, tmp_path: Path) -> None:
    engine = create_engine(postgres_database, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql("CREATE SCHEMA other")
    engine.dispose()
    other = f"{postgres_database}&options=-csearch_path%3Dother"
    for place in (postgres_database, other):
        Ledger.open(place, database="harbour").close()
    begin(tmp_path / "one", "a", server=postgres_database)
    made = begin(tmp_path / "two", "a", server=other)
    assert clear(tmp_path / "one", server=postgres_database) == ("a",)
    with Ledger.open(str(made.server), database="harbour") as copy:
        assert copy.verify().ok
    assert clear(tmp_path / "two", server=other) == ("a",) and not schemas(postgres_database)
