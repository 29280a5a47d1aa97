"""What every episode store must do: the same suite against the one in memory and against Cognee."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from memory.cognee_store import CogneeStore
from memory.embedder import MiniLM
from memory.reference_store import ReferenceStore
from memory.store import EpisodeStore, Indexed


def indexed(text: str) -> Indexed:
    return Indexed(uuid.uuid4(), text)


CUSTOMERS = indexed("How many customers are in Germany?")
REVENUE = indexed("What is the total revenue per year?")
LATE = indexed("Which orders were shipped late?")


@pytest.fixture(scope="module", params=["reference", "cognee"])
def store(
    request: pytest.FixtureRequest, embedder: MiniLM, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EpisodeStore]:
    made: EpisodeStore
    if request.param == "reference":
        made = ReferenceStore(embedder=embedder)
    else:
        made = CogneeStore(tmp_path_factory.mktemp("brain") / "cognee", embedder=embedder)
    yield made
    made.close()


@pytest.fixture
def bucket(store: EpisodeStore) -> str:
    """A bucket that no other test uses: opening a store for each would take minutes."""
    return uuid.uuid4().hex[:16]


def ids(*episodes: Indexed) -> frozenset[uuid.UUID]:
    return frozenset(episode.id for episode in episodes)


def test_a_bucket_never_written_holds_and_finds_nothing(store: EpisodeStore, bucket: str) -> None:
    assert list(store.recall(bucket, "anything", 5)) == []
    assert store.members(bucket) == frozenset()


def test_a_paraphrase_finds_its_episode_first_and_scores_fall(store: EpisodeStore, bucket: str) -> None:
    store.remember(bucket, [CUSTOMERS, REVENUE, LATE])
    hits = store.recall(bucket, "What is the head count of German buyers?", 3)
    assert next(hit.id for hit in hits) == CUSTOMERS.id
    assert len(hits) == 3
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)


def test_the_score_is_the_cosine_of_the_two_texts(store: EpisodeStore, bucket: str, embedder: MiniLM) -> None:
    store.remember(bucket, [CUSTOMERS, REVENUE])
    [same] = store.recall(bucket, CUSTOMERS.text, 1)
    assert same.score == pytest.approx(1.0, abs=1e-4)
    question, text = embedder.embed(["Turnover by year?", REVENUE.text])
    found = {hit.id: hit.score for hit in store.recall(bucket, "Turnover by year?", 2)}
    assert found[REVENUE.id] == pytest.approx(float(question @ text), abs=1e-4)


def test_the_limit_holds_and_a_limit_of_none_asks_nothing(store: EpisodeStore, bucket: str) -> None:
    store.remember(bucket, [CUSTOMERS, REVENUE, LATE])
    assert len(store.recall(bucket, "orders", 2)) == 2
    assert len(store.recall(bucket, "orders", 50)) == 3
    assert list(store.recall(bucket, "orders", 0)) == []


def test_several_buckets_are_searched_in_one_call_each_up_to_the_limit(store: EpisodeStore, bucket: str) -> None:
    names = [f"{bucket}-{number}" for number in range(8)]
    for number, name in enumerate(names):
        store.remember(name, [indexed(f"Question {number} about freight"), indexed(f"Question {number} on suppliers")])
    asked = [names[5], "never-written", *names[:2], names[7]]
    found = store.recall_each(asked, "freight", 1)
    assert found == tuple(hit for name in asked for hit in store.recall(name, "freight", 1))
    assert len(found) == 4
    assert len(store.recall_each(names, "freight", 9)) == 16
    assert list(store.recall_each([], "freight", 9)) == list(store.recall_each(names, "freight", 0)) == []


def test_what_was_found_before_is_found_as_it_is_now(store: EpisodeStore, bucket: str) -> None:
    """Whatever a store keeps open of a dataset, every write shows at the next search."""

    def found() -> set[uuid.UUID]:
        return {hit.id for hit in store.recall_each([bucket], "orders", 9)}

    store.remember(bucket, [CUSTOMERS])
    assert found() == ids(CUSTOMERS)
    store.remember(bucket, [REVENUE, LATE])
    assert found() == ids(CUSTOMERS, REVENUE, LATE)
    store.forget(bucket, [CUSTOMERS.id])
    assert found() == ids(REVENUE, LATE)
    store.erase(bucket, [LATE])
    assert found() == ids(LATE)
    store.erase(bucket, [CUSTOMERS, REVENUE])
    assert found() == ids(CUSTOMERS, REVENUE)
    store.erase(bucket, [])
    assert found() == frozenset()
    store.remember(bucket, [LATE])
    assert found() == ids(LATE)


def test_a_search_while_a_bucket_is_written_anew_finds_what_was_or_what_is(store: EpisodeStore, bucket: str) -> None:
    names = [f"{bucket}-{number}" for number in range(3)]
    for name in names:
        store.remember(name, [CUSTOMERS, REVENUE])
    states = [ids(CUSTOMERS, REVENUE), ids(REVENUE), ids()]

    def search(_: int) -> bool:
        return all({hit.id for hit in store.recall(name, "orders", 9)} in states for name in names)

    with ThreadPoolExecutor(4) as crew:
        rewriting = [crew.submit(store.erase, names[number % 3], [REVENUE]) for number in range(6)]
        assert all(crew.map(search, range(24)))
        for done in rewriting:
            done.result()
    assert [{hit.id for hit in store.recall(name, "orders", 9)} for name in names] == [ids(REVENUE)] * 3


def test_remembering_the_same_id_twice_keeps_one_with_the_newer_text(store: EpisodeStore, bucket: str) -> None:
    store.remember(bucket, [CUSTOMERS])
    store.remember(bucket, [CUSTOMERS])
    store.remember(bucket, [Indexed(CUSTOMERS.id, "Which shipper is the cheapest?")])
    [hit] = store.recall(bucket, "Which shipper is the cheapest?", 5)
    assert hit.id == CUSTOMERS.id
    assert hit.score == pytest.approx(1.0, abs=1e-4)
    assert store.members(bucket) == ids(CUSTOMERS)


def test_remembering_nothing_changes_nothing(store: EpisodeStore, bucket: str) -> None:
    store.remember(bucket, [])
    assert store.members(bucket) == frozenset()


def test_buckets_do_not_leak_into_each_other(store: EpisodeStore, bucket: str) -> None:
    other = bucket + "x"
    store.remember(bucket, [CUSTOMERS])
    store.remember(other, [REVENUE])
    assert ids(CUSTOMERS) == store.members(bucket) == {hit.id for hit in store.recall(bucket, REVENUE.text, 9)}
    assert ids(REVENUE) == store.members(other) == {hit.id for hit in store.recall(other, CUSTOMERS.text, 9)}


def test_bucket_names_that_differ_only_in_case_are_two(store: EpisodeStore, bucket: str) -> None:
    store.remember(f"{bucket}-a", [CUSTOMERS])
    store.remember(f"{bucket}-A", [REVENUE])
    assert store.members(f"{bucket}-a") == ids(CUSTOMERS)
    assert store.members(f"{bucket}-A") == ids(REVENUE)


def test_texts_that_differ_only_in_case_are_two_episodes(store: EpisodeStore, bucket: str) -> None:
    upper, lower = indexed("Orders.CustomerID of ALFKI"), indexed("orders.customerid of alfki")
    store.remember(bucket, [upper, lower])
    assert store.members(bucket) == ids(upper, lower)
    assert {hit.id for hit in store.recall(bucket, upper.text, 5)} == ids(upper, lower)


@pytest.mark.parametrize(
    "text",
    [
        "Wie viele Kunden gibt es in Köln und Århus?",
        "注文は何件ありますか",
        "'; DROP TABLE Orders; -- \" quoted \\ back",
        "line one\nline two\ttab",
        "emoji \U0001f4ca and zero\u200bwidth",
        "file:///etc/passwd",
        "x" * 20_000,
    ],
    ids=["accents", "japanese", "quotes", "lines", "emoji", "address", "long"],
)
def test_any_text_is_kept_and_found(store: EpisodeStore, bucket: str, text: str) -> None:
    odd = indexed(text)
    store.remember(bucket, [odd, REVENUE])
    assert store.recall(bucket, text, 1)[0].id == odd.id


def test_what_is_forgotten_is_gone_and_the_rest_stays(store: EpisodeStore, bucket: str) -> None:
    store.remember(bucket, [CUSTOMERS, REVENUE, LATE])
    store.forget(bucket, [CUSTOMERS.id, LATE.id])
    assert store.members(bucket) == ids(REVENUE)
    assert [hit.id for hit in store.recall(bucket, CUSTOMERS.text, 5)] == [REVENUE.id]


def test_forgetting_the_last_one_leaves_an_empty_bucket(store: EpisodeStore, bucket: str) -> None:
    store.remember(bucket, [CUSTOMERS])
    store.forget(bucket, [CUSTOMERS.id])
    assert store.members(bucket) == frozenset()
    assert list(store.recall(bucket, CUSTOMERS.text, 5)) == []


def test_forgetting_the_unknown_is_no_error(store: EpisodeStore, bucket: str) -> None:
    store.forget(bucket, [uuid.uuid4()])
    store.remember(bucket, [CUSTOMERS])
    store.forget(bucket, [uuid.uuid4()])
    store.forget(bucket, [])
    assert store.members(bucket) == ids(CUSTOMERS)


def test_an_episode_is_remembered_again_after_it_was_forgotten(store: EpisodeStore, bucket: str) -> None:
    store.remember(bucket, [CUSTOMERS])
    store.forget(bucket, [CUSTOMERS.id])
    store.remember(bucket, [CUSTOMERS])
    assert store.members(bucket) == ids(CUSTOMERS)
    store.forget(bucket, [CUSTOMERS.id])
    assert store.members(bucket) == frozenset()


def test_erasing_keeps_the_survivors_only(store: EpisodeStore, bucket: str) -> None:
    store.remember(bucket, [CUSTOMERS, REVENUE, LATE])
    store.erase(bucket, [REVENUE])
    assert store.members(bucket) == ids(REVENUE)
    assert [hit.id for hit in store.recall(bucket, CUSTOMERS.text, 5)] == [REVENUE.id]
    store.erase(bucket, [])
    assert store.members(bucket) == frozenset()
    store.remember(bucket, [LATE])
    assert store.members(bucket) == ids(LATE)


def test_erasing_a_bucket_never_written_writes_the_survivors(store: EpisodeStore, bucket: str) -> None:
    store.erase(bucket, [CUSTOMERS])
    assert store.members(bucket) == ids(CUSTOMERS)


def test_many_readers_at_once_all_get_the_right_answer(store: EpisodeStore, bucket: str) -> None:
    names = [f"{bucket}-{number}" for number in range(8)]
    episodes = [indexed(f"Question number {number} about freight") for number in range(8)]
    for name, episode in zip(names, episodes, strict=True):
        store.remember(name, [episode])

    def read(number: int) -> bool:
        which = number % 8
        return store.recall(names[which], "freight", 3)[0].id == episodes[which].id

    with ThreadPoolExecutor(12) as readers:
        assert all(readers.map(read, range(48)))


def test_readers_go_on_while_others_write(store: EpisodeStore, bucket: str) -> None:
    store.remember(bucket, [CUSTOMERS])

    def write(number: int) -> None:
        store.remember(bucket, [indexed(f"Question {number} about suppliers")])

    def read(_: int) -> bool:
        return store.recall(bucket, CUSTOMERS.text, 1)[0].id == CUSTOMERS.id

    with ThreadPoolExecutor(6) as crew:
        writes = [crew.submit(write, number) for number in range(4)]
        assert all(crew.map(read, range(12)))
        for done in writes:
            done.result()
    assert len(store.members(bucket)) == 5
