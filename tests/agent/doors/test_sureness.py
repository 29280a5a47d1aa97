"""How sure an answer is, where it came from and what else was found: as people read it and as programs do."""

from __future__ import annotations

import doctest
import json
import re
import shlex
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

import pytest

from agent import attempt as attempt_module
from agent.attempt import EFFORTS, Attempt, Doubt, Draft
from agent.database.result import Result
from agent.doors import rendering, sureness
from agent.doors.opening import Think
from agent.models.port import Prompt, Reply, Turn
from agent.settings import Settings
from memory.episode import Episode
from memory.recall import Recalled
from procedural.habit import chance_right
from procedural.synapse import Synapse

if TYPE_CHECKING:
    from pathlib import Path

    from tests.agent.doors.conftest import Endpoint, Home

GERMANY = "SELECT COUNT(*) FROM Customers WHERE Country = 'Germany'"
BERLIN = "SELECT COUNT(*) FROM Customers WHERE City = 'Berlin'"
REMEMBERED = Episode(
    "b", "count", ("Customers",), "How many customers are there in [red]Spain[/red]?", "", "", "", "", "", "", "", ""
)
ID = str(REMEMBERED.id)[:8]
ADAPTED = Draft(
    None,
    Reply(GERMANY),
    GERMANY,
    result=Result(("COUNT(*)",), ((11,),)),
    origin="adapted",
    episode=str(REMEMBERED.id),
    notes=("'Germany' for 'Spain'",),
    confidence=0.874,
)
WRITTEN = Draft(
    Prompt("stable", (Turn("user", "How many?"),)),
    Reply(BERLIN),
    BERLIN,
    result=Result(("COUNT(*)",), ((1,),)),
    doubts=(Doubt("value", "the question says 'Germany', and the query does not"),),
    confidence=0.2126,
)


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")


def answered(*drafts: Draft, **parts: Any) -> Attempt:
    recalled = (Recalled(REMEMBERED, 0.873, "bucket", "same bucket"),)
    attempt = Attempt("0a1b2c3d4e", "How many customers are there in Germany?", "small", recalled=recalled)
    return attempt.grown(drafts=drafts, approach="values", why="tried", **parts).concluded()


def told(
    attempt: Attempt,
    capsys: pytest.CaptureFixture[str],
    *,
    unsure: float = 0.5,
    runner_up: float = 0.1,
    **how: Any,
) -> str:
    rendering.answer(attempt, rendering.Showing(unsure, runner_up, **how), as_json=False)
    return capsys.readouterr().out


def program(attempt: Attempt, capsys: pytest.CaptureFixture[str], *, unsure: float = 0.5) -> Any:
    rendering.answer(attempt, rendering.Showing(unsure, 0.1), as_json=True)
    return json.loads(capsys.readouterr().out)


def test_the_examples_hold() -> None:
    found = doctest.testmod(sureness)
    assert found.attempted and not found.failed


def test_an_adapted_answer_names_the_question_that_it_came_from_and_what_code_changed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown = told(answered(ADAPTED), capsys)
    assert f"\nadapted from: How many customers are there in [red]Spain[/red]? ({ID}, 0.87)\n" in shown
    assert "\npath: adapted · likely right if its one memory is, 87 % · 1 adapted · 0.0 s · id 0a1b2c3d4e\n" in shown, (
        "and no model"
    )
    assert "\nChanged by code: 'Germany' for 'Spain'\n" in shown
    for absent in ("Unsure", "Runner-up", "Doubts", "values (tried)"):
        assert absent not in shown


def test_an_episode_that_was_adapted_but_not_shown_to_the_model_is_named_by_its_question(
    capsys: pytest.CaptureFixture[str],
) -> None:
    attempt = answered(ADAPTED)
    shown = told(attempt.grown(recalled=(), nearby=attempt.recalled), capsys)
    assert f"adapted from: How many customers are there in [red]Spain[/red]? ({ID}, 0.87)" in shown
    assert "Memories" not in shown


def test_an_episode_that_is_not_at_hand_is_named_by_its_id(capsys: pytest.CaptureFixture[str]) -> None:
    assert "\nadapted from: episode e1\n" in told(answered(replace(ADAPTED, episode="e1")), capsys)


def test_the_doubts_of_an_answer_are_sentences_under_its_sql(capsys: pytest.CaptureFixture[str]) -> None:
    shown = told(answered(WRITTEN), capsys, unsure=0.1)
    assert "\nDoubts\n  The question says 'Germany', and the query does not.\n" in shown
    assert shown.index(BERLIN) < shown.index("Doubts") < shown.index("Memories")
    assert "\nsmall · path: model · more likely wrong than right, 21 % · values (tried) · 0.0 s" in shown


def test_an_unsure_answer_says_so_before_its_rows_and_shows_the_runner_up(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = replace(ADAPTED, confidence=0.44), WRITTEN
    shown = told(answered(first, second), capsys, options=" --db shop.sqlite")
    said = " ".join(shown.split())
    assert said.startswith(
        "Unsure: the chance that this answer is right is 44 %. Look at the SQL before you rely on it. "
        "Another result has a chance of 21 %; it stands below as the runner-up. COUNT(*)"
    )
    assert "Runner-up a chance of 21 %, small It gives other values. " in said
    assert "Its SQL has City = 'Berlin' instead of Country = 'Germany'." in said
    assert "Doubt: The question says 'Germany', and the query does not." in said
    assert f'feedback 0a1b2c3d4e --db shop.sqlite --sql "{BERLIN}"\n' in shown, "in one line, to be copied"
    assert "· unsure, 44 % ·" in said
    assert said.index("11") < said.index("Runner-up") < said.index("Memories")
    sure = told(answered(first, second), capsys, unsure=0.44)
    assert "Unsure" not in sure and "Runner-up" not in sure


def test_a_runner_up_shows_its_first_rows_and_how_many_more_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    rows = tuple((f"customer {number}", number) for number in range(1, 9))
    other = replace(WRITTEN, sql="SELECT a, b FROM t", result=Result(("a", "b"), rows))
    shown = told(answered(replace(ADAPTED, confidence=0.3), other), capsys)
    assert "It gives 2 columns where the answer has 1 and 8 rows where the answer has 1.\n" in shown
    assert "Its SQL differs in SELECT, FROM, WHERE.\n" in shown, "what is quite another query needs no list"
    assert "customer 5" in shown and "customer 6" not in shown and "… and 3 more rows" in shown


def test_where_there_is_no_other_result_none_is_promised(capsys: pytest.CaptureFixture[str]) -> None:
    shown = told(answered(replace(ADAPTED, confidence=0.3), replace(ADAPTED, origin="model", confidence=0.1)), capsys)
    assert "Unsure" in shown and "runner-up" not in shown.lower()


def test_in_a_chat_the_runner_up_is_taken_with_a_line_of_the_chat(capsys: pytest.CaptureFixture[str]) -> None:
    shown = told(answered(replace(ADAPTED, confidence=0.3), WRITTEN), capsys, in_chat=True)
    assert f"Is this the right one? /sql {BERLIN}\n" in shown and "hebbql feedback" not in shown


@pytest.mark.parametrize("sql", ["SELECT 'a\nb'", "SELECT 'a\x1b[31m'"])
def test_a_query_that_cannot_be_shown_as_it_is_is_not_offered_for_copying(
    sql: str, capsys: pytest.CaptureFixture[str]
) -> None:
    attempt = answered(replace(ADAPTED, confidence=0.3), replace(WRITTEN, sql=sql))
    assert '--sql "SELECT …"\n' in told(attempt, capsys)
    assert "/sql SELECT …\n" in told(attempt, capsys, in_chat=True)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 'x'",
        'SELECT "Order Details".x',
        "SELECT '$HOME `id` \\ !x'",
        "SELECT 'it''s' AS \"a b\"",
        "SELECT a FROM t; rm -rf $(x) & | > <",
        "SELECT '*' || '~' || '#'",
    ],
)
def test_a_shell_gives_the_query_on_as_it_is(sql: str) -> None:
    line = f"printf %s {sureness.in_quotes(sql)}"
    given = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert given.stdout == sql


def test_nothing_is_said_of_how_sure_an_answer_is_that_was_not_weighed(capsys: pytest.CaptureFixture[str]) -> None:
    attempt = answered(replace(ADAPTED, confidence=None), replace(WRITTEN, confidence=None))
    shown = told(attempt, capsys, unsure=1.0)
    assert not [word for word in ("nsure", "%", "right,", "Runner-up") if word in shown]
    found = program(attempt, capsys, unsure=1.0)
    assert (found["confidence"], found["unsure"]) == (None, False)
    assert {one["confidence"] for one in found["candidates"]} == {None}


def test_an_attempt_without_a_result_is_neither_sure_nor_unsure(capsys: pytest.CaptureFixture[str]) -> None:
    broken = replace(WRITTEN, result=None, problem="no such column", rule="unknown_column", confidence=0.01)
    attempt = answered(broken)
    assert "nsure" not in told(attempt, capsys) and "Doubts" not in told(answered(replace(broken, doubts=())), capsys)
    found = program(attempt, capsys)
    assert (found["status"], found["confidence"], found["unsure"]) == ("failed", None, False)
    assert found["candidates"][0]["problem"] == "no such column" and found["candidates"][0]["agrees"] is False


def test_every_change_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    shown = told(answered(replace(ADAPTED, notes=tuple("abcdef"))), capsys)
    assert "Changed by code: a; b; c; d; e; f\n" in shown


def test_an_adapted_query_tells_all_that_it_has_otherwise_than_its_episode(capsys: pytest.CaptureFixture[str]) -> None:
    before = "SELECT COUNT(*) FROM Customers AS c WHERE c.Country = 'Spain' AND City = 'Madrid' LIMIT 3"
    after = (
        "SELECT COUNT(*) FROM Customers JOIN Orders ON Orders.CustomerID = Customers.CustomerID "
        "WHERE Customers.Country = 'Germany' AND Orders.OrderDate >= '1997-01-01' LIMIT 5"
    )
    known = replace(REMEMBERED, sql=before)
    draft = replace(ADAPTED, sql=after, episode=str(known.id), notes=("Spain became Germany",))
    attempt = answered(draft).grown(recalled=(Recalled(known, 0.9, "bucket", "near"),))
    wanted = [
        "joins Orders",
        "Country = 'Spain' became Country = 'Germany'",
        "left out City = 'Madrid'",
        "added OrderDate >= '1997-01-01'",
        "LIMIT 5 instead of 3",
    ]
    assert f"Changed by code: {'; '.join(wanted)} " in " ".join(told(attempt, capsys).split())
    assert program(attempt, capsys)["candidates"][0]["notes"] == wanted


def test_an_answer_that_rests_on_one_memory_names_it_its_author_and_who_vouched_for_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    known = replace(REMEMBERED, origin="feedback:0f1e2d3c4b", verifier="person")
    near = (Recalled(known, 0.873, "bucket", "same bucket"),)
    copy = replace(WRITTEN, sql=GERMANY, result=ADAPTED.result, doubts=(), confidence=ADAPTED.confidence)
    own = replace(copy, sql=GERMANY.replace("COUNT(*)", "COUNT(CustomerID)"))
    alone, copied = answered(ADAPTED, recalled=near), answered(ADAPTED, copy, recalled=near)
    said = f"Rests on one memory alone: {ID}, from feedback on the answer 0f1e2d3c4b, verified by a person."
    shown = " ".join(told(alone, capsys, options=" --db shop.sqlite").split())
    assert f"{said} Wrong? hebbql forget {ID} --db shop.sqlite" in shown
    assert f"{said} The model only wrote the same again. Wrong?" in " ".join(told(copied, capsys).split())
    for attempt in (alone, copied):
        assert "· likely right if its one memory is, 87 % ·" in told(attempt, capsys)
        assert program(attempt, capsys)["rests_on"] == str(known.id)
        assert "hebbql forget" not in told(attempt, capsys, in_chat=True)
    both = answered(ADAPTED, own, recalled=near)
    assert "one memory" not in told(both, capsys) and program(both, capsys)["rests_on"] is None


@pytest.mark.parametrize(
    ("origin", "verifier", "said"),
    [
        ("seed:northwind", "gold", "from the seed pack northwind, verified as a gold."),
        ("seed:northwind", "agreement", "from the seed pack northwind, verified by a second query."),
        ("train:r1", "gold", "from the training run r1, verified as a gold."),
        ("elsewhere", "", "from elsewhere, unverified."),
        ("", "priest", "from somebody unknown, verified by priest."),
    ],
)
def test_who_wrote_a_memory_and_what_vouched_for_it_is_told_in_words(
    origin: str, verifier: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    near = (Recalled(replace(REMEMBERED, origin=origin, verifier=verifier), 0.9, "bucket", "near"),)
    assert said in " ".join(told(answered(ADAPTED, recalled=near), capsys).split())


def test_a_memory_is_shown_with_the_start_of_its_id(capsys: pytest.CaptureFixture[str]) -> None:
    shown = told(answered(WRITTEN), capsys, unsure=0.1)
    assert f"\n  0.87  {ID}  How many customers are there in [red]Spain[/red]?  (same bucket)\n" in shown


@pytest.mark.parametrize(("confidence", "shown"), [(0.1, True), (0.0996, True), (0.0994, False), (0.01, False)])
def test_a_runner_up_is_shown_from_a_chance_on(
    confidence: float, shown: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    attempt = answered(replace(ADAPTED, confidence=0.3), replace(WRITTEN, confidence=confidence))
    said = told(attempt, capsys)
    assert said.startswith("Unsure") and ("runner-up" in said, "Runner-up" in said) == (shown, shown)
    assert "Runner-up" in told(attempt, capsys, runner_up=0.01)


def test_an_unsure_answer_shows_a_few_rows_and_how_to_see_all(capsys: pytest.CaptureFixture[str]) -> None:
    rows = tuple((f"customer {number:02}",) for number in range(1, 61))
    sure = answered(replace(ADAPTED, result=Result(("a",), rows)))
    unsure = answered(replace(ADAPTED, confidence=0.01, result=Result(("a",), rows)))
    few, many = told(unsure, capsys), told(sure, capsys)
    assert "customer 05" in few and "customer 06" not in few and "… and 55 more rows (all of them with --all)" in few
    assert few.startswith("Unsure: the chance that this answer is right is 1 %.")
    assert "customer 50" in many and "customer 51" not in many and "… and 10 more rows (all of them with --all)" in many
    for attempt in (sure, unsure):
        assert "customer 60" in told(attempt, capsys, every=True)
        assert len(program(attempt, capsys)["rows"]) == 60
        assert "(all of them with /all)" in told(attempt, capsys, in_chat=True)
    rendering.rows(unsure)
    assert "customer 60" in capsys.readouterr().out


def test_what_is_told_of_drafts_cannot_steer_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    wild = "\x1b[31mred\x9b"
    known = replace(REMEMBERED, question=wild, origin=wild, verifier=wild, sql=GERMANY.replace("Germany", wild))
    recalled = (Recalled(known, 0.5, "bucket", wild),)
    id = str(recalled[0].episode.id)
    first = replace(ADAPTED, confidence=0.3, notes=(wild,), doubts=(Doubt("r", wild),), episode=id)
    other = replace(WRITTEN, sql=GERMANY.replace("Germany", wild), origin="adapted", episode=id)
    shown = told(answered(first, other, recalled=recalled), capsys)
    assert "Runner-up" in shown and "instead of 'Germany'" in shown
    assert "\x1b" not in shown and "\x9b" not in shown


def test_colours_add_nothing_to_the_text(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    attempt = answered(replace(ADAPTED, confidence=0.44), WRITTEN)
    plain = told(attempt, capsys)
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = told(attempt, capsys)
    assert "\x1b[" in coloured
    stripped = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert [line.rstrip() for line in stripped.splitlines()] == [line.rstrip() for line in plain.splitlines()]


def test_every_candidate_is_told_to_programs_in_the_order_it_was_made(capsys: pytest.CaptureFixture[str]) -> None:
    prose = Draft(WRITTEN.prompt, Reply("I would rather not."), problem="There is no SQL.", rule="no_sql")
    found = program(answered(ADAPTED, WRITTEN, prose), capsys)
    assert (found["confidence"], found["unsure"], found["path"]) == (0.874, False, "adapted")
    none: dict[str, Any] = {"episode": None, "doubts": [], "notes": [], "problem": None}
    doubt = {"rule": "value", "text": "the question says 'Germany', and the query does not"}
    assert found["candidates"] == [
        {
            **{"sql": GERMANY, "origin": "adapted", "episode": str(REMEMBERED.id), "confidence": 0.874, "doubts": []},
            **{"notes": ["'Germany' for 'Spain'"], "rows": 1, "problem": None, "agrees": True},
        },
        {**none, "sql": BERLIN, "origin": "model", "confidence": 0.213, "doubts": [doubt], "rows": 1, "agrees": False},
        {
            **{**none, "sql": None, "origin": "model", "confidence": None, "rows": None},
            **{"problem": "There is no SQL.", "agrees": False},
        },
    ]
    assert [one["sql"] for one in found["attempts"]] == [BERLIN, "I would rather not."], "what the model wrote"
    assert program(answered(ADAPTED), capsys, unsure=0.9)["unsure"] is True


# What the README says


@pytest.fixture(scope="module")
def readme(source: Path) -> str:
    text = (source / "README.md").read_text("utf-8")
    return text.partition("## How sure is it?\n")[2].partition("\n## ")[0]


def rows_of(section: str, heading: str) -> dict[str, list[str]]:
    """The rows of the table below that heading, by their first cell."""
    table = section.partition(f"| {heading} |")[2].partition("\n\n")[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    return {first: others for first, *others in cells}


def named(cells: dict[str, list[str]]) -> set[str]:
    return {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}


def test_the_readme_tells_every_key_of_the_object_and_no_other(readme: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = program(answered(ADAPTED, WRITTEN), capsys)
    whole, candidate = rows_of(readme, "key"), rows_of(readme, "key of a candidate")
    assert named(whole) == set(found) and named(candidate) == set(found["candidates"][0])
    for key, parts in (("recalled", found["recalled"][0]), ("seconds", found["seconds"]), ("usage", found["usage"])):
        assert named({whole[f"`{key}`"][0]: []}) == set(parts), key
    assert named({candidate["`doubts`"][0]: []}) == set(found["candidates"][1]["doubts"][0])
    assert named({whole["`path`"][0]: []}) == set(get_args(attempt_module.Path))
    assert named({candidate["`origin`, `episode`"][0]: []}) == set(get_args(attempt_module.Origin))


def test_the_readme_tells_what_each_effort_spends(readme: str) -> None:
    told_ = rows_of(readme, "`--think`")
    assert list(told_) == [effort.name for effort in EFFORTS]
    for effort in EFFORTS:
        from_, drafts, adapted = told_[effort.name]
        assert from_ == (f"{100 * effort.sure:.0f} %" if effort.sure <= 1 else "none: it always is")
        assert (drafts, adapted) == (str(effort.drafts + len(effort.apart)), str(effort.adapted))


def test_the_readme_tells_the_words_of_a_chance_and_when_an_answer_is_unsure(readme: str) -> None:
    said = " ".join(readme.split())
    found = re.findall(r"\*([\w ]+)\* from (\d+) %", said)
    assert len(found) == 3
    for words, percent in found:
        assert sureness.told(int(percent) / 100, 0.1).startswith(words)
        assert not sureness.told(int(percent) / 100 - 0.01, 0.1).startswith(words)
    assert f"below `HEBBQL_UNSURE` ({Settings().unsure} by default)" in said
    assert f"at least `HEBBQL_RUNNER_UP` ({Settings().runner_up} by default)" in said
    assert "its first five rows" in said and rendering.SHOWN_UNSURE_ROWS == 5
    assert "80 % after three" in said and round(chance_right(Synapse("b", "habit", "h", 1.0, 3, 0, 0.0)), 2) == 0.8


# Through the command line


BRAZIL = "How many customers are there in Brazil?"
COUNT_BRAZIL = "SELECT COUNT(*) FROM Customers WHERE Country = 'Brazil'"


def test_drafts_of_the_model_are_candidates_with_their_problems(home: Home, endpoint: Endpoint) -> None:
    drafts = ["SELECT COUNT(*) FROM Customers WHERE Land = 'Brazil'", COUNT_BRAZIL]
    endpoint.says = lambda _question, before: drafts[before % 2]
    found = home.ask(BRAZIL, "--no-memory", "--think", "deep")
    first, second, sampled = found["candidates"]
    assert (first["origin"], first["rows"], first["agrees"]) == ("model", None, False) and "Land" in first["problem"]
    assert (second["sql"], second["rows"], second["problem"], second["agrees"]) == (COUNT_BRAZIL, 1, None, True)
    assert sampled["problem"] == first["problem"]
    assert found["unsure"] is (found["confidence"] is not None and found["confidence"] < 0.5)


@pytest.mark.parametrize("effort", EFFORTS, ids=lambda effort: effort.name)
def test_the_model_drafts_no_more_often_than_the_effort_allows(home: Home, endpoint: Endpoint, effort: Any) -> None:
    endpoint.says = lambda _question, before: f"SELECT Nothing{before} FROM Customers"
    found = home.ask(BRAZIL, "--no-memory", "--think", effort.name)
    most = effort.drafts + ("sampled" in effort.apart)
    assert found["status"] == "failed" and len(endpoint.requests) == most == len(found["candidates"])


def test_help_says_what_each_effort_does() -> None:
    fast, normal, deep = EFFORTS
    said = get_args(Think)[1].help
    assert "fast: no model where an adapted episode is likely right, one draft" in said and fast.drafts == 1
    assert "the model unless nearly sure, up to two repairs" in said and normal.drafts == 1 + 2
    assert "deep: always the model, more drafts" in said and deep.sure > 1 and deep.apart and not normal.apart
    assert fast.sure < normal.sure < 1


@pytest.mark.parametrize("command", [("ask", BRAZIL), ("chat",), ("evaluate",), ("train",)], ids=lambda line: line[0])
def test_an_effort_that_there_is_not_is_refused_with_those_there_are(
    home: Home, endpoint: Endpoint, command: tuple[str, ...], tmp_path: Path
) -> None:
    fresh = tmp_path / "fresh"
    ended = home.run(*command, "--think", "hard", "--brain", str(fresh))
    assert (ended.code, ended.out) == (2, "") and ended.says("--think", "fast, normal, deep", "'hard'")
    assert not fresh.exists() and endpoint.requests == []


def test_the_command_line_outranks_the_environment(home: Home, endpoint: Endpoint) -> None:
    home.environment["HEBBQL_THINK"] = "deep"
    endpoint.says = lambda _question, before: f"SELECT Nothing{before} FROM Customers"
    assert len(home.ask(BRAZIL, "--no-memory", "--think", "fast")["candidates"]) == 1


def test_a_chat_changes_its_effort_and_says_which_it_is(home: Home, endpoint: Endpoint) -> None:
    endpoint.says = lambda _question, before: f"SELECT Nothing{before} FROM Customers"
    said = f"/think\n/think FAST\n{BRAZIL}\n/think hard\n/think normal\n{BRAZIL}\n"
    ended = home.run("chat", "--json", "--no-memory", "--think", "deep", said=said)
    told_ = [json.loads(line) for line in ended.out.splitlines()]
    asked, fast, one, unknown, normal, three = told_
    assert (asked["status"], asked["think"], fast["think"], normal["think"]) == ("think", "deep", "fast", "normal")
    assert unknown["status"] == "usage" and "fast, normal, deep" in unknown["message"]
    assert "stays fast" in unknown["message"]
    assert [len(answer["candidates"]) for answer in (one, three)] == [1, 3]


# With episodes adapted, whatever the weights of a chance are

WRONG = "SELECT COUNT(*) FROM Suppliers"


@pytest.fixture
def adapting(home: Home, endpoint: Endpoint) -> Home:
    """An installation that adapts what it recalls, and whose model is always wrong."""
    endpoint.says = lambda _question, _before: WRONG
    home.environment["HEBBQL_LEVERS"] = "adapt,weigh"
    return home


def test_what_is_adapted_is_a_candidate_before_those_of_the_model(adapting: Home) -> None:
    found = adapting.ask(BRAZIL, "--think", "deep")
    first, *others = found["candidates"]
    assert (found["path"], found["rows"]) == ("adapted", [[9]]) and "Country = 'Brazil'" in found["sql"]
    assert (first["sql"], first["origin"], first["rows"], first["agrees"]) == (found["sql"], "adapted", 1, True)
    assert first["episode"] == found["recalled"][0]["episode"] and first["notes"]
    assert others[-1]["origin"] == "model" and others[-1]["agrees"] is False
    assert [one["sql"] for one in found["attempts"]] == [WRONG] * 3
    assert adapting.run("feedback", found["id"], "good").code == 0


def test_people_read_which_question_an_answer_was_adapted_from(adapting: Home) -> None:
    shown = adapting.run("ask", BRAZIL).out
    assert re.search(r"\nadapted from: How many customers are there in Germany\? \([0-9a-f]{8}, 0\.\d\d\)\n", shown)
    assert re.search(r"\nChanged by code: .*Brazil", shown) and "path: adapted" in shown


def test_a_person_goes_from_an_answer_to_the_memory_behind_it_and_removes_it(adapting: Home) -> None:
    shown = " ".join(adapting.run("ask", BRAZIL).out.split())
    told_ = re.search(r"adapted from: How many customers are there in Germany\? \((\w{8}), ", shown)
    assert told_ and f" {told_[1]} How many customers are there in Germany?" in shown, "among the memories too"
    done = adapting.run("forget", told_[1], "--json").json
    assert [one[:8] for one in done["forgotten"]] == [told_[1]]
    after = adapting.ask(BRAZIL)
    assert told_[1] not in {str(one)[:8] for one in (after["rests_on"], *(one["episode"] for one in after["recalled"]))}


def test_the_runner_up_of_an_unsure_answer_is_taken_by_the_command_that_is_shown(adapting: Home) -> None:
    adapting.environment |= {"HEBBQL_UNSURE": "1", "HEBBQL_RUNNER_UP": "0.0001"}
    found = adapting.ask(BRAZIL, "--think", "deep")
    assert found["unsure"] is True and 0 < found["confidence"] < 1
    assert found["confidence"] == max(one["confidence"] for one in found["candidates"])
    shown = adapting.run("ask", BRAZIL, "--think", "deep").out
    assert shown.startswith("Unsure: ") and "Runner-up" in shown
    [line] = [line for line in shown.splitlines() if line.startswith("  Is this the right one? ")]
    _, *command = shlex.split(line.partition("? ")[2])
    best = max((one for one in found["candidates"] if not one["agrees"]), key=lambda one: one["confidence"] or 0)
    assert command[-2:] == ["--sql", best["sql"]] and adapting.run(*command).code == 0


def test_a_terminal_is_told_what_the_loop_is_at(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    new = Attempt("a1", "How many?", "small")
    asked = new.grown(approach="values", why="tried")
    doubted = replace(WRITTEN, confidence=None)
    for attempt, adapts, words in (
        (new, True, "Adapting what worked before"),
        (new, False, "Recalling what worked before"),
        (asked.drafted(replace(ADAPTED, confidence=0.1)), True, "small is writing SQL (values: tried)"),
        (asked.drafted(doubted), True, "Mending draft 1: The query runs, but the question says 'Germany'"),
        (asked.grown(votes=3).drafted(doubted), True, "small is writing SQL again, to compare the results"),
    ):
        with rendering.progress(False, adapting=adapts) as show:
            show(attempt)
        said = capsys.readouterr()
        assert said.out == ""
        assert words in said.err, said.err
