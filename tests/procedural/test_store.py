"""Synapses kept in a real database, and the choices they lead to."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, create_engine, event

from procedural.choosing import Choice
from procedural.store import Bucket, SynapseStore, changes_content, replayed
from procedural.synapse import HALF_LIFE, UNTRIED, Synapse, Target, new_synapse, reinforce

GERMANY = Bucket("b1", "count", ("Customers",))
ORDERS = Bucket("b2", "count", ("Orders",))
LISTED = Bucket("b3", "lookup", ("Customers",))
FAR = Bucket("b4", "top_n", ("Order Details", "Products"))
APPROACHES = ("direct", "adapt", "stepwise")
DAY = 86_400.0


@pytest.fixture(params=["sqlite", "postgresql"])
def connection(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Connection]:
    url = (
        f"sqlite:///{tmp_path / 's.sqlite'}"
        if request.param == "sqlite"
        else request.getfixturevalue("postgres_database")
    )
    engine = create_engine(url)
    with engine.connect() as opened:
        SynapseStore().create(opened)
        yield opened
    engine.dispose()


@pytest.fixture
def store() -> SynapseStore:
    return SynapseStore()


def approach(name: str) -> Target:
    return Target("approach", name)


def order(choices: tuple[Choice, ...]) -> list[str]:
    return [choice.candidate for choice in choices]


def fire(store: SynapseStore, connection: Connection, bucket: Bucket, name: str, rewards: str, at: float = 0.0) -> None:
    for reward in rewards:
        store.fire(connection, bucket, [approach(name)], float(reward == "+"), at)


def test_everything_that_fired_moves_once_and_is_read_back(connection: Connection, store: SynapseStore) -> None:
    fired = [approach("direct"), Target("skeleton", "SELECT ?"), Target("episode", "e1"), approach("direct")]
    changes = store.fire(connection, GERMANY, fired, 1.0, at=5.5)
    assert [change.before for change in changes] == [None] * 3
    assert store.synapses(connection) == tuple(change.after for change in sorted(changes, key=lambda c: kind(c.after)))
    (again,) = store.fire(connection, GERMANY, [approach("direct")], 0.0, at=6.25)
    assert again.before == changes[0].after
    assert again.after == Synapse("b1", "approach", "direct", 0.8, 1, 1, 6.25)
    assert store.synapses(connection, "b1", kind="approach") == (again.after,)
    assert store.synapses(connection, "b2") == () and store.buckets(connection) == (GERMANY,)


def test_nothing_is_kept_of_a_firing_that_is_rolled_back(connection: Connection, store: SynapseStore) -> None:
    connection.commit()
    store.fire(connection, GERMANY, [approach("direct")], 1.0, 0.0)
    connection.rollback()
    assert store.synapses(connection) == () == store.buckets(connection)


def test_the_changes_say_what_the_table_holds(connection: Connection, store: SynapseStore) -> None:
    odds = random.Random(3)
    contents = [
        changes_content(
            store.fire(
                connection,
                odds.choice([GERMANY, ORDERS]),
                [approach(odds.choice(APPROACHES)), Target("episode", odds.choice("xyz"))],
                float(odds.random() < 0.6),
                n / 3,
            )
        )
        for n in range(60)
    ]
    assert replayed(contents) == store.synapses(connection)
    assert replayed(contents[:-1]) != store.synapses(connection)


def test_with_no_evidence_the_usual_way_comes_first(connection: Connection, store: SynapseStore) -> None:
    chosen = store.best_next(connection, GERMANY, APPROACHES, 0.0)
    assert order(chosen) == list(APPROACHES)
    assert {(choice.level, choice.rank) for choice in chosen} == {("untried", UNTRIED)}


def test_a_success_is_repeated_and_a_failure_makes_room_for_the_untried(
    connection: Connection, store: SynapseStore
) -> None:
    fire(store, connection, GERMANY, "adapt", "+")
    assert store.best_next(connection, GERMANY, APPROACHES, 0.0)[0].candidate == "adapt"
    fire(store, connection, ORDERS, "direct", "-")
    assert order(store.best_next(connection, Bucket("b2", "other", ("x",)), APPROACHES, 0.0)) == [
        "adapt",
        "stepwise",
        "direct",
    ]


@pytest.mark.parametrize("later", [0.0, 200 * DAY, -200 * DAY])
def test_a_pause_or_a_clock_jump_does_not_change_what_worked(
    connection: Connection, store: SynapseStore, later: float
) -> None:
    fire(store, connection, GERMANY, "adapt", "+", at=1e9)
    chosen = store.best_next(connection, GERMANY, APPROACHES, 1e9 + later)
    assert chosen[0].candidate == "adapt" and chosen[0].level == "bucket"


def test_an_empty_bucket_asks_the_same_kind_then_the_same_tables_and_says_so(
    connection: Connection, store: SynapseStore
) -> None:
    fire(store, connection, LISTED, "stepwise", "++")
    (first, *_) = store.best_next(connection, GERMANY, APPROACHES, 0.0)
    assert (first.candidate, first.level, first.successes) == ("stepwise", "tables", 2)
    fire(store, connection, ORDERS, "adapt", "+++")
    chosen = store.best_next(connection, GERMANY, APPROACHES, 0.0)
    assert [(choice.candidate, choice.level) for choice in chosen[:2]] == [("adapt", "kind"), ("stepwise", "tables")]
    fire(store, connection, ORDERS, "stepwise", "-")
    levels = {c.candidate: c.level for c in store.best_next(connection, GERMANY, APPROACHES, 0.0)}
    assert levels == {"direct": "untried", "adapt": "kind", "stepwise": "kind"}, (
        "the same kind outranks the same tables"
    )


def test_a_favourite_of_unrelated_questions_has_no_say(connection: Connection, store: SynapseStore) -> None:
    fire(store, connection, FAR, "stepwise", "+" * 50)
    chosen = store.best_next(connection, GERMANY, APPROACHES, 0.0)
    assert order(chosen) == list(APPROACHES) and {choice.level for choice in chosen} == {"untried"}


def test_a_favourite_of_neighbours_does_not_push_out_what_works_here(
    connection: Connection, store: SynapseStore
) -> None:
    fire(store, connection, ORDERS, "stepwise", "+" * 50)
    fire(store, connection, GERMANY, "direct", "+")
    assert order(store.best_next(connection, GERMANY, APPROACHES, 0.0)) == ["direct", "stepwise", "adapt"]


def test_what_fails_at_the_neighbours_is_tried_last(connection: Connection, store: SynapseStore) -> None:
    fire(store, connection, ORDERS, "direct", "--")
    assert order(store.best_next(connection, GERMANY, APPROACHES, 0.0)) == ["adapt", "stepwise", "direct"]


def test_what_failed_too_often_here_comes_last_and_is_marked(connection: Connection, store: SynapseStore) -> None:
    fire(store, connection, GERMANY, "direct", "---")
    fire(store, connection, GERMANY, "adapt", "-")
    chosen = store.best_next(connection, GERMANY, APPROACHES, 0.0)
    assert [(choice.candidate, choice.given_up) for choice in chosen] == [
        ("stepwise", False),
        ("adapt", False),
        ("direct", True),
    ]


def test_old_failures_weigh_less_than_new_ones(connection: Connection, store: SynapseStore) -> None:
    fire(store, connection, GERMANY, "direct", "+-", at=0.0)
    fire(store, connection, GERMANY, "adapt", "+-", at=HALF_LIFE)
    chosen = store.best_next(connection, GERMANY, ("direct", "adapt"), HALF_LIFE)
    assert order(chosen) == ["adapt", "direct"]


@pytest.mark.parametrize("seed", range(8))
def test_the_better_way_is_found(seed: int, tmp_path: Path, store: SynapseStore) -> None:
    odds = random.Random(seed)
    works = dict(zip(APPROACHES, odds.sample([0.9, 0.5, 0.3], 3), strict=True))
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        store.create(connection)
        taken = []
        for n in range(120):
            name = store.best_next(connection, GERMANY, APPROACHES, n * 60.0)[0].candidate
            taken.append(name)
            store.fire(connection, GERMANY, [approach(name)], float(odds.random() < works[name]), n * 60.0)
    engine.dispose()
    best = max(works, key=lambda name: works[name])
    assert taken[-60:].count(best) > 45, (works, taken)


def test_a_way_that_stops_working_is_left(connection: Connection, store: SynapseStore) -> None:
    fire(store, connection, GERMANY, "direct", "+" * 20)
    tries = 0
    while store.best_next(connection, GERMANY, APPROACHES, 0.0)[0].candidate == "direct":
        fire(store, connection, GERMANY, "direct", "-")
        tries += 1
        assert tries < 5


def test_what_is_given_up_comes_after_what_ranks_lower_but_still_has_a_chance(
    connection: Connection, store: SynapseStore
) -> None:
    fire(store, connection, GERMANY, "direct", "-" * 17 + "+" * 9)
    fire(store, connection, GERMANY, "adapt", "+----")
    adapt, direct = store.best_next(connection, GERMANY, ("direct", "adapt"), 0.0)
    assert (adapt.candidate, direct.given_up) == ("adapt", True) and adapt.rank < direct.rank


def kind(one: Synapse) -> tuple[str, str, str]:
    return one.bucket, one.target_kind, one.target


def test_names_of_every_alphabet_are_kept(connection: Connection, store: SynapseStore) -> None:
    odd = replace(GERMANY, tables=("naïve 表", 'a"b'))
    store.fire(connection, odd, [approach("é'\"")], 1.0, 0.0)
    assert store.buckets(connection) == (replace(odd, tables=('a"b', "naïve 表")),)
    assert store.best_next(connection, odd, ["é'\""], 0.0)[0].level == "bucket"


STEADY = settings(max_examples=60, deadline=None, database=None, derandomize=True)
names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)
targets = st.builds(
    Target, st.sampled_from(["approach", "skeleton", "episode", "habit"]), st.sampled_from("abc") | names
)
firings = st.lists(
    st.tuples(
        st.sampled_from([GERMANY, ORDERS, LISTED]),
        st.lists(targets, max_size=6),
        st.sampled_from([0.0, 1.0]),
        st.floats(-1e12, 1e12),
    ),
    max_size=8,
)


@contextmanager
def in_memory() -> Iterator[Connection]:
    engine = create_engine("sqlite://")
    with engine.connect() as opened:
        SynapseStore().create(opened)
        yield opened
    engine.dispose()


@STEADY
@given(firings)
def test_any_firings_leave_what_the_formulas_say_and_what_the_history_replays(
    fired: list[tuple[Bucket, list[Target], float, float]],
) -> None:
    store, contents = SynapseStore(), []
    expected: dict[tuple[str, str, str], Synapse] = {}
    with in_memory() as connection:
        for bucket, together, reward, at in fired:
            changes = store.fire(connection, bucket, together, reward, at)
            contents.append(json.loads(json.dumps(changes_content(changes))))
            assert [change.before for change in changes] == [
                expected.get((bucket.bucket, target.kind, target.name)) for target in dict.fromkeys(together)
            ]
            for target in dict.fromkeys(together):
                key = (bucket.bucket, target.kind, target.name)
                before = expected.get(key) or new_synapse(bucket.bucket, target, at)
                expected[key] = reinforce(before, reward, at)
        kept = store.synapses(connection)
        assert kept == tuple(expected[key] for key in sorted(expected))
        assert kept == replayed(contents)
        assert all(0.0 <= one.weight <= 1.0 for one in kept)
        assert {one.bucket for one in store.buckets(connection)} == {bucket.bucket for bucket, *_ in fired}


@STEADY
@given(firings, st.randoms(use_true_random=False))
def test_the_order_of_what_fired_together_makes_no_difference(
    fired: list[tuple[Bucket, list[Target], float, float]], chance: random.Random
) -> None:
    store = SynapseStore()
    with in_memory() as one, in_memory() as other:
        for bucket, together, reward, at in fired:
            store.fire(one, bucket, together, reward, at)
            store.fire(other, bucket, chance.sample(together, len(together)), reward, at)
        assert store.synapses(one) == store.synapses(other)


@STEADY
@given(firings, st.lists(names), st.floats(allow_nan=True, allow_infinity=True))
def test_every_candidate_is_ranked_once_whatever_fired_and_whatever_the_clock_says(
    fired: list[tuple[Bucket, list[Target], float, float]], candidates: list[str], at: float
) -> None:
    store = SynapseStore()
    with in_memory() as connection:
        for bucket, together, reward, then in fired:
            store.fire(connection, bucket, together, reward, then)
        chosen = store.best_next(connection, GERMANY, [*candidates, "a", "b"], at)
    assert sorted(order(chosen)) == sorted({*candidates, "a", "b"})


def test_a_firing_is_read_and_written_in_one_statement_each(connection: Connection, store: SynapseStore) -> None:
    together = [Target("episode", f"e{n}") for n in range(6)] + [approach("direct"), Target("skeleton", "direct")]
    store.fire(connection, GERMANY, together[3:], 1.0, 0.0)
    said: list[str] = []
    event.listen(connection, "before_cursor_execute", lambda _c, _cursor, text, *_: said.append(text.split()[0]))
    changes = store.fire(connection, GERMANY, together, 0.0, 1.0)
    assert said == ["SELECT", "INSERT"]
    assert [change.before is None for change in changes] == [True] * 3 + [False] * 5


def test_the_steps_of_a_firing_are_told_in_its_order(connection: Connection) -> None:
    told: list[str] = []
    store = SynapseStore(between=told.append)
    together = [approach("direct"), Target("episode", "e1"), Target("skeleton", "SELECT ?")]
    for _ in range(2):
        store.fire(connection, GERMANY, together, 1.0, 0.0)
    steps = ["synapse approach", "synapse episode", "synapse skeleton"]
    assert told == ["bucket row", *steps, *steps]


def test_the_strongest_of_a_kind_is_what_was_right_more_often_than_wrong(
    store: SynapseStore, connection: Connection
) -> None:
    assert store.strongest(connection, GERMANY.bucket, "skeleton", 0.0) == ""
    for shape, reward in (("A", 1.0), ("A", 0.0), ("B", 1.0), ("B", 1.0), ("B", 0.0), ("C", 0.0)):
        store.fire(connection, GERMANY, [Target("skeleton", shape), approach("direct")], reward, 0.0)
    assert store.strongest(connection, GERMANY.bucket, "skeleton", 0.0) == "B"
    assert store.strongest(connection, "elsewhere", "skeleton", 0.0) == ""
