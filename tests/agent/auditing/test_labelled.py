"""All planted faults are found, and nothing that only looks like one."""

from __future__ import annotations

from collections import Counter

from agent.app import App
from agent.auditing.auditing import Audit
from agent.auditing.labelled import SILENT, Case, score
from memory.audit.finding import Finding, Side, Write
from memory.audit.ladder import recommend

Planted = tuple[App, tuple[Case, ...], Audit]


def test_the_set_has_faults_and_controls_enough(planted: Planted) -> None:
    labels = Counter(case.label for case in planted[1])
    assert labels["contradiction"] >= 12 and labels["absence"] >= 5 and labels["inconclusive"] >= 10
    assert labels[SILENT] >= 20


def test_all_faults_are_found_by_the_right_rung_and_no_control_is(planted: Planted) -> None:
    _, cases, audit = planted
    scored = score(cases, audit.findings)
    assert not scored.wrong, "\n".join(scored.wrong)
    assert (scored.recall, scored.precision, scored.alarms) == (1.0, 1.0, 0)
    assert scored.told_unclear == scored.unclear


def test_what_is_inconclusive_is_counted_apart_from_the_faults(planted: Planted) -> None:
    labels = Counter(case.label for case in planted[1])
    scored = score(planted[1], planted[2].findings)
    assert scored.faults == labels["contradiction"] + labels["absence"]
    assert (scored.unclear, scored.controls) == (labels["inconclusive"], labels[SILENT])


def test_a_finding_with_fewer_or_more_writes_than_its_case_does_not_count() -> None:
    case = Case("three", "contradiction", "", None, ("a", "b", "c"), None, ("a", "b", "c"), 0)

    def found(*ids: str) -> Finding:
        return Finding("contradiction", "episode", "q", "r", tuple(Side(id, (Write("episode", id, id),)) for id in ids))

    assert score([case], [found("a", "b", "c")]).found == 1
    for ids in (("a", "b"), ("a", "b", "c", "d")):
        scored = score([case], [found(*ids)])
        assert (scored.found, scored.alarms) == (0, 1)


def test_a_case_is_wrong_where_another_write_loses() -> None:
    case = Case("two", "contradiction", "verifier", 0, ("a", "b"), (1,), ("a", "b"), 0)
    gold, other = Write("episode", "a", "a", verifier="gold"), Write("episode", "b", "b")
    for loses, right in ((True, 1), (False, 0)):
        sides = (Side("a", (gold,)), Side("b", (other,), loses=loses))
        finding = Finding("contradiction", "episode", "q", "r", sides, recommend(sides))
        assert score([case], [finding]).found == right


def test_each_finding_shows_all_its_writes_with_time_origin_verifier_and_batch(planted: Planted) -> None:
    for finding in planted[2].of_kind("contradiction"):
        assert len(finding.writes) >= 2 and len(finding.sides) >= 2
        for write in finding.writes:
            assert write.at > 0 and write.origin and write.batch and write.text


def test_a_tie_and_what_is_inconclusive_recommend_nothing(planted: Planted) -> None:
    audit = planted[2]
    ties = [one for one in audit.findings if one.recommendation.rule == "tie"]
    assert ties and audit.of_kind("inconclusive")
    for finding in (*ties, *audit.of_kind("inconclusive")):
        assert finding.recommendation.recommended_id == "" and finding.recommendation.confidence == 0.0
        assert finding.losing == () and finding not in audit.applicable


def test_confidence_is_a_chance(planted: Planted) -> None:
    assert all(0.0 <= one.recommendation.confidence <= 1.0 for one in planted[2].findings)
