"""Versions and checks over a ledger in PostgreSQL, with real Cognee."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent.app import App, open_app
from agent.settings import Settings
from memory.brain.snapshot import to_text
from tests.agent.keeping.conftest import remember

CHECKS = """
[[check]]
kind = "must_know"
name = "known"
question = "How many boats lie in Veere?"
sql = "SELECT COUNT(*) FROM Boats WHERE Harbour = 'Veere'"

[[check]]
kind = "forbidden"
name = "no-owners"
sql = "SELECT Owner FROM"
"""


@pytest.fixture
def there(settings: Settings, postgres_database: str) -> Settings:
    """Settings with the ledger in PostgreSQL."""
    return replace(settings, think="fast", ledger=postgres_database)


@pytest.fixture
def app(there: Settings) -> Iterator[App]:
    """An opened app whose ledger is in PostgreSQL."""
    with open_app(there) as app:
        remember(app, "b1", "How many boats lie in Veere?", "SELECT COUNT(*) FROM Boats WHERE Harbour = 'Veere'")
        remember(app, "b2", "Which boats lie in Hoorn?", "SELECT Name FROM Boats WHERE Harbour = 'Hoorn'")
        app.bring_up_to_date()
        yield app
    assert not (Path(str(there.brain)) / "brain.sqlite").exists()


def is_whole(app: App) -> None:
    assert app.ledger.verify().ok, app.ledger.verify().problems
    assert not app.ledger.outbox() and not (app.folder / "candidates").exists()
    for counted in app.ledger.buckets():
        assert app.store.members(counted.bucket) == {one.id for one in app.ledger.episodes(counted.bucket)}


def test_a_bad_batch_is_checked_found_taken_out_and_a_file_built_again(app: App, tmp_path: Path) -> None:
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks" / "boats.toml").write_text(CHECKS, "utf-8")
    good = app.versions.take("good")
    assert [one.ok for one in app.checking.test(tmp_path / "checks")] == [True, True]
    remember(app, "bad", "Who is the owner of Boat 7?", "SELECT Owner FROM Boats WHERE Name = 'Boat 7'")
    app.bring_up_to_date()
    status = app.versions.status()
    assert (status.episodes, status.batches, status.snapshots, status.last) == (3, 3, 1, good)
    assert status.since["episode"] == {"added": 1, "removed": 0, "changed": 0} and status.store == "current"
    assert [one.name for one in app.checking.test(tmp_path / "checks") if not one.ok] == ["no-owners"]
    assert len(app.versions.log(batch="bad")) == 1 and len(app.versions.log()) > 3
    (edit,) = app.versions.diff("good")
    assert (edit.kind, edit.action) == ("episode", "added")
    batch, _ = app.versions.bisect(app.versions.sought(sql="SELECT Owner"))
    assert batch.name == "bad"
    file = tmp_path / "all.brain"
    app.versions.text_to(file)
    assert "3 episodes" in app.versions.archive(tmp_path / "archive").told
    with_all = app.versions.live
    assert app.versions.revert("bad").hash == good.hash == app.versions.live.hash
    assert app.versions.diff("good") == ()
    is_whole(app)
    assert app.versions.build(app.versions.plan(file)).written.edits
    assert to_text(app.versions.live) == to_text(with_all) == file.read_text("utf-8")
    assert app.versions.revert("bad", erase=True).proof
    assert all(one.ok for one in app.checking.test(tmp_path / "checks"))
    is_whole(app)
