"""A brain is made better by six rules, each with its reason, and improving it again changes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.brain.differences import apply
from memory.brain.improving import Improved, Intended, Looked, Rule, improve
from memory.brain.snapshot import Record, Snapshot, of_episode
from memory.chain import Content
from memory.episode import Episode
from tests.memory.brain.conftest import episode_about

NOW = "s2"


@dataclass
class Told:
    """What a test says that questions and SQL mean."""

    schema: str = NOW
    moved: Mapping[str, str] = field(default_factory=dict)
    broken: frozenset[str] = frozenset()
    unknown: frozenset[str] = frozenset()
    results: Mapping[str, str] = field(default_factory=dict)

    def understood(self, question: str) -> Intended:
        bucket = self.moved.get(question, "harbour")
        return Intended(bucket, "count", ("boats",), ("boats",), question.lower().strip(" ?"))

    def looked(self, episode: Episode) -> Looked:
        if episode.sql in self.broken:
            return Looked("the guard refuses it")
        return Looked() if episode.sql in self.unknown else Looked(results=frozenset({self._gives(episode)}))

    def spelled(self, sql: str) -> str:
        return sql.upper()

    def alike(self, one: Episode, other: Episode) -> bool:
        return one.question.strip("?").split()[:2] == other.question.strip("?").split()[:2]

    def contradicts(self, strong: Episode, weak: Episode) -> bool:
        return self._gives(strong) != self._gives(weak)

    def spent(self, synapses: Sequence[Content]) -> frozenset[str]:
        return frozenset(
            str(body["target"]) for body in synapses if body["target_kind"] == "episode" and body["failures"] == 9
        )

    def pooled(self, synapses: Sequence[Content]) -> Content:
        def summed(name: str) -> int:
            return sum(int(str(body[name])) for body in synapses)

        return {**synapses[0], "successes": summed("successes"), "failures": max(summed("failures"), 0)}

    def habit(self, episode: Episode) -> str:
        return f"of {episode.masked}"

    def _gives(self, episode: Episode) -> str:
        return self.results.get(episode.sql, "r1")


def about(question: str, sql: str, *, verifier: str = "gold", bucket: str = "harbour", schema: str = NOW) -> Episode:
    masked = question.lower().strip(" ?")
    return replace(
        episode_about("boats", bucket=bucket, sql=sql),
        question=question,
        masked=masked,
        verifier=verifier,
        schema_fingerprint=schema,
    )


def synapse(to: Episode, *, failures: int = 0, successes: int = 0, bucket: str = "harbour") -> Record:
    body = {"bucket": bucket, "kind": "count", "tables": ["boats"], "target_kind": "episode", "target": str(to.id)}
    return Record("synapse", {**body, "weight": 0.5, "successes": successes, "failures": failures, "last_fired": 1.0})


def snapshot(*known: Episode | Record, gone: Mapping[str, str] | None = None) -> Snapshot:
    records = [one if isinstance(one, Record) else of_episode(one, place) for place, one in enumerate(known)]
    return Snapshot.of("harbour", records, gone=gone)


def rules(found: Improved, kind: str = "episode") -> list[tuple[str, str]]:
    return [(change.rule, change.edit.action) for change in found.changes if change.edit.kind == kind]


def left(found: Improved) -> set[str]:
    return {f"{one.question} {one.sql}" for one in found.snapshot.episodes}


def test_a_brain_with_nothing_wrong_stays_as_it_is() -> None:
    old = snapshot(about("How many?", "A"), about("Which ones?", "B"))
    found = improve(old, Told())
    assert found.changes == () and found.snapshot.hash == old.hash


def test_of_the_same_sql_for_the_same_question_the_stronger_verified_stays_then_the_newest() -> None:
    strong, weak = about("How many boats?", "select a"), about("How many boats now?", "SELECT A", verifier="agreement")
    older, newer = about("Which boats?", "B"), about("Which boats then?", "B")
    found = improve(snapshot(strong, weak, older, newer), Told())
    assert {one.question for one in found.snapshot.episodes} == {"How many boats?", "Which boats then?"}
    assert rules(found) == [("duplicate", "removed")] * 2
    assert str(strong.id) in " ".join(change.reason for change in found.changes)


def test_the_same_sql_for_another_question_or_in_another_bucket_is_no_duplicate() -> None:
    told = Told(moved={"How many boats there?": "quay"})
    found = improve(
        snapshot(
            about("How many boats?", "A"),
            about("Which boats?", "A"),
            about("How many boats there?", "A", bucket="quay"),
        ),
        told,
    )
    assert found.changes == ()


def test_what_was_learned_of_a_merged_episode_counts_for_the_one_that_stays() -> None:
    stays, goes = about("How many boats?", "A"), about("How many boats now?", "A", verifier="agreement")
    found = improve(snapshot(stays, goes, synapse(stays, successes=2), synapse(goes, successes=3)), Told())
    [kept] = found.snapshot.of_kind("synapse")
    assert kept.body["target"] == str(stays.id) and kept.body["successes"] == 5


def test_a_weaker_verified_episode_that_gives_another_result_goes() -> None:
    right, wrong = about("How many?", "A"), about("How many?", "B", verifier="agreement")
    found = improve(snapshot(right, wrong), Told(results={"B": "r2"}))
    assert left(found) == {"How many? A"} and rules(found) == [("dominated", "removed")]
    assert improve(snapshot(right, wrong), Told()).changes == (), "with the same result both are right"
    equal = replace(wrong, verifier="person")
    assert improve(snapshot(right, equal), Told(results={"B": "r2"})).changes == (), "a person has to decide"


def test_sql_that_no_longer_holds_goes_and_what_nobody_could_look_at_stays() -> None:
    old = snapshot(about("How many?", "A"), about("Which?", "B"), about("Who?", "C"))
    found = improve(old, Told(broken=frozenset("A"), unknown=frozenset("B")))
    assert left(found) == {"Which? B", "Who? C"} and rules(found) == [("stale", "removed")]


def test_an_episode_of_an_older_schema_is_stamped_anew_only_where_it_still_gives_what_was_verified() -> None:
    same, other = about("How many?", "A", schema="s1"), about("Which?", "B", schema="s1")
    found = improve(snapshot(same, other), Told(results={"B": "r2"}))
    assert {one.sql: one.schema_fingerprint for one in found.snapshot.episodes} == {"A": NOW, "B": "s1"}
    assert rules(found) == [("restamped", "changed")]


def test_an_episode_moves_to_the_bucket_of_its_question_and_its_synapses_with_it() -> None:
    one = about("How many?", "A")
    far = synapse(one, bucket="far")
    found = improve(snapshot(one, synapse(one, successes=4), far), Told(moved={"How many?": "quay"}))
    [moved] = found.snapshot.episodes
    assert moved.bucket == "quay" and moved.id != one.id
    assert {(r.body["bucket"], r.body["target"], r.body["successes"]) for r in found.snapshot.of_kind("synapse")} == {
        ("quay", str(moved.id), 4),
        ("far", str(moved.id), 0),
    }
    assert sorted(rules(found)) == [("rebucketed", "added"), ("rebucketed", "removed")]


def test_two_episodes_that_change_places_both_arrive() -> None:
    here, there = about("How many?", "A"), about("Which?", "B", bucket="quay")
    found = improve(snapshot(here, there), Told(moved={"How many?": "quay", "Which?": "harbour"}))
    assert {(one.bucket, one.sql) for one in found.snapshot.episodes} == {("quay", "A"), ("harbour", "B")}


@pytest.mark.parametrize(("state", "stays"), [("forgotten", True), ("erased", False)])
def test_moving_brings_nothing_back_that_was_taken_out(state: str, stays: bool) -> None:
    one = about("How many?", "A")
    moved = replace(one, bucket="quay")
    found = improve(snapshot(one, gone={str(moved.id): state}), Told(moved={"How many?": "quay"}))
    assert bool(found.snapshot.episodes) == stays
    assert all(episode.bucket == "harbour" for episode in found.snapshot.episodes)


def test_a_spent_episode_goes_and_one_that_failed_elsewhere_stays() -> None:
    spent, elsewhere = about("How many?", "A"), about("Which?", "B")
    found = improve(
        snapshot(spent, elsewhere, synapse(spent, failures=9), synapse(elsewhere, failures=9, bucket="far")), Told()
    )
    assert left(found) == {"Which? B"} and rules(found) == [("spent", "removed")]
    assert rules(found, "synapse") == [("spent", "removed")], "what led to it leaves with it"


def test_a_confirmed_answer_becomes_an_episode_unless_it_is_known_or_was_taken_out() -> None:
    known, new, gone = about("How many?", "A"), about("Which?", "B"), about("Who?", "C")
    moved_away = about("Whose?", "D")
    told = Told(moved={"Whose?": "quay"})
    old = snapshot(known, gone={str(gone.id): "forgotten", str(replace(moved_away, bucket="quay").id): "forgotten"})
    confirmed = [of_episode(one, 9) for one in (known, new, gone, moved_away)]
    found = improve(old, told, confirmed=confirmed)
    assert left(found) == {"How many? A", "Which? B"} and rules(found) == [("distilled", "added")]


QUESTIONS = [f"{what} {word}?" for what in ("How many", "Which of") for word in ("boats", "masts", "sails")]
SQLS = ["A", "B", "C"]
EPISODES = st.builds(
    about,
    st.sampled_from(QUESTIONS),
    st.sampled_from(SQLS),
    verifier=st.sampled_from(["gold", "person", "agreement", "rumour"]),
    bucket=st.sampled_from(["harbour", "quay"]),
    schema=st.sampled_from(["s1", NOW]),
)
SENSES = st.builds(
    Told,
    moved=st.dictionaries(st.sampled_from(QUESTIONS), st.sampled_from(["harbour", "quay"])),
    broken=st.frozensets(st.sampled_from(SQLS), max_size=1),
    unknown=st.frozensets(st.sampled_from(SQLS), max_size=1),
    results=st.dictionaries(st.sampled_from(SQLS), st.sampled_from(["r1", "r2"])),
)


@settings(max_examples=400, deadline=None)
@given(
    st.lists(EPISODES, max_size=8, unique_by=lambda one: one.id),
    st.lists(EPISODES, max_size=3, unique_by=lambda one: one.id),
    st.lists(st.tuples(EPISODES, st.integers(0, 9), st.sampled_from(["harbour", "quay"])), max_size=5),
    st.dictionaries(EPISODES.map(lambda one: str(one.id)), st.sampled_from(["forgotten", "erased"]), max_size=2),
    SENSES,
)
def test_improving_twice_changes_nothing_the_second_time(
    known: list[Episode],
    confirmed: list[Episode],
    fired: list[tuple[Episode, int, str]],
    gone: dict[str, str],
    told: Told,
) -> None:
    synapses = {record.key: record for one, n, bucket in fired for record in [synapse(one, failures=n, bucket=bucket)]}
    gone = {id: state for id, state in gone.items() if id not in {str(one.id) for one in known}}
    old = snapshot(*known, *synapses.values(), gone=gone)
    records = [of_episode(one, 50) for one in confirmed]
    first = improve(old, told, confirmed=records)
    assert improve(old, told, confirmed=reversed(records)).snapshot.hash == first.snapshot.hash, "deterministic"
    assert apply(old, first.edits).hash == first.snapshot.hash, "its edits lead there"
    assert all(change.reason for change in first.changes)
    assert not {str(one.id) for one in first.snapshot.episodes} & gone.keys(), "nothing comes back"
    again = improve(first.snapshot, told, confirmed=records)
    assert again.changes == ()


def shaped(kind: str, target: str, *, successes: int = 2, failures: int = 0, bucket: str = "harbour") -> Record:
    body = {"bucket": bucket, "kind": "count", "tables": ["boats"], "target_kind": kind, "target": target}
    return Record("synapse", {**body, "weight": 0.5, "successes": successes, "failures": failures, "last_fired": 1.0})


def test_what_only_an_episode_that_goes_had_the_shape_and_habit_of_leaves_with_it_and_warnings_stay() -> None:
    stays = replace(about("How many boats?", "A"), skeleton="S1")
    stale = replace(about("Which?", "B"), skeleton="S2")
    alike = replace(about("Who?", "C"), skeleton="S1")
    warned = replace(about("When?", "D"), skeleton="S3")
    kept = [shaped("skeleton", "S1"), shaped("skeleton", "S3", successes=1, failures=2), shaped("approach", "direct")]
    kept += [shaped("skeleton", "S2", bucket="quay"), shaped("habit", "of how many boats")]
    loose = [shaped("skeleton", "S2"), shaped("habit", "of which"), shaped("habit", "of who")]
    found = improve(snapshot(stays, stale, alike, warned, *kept, *loose), Told(broken=frozenset({"B", "C", "D"})))
    assert [one.id for one in found.snapshot.episodes] == [stays.id]
    assert {one.line for one in found.snapshot.of_kind("synapse")} == {one.line for one in kept}
    assert {rule for rule, _ in rules(found, "synapse")} == {"stale"}
    assert improve(found.snapshot, Told()).changes == ()


def test_what_was_learned_of_a_shape_moves_with_the_last_episode_that_has_it() -> None:
    one, two = (replace(about(question, sql), skeleton="S") for question, sql in (("How?", "A"), ("Where?", "B")))
    old = snapshot(one, two, shaped("skeleton", "S", successes=3), shaped("skeleton", "S", successes=1, bucket="quay"))

    def learned(found: Improved) -> dict[str, object]:
        return {str(each.body["bucket"]): each.body["successes"] for each in found.snapshot.of_kind("synapse")}

    assert learned(improve(old, Told(moved={"How?": "quay"}))) == {"harbour": 3, "quay": 1}
    assert learned(improve(old, Told(moved={"How?": "quay", "Where?": "quay"}))) == {"quay": 4}
    assert learned(improve(old, Told(moved={"How?": "quay", "Where?": "pier"}))) == {"quay": 1}


def test_every_rule_is_named_in_its_changes() -> None:
    used: set[Rule] = set()
    old = snapshot(
        about("How many boats?", "A"),
        about("How many boats now?", "A", verifier="agreement"),
        about("Which boats?", "B", schema="s1"),
        about("Who sails?", "gone"),
        about("Why sail?", "C"),
        about("When do they sail?", "D"),
        about("When do they sail?", "E", verifier="agreement"),
        synapse(about("Why sail?", "C"), failures=9),
        about("Where do they sail?", "F"),
    )
    told = Told(moved={"Where do they sail?": "quay"}, broken=frozenset({"gone"}), results={"E": "r2"})
    used.update(change.rule for change in improve(old, told, confirmed=[of_episode(about("New one?", "G"), 1)]).changes)
    assert used == {"distilled", "stale", "restamped", "rebucketed", "dominated", "duplicate", "spent"}
