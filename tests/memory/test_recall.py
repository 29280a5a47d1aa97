"""Which episodes are recalled for a question, in which order, and what is said of each."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.cognee_store import CogneeStore
from memory.embedder import EmbedderError, MiniLM
from memory.episode import Episode
from memory.ledger import Ledger
from memory.outbox import drain
from memory.recall import MOST_DATASETS, Recall, Recalled, indexed_text, sources
from memory.reference_store import ReferenceStore
from memory.store import Hit, Indexed
from memory.vectors import KeptVectors

if TYPE_CHECKING:
    from memory.embedder import Vector


def episode(bucket: str, kind: str, tables: tuple[str, ...], question: str, **other: str) -> Episode:
    return Episode(
        bucket=bucket,
        kind=kind,
        tables=tables,
        question=question,
        masked=other.get("masked", question),
        sql=other.get("sql", f"SELECT '{question}'"),
        skeleton=other.get("skeleton", "SELECT ?"),
        origin="seed:own",
        verifier="gold",
        batch="seed",
        schema_fingerprint=other.get("schema", "now"),
        result_fingerprint="r",
    )


GERMANY = episode(
    "b1", "count", ("Customers",), "How many customers are in Germany?", masked="How many customers are in <value>?"
)
SUPPLIERS = episode("b2", "count", ("Suppliers",), "How many suppliers do we have?")
CONTACTS = episode("b3", "list", ("Customers",), "List the contact names of all customers")
FREIGHT = episode("b4", "sum", ("Orders", "Shippers"), "What freight was paid in total per shipper?")
EPISODES = (GERMANY, SUPPLIERS, CONTACTS, FREIGHT)


class Watched(ReferenceStore):
    """Says which datasets were searched, and in how many calls."""

    def __init__(self, embedder: MiniLM) -> None:
        super().__init__(embedder=embedder)
        self.searched: list[str] = []
        self.calls = 0

    def recall_each(self, buckets: Sequence[str], text: str, limit: int) -> Sequence[Hit]:
        self.calls += 1
        return super().recall_each(buckets, text, limit)

    def recall(self, bucket: str, text: str, limit: int) -> Sequence[Hit]:
        self.searched.append(bucket)
        return super().recall(bucket, text, limit)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "brain.sqlite", database="shop") as opened:
        yield opened


@pytest.fixture
def store(embedder: MiniLM) -> Watched:
    return Watched(embedder)


@pytest.fixture
def remember(ledger: Ledger, store: Watched) -> Callable[..., None]:
    def write(*episodes: Episode) -> None:
        with ledger.transaction() as entry:
            for one in episodes:
                entry.remember(one)
        drain(ledger, store, text=indexed_text)

    return write


@pytest.fixture
def recall(ledger: Ledger, store: Watched, embedder: MiniLM) -> Recall:
    return Recall(episodes=ledger, store=store, embedder=embedder)


def france(recall: Recall, limit: int = 3, allowed: Callable[[Episode], bool] = lambda _: True) -> tuple[Recalled, ...]:
    return recall.recall(
        bucket="b1",
        kind="count",
        tables=("Customers",),
        question="How many clients have we got in France?",
        masked="How many clients have we got in <value>?",
        limit=limit,
        allowed=allowed,
    )


def test_the_bucket_comes_first_then_its_neighbours_and_each_says_why(
    recall: Recall, remember: Callable[..., None]
) -> None:
    remember(*EPISODES)
    found = france(recall, limit=4)
    assert [one.episode.id for one in found] == [GERMANY.id, SUPPLIERS.id, CONTACTS.id, FREIGHT.id]
    assert [one.level for one in found] == ["bucket", "kind", "tables", "family"]
    assert found[0].why.startswith("same bucket; wording 0.")
    assert found[1].why.startswith("same kind of question on other tables (count over Suppliers); wording 0.")
    assert found[2].why.startswith("same tables, another kind of question (list over Customers); wording")
    assert found[3].why.startswith("near in meaning (sum over Orders, Shippers); wording")
    scores = [one.score for one in found]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


def test_an_empty_bucket_is_no_dead_end(recall: Recall, remember: Callable[..., None]) -> None:
    remember(SUPPLIERS, CONTACTS, FREIGHT)
    assert [one.level for one in france(recall)] == ["kind", "tables", "family"]


def test_an_empty_brain_recalls_nothing_and_searches_nothing(recall: Recall, store: Watched) -> None:
    assert france(recall) == ()
    assert store.searched == []


def test_the_limit_holds(recall: Recall, remember: Callable[..., None]) -> None:
    remember(*EPISODES)
    assert [len(france(recall, limit=limit)) for limit in (0, 1, 2, 9)] == [0, 1, 2, 4]


def test_what_is_not_allowed_is_never_recalled(recall: Recall, remember: Callable[..., None]) -> None:
    old = replace(GERMANY, sql="SELECT Gone FROM Customers", schema_fingerprint="before")
    remember(old, SUPPLIERS)
    found = france(recall, allowed=lambda one: one.schema_fingerprint == "now")
    assert [one.episode.id for one in found] == [SUPPLIERS.id]


def test_only_promising_datasets_are_opened(recall: Recall, remember: Callable[..., None], store: Watched) -> None:
    far = [episode(f"far{number}", "share", (f"T{number}",), f"Unlike thing {number}") for number in range(20)]
    remember(*far, *EPISODES)
    france(recall)
    assert store.searched[0] == "b1"
    assert set(store.searched[1:3]) == {"b2", "b3"}
    assert len(store.searched) == len(set(store.searched)) == MOST_DATASETS


def test_own_and_other_datasets_are_searched_in_two_calls(
    recall: Recall, remember: Callable[..., None], store: Watched
) -> None:
    remember(*EPISODES)
    france(recall)
    assert (store.searched, store.calls) == (["b1", "b2", "b3", "b4"], 2)


COUNTS = [
    episode(
        "b1",
        "count",
        ("Customers",),
        f"How many customers do we have in {place}?",
        masked="How many customers do we have in <value>?",
        sql=f"SELECT COUNT(*) FROM Customers WHERE Country = '{place}'",
        skeleton=f"SELECT ? {place}",
    )
    for place in ("Spain", "Italy", "Peru", "Chad", "Oman", "Cuba")
]


def test_what_cannot_hold_anything_better_is_not_searched(
    recall: Recall, remember: Callable[..., None], store: Watched
) -> None:
    remember(*COUNTS, *EPISODES)
    found = france(recall)
    assert store.searched == ["b1"]
    # The very question under another kind, or linked to other tables, could not come before these.
    assert min(one.score for one in found) > 0.85
    store.searched.clear()
    assert len(france(recall, limit=10)) == 10
    assert store.searched == ["b1", "b2", "b3", "b4"]


def test_the_very_question_under_another_kind_is_never_skipped(
    recall: Recall, remember: Callable[..., None], store: Watched
) -> None:
    unlike = [
        episode("b1", "count", ("Customers",), question)
        for question in ("Freight by ship", "Birthdays of the staff", "Late or not?")
    ]
    question, masked = "How many clients have we got in France?", "How many clients have we got in <value>?"
    remember(*unlike, episode("b7", "share", ("Customers",), question, masked=masked))
    assert france(recall)[0].episode.question == question
    assert store.searched == ["b1", "b7"]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["b1", "b2", "b3", "b4"]),
            st.sampled_from(["count", "list"]),
            st.sampled_from([("Customers",), ("Customers", "Orders"), ("Suppliers",), ()]),
            st.sampled_from(["customers in France", "clients we have", "suppliers per city", "freight", "orders late"]),
            st.sampled_from(["SELECT ?", "SELECT ? WHERE ?"]),
        ),
        max_size=12,
        unique=True,
    ),
    st.integers(1, 4),
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_searching_less_gives_what_searching_all_would(
    tmp_path: Path,
    embedder: MiniLM,
    drawn: list[tuple[str, str, tuple[str, ...], str, str]],
    limit: int,
) -> None:
    with Ledger.open(tmp_path / f"{uuid.uuid4()}.sqlite", database="shop") as ledger:
        store = Watched(embedder)
        with ledger.transaction() as entry:
            for number, (bucket, kind, tables, question, skeleton) in enumerate(drawn):
                entry.remember(episode(bucket, kind, tables, question, sql=f"SELECT {number}", skeleton=skeleton))
        drain(ledger, store, text=indexed_text)
        recall = Recall(episodes=ledger, store=store, embedder=embedder)
        every = france(recall, limit=100)
        assert len(every) == len(drawn)
        first = {(one.episode.masked, one.episode.skeleton): one for one in reversed(every)}.values()
        rest = [one for one in every if one not in first]
        expected = sorted((*sorted(first, key=every.index), *rest)[:limit], key=every.index)
        assert france(recall, limit=limit) == tuple(expected)


def test_what_was_remembered_forgotten_or_erased_since_the_last_question_counts(
    recall: Recall, remember: Callable[..., None], ledger: Ledger, store: Watched
) -> None:
    remember(CONTACTS)
    assert _first_of(france(recall)) == [CONTACTS.id]
    remember(SUPPLIERS, GERMANY)
    assert set(_first_of(france(recall))) == {GERMANY.id, SUPPLIERS.id, CONTACTS.id}
    with ledger.transaction() as entry:
        entry.forget(GERMANY.id, "wrong")
        entry.erase(SUPPLIERS.id)
    store.searched.clear()
    assert _first_of(france(recall)) == [CONTACTS.id]
    assert store.searched == ["b3"]


def test_many_threads_recall_what_one_does(
    ledger: Ledger, remember: Callable[..., None], store: Watched, embedder: MiniLM
) -> None:
    remember(*COUNTS, *EPISODES)
    vectors = KeptVectors(ledger=ledger, embedder=MiniLM())
    alone = france(Recall(episodes=ledger, store=store, embedder=embedder, vectors=vectors), limit=6)
    shared = Recall(episodes=ledger, store=store, embedder=MiniLM(), vectors=vectors)
    with ThreadPoolExecutor(8) as crew:
        assert all(found == alone for found in crew.map(lambda _: france(shared, limit=6), range(16)))


def test_shared_words_lead_to_a_dataset_that_the_intent_does_not(
    recall: Recall, remember: Callable[..., None], store: Watched
) -> None:
    far = [episode(f"far{number}", "share", (f"T{number}",), f"Unlike thing {number}") for number in range(20)]
    walrus = episode("zz", "share", ("Zoo",), "What share of the walruses sleeps?")
    remember(*far, walrus)
    found = recall.recall(bucket="b9", kind="open", tables=(), question="walruses asleep", masked="walruses asleep")
    assert store.searched[0] == "zz"
    assert found[0].episode.id == walrus.id
    assert found[0].level == "family"


def test_a_question_with_no_link_and_no_shared_word_goes_by_meaning(
    recall: Recall, remember: Callable[..., None]
) -> None:
    far = [episode(f"far{number}", "share", (f"T{number}",), f"Unlike thing {number}") for number in range(20)]
    staff = episode("zz", "list", ("Employees",), "List the birthdays of every employee")
    remember(*far, staff)
    [best] = recall.recall(
        bucket="b9", kind="open", tables=(), question="staff dates born", masked="staff dates born", limit=1
    )
    assert best.episode.id == staff.id


def test_the_same_question_with_other_literals_waits_for_different_ones(
    recall: Recall, remember: Callable[..., None]
) -> None:
    spain = replace(GERMANY, question="How many customers are in Spain?", sql="SELECT 'Spain'")
    other = episode("b1", "count", ("Customers",), "How many customers lack a fax number?", skeleton="SELECT ? IS NULL")
    remember(GERMANY, spain, other)
    assert {one.episode.id for one in france(recall, limit=2)} == {other.id, *_first_of(france(recall, limit=1))}
    assert len(france(recall, limit=3)) == 3


def _first_of(found: tuple[Recalled, ...]) -> list[uuid.UUID]:
    return [one.episode.id for one in found]


def test_a_query_over_the_tables_asked_about_comes_before_one_that_reads_others(
    recall: Recall, remember: Callable[..., None]
) -> None:
    asked = ("Customers",)
    other = episode("b1", "count", asked, "How many clients came to us?", sql="SELECT COUNT(*) FROM Suppliers")
    same = episode("b1", "count", asked, "Number of rows, please", sql='SELECT COUNT(*) FROM "Customers" AS c')
    remember(other, same, SUPPLIERS)
    assert [one.episode.id for one in france(recall, limit=2)] == [same.id, other.id]


def test_a_question_with_as_many_literals_of_the_same_kind_comes_before_a_likelier_wording(
    recall: Recall, remember: Callable[..., None]
) -> None:
    bare = episode("b1", "count", ("Customers",), "How many clients have we got?")
    years = episode("b1", "count", ("Customers",), "Clients of 1997 and 1998", masked="Clients of <year> and <year>")
    same = episode("b1", "count", ("Customers",), "Head count, Oslo", masked="Head count, <value>")
    remember(bare, years, same)
    assert [one.episode.id for one in france(recall)] == [same.id, bare.id, years.id]


@pytest.mark.parametrize(
    ("sql", "read"),
    [
        ('SELECT x FROM Orders JOIN "Order Details" AS d ON TRUE', {"orders", "order details"}),
        ('SELECT EXTRACT(YEAR FROM orders.placed) FROM "shop"."Orders" WHERE a IS DISTINCT FROM b', {"shop.orders"}),
        (
            "WITH orders_of AS (SELECT 1 FROM Orders) SELECT 1 FROM orders_of, (SELECT 1 FROM `Lines`) AS l",
            {"orders", "lines"},
        ),
        ("SELECT 'nothing'", set()),
    ],
)
def test_tables_that_a_query_reads_are_told_from_what_else_stands_after_from(sql: str, read: set[str]) -> None:
    known = frozenset({"orders", "order details", "shop.orders", "lines", "customers"})
    assert sources(sql, known) == read


def test_all_of_some_episodes_are_weighed_as_recall_weighs_what_it_finds(
    recall: Recall, remember: Callable[..., None]
) -> None:
    remember(*EPISODES)
    found = france(recall, limit=9)
    asked = "How many clients have we got in France?"
    weighed = recall.scored(
        EPISODES,
        bucket="b1",
        kind="count",
        tables=("Customers",),
        question=asked,
        masked="How many clients have we got in <value>?",
    )
    assert weighed == found


def test_an_episode_the_ledger_has_forgotten_is_not_recalled_though_the_store_still_has_it(
    recall: Recall, remember: Callable[..., None], ledger: Ledger, store: Watched
) -> None:
    remember(*EPISODES, episode("b1", "count", ("Customers",), "How many customers lack a fax number?"))
    with ledger.transaction() as entry:
        entry.forget(GERMANY.id, "wrong")
    assert GERMANY.id in store.members("b1")
    assert GERMANY.id not in _first_of(france(recall, limit=9))


def test_a_store_that_cannot_be_read_gives_way_to_shared_words_and_says_so(
    ledger: Ledger, remember: Callable[..., None], embedder: MiniLM, tmp_path: Path
) -> None:
    remember(*EPISODES)
    (tmp_path / "cognee").write_text("a file where the store's folder should be")
    broken = CogneeStore(tmp_path / "cognee", embedder=embedder)
    told: list[str] = []
    recall = Recall(episodes=ledger, store=broken, embedder=embedder, notice=told.append)
    found = france(recall)
    assert found[0].episode.id == GERMANY.id
    assert found[0].why == "same bucket; found by shared words, as the episode store could not be read"
    assert len(told) == 1
    assert str(tmp_path / "cognee") in told[0]
    broken.close()


class NoModel:
    """An embedder whose model is missing."""

    id, dimensions = "none", 384

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        raise EmbedderError("The embedding model is not here.")


def test_a_missing_embedding_model_gives_way_to_shared_words(ledger: Ledger, remember: Callable[..., None]) -> None:
    remember(*EPISODES)
    told: list[str] = []
    recall = Recall(episodes=ledger, store=ReferenceStore(embedder=NoModel()), embedder=NoModel(), notice=told.append)
    found = recall.recall(
        bucket="b9",
        kind="count",
        tables=("Customers",),
        question="Which contact names of customers?",
        masked="Which contact names of customers?",
    )
    assert {CONTACTS.id, GERMANY.id} <= set(_first_of(found))
    assert all("shared words" in one.why for one in found)
    assert len(told) == 1


def test_any_other_error_is_not_hidden(ledger: Ledger, remember: Callable[..., None], embedder: MiniLM) -> None:
    class Faulty(ReferenceStore):
        def recall(self, bucket: str, text: str, limit: int) -> Sequence[Hit]:
            raise ZeroDivisionError

    remember(*EPISODES)
    with pytest.raises(ZeroDivisionError):
        france(Recall(episodes=ledger, store=Faulty(embedder=embedder), embedder=embedder))


def test_with_cognee_the_same_episodes_come_back_as_with_the_reference(
    ledger: Ledger, remember: Callable[..., None], recall: Recall, embedder: MiniLM, tmp_path: Path
) -> None:
    remember(*EPISODES)
    expected = france(recall, limit=4)
    cognee = CogneeStore(tmp_path / "cognee", embedder=embedder)
    try:
        for one in EPISODES:
            cognee.remember(one.bucket, [Indexed(one.id, indexed_text(one))])
        found = france(Recall(episodes=ledger, store=cognee, embedder=embedder), limit=4)
    finally:
        cognee.close()
    assert [(one.episode.id, one.level) for one in found] == [(one.episode.id, one.level) for one in expected]
    assert [one.score for one in found] == pytest.approx([one.score for one in expected], abs=1e-3)
