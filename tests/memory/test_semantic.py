"""Schema versions and business terms: kept for good."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from memory.ledger import EventKind, Ledger
from memory.semantic import SemanticMemory, Term

REVENUE = Term(("revenue", "net sales"), "What was earned", "SUM(x)", ("Order Details",), "glossary:shop")
LATE = Term(("late",), "Shipped after the day promised", None, ("Orders",), "glossary:shop")
GROSS = Term(("Revenue",), "Before discount", "SUM(y)", ("Order Details",), "person")


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    where = tmp_path / "b.sqlite" if request.param == "sqlite" else request.getfixturevalue("postgres_database")
    with Ledger.open(where, database="shop") as opened:
        yield opened


@pytest.fixture
def semantic(ledger: Ledger) -> SemanticMemory:
    return SemanticMemory(ledger)


def test_a_schema_is_kept_word_for_word_and_seen_twice_is_one_version(semantic: SemanticMemory, ledger: Ledger) -> None:
    first = semantic.see("shop", 'CREATE TABLE "Order Details" (x)', "f1")
    again = semantic.see("shop", 'CREATE TABLE "Order Details" (x)', "f1")
    assert (first.number, first.is_new, again.number, again.is_new) == (1, True, 1, False)
    assert again.text == 'CREATE TABLE "Order Details" (x)'
    assert len(list(ledger.events(kinds=(EventKind.SCHEMA_SEEN,)))) == 1


def test_a_changed_schema_is_a_new_version_and_the_old_ones_stay(semantic: SemanticMemory, ledger: Ledger) -> None:
    for fingerprint in ("f1", "f2", "f1"):
        semantic.see("shop", f"schema {fingerprint}", fingerprint)
    assert [(version.number, version.text) for version in semantic.versions()] == [
        (1, "schema f1"),
        (2, "schema f2"),
        (3, "schema f1"),
    ]
    assert ledger.verify().ok


def test_a_term_is_taught_once(semantic: SemanticMemory) -> None:
    assert semantic.teach(REVENUE) and not semantic.teach(REVENUE)
    assert semantic.glossary() == (REVENUE,)


def test_a_term_taught_again_supersedes_the_names_it_shares_and_history_is_kept(
    semantic: SemanticMemory, ledger: Ledger
) -> None:
    semantic.teach(REVENUE)
    semantic.teach(LATE)
    semantic.teach(GROSS)
    assert semantic.glossary() == (replace(REVENUE, names=("net sales",)), LATE, GROSS)
    assert [taught.term for taught in semantic.history()] == [REVENUE, LATE, GROSS]
    assert semantic.teach(REVENUE), "the first meaning can be taught again"
    assert semantic.glossary() == (LATE, REVENUE)
    assert ledger.verify().ok


def test_a_glossary_file_is_loaded_once_and_never_outranks_a_person(semantic: SemanticMemory, ledger: Ledger) -> None:
    assert semantic.load([REVENUE, LATE]) == (REVENUE, LATE)
    semantic.teach(GROSS)
    head = ledger.head()
    assert semantic.load([REVENUE, LATE]) == () and ledger.head() == head
    changed = replace(REVENUE, meaning="Something newer")
    assert semantic.load([changed, LATE]) == (replace(changed, names=("net sales",)),)
    assert semantic.load([changed, LATE]) == (), "also at the next start"
    assert semantic.glossary() == (LATE, GROSS, replace(changed, names=("net sales",)))


def test_erasing_an_episode_leaves_schema_and_terms(semantic: SemanticMemory, ledger: Ledger) -> None:
    from memory.episode import Episode

    episode = Episode("b" * 12, "sum", (), "revenue", "revenue", "SUM(x)", "s", "o", "gold", "b", "f", "r")
    semantic.see("shop", "revenue", "f1")
    semantic.teach(REVENUE)
    with ledger.transaction() as transaction:
        transaction.remember(episode)
    with ledger.transaction() as transaction:
        transaction.erase(episode.id)
    assert semantic.glossary() == (REVENUE,) and semantic.versions()[0].text == "revenue"
