"""What was erased stays away, whatever file or snapshot still has it; and a brain is made exactly, or not changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agent.weights import KeptWeights
from memory.brain.canary import edits_on
from memory.brain.differences import Edit
from memory.brain.erased import erased_since
from memory.brain.history import history
from memory.brain.reading import nameless, read, resolve, snapshots, take
from memory.brain.snapshot import Snapshot, SnapshotError, from_text, of_episode, of_term, to_text
from memory.brain.writing import make_so, write_edits
from memory.ledger import EventKind, Ledger
from memory.semantic import SemanticMemory, Term, erased_terms, term_ids
from procedural.store import SynapseStore
from tests.memory.brain.conftest import episode_about

SECRET = Term(("hidden berth", "secret berth"), "The berth of Piet Hein.", "berth = 7", ("boats",), "person")
OPEN = Term(("length",), "How long a boat is.", "metres", ("boats",), "person")


def erase(ledger: Ledger, term: Term) -> None:
    with ledger.transaction() as entry:
        SemanticMemory(ledger).drop(entry, term, "asked for")
        told = [event.position for event in ledger.events(kinds=(EventKind.TERM_TAUGHT,)) if event.content]
        entry.blank(told[-1:], "asked for", terms=term_ids(term))


def taught_and_erased(ledger: Ledger, weights: KeptWeights) -> str:
    """The canonical text from before a term was erased."""
    SemanticMemory(ledger).teach(OPEN)
    SemanticMemory(ledger).teach(SECRET)
    take(ledger, weights, name="before")
    text = to_text(read(ledger, weights))
    erase(ledger, SECRET)
    return text


def test_an_erased_term_comes_back_from_no_file(ledger: Ledger, weights: KeptWeights) -> None:
    old = from_text(taught_and_erased(ledger, weights))
    written = make_so(ledger, weights, old, why="build")
    assert SemanticMemory(ledger).glossary() == (OPEN,) and written.erased
    spelt = replace(SECRET, names=("Hidden  Berth",), origin="glossary:a.toml")
    make_so(ledger, weights, Snapshot.of("harbour", [of_term(spelt)]), why="build")
    assert SemanticMemory(ledger).glossary() == (), "nor by another writing, with fewer names or from another origin"
    assert SemanticMemory(ledger).load([spelt]) == ()
    assert ledger.verify().ok


def test_an_erased_term_comes_back_by_no_rollback_which_says_so(ledger: Ledger, weights: KeptWeights) -> None:
    taught_and_erased(ledger, weights)
    assert set(term_ids(SECRET)) == set(erased_since(ledger, "before"))
    make_so(ledger, weights, resolve(ledger, weights, "before"), why="rollback")
    assert SemanticMemory(ledger).glossary() == (OPEN,)


def test_an_erased_term_comes_back_by_no_canary(ledger: Ledger, weights: KeptWeights) -> None:
    old = from_text(taught_and_erased(ledger, weights))
    live = read(ledger, weights)
    assert edits_on(live, old, live) == ()


def test_an_erased_term_stays_away_where_the_file_of_the_brain_is_built_elsewhere(
    ledger: Ledger, weights: KeptWeights, tmp_path: Path
) -> None:
    old = taught_and_erased(ledger, weights)
    now = from_text(to_text(read(ledger, weights)))
    with Ledger.open(tmp_path / "other.sqlite", database="harbour") as other:
        with other.transaction() as entry:
            SynapseStore().create(entry.connection)
        kept = KeptWeights(other, SynapseStore())
        make_so(other, kept, from_text(old), why="build")
        assert make_so(other, kept, now, why="build").changed
        make_so(other, kept, from_text(old), why="build")
        assert SemanticMemory(other).glossary() == (OPEN,) and other.verify().ok
        assert read(other, kept).gone == now.gone


def test_what_a_person_teaches_anew_holds_again(ledger: Ledger, weights: KeptWeights) -> None:
    old = from_text(taught_and_erased(ledger, weights))
    SemanticMemory(ledger).teach(SECRET)
    assert erased_terms(ledger) == frozenset()
    make_so(ledger, weights, Snapshot.of("harbour", [of_term(OPEN)]), why="build")
    make_so(ledger, weights, old, why="build")
    assert set(SemanticMemory(ledger).glossary()) == {OPEN, SECRET}


def test_two_terms_of_one_name_are_refused_and_change_nothing(ledger: Ledger, weights: KeptWeights) -> None:
    SemanticMemory(ledger).teach(OPEN)
    head = ledger.head()
    other = Term(("Length", "size"), "How large a boat is.", None, (), "person")
    with pytest.raises(SnapshotError, match="Two terms are called 'length'"):
        Snapshot.of("harbour", [of_term(OPEN), of_term(other)])
    one, two = (Snapshot.of("harbour", [of_term(term)]) for term in (OPEN, other))
    lines = [line for text in (to_text(one), to_text(two)) for line in text.splitlines()[1:]]
    with pytest.raises(SnapshotError, match=r"a\.brain: Two terms"):
        from_text("\n".join((to_text(one).splitlines()[0], *lines)), name="a.brain", edited=True)
    with pytest.raises(SnapshotError, match="Two terms"):
        write_edits(ledger, weights, [Edit(None, of_term(other))], why="build", subject="x")
    assert ledger.head() == head and SemanticMemory(ledger).glossary() == (OPEN,)


def test_a_term_needs_a_name() -> None:
    text = to_text(Snapshot.of("harbour", [of_term(OPEN)])).replace('"length"', "")
    with pytest.raises(SnapshotError, match="a term needs a name"):
        from_text(text, edited=True)


def test_what_cannot_be_made_exactly_is_not_made(
    ledger: Ledger, weights: KeptWeights, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = ledger.head()
    monkeypatch.setattr(SemanticMemory, "write", lambda *_: None)  # as if a term were lost on the way
    with pytest.raises(SnapshotError, match="is as it was before"):
        make_so(ledger, weights, Snapshot.of("harbour", [of_term(OPEN)]), why="build")
    assert ledger.head() == head


def test_edits_on_another_brain_than_they_were_made_for_are_refused(ledger: Ledger, weights: KeptWeights) -> None:
    head = ledger.head()
    with pytest.raises(SnapshotError, match="not what it was"):
        write_edits(ledger, weights, [Edit(of_term(OPEN), None)], why="build", subject="x")
    assert ledger.head() == head


def test_a_file_that_lost_what_is_gone_is_refused(ledger: Ledger, weights: KeptWeights) -> None:
    taught_and_erased(ledger, weights)
    yachts, ferries = episode_about("yachts"), episode_about("ferries")
    with ledger.transaction() as entry:
        entry.remember(yachts)
        entry.remember(ferries)
        entry.forget(yachts.id, "asked for")
    text = to_text(read(ledger, weights))
    assert from_text(text).gone[str(yachts.id)] == "forgotten"
    lines = text.splitlines()
    gone = [line for line in lines if '"record":"gone"' in line]
    assert len(gone) == 3
    for lost in ([gone[0]], gone):
        left = "\n".join(line for line in lines if line not in lost)
        with pytest.raises(SnapshotError, match="what is gone in it"):
            from_text(left)
        assert from_text(left, edited=True).episodes == (ferries,)
    with pytest.raises(SnapshotError, match="what is gone in it"):
        from_text(text.replace('"state":"forgotten"', '"state":"erased"'))


def test_what_is_gone_is_no_part_of_the_hash_of_what_is_known() -> None:
    yachts = of_episode(episode_about("yachts"), 1)
    ferries = episode_about("ferries")
    plain, gone = (Snapshot.of("harbour", [yachts], gone=ids) for ids in ({}, {str(ferries.id): "erased"}))
    assert plain.hash == gone.hash and '"gone"' not in to_text(plain)


def test_the_name_of_a_snapshot_and_its_reason_can_be_erased(ledger: Ledger, weights: KeptWeights) -> None:
    taken = take(ledger, weights, name="before-piet-hein", why="Piet Hein asked")
    with ledger.transaction() as entry:
        entry.remember(episode_about("yachts"))
    later = take(ledger, weights, name="later")
    make_so(ledger, weights, resolve(ledger, weights, taken.name), why="rollback", subject=taken.name)
    assert any(entry.subject == taken.name for entry in history(ledger) if entry.what == "changed")
    kinds = (EventKind.SNAPSHOT_TAKEN, EventKind.BRAIN_CHANGED)
    holding = [one.position for one in ledger.events(kinds=kinds) if "piet" in str(one.content).casefold()]
    assert len(holding) == 2
    with ledger.transaction() as entry:
        nameless(ledger, entry, holding)
        entry.blank(holding, "asked for")
    told = " ".join(f"{event.subject} {event.content}" for event in ledger.events())
    assert "piet" not in told.casefold(), "neither in a content nor in the chain"
    first, second = snapshots(ledger)
    assert (first.hash, first.position, first.at) == (taken.hash, taken.position, taken.at) and second == later
    assert resolve(ledger, weights, first.name).hash == taken.hash and ledger.verify().ok
