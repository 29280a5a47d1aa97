"""Checks that ask nothing: green where they hold, red where they do not, and no way of passing by checking nothing."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from memory.brain.checks import Checked, Contradiction, Coverage, Freshness, Structure
from memory.brain.holding import contradiction, coverage, freshness, structure
from memory.brain.snapshot import Snapshot, of_episode
from memory.episode import Episode

DAY = 86_400
NOW = 1_800_000_000.0
SCHEMA = {"boats": frozenset({"name", "kind"}), "owners": frozenset({"phone"})}

BOATS = Episode(
    bucket="b1",
    kind="count",
    tables=("Boats",),
    question="How many sloops are there?",
    masked="how many <value> are there",
    sql="SELECT COUNT(*) FROM Boats",
    skeleton="SELECT COUNT FROM _",
    origin="seed:harbour",
    verifier="gold",
    batch="pack:1",
    schema_fingerprint="s1",
    result_fingerprint="r1",
)
OWNERS = replace(BOATS, bucket="b2", kind="list", question="Who owns what?", masked="who owns what", sql="JOINED")


def used(sql: str) -> frozenset[tuple[str, str]] | None:
    return {
        "SELECT COUNT(*) FROM Boats": frozenset({("boats", "")}),
        "JOINED": frozenset({("boats", ""), ("owners", ""), ("owners", "phone")}),
    }.get(sql)


def brain(*episodes: Episode, since: float = NOW - DAY) -> Snapshot:
    return Snapshot.of("harbour", [of_episode(one, int(since)) for one in episodes])


def built(snapshot: Snapshot, buckets: dict[str, str] | None = None, **what: Any) -> Checked:
    check = Structure(kind="structure", name="x", **what)
    return structure(check, snapshot, used=used, schema=SCHEMA, buckets=buckets or {})


def test_an_episode_that_joins_what_never_may_is_named() -> None:
    apart: dict[str, Any] = {"never_joined": ["Boats", "Owners"]}
    assert built(brain(BOATS), **apart).ok
    told = built(brain(BOATS, OWNERS), **apart)
    assert not told.ok and [one.id for one in told.evidence] == [str(OWNERS.id)]


def test_an_episode_that_uses_a_column_that_none_may_is_named() -> None:
    assert built(brain(BOATS), never_selected=["Owners.Phone"]).ok
    assert not built(brain(BOATS, OWNERS), never_selected=["Boats.Kind", "Owners.Phone"]).ok


@pytest.mark.parametrize(
    "what",
    [
        {"never_joined": ["Boats", "Owner"]},
        {"never_selected": ["Owners.Telephone"]},
        {"never_selected": ["Owners.Phone", "Nowhere.Phone"]},
    ],
)
def test_a_name_that_the_database_has_not_is_red(what: dict[str, Any]) -> None:
    told = built(brain(BOATS), **what)
    assert not told.ok and "the database has no" in told.reason


def test_a_query_that_cannot_be_read_is_red_whatever_is_looked_for() -> None:
    odd = replace(BOATS, sql="SELEC")
    assert not built(brain(BOATS, odd), never_joined=["Boats", "Owners"]).ok


def test_a_brain_without_episodes_is_red_by_every_check() -> None:
    empty = brain()
    assert not built(empty, never_joined=["Boats", "Owners"]).ok
    assert not built(empty, answered="count").ok
    assert not freshness(Freshness(kind="freshness", name="x", days=1), empty, schema="s1", now=NOW).ok
    assert not coverage(Coverage(kind="coverage", name="x", share=0.5), empty, buckets={}).ok
    assert not contradiction(Contradiction(kind="contradiction", name="x"), empty, Reader()).ok


def test_every_bucket_of_a_kind_needs_an_episode_also_one_that_has_lost_its_last() -> None:
    known = {"b1": "count", "b2": "list"}
    assert built(brain(BOATS), known, answered="count").ok
    told = built(brain(BOATS), {**known, "b3": "count"}, answered="count")
    assert not told.ok and [one.id for one in told.evidence] == ["b3"]
    assert not built(brain(BOATS), known, answered="cuont").ok


def test_a_brain_that_never_heard_of_a_bucket_is_red_where_more_must_be_known() -> None:
    """One that is built from a file without the episodes of a bucket does not know that there was one."""
    known = {"b1": "count", "b2": "list"}
    held = brain(BOATS, OWNERS)
    for buckets, ok in ((1, True), (2, False)):
        answered = Structure(kind="structure", name="x", answered="count", buckets=buckets)
        assert structure(answered, held, used=used, schema=SCHEMA, buckets=known).ok is ok
    for buckets, ok in ((2, True), (3, False)):
        check = Coverage(kind="coverage", name="x", share=1.0, buckets=buckets)
        assert coverage(check, held, buckets=known).ok is ok


def test_an_episode_of_an_older_schema_or_too_old_or_from_the_future_is_not_fresh() -> None:
    by_schema = Freshness(kind="freshness", name="x", current_schema=True)
    by_days = Freshness(kind="freshness", name="x", days=30)
    assert freshness(by_schema, brain(BOATS), schema="s1", now=NOW).ok
    assert not freshness(by_schema, brain(BOATS), schema="s2", now=NOW).ok
    assert freshness(by_days, brain(BOATS), schema="s2", now=NOW).ok
    for since in (NOW - 31 * DAY, NOW + 400 * DAY):
        assert not freshness(by_days, brain(BOATS, since=since), schema="s1", now=NOW).ok


def test_a_share_of_buckets_needs_verified_episodes() -> None:
    known = {"b1": "count", "b2": "list"}

    def held(*episodes: Episode, **what: Any) -> bool:
        return coverage(Coverage(kind="coverage", name="x", **what), brain(*episodes), buckets=known).ok

    assert held(BOATS, share=0.5) and not held(BOATS, share=0.51)
    assert held(BOATS, OWNERS, share=1.0) and not held(BOATS, OWNERS, share=1.0, episodes=2)
    assert not held(replace(BOATS, verifier=""), share=0.5), "nobody vouched for it"
    assert not held(replace(BOATS, verifier="the model"), share=0.5)
    assert not held(BOATS, share=0.5, verifiers=["person"])
    assert held(BOATS, share=1.0, of="count") and not held(BOATS, share=0.5, of="sum")


class Reader:
    """Takes the question for what is asked, and results by their query."""

    def asked(self, episode: Episode) -> Iterable[Hashable]:
        return (episode.question,)

    def differ(self, one: str, other: str) -> str:
        return "differs" if {one, other} == {"A", "B"} else ""


def test_two_answers_to_one_question_contradict_only_where_results_differ() -> None:
    check = Contradiction(kind="contradiction", name="x")
    one, other, same = (replace(BOATS, sql=sql) for sql in ("A", "B", "C"))
    told = contradiction(check, brain(one, other), Reader())
    assert not told.ok and str(one.id) in told.evidence[0].id and str(other.id) in told.evidence[0].id
    assert contradiction(check, brain(one, same), Reader()).looked == {"episodes": 2, "pairs": 1}
    assert contradiction(check, brain(one, replace(other, question="Another?")), Reader()).ok
    moved = replace(other, bucket="b9")
    assert not contradiction(check, brain(one, moved), Reader()).ok, "another bucket does not hide it"
