"""Brains of tenants beside that of the house, with ledgers in files and in PostgreSQL."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from agent.doors.serving.brains import Brains
from agent.settings import Settings
from memory.errors import BrainFrozenError
from tests.agent.doors.conftest import RECORDED


@pytest.fixture(params=["files", "postgres"])
def brains(request: pytest.FixtureRequest, tmp_path: Path) -> Brains:
    ledger = request.getfixturevalue("postgres_database") if request.param == "postgres" else None
    told = replace(
        Settings(), brain=str(tmp_path / "brain"), runs=tmp_path, ledger=ledger, model=f"recorded:{RECORDED}", sow=False
    )

    def nothing(*_told: object) -> None: ...

    return Brains(settings=told, say=nothing, progress=nothing)


def test_brains_of_tenants_are_open_beside_each_other_and_know_nothing_of_one_another(brains: Brains) -> None:
    with ExitStack() as opened:
        house = opened.enter_context(brains.open("home", None))
        acme, globex = (opened.enter_context(brains.open(name, house)) for name in ("acme", "glo-bex"))
        assert len({app.ledger.store for app in (house, acme, globex)}) == 3
        before = [app.ledger.head() for app in (house, globex)]
        acme.teach("zingy means Products.UnitPrice > 50")
        assert [app.ledger.head() for app in (house, globex)] == before
        known = [any("zingy" in term.names for term in app.semantic.glossary()) for app in (house, acme, globex)]
        assert known == [False, True, False]
        assert acme.database is house.database and acme.folder != globex.folder
        assert all(one.ok for one in acme.examined()), acme.examined()
    with brains.open("home", None) as house, brains.open("acme", house) as acme:
        assert any("zingy" in term.names for term in acme.semantic.glossary())


def test_a_brain_is_not_ready_whose_model_lease_or_budget_is_gone(brains: Brains) -> None:
    with brains.open("home", None) as house:
        assert all(one.ok for one in house.examined())
        (house.folder / "writer.lock").write_text("1 1\n")
        assert [one.name for one in house.examined() if not one.ok] == ["lease"]
    spent = replace(brains, settings=replace(brains.settings, max_cost_usd=0.5))
    with spent.open("home", None) as house:
        assert house.budget is not None
        house.budget.charge(0.5)
        assert [one.name for one in house.examined() if not one.ok] == ["budget"]
    nameless = replace(brains, settings=replace(brains.settings, model="nonsense"))
    with nameless.open("home", None) as house:
        assert [one.name for one in house.examined() if not one.ok] == ["model"]


def test_a_frozen_brain_is_read_and_takes_no_change(brains: Brains) -> None:
    with brains.open("home", None) as house, brains.open("acme", house) as acme:
        acme.freeze()
        with pytest.raises(BrainFrozenError):
            acme.teach("zingy means Products.UnitPrice > 50")
        before = acme.ledger.head()
        *_, answer = acme.choosing(memory=False).ask("Delete all customers")
        assert answer.status == "refused" and acme.ledger.head() == before
