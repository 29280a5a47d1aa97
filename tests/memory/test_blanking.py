"""Erasing contents that no episode leads to: the chain holds, nothing of them is left, and nothing else may go so."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.weights import KeptWeights
from memory.brain.reading import read
from memory.errors import ContentError
from memory.ledger import EventKind, Ledger
from memory.lessons import Lesson, Lessons
from memory.semantic import SemanticMemory, Term
from procedural.store import SynapseStore

SECRET = "Piet Hein"


def term(*names: str, meaning: str = "a word") -> Term:
    return Term(names, meaning, None, (), "person")


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.open(tmp_path / "brain.sqlite", database="harbour")


def positions(ledger: Ledger, *kinds: EventKind) -> list[int]:
    return [event.position for event in ledger.events(kinds=kinds)]


def test_an_attempt_a_lesson_and_a_term_leave_no_byte_and_the_history_verifies(ledger: Ledger, tmp_path: Path) -> None:
    semantic, lessons = SemanticMemory(ledger), Lessons(ledger)
    lesson = Lesson("b", "m", f"Who is {SECRET}?", "SELECT 1", "wrong", "SELECT 2", "train:r:a")
    semantic.teach(term(SECRET))
    with ledger.transaction() as entry:
        entry.start_attempt("a", {"question": SECRET})
        entry.settle_attempt("a", {"question": SECRET})
        lessons.learn(entry, lesson)
    with ledger.transaction() as entry:
        semantic.drop(entry, term(SECRET), "asked for")
        lessons.remove(entry, lesson.id, "asked for")
    kinds = (EventKind.ATTEMPT_STARTED, EventKind.ATTEMPT_SETTLED, EventKind.LESSON_LEARNED)
    wanted = positions(ledger, *kinds, EventKind.TERM_TAUGHT, EventKind.TERM_DROPPED)
    with ledger.transaction() as entry:
        assert entry.blank(wanted, "asked for") == tuple(wanted)
    with ledger.transaction() as entry:
        assert entry.blank(wanted) == (), "there is nothing more to erase"
    verified = ledger.verify()
    assert verified.ok, verified.problems
    assert semantic.history() == () and ledger.attempt("a") is not None
    synapses = SynapseStore()
    with ledger.transaction() as entry:
        synapses.create(entry.connection)
    assert len(read(ledger, KeptWeights(ledger, synapses))) == 0
    ledger.close()
    held = [
        path.name for path in tmp_path.iterdir() if SECRET.encode() in path.read_bytes().lower() + path.read_bytes()
    ]
    assert held == []


def test_what_the_brain_is_made_of_is_not_erased_by_its_position(ledger: Ledger) -> None:
    with ledger.transaction() as entry:
        moved = entry.append(EventKind.WEIGHTS_MOVED, "b", {"synapses": []})
        kept = entry.append(EventKind.ATTEMPT_STARTED, "a", {"question": SECRET})
    with pytest.raises(ContentError, match="weights_moved"), ledger.transaction() as entry:
        entry.blank([moved, kept])
    assert all(event.content is not None for event in ledger.events())


def test_a_content_that_goes_without_an_event_does_not_verify(ledger: Ledger) -> None:
    from sqlalchemy import text

    SemanticMemory(ledger).teach(term("size"))
    [position] = positions(ledger, EventKind.TERM_TAUGHT)
    with ledger.transaction() as entry:
        entry.connection.execute(
            text("UPDATE content SET salt = NULL, body = NULL WHERE position = :p"), {"p": position}
        )
    assert not ledger.verify().ok
