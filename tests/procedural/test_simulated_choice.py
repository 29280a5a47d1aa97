"""Choices among six approaches with known odds: what is found, how soon, and at what cost.

Shares follow from fixed seeds; what was measured over 2,000 of them is in runs/reference/choice.json. Bounds lie about
0.05 below what these seeds give.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from sqlalchemy import Connection

from memory.ledger import EventKind, Ledger
from procedural.store import Bucket, SynapseStore, changes_content, replayed
from procedural.synapse import Synapse, Target
from scripts.simulate_choice import (
    APPROACHES,
    PROFILES,
    ROOT,
    RULES,
    SPREAD,
    Profile,
    as_good,
    borrow,
    borrowing,
    borrowing_nothing,
    by_bucket_and_global,
    by_hebbql,
    calls,
    measure,
    play,
    turned,
)

RUNS = 200
BY_NAME = {profile.name: profile for profile in PROFILES}
STORE = SynapseStore()


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "brain.sqlite", database="shop") as opened:
        with opened.transaction() as entry:
            STORE.create(entry.connection)
        yield opened


def apart(name: str) -> Bucket:
    """A bucket that has no neighbours."""
    return Bucket(name, f"kind {name}", (f"table {name}",))


def take(connection: Connection, bucket: Bucket, names: tuple[str, ...] = APPROACHES) -> str:
    return STORE.best_next(connection, bucket, names, 0.0)[0].candidate


class InStore:
    """The rule as the product has it: chosen by the store from what fired, in a bucket of its own."""

    def __init__(self, connection: Connection, bucket: Bucket) -> None:
        self._connection, self._bucket = connection, bucket
        self._known: Mapping[str, Synapse] = {}

    def __call__(self, tried: Mapping[str, Synapse], _chance: random.Random) -> str:
        for name, now in tried.items():
            if now != (before := self._known.get(name)):
                right = now.successes > (before.successes if before else 0)
                STORE.fire(self._connection, self._bucket, [Target("approach", name)], float(right), 0.0)
        self._known = tried
        return take(self._connection, self._bucket)


@pytest.mark.parametrize(
    ("profile", "share"),
    [
        # Who knew the six odds, but not whose they are, would find the best in 0.73 (one best), 0.85 (two good) and
        # 0.80 (all bad but one) of the runs: measured once, by looking one try ahead in the exact posterior.
        ("one best", 0.64),
        ("best is last", 0.58),
        ("two good", 0.79),
        ("all bad but one", 0.5),
        ("close", 0.5),
        ("all rather good", 0.3),
        ("all hard", 0.3),
        ("bad one lucky first", 0.58),
        ("best one changes", 0.83),
    ],
)
def test_the_best_of_six_is_found_within_12_tries(profile: str, share: float) -> None:
    """What is taken after 12 tries is the best, or within 0.1 of it, in at least this share of 200 runs.

    Where the best one changes after 40 tries, it is 40 tries later.
    """
    found = measure(by_hebbql, BY_NAME[profile], RUNS).found
    assert found >= share
    assert found >= 1.6 * measure(RULES["by chance"], BY_NAME[profile], RUNS).found


@pytest.mark.parametrize("profile", [one.name for one in PROFILES if not one.name.startswith("all ")])
def test_more_tries_succeed_than_by_other_rules(profile: str) -> None:
    ours = measure(by_hebbql, BY_NAME[profile], RUNS).right
    for rule in ("success rate", "Thompson", "UCB1", "by chance", "always direct"):
        assert ours > measure(RULES[rule], BY_NAME[profile], RUNS).right, rule
    assert ours > measure(RULES["mean x weight"], BY_NAME[profile], RUNS).right - 0.3, "as good, where it is not better"


def test_the_published_figures_are_those_of_this_rule() -> None:
    kept = json.loads((ROOT / "runs" / "reference" / "choice.json").read_text())["profiles"]
    assert set(kept) == set(BY_NAME)
    for name in ("one best", "close", "best one changes"):
        now, published = measure(by_hebbql, BY_NAME[name], RUNS), kept[name]["HebbQL"]
        assert abs(now.found - published["found"]) < 0.1 and abs(now.right - published["right_of_40"]) < 1.0


def test_without_the_weight_a_change_would_go_unseen() -> None:
    changes = BY_NAME["best one changes"]
    assert measure(RULES["posterior mean"], changes, RUNS).found < 0.65 < 0.8 < measure(by_hebbql, changes, RUNS).found
    still = BY_NAME["one best"]
    assert measure(by_hebbql, still, RUNS).right > measure(RULES["posterior mean"], still, RUNS).right - 1.0


def test_where_nothing_works_all_are_given_up_and_one_is_still_taken(ledger: Ledger) -> None:
    with ledger.transaction() as entry:
        play(InStore(entry.connection, apart("zero")), BY_NAME["all zero"], 1, 40)
        chosen = STORE.best_next(entry.connection, apart("zero"), APPROACHES, 0.0)
    assert all(choice.given_up for choice in chosen)
    tries = [choice.successes + choice.failures for choice in chosen]
    assert tries == sorted(tries), "the one that failed least comes first"
    assert chosen[0].why.startswith("right 0 of ") and chosen[0].why.endswith("given up")


@pytest.mark.parametrize("profile", PROFILES, ids=lambda one: one.name)
def test_the_store_takes_what_the_simulated_rule_takes(profile: Profile, ledger: Ledger) -> None:
    with ledger.transaction() as entry:
        for seed in range(5):
            stored = play(InStore(entry.connection, apart(str(seed))), profile, seed, 25)
            assert stored == play(by_hebbql, profile, seed, 25)


def test_the_best_of_six_is_found_through_the_ledger(ledger: Ledger) -> None:
    """The first profile once more, with every firing written into the history that the synapses must follow from."""
    found = 0
    for seed in range(60):
        chance, bucket = random.Random(seed), apart(str(seed))
        odds = dict(zip(APPROACHES, BY_NAME["one best"].drawn(chance), strict=True))
        with ledger.transaction() as entry:
            for _ in range(12):
                name = take(entry.connection, bucket)
                reward = float(chance.random() < odds[name])
                changes = STORE.fire(entry.connection, bucket, [Target("approach", name)], reward, entry.at)
                entry.append(EventKind.WEIGHTS_MOVED, bucket.bucket, changes_content(changes))
            found += as_good(odds, STORE.best_next(entry.connection, bucket, APPROACHES, entry.at)[0].candidate)
    assert found / 60 >= 0.6
    with ledger.connection() as connection:
        moved = (event.content for event in ledger.events(kinds=(EventKind.WEIGHTS_MOVED,)))
        assert replayed(moved) == STORE.synapses(connection)


def test_choosing_per_bucket_beats_any_one_choice_for_all(ledger: Ledger) -> None:
    """12 buckets with six different best approaches, 20 tries each, in the store: 139 of 240 right per bucket, 91 with
    one choice for all. No other rule does better than 93 over all buckets at once."""
    each = whole = 0
    runs = 4
    with ledger.transaction() as entry:
        for seed in range(runs):
            chance = random.Random(seed)
            odds = [dict(zip(APPROACHES, turned(SPREAD, place), strict=True)) for place in range(12)]
            for place in chance.sample([place for place in range(12) for _ in range(20)], 240):
                luck = chance.random()
                for bucket in (apart(f"{seed} {place}"), apart(f"{seed} all")):
                    name = take(entry.connection, bucket)
                    right = luck < odds[place][name]
                    STORE.fire(entry.connection, bucket, [Target("approach", name)], float(right), 0.0)
                    if bucket.bucket.endswith("all"):
                        whole += right
                    else:
                        each += right
    by_others = max(
        sum(by_bucket_and_global(rule, seed)[way] for seed in range(20)) / 20
        for rule in RULES.values()
        for way in (1, 2)
    )
    assert each / runs > 1.3 * max(whole / runs, by_others)


def test_borrowing_helps_where_buckets_of_a_kind_are_alike_and_hardly_harms_where_they_are_not() -> None:
    """Shares right, of buckets that come one after the other, at the first try and in the first ten."""

    def shares(alike: float) -> tuple[float, float, float, float]:
        lent = [borrow(borrowing, alike, seed) for seed in range(30)]
        alone = [borrow(borrowing_nothing, alike, seed) for seed in range(30)]
        first, ten = (sum(column) / 30 for column in zip(*lent, strict=True))
        first_alone, ten_alone = (sum(column) / 30 for column in zip(*alone, strict=True))
        return first, ten, first_alone, ten_alone

    first, ten, first_alone, ten_alone = shares(1.0)
    assert first > first_alone + 0.25 and ten > ten_alone + 0.1
    first, ten, first_alone, ten_alone = shares(0.5)
    assert first > first_alone + 0.05 and ten > ten_alone
    first, ten, first_alone, ten_alone = shares(0.0)
    assert first > first_alone - 0.03 and ten > ten_alone - 0.03


def test_a_new_bucket_begins_with_what_its_kind_found_best_and_leaves_it_when_it_fails(ledger: Ledger) -> None:
    sister, new = Bucket("s", "count", ("Orders",)), Bucket("n", "count", ("Customers",))
    plan = [Target("approach", "plan")]
    with ledger.transaction() as entry:
        for _ in range(6):
            STORE.fire(entry.connection, sister, plan, 1.0, 0.0)
        first = STORE.best_next(entry.connection, new, APPROACHES, 0.0)[0]
        assert (first.candidate, first.level) == ("plan", "kind")
        assert first.why == "right 6 of 6 times for this kind of question over other tables"
        STORE.fire(entry.connection, new, plan, 0.0, 0.0)
        assert take(entry.connection, new) == "direct"


@pytest.mark.parametrize(("odds", "most"), [(0.85, 1.1), (0.7, 1.35)])
def test_an_expensive_approach_is_not_kept_where_a_cheap_one_does_as_well(odds: float, most: float) -> None:
    """Calls of the model per try, where all six do equally well. By chance it is 1.5."""
    spent = sum(calls(by_hebbql, odds, seed) for seed in range(RUNS)) / RUNS / 40
    assert spent <= most
    assert sum(calls(RULES["by chance"], odds, seed) for seed in range(RUNS)) / RUNS / 40 > 1.4


def test_what_is_not_always_there_is_taken_when_it_is_and_missed_when_it_is_not(ledger: Ledger) -> None:
    """`lessons` does best, and is on offer at every second try; `plan` does well."""
    odds = dict.fromkeys(APPROACHES, 0.2) | {"lessons": 0.9, "plan": 0.7}
    without = tuple(name for name in APPROACHES if name != "lessons")
    with_it, instead = 0, 0
    with ledger.transaction() as entry:
        for seed in range(20):
            chance, bucket = random.Random(seed), apart(str(seed))
            for number in range(60):
                offered = APPROACHES if number % 2 else without
                name = take(entry.connection, bucket, offered)
                assert name in offered
                reward = float(chance.random() < odds[name])
                STORE.fire(entry.connection, bucket, [Target("approach", name)], reward, 0.0)
                if number >= 40:
                    with_it += name == "lessons"
                    instead += name == "plan"
    assert with_it >= 0.8 * 200 and instead >= 0.6 * 200
