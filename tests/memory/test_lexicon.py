"""Words lead to the episodes that share them, the telling ones first, in both databases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory import lexicon
from memory.ledger import Ledger, Transaction


@pytest.fixture(params=["sqlite", "postgresql"])
def entry(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Transaction]:
    where = (
        str(tmp_path / "brain.sqlite")
        if request.param == "sqlite"
        else str(request.getfixturevalue("postgres_database"))
    )
    with Ledger.open(where, database="shop") as ledger, ledger.transaction() as transaction:
        yield transaction


def test_a_word_that_very_many_share_is_left_out_when_another_tells_more(
    entry: Transaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lexicon, "_COMMON", 5)
    for position in range(1, 9):
        lexicon.add(entry.connection, position, f"orders of client{position}", "orders of <value>")
    lexicon.add(entry.connection, 9, "the walrus and its orders", "the walrus and its orders")
    lexicon.add(entry.connection, 10, "a walrus", "a walrus")
    assert sorted(lexicon.search(entry.connection, "orders of client3", 20)) == [3]
    assert set(lexicon.search(entry.connection, "walrus orders", 20)) == {9, 10}
    assert len(lexicon.search(entry.connection, "orders", 20)) == 9
    assert len(lexicon.search(entry.connection, "orders of a narwhal", 20)) == 9
    assert len(lexicon.search(entry.connection, "orders", 4)) == 4


def test_of_words_that_all_are_common_the_rarest_is_looked_for(
    entry: Transaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lexicon, "_COMMON", 5)
    for position in range(1, 13):
        said = "orders freight" if position > 5 else "orders"
        lexicon.add(entry.connection, position, said, said)
    assert set(lexicon.search(entry.connection, "orders freight", 20)) == set(range(6, 13))
    assert set(lexicon.search(entry.connection, "freight orders narwhals", 20)) == set(range(6, 13))
    assert len(lexicon.search(entry.connection, "orders", 20)) == 12


def test_words_that_few_share_are_all_looked_for(entry: Transaction) -> None:
    for position in range(1, 9):
        lexicon.add(entry.connection, position, f"orders of client{position}", "orders of <value>")
    found = lexicon.search(entry.connection, "orders of client3", 20)
    assert found[0] == 3
    assert len(found) == 8


@pytest.mark.parametrize("said", ["", "the of and", "?!", "\0", "' OR \" | & ! ( ) : * <->"])
def test_what_names_nothing_finds_nothing(entry: Transaction, said: str) -> None:
    lexicon.add(entry.connection, 1, "the orders of a client", "orders")
    assert list(lexicon.search(entry.connection, said, 5)) == []
