"""The ledger on real SQLite and real PostgreSQL."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from memory.episode import Episode
from memory.errors import ContentError, UnknownAttemptError, UnknownEpisodeError
from memory.ledger import EventKind, Ledger, episodes_of, masked_digest

GERMANY = Episode(
    bucket="c0ffee000001",
    kind="count",
    tables=("Customers",),
    question="How many customers are from Germany?",
    masked="How many customers are from <value>?",
    sql="SELECT COUNT(*) FROM Customers WHERE Country = 'Germany'",
    skeleton="SELECT COUNT(*) FROM _ WHERE _ = ?",
    origin="seed:own",
    verifier="gold",
    batch="seed-1",
    schema_fingerprint="f1",
    result_fingerprint="r1",
)
REVENUE = replace(
    GERMANY,
    bucket="c0ffee000002",
    kind="sum",
    tables=("Orders", "Order Details"),
    question="What was the revenue in 1997?",
    masked="What was the revenue in <year>?",
    sql="SELECT SUM(x) FROM y",
    batch="seed-2",
)
ORDERS = replace(GERMANY, bucket="c0ffee000003", tables=("Orders",), question="How many orders were late?", masked="m")
LISTED = replace(GERMANY, bucket="c0ffee000004", kind="lookup", question="List the customers", masked="l")


class Clock:
    """Time that a test moves."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


@pytest.fixture
def reopen(where: str) -> Iterator[Callable[[], Ledger]]:
    opened: list[Ledger] = []

    def again() -> Ledger:
        opened.append(Ledger.open(where, database="shop", clock=Clock()))
        return opened[-1]

    yield again
    for ledger in opened:
        ledger.close()


@pytest.fixture
def ledger(reopen: Callable[[], Ledger]) -> Ledger:
    return reopen()


def remember(ledger: Ledger, *episodes: Episode) -> None:
    with ledger.transaction() as transaction:
        for episode in episodes:
            transaction.remember(episode)


def test_a_new_brain_verifies_and_says_what_it_is_about(ledger: Ledger) -> None:
    assert ledger.verify().ok
    assert [event.kind for event in ledger.events()] == [EventKind.BRAIN_CREATED]
    assert ledger.database == "shop" and uuid.UUID(ledger.store)


def test_an_episode_comes_back_as_it_was_also_after_reopening(ledger: Ledger, reopen: Callable[[], Ledger]) -> None:
    odd = replace(GERMANY, question="Combien de clients à « Köln » 東京?\0\ud83d", sql='SELECT 1 FROM "naïve table"')
    remember(ledger, odd)
    assert reopen().episode(odd.id) == odd
    assert ledger.verify().ok


def test_remembering_twice_changes_nothing(ledger: Ledger) -> None:
    remember(ledger, GERMANY)
    head, queued = ledger.head(), ledger.outbox()
    with ledger.transaction() as transaction:
        assert not transaction.remember(replace(GERMANY, question="Other words, same identity"))
    assert (ledger.head(), ledger.outbox()) == (head, queued)
    assert ledger.episode(GERMANY.id) == GERMANY


def test_episodes_are_found_by_bucket_batch_kind_and_tables(ledger: Ledger) -> None:
    remember(ledger, GERMANY, REVENUE, ORDERS, LISTED)
    assert ledger.episodes() == (GERMANY, REVENUE, ORDERS, LISTED)
    assert ledger.episodes(GERMANY.bucket) == (GERMANY,)
    assert ledger.episodes(batch="seed-2") == (REVENUE,)
    assert ledger.by_kind("count") == (GERMANY, ORDERS)
    assert ledger.by_tables(("Customers",)) == (GERMANY, LISTED)
    assert ledger.by_tables(("Order Details", "Orders")) == (REVENUE,)
    assert [(b.bucket, b.kind, b.tables, b.active, b.forgotten) for b in ledger.buckets()][1] == (
        REVENUE.bucket,
        "sum",
        ("Order Details", "Orders"),
        1,
        0,
    )


def test_episodes_are_found_by_exactly_their_masked_question_in_the_order_they_were_remembered(ledger: Ledger) -> None:
    france = replace(GERMANY, question="How many are from France?", sql="SELECT 2")
    elsewhere = replace(GERMANY, bucket="c0ffee000009", sql="SELECT 1")
    near = replace(GERMANY, masked=GERMANY.masked.upper())
    remember(ledger, france, REVENUE, near, GERMANY, elsewhere)
    assert ledger.masked(GERMANY.masked) == (france, GERMANY, elsewhere)
    assert ledger.masked(near.masked) == (near,)
    assert ledger.masked("How many") == () == ledger.masked("") == ledger.masked("\ud83d\0")


def test_a_masked_question_names_active_episodes_only(ledger: Ledger) -> None:
    france, spain = (replace(GERMANY, sql=sql) for sql in ("SELECT 2", "SELECT 3"))
    remember(ledger, GERMANY, france, spain)
    with ledger.transaction() as transaction:
        transaction.forget(GERMANY.id, "it misled")
        transaction.erase(france.id)
    assert ledger.masked(GERMANY.masked) == (spain,)
    with ledger.connection() as connection:
        assert connection.execute(text("SELECT count(*) FROM masked_questions")).scalar_one() == 1
    with ledger.transaction() as transaction:
        transaction.remember(GERMANY, again=True)
    assert ledger.masked(GERMANY.masked) == (spain, GERMANY)
    assert ledger.verify().ok, ledger.verify()


@pytest.mark.parametrize("half", ["\ud83d", "\ude00", "\ud83d\ude00"])
def test_a_masked_question_is_found_by_what_comes_back_of_it(ledger: Ledger, half: str) -> None:
    written = masked_digest(half)
    with ledger.transaction() as transaction:
        transaction.append(EventKind.BATCH_OPENED, "b", {"masked": half})
    [event] = ledger.events(kinds=(EventKind.BATCH_OPENED,))
    assert event.content and masked_digest(str(event.content["masked"])) == written


def test_a_masked_question_is_looked_up_by_an_index(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "brain.sqlite", database="shop") as ledger, ledger.connection() as connection:
        asked = str(episodes_of("m").compile(connection, compile_kwargs={"literal_binds": True}))
        steps = [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {asked}")]
    assert any("masked_questions_by_digest" in step for step in steps), steps
    assert not any(step.startswith(("SCAN", "USE TEMP")) for step in steps), steps


def test_search_finds_by_word_stems_best_first_and_ignores_syntax(ledger: Ledger) -> None:
    remember(ledger, GERMANY, REVENUE, ORDERS, LISTED)
    assert ledger.search("customer in Germany")[0] == GERMANY
    assert ledger.search("revenues 1997", limit=1) == (REVENUE,)
    assert set(ledger.search("customers")) == {GERMANY, LISTED}
    assert ledger.search("zebra") == () == ledger.search('"*() -- \0')
    assert ledger.search("AND OR NOT NEAR( \"late* & | ! : <-> '") == (ORDERS,)


def test_what_is_forgotten_is_not_found_and_does_not_come_back_by_itself(ledger: Ledger) -> None:
    remember(ledger, GERMANY)
    with ledger.transaction() as transaction:
        assert transaction.forget(GERMANY.id, "it misled")
        assert not transaction.forget(GERMANY.id, "again")
        assert not transaction.remember(GERMANY)
    assert ledger.episodes() == () == ledger.search("Germany")
    assert ledger.episode_state(GERMANY.id) == "forgotten"
    assert ledger.episode(GERMANY.id) == GERMANY
    assert ledger.buckets()[0].forgotten == 1
    assert [queued.action for queued in ledger.outbox()] == ["remember", "forget"]
    assert ledger.verify().ok


def test_a_new_verifier_brings_a_forgotten_or_erased_episode_back(ledger: Ledger) -> None:
    remember(ledger, GERMANY)
    vouched = replace(GERMANY, verifier="person", origin="feedback:a1")
    for take_out in ("forget", "erase"):
        with ledger.transaction() as transaction:
            assert getattr(transaction, take_out)(GERMANY.id, "why")
        with ledger.transaction() as transaction:
            assert transaction.remember(vouched, again=True)
            assert not transaction.remember(vouched, again=True)
        assert ledger.episodes() == (vouched,) == ledger.search("Germany")
        assert ledger.verify().ok, ledger.verify()


def test_forgetting_an_unknown_episode_says_so(ledger: Ledger) -> None:
    with pytest.raises(UnknownEpisodeError, match=str(GERMANY.id)), ledger.transaction() as transaction:
        transaction.forget(GERMANY.id, "why")


def test_erasing_takes_the_content_out_of_history_and_attempts_and_the_chain_still_verifies(ledger: Ledger) -> None:
    remember(ledger, GERMANY, LISTED)
    with ledger.transaction() as transaction:
        transaction.start_attempt("a1", {"question": GERMANY.question})
        transaction.settle_attempt("a1", {"recalled": [str(GERMANY.id)], "prompt": "like: " + GERMANY.question})
        transaction.start_attempt("a2", {"question": "About customers"})
    before = ledger.head()[0]
    with ledger.transaction() as transaction:
        assert transaction.erase(GERMANY.id)
        assert not transaction.erase(GERMANY.id)
    gone = [event.position for event in ledger.events() if event.content is None]
    assert len(gone) == 3 and ledger.head()[0] == before + 1
    assert ledger.episode(GERMANY.id) is None and ledger.episode_state(GERMANY.id) == "erased"
    assert ledger.episodes() == (LISTED,) and ledger.search("Germany") == ()
    assert ledger.outbox()[-1].action == "rewrite"
    attempt, other = ledger.attempt("a1"), ledger.attempt("a2")
    assert attempt and attempt.started is None is attempt.settled
    assert other and other.started == {"question": "About customers"}
    assert ledger.verify().ok, ledger.verify()


def test_erasing_again_takes_out_what_was_shown_since(ledger: Ledger) -> None:
    remember(ledger, GERMANY)
    for id in ("a1", "a2"):
        with ledger.transaction() as transaction:
            transaction.start_attempt(id, {"question": GERMANY.question, "recalled": [str(GERMANY.id)]})
        with ledger.transaction() as transaction:
            assert transaction.erase(GERMANY.id)
        with ledger.transaction() as transaction:
            assert not transaction.erase(GERMANY.id)
        record = ledger.attempt(id)
        assert record and record.started is None
    assert ledger.verify().ok, ledger.verify()


@pytest.mark.parametrize("origin", ["adapted", "model"])
def test_an_attempt_shows_an_episode_whose_sql_was_adapted_to_any_question(ledger: Ledger, origin: str) -> None:
    """That a model writes the same for something else tells nothing of the episode."""
    remember(ledger, GERMANY)
    draft = {"origin": origin, "sql": GERMANY.sql.lower()}
    with ledger.transaction() as transaction:
        transaction.start_attempt("a1", {"question": "Another one?", "bucket": "b", "masked": "Another one?"})
        transaction.settle_attempt("a1", {"status": "answered", "drafts": [draft]})
    with ledger.transaction() as transaction:
        transaction.erase(GERMANY.id, spelling=lambda sql: GERMANY.sql if sql == draft["sql"] else sql)
    record = ledger.attempt("a1")
    assert record and (record.settled is None) == (origin == "adapted")
    assert ledger.verify().ok, ledger.verify()


def test_an_attempt_is_journalled_before_and_settled_once(ledger: Ledger) -> None:
    with ledger.transaction() as transaction:
        transaction.start_attempt("a1", {"question": "q"})
    assert [attempt.id for attempt in ledger.unsettled()] == ["a1"]
    with ledger.transaction() as transaction:
        transaction.settle_attempt("a1", {"status": "answered"})
    with pytest.raises(UnknownAttemptError, match="settled already"), ledger.transaction() as transaction:
        transaction.append(EventKind.WEIGHTS_MOVED, "a1", {"changes": []})
        transaction.settle_attempt("a1", {"status": "answered"})
    with pytest.raises(UnknownAttemptError, match="before"), ledger.transaction() as transaction:
        transaction.start_attempt("a1", {})
    with pytest.raises(UnknownAttemptError, match="never started"), ledger.transaction() as transaction:
        transaction.settle_attempt("a2", {})
    record = ledger.attempt("a1")
    assert record and (record.state, record.settled) == ("settled", {"status": "answered"})
    assert ledger.unsettled() == () and ledger.attempt("nobody") is None
    assert [event.kind for event in ledger.events()][1:] == [EventKind.ATTEMPT_STARTED, EventKind.ATTEMPT_SETTLED]


def test_attempts_that_a_crash_left_are_settled_as_failed_with_the_reason(ledger: Ledger) -> None:
    with ledger.transaction() as transaction:
        transaction.start_attempt("a1", {"question": "q"})
    assert ledger.abandon("the process ended before it was answered") == ("a1",)
    record = ledger.attempt("a1")
    assert record and record.state == "abandoned"
    assert record.settled == {"status": "failed", "message": "the process ended before it was answered"}
    assert ledger.abandon("again") == () and ledger.verify().ok


def test_nothing_is_kept_when_the_block_raises(ledger: Ledger) -> None:
    head = ledger.head()
    with pytest.raises(RuntimeError), ledger.transaction() as transaction:
        transaction.remember(GERMANY)
        transaction.start_attempt("a1", {})
        raise RuntimeError("the caller's own")
    assert (ledger.head(), ledger.episodes(), ledger.outbox(), ledger.unsettled()) == (head, (), (), ())
    assert ledger.search("Germany") == () and ledger.verify().ok


@pytest.mark.parametrize("bad", [{"a": float("nan")}, {"a": object()}, {("a", "b"): 1}])
def test_a_content_that_is_not_json_is_refused(ledger: Ledger, bad: dict[str, object]) -> None:
    with pytest.raises(ContentError, match="plain JSON"), ledger.transaction() as transaction:
        transaction.append(EventKind.BATCH_OPENED, "b", bad)
    assert ledger.verify().ok


def test_events_are_read_by_kind_subject_and_range(ledger: Ledger) -> None:
    remember(ledger, GERMANY, LISTED)
    assert [event.position for event in ledger.events(after=1)] == [2, 3]
    assert [event.position for event in ledger.events(until=2)] == [1, 2]
    assert [event.position for event in ledger.events(subject=str(LISTED.id))] == [3]
    assert [event.position for event in ledger.events(kinds=[EventKind.BRAIN_CREATED])] == [1]


TAMPERING = {
    "UPDATE content SET body = replace(body, 'Germany', 'France') WHERE position = 2": 2,
    "UPDATE ledger SET at = at + 1 WHERE position = 3": 3,
    "UPDATE ledger SET subject = 'x' WHERE position = 2": 2,
    "DELETE FROM content WHERE position = 3": 3,
    "UPDATE content SET salt = NULL, body = NULL WHERE position = 3": 3,
    "UPDATE content SET salt = NULL WHERE position = 2": 2,
    "UPDATE ledger SET previous = hash WHERE position = 3": 3,
}


@pytest.mark.parametrize("statement", TAMPERING)
def test_verify_names_the_first_position_that_was_tampered_with(ledger: Ledger, statement: str) -> None:
    remember(ledger, GERMANY, LISTED, REVENUE)
    with ledger.transaction() as transaction:
        transaction.connection.execute(text(statement))
    found = ledger.verify()
    assert (found.broken, found.ok) == (TAMPERING[statement], False), found


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE episodes SET state = 'forgotten'", "episode"),
        ("UPDATE episodes SET bucket = 'other'", "episode"),
        ("UPDATE episodes SET kind = 'other'", "episode"),
        ("UPDATE episodes SET tables = '[]'", "episode"),
        ("UPDATE episodes SET batch = 'other'", "episode"),
        ("DELETE FROM episodes", "episode"),
        ("DELETE FROM attempts", "attempt"),
        ("UPDATE attempts SET state = 'settled'", "attempt"),
        ("DELETE FROM outbox", "outbox"),
        ("UPDATE outbox SET action = 'forget'", "outbox"),
        ("UPDATE outbox SET bucket = 'other'", "outbox"),
        ("DELETE FROM lexicon", "lexicon"),
        ("DELETE FROM masked_questions", "masked_questions"),
        ("UPDATE masked_questions SET digest = 'other'", "masked_questions"),
        ("UPDATE brain SET format = 1", "brain"),
    ],
)
def test_verify_sees_tables_that_do_not_follow_from_the_events(ledger: Ledger, statement: str, named: str) -> None:
    with ledger.transaction() as transaction:
        transaction.remember(GERMANY)
        transaction.start_attempt("a1", {})
    assert ledger.verify().ok
    with ledger.transaction() as transaction:
        transaction.connection.execute(text(statement))
    found = ledger.verify()
    assert found.broken is None and any(named in problem for problem in found.problems), found


def test_a_chain_rewritten_from_the_middle_needs_every_later_hash(ledger: Ledger) -> None:
    remember(ledger, GERMANY, LISTED)
    with ledger.transaction() as transaction:
        transaction.connection.execute(text("UPDATE ledger SET hash = :h WHERE position = 2"), {"h": "0" * 64})
    assert ledger.verify().broken == 2


def test_two_writers_at_once_take_turns_and_the_chain_holds(ledger: Ledger, reopen: Callable[[], Ledger]) -> None:
    def write(writer: Ledger, name: str) -> None:
        for number in range(15):
            with writer.transaction() as transaction:
                transaction.append(EventKind.BATCH_OPENED, f"{name}{number}", {})

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(write, writer, name) for writer, name in ((ledger, "a"), (reopen(), "b"))]:
            done.result()
    assert ledger.head()[0] == 31 and ledger.verify().ok
