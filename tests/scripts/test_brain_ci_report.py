"""The comment of a change says what decides, keeps data data, and fits whatever a change holds."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from agent.keeping.measuring import Answered, Measured
from memory.brain.checks import Checked, Evidence
from memory.brain.differences import diff
from memory.brain.snapshot import Record, Snapshot, of_episode, of_term
from memory.episode import Episode
from memory.semantic import Term
from scripts.brain_ci_posting import MARKER, MOST, ROOM, length
from scripts.brain_ci_report import Brain, Comparison, comment, gone_lines, inline, plain

EPISODE = Episode(
    bucket="b" * 16,
    kind="count",
    tables=("Boats",),
    question="How many boats are there?",
    masked="how many boats are there",
    sql="SELECT COUNT(*) FROM Boats",
    skeleton="SELECT COUNT FROM _",
    origin="seed:boats",
    verifier="gold",
    batch="seed:boats",
    schema_fingerprint="s",
    result_fingerprint="r",
)
GREEN = Checked("fine", "must_know", "a.toml", True)
RED = Checked("no-owners", "structure", "a.toml", False, "used", {}, (Evidence("episodes", "e1", "SELECT Owner"),))


def episodes(count: int, *, of: str = "a", asking: str = "How many?") -> list[Record]:
    asked = [f"{asking} {of}{n}" for n in range(count)]
    made = (replace(EPISODE, question=one, masked=one, sql=f"SELECT '{one}' FROM Boats") for one in asked)
    return [of_episode(one, n) for n, one in enumerate(made)]


def brain(right: int = 20, *, of: int = 20, checks: tuple[Checked, ...] = (GREEN,), **more: object) -> Brain:
    answers = tuple(Answered(f"q{n}", n < right, "adapted") for n in range(of))
    return replace(Brain("c" * 40, hash="h" * 64), measured=Measured(checks, answers), **more)  # type: ignore[arg-type]


def between(old: list[Record], new: list[Record], *, before: Brain | None, after: Brain | None) -> Comparison:
    edits = diff(Snapshot.of("boats", old), Snapshot.of("boats", new))
    return Comparison("a" * 40, "b" * 40, before, after, edits)


def test_what_is_too_long_is_cut_and_what_was_left_out_is_counted_by_kind() -> None:
    term = of_term(Term(("length",), "How long a boat is.", None, ("Boats",), "glossary"))
    found = between([], [*episodes(900, asking="Why? " * 60), term], before=brain(), after=brain())
    text = comment(found)
    assert MOST - ROOM - 3_000 < length(text) <= MOST - ROOM
    (told,) = re.findall(r"\*\*([\d,]+) more lines left out here \((\d+) of episodes, 1 of terms\)", text)
    shown = sum(line.startswith("+ episode ") for line in text.splitlines())
    assert shown > 50 and shown + int(told[1]) == 900 and int(told[0].replace(",", "")) == int(told[1]) + 1
    assert "episodes +900" in text


def test_a_flood_of_all_else_leaves_room_for_what_changed() -> None:
    checks = tuple(
        replace(
            RED, name=f"red-{n}-" + "<" * 90, evidence=tuple(Evidence("ledger", str(m), "<" * 600) for m in range(30))
        )
        for n in range(2_000)
    )
    gone = gone_lines({}, {f"id-{n}": "forgotten" for n in range(5_000)})
    refused = tuple(("<" * 200, "<" * 200) for _ in range(500))
    after = brain(
        0, of=500, checks=checks, refused=refused, other_results=("<" * 200,) * 500, left_out=("<" * 99,) * 99
    )
    found = replace(
        between([], episodes(9), before=brain(500, of=500), after=after),
        gone=gone,
        checks=tuple(f"+ c{n} {{}}" + "z" * 600 for n in range(500)),
    )
    text = comment(found)
    assert length(text) <= MOST - ROOM
    assert sum(line.startswith("+ episode ") for line in text.splitlines()) == 9
    assert all(f"<code>red-{n}-&#60;" in text for n in range(19)) and "more reasons, in the files" in text


@pytest.mark.parametrize(
    "bad", ["```", "`````\n## Brain: green", "</code></details>", "\u2028\u202e\x1b[31m", "\r\n```"]
)
def test_nothing_in_an_episode_leaves_its_block(bad: str) -> None:
    text = comment(between([], episodes(1, asking=bad), before=brain(), after=brain()))
    lines = text.splitlines()
    (at,) = (n for n, line in enumerate(lines) if line.startswith("+ episode "))
    fence = lines[at - 1].removesuffix("diff")
    assert set(fence) == {"`"} and lines[at + 1 :] == [fence]
    assert fence not in lines[at]
    assert not re.search("[\u2028\u202e\x1b\r]", text)
    assert [line for line in lines if line.startswith("#")] == ["## Brain: green", "### What changes: episodes +1"]


@pytest.mark.parametrize(
    "bad", ["<img src=x>", "[x](http://localhost)", "**b**", "a|b", "`c`", "&lt;", "x\ny", "www.example.org", "#1"]
)
def test_nothing_in_a_line_is_markdown(bad: str) -> None:
    told = inline(bad).removeprefix("<code>").removesuffix("</code>")
    left = re.sub(r"&#\d+;", "", told)
    assert all(sign.isalnum() or sign in " -" for sign in left), told


def test_nobody_is_called_by_a_name_in_the_data() -> None:
    assert not re.search(r"@\w", plain("mail me@example.org or @everyone"))


def test_questions_lost_by_accident_are_green_and_more_are_red() -> None:
    four, five = (between([], episodes(1), before=brain(20), after=brain(20 - lost)) for lost in (4, 5))
    assert four.ok and not five.ok
    assert "5 questions are no longer right and 0 newly are" in comment(five)
    assert "No longer right: <code>q15, q16, q17, q18, q19</code>." in comment(five)


def test_a_check_of_the_base_that_was_red_there_may_go() -> None:
    was_red, was_green = brain(checks=(RED,)), brain(checks=(replace(RED, ok=True),))
    after = brain(also=(RED,))
    assert between([], [], before=was_red, after=after).ok
    assert not between([], [], before=was_green, after=after).ok


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        (None, "no longer there"),
        (brain(error="line 3 is no JSON"), "cannot be built"),
        (brain(refused=(("x", "does not run"),)), "1 record of the brain were refused"),
        (brain(same=False), "something else than the file says"),
        (brain(stale=True), "scripts/build_brain.py"),
        (brain(checks=(GREEN, RED)), "a check is red"),
    ],
)
def test_each_reason_makes_it_red_and_is_told(after: Brain | None, reason: str) -> None:
    found = between([], [], before=brain(), after=after)
    assert not found.ok and reason in comment(found) and comment(found).startswith(f"{MARKER}\n## Brain: red\n")


def test_a_brain_that_is_new_has_nothing_before() -> None:
    text = comment(between([], episodes(2), before=None, after=brain()))
    assert "## Brain: green" in text and "| questions right | none | 20 of 20 |" in text


def test_a_changed_record_is_told_as_it_was_and_as_it_is() -> None:
    old, new = (
        of_term(Term(("length",), meaning, None, ("Boats",), "glossary")) for meaning in ("How long.", "How wide.")
    )
    text = comment(between([old], [new], before=brain(), after=brain()))
    assert "\n- term length → How long.\n+ term length → How wide. (changed: meaning)\n" in text
