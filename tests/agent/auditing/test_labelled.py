"""All planted faults are found, and nothing that only looks like one."""

from __future__ import annotations

from collections import Counter

from agent.app import App
from agent.auditing.auditing import Audit
from agent.auditing.labelled import SILENT, Case, score

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
