"""Running checks on an opened app with real Cognee: each kind green where it holds, red where it does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent.app import App, open_app
from agent.keeping.checking import Checked
from agent.settings import Settings
from memory.ledger import EventKind
from tests.agent.keeping.conftest import remember

VEERE = "How many boats lie in Veere?"
COUNT = "SELECT COUNT(*) FROM Boats WHERE Harbour = 'Veere'"
EPISODES = (
    (VEERE, COUNT),
    ("Which boats lie in Urk?", "SELECT Name FROM Boats WHERE Harbour = 'Urk'"),
    ("What is the average length of boats in Hoorn?", "SELECT AVG(Metres) FROM Boats WHERE Harbour = 'Hoorn'"),
)


@pytest.fixture
def app(settings: Settings) -> Iterator[App]:
    with open_app(settings) as app:
        for number, (question, sql) in enumerate(EPISODES):
            remember(app, f"batch:{number}", question, sql)
        yield app


def ran(app: App, checks: Path, text: str) -> dict[str, Checked]:
    """Run the checks that a text holds; each by its name."""
    (checks / "a.toml").write_text(text, "utf-8")
    return {one.name: one for one in app.checking.test(checks)}


@pytest.fixture
def checks(tmp_path: Path) -> Path:
    folder = tmp_path / "checks"
    folder.mkdir()
    return folder


def knows(name: str, question: str, expected: str) -> str:
    return f'[[check]]\nkind = "must_know"\nname = "{name}"\nquestion = "{question}"\n{expected}\n'


def test_what_is_remembered_or_adapted_is_known_and_what_is_not_is_red(app: App, checks: Path) -> None:
    other = COUNT.replace("Veere", "Urk")
    told = ran(
        app,
        checks,
        knows("same", VEERE, "rows = [[8]]")
        + knows("adapted", VEERE.replace("Veere", "Urk"), f'sql = "{other}"')
        + knows("wrong-rows", VEERE, "rows = [[9]]")
        + knows("wrong-type", VEERE, 'rows = [["8"]]')
        + knows("wrong-columns", VEERE, "rows = [[8, 8]]")
        + knows("wrong-sql", VEERE, 'sql = "SELECT COUNT(*) FROM Boats WHERE BoatID <= 8"')
        + knows("empty", "Which boats lie in Urk?", 'sql = "SELECT Name FROM Boats WHERE 0"')
        + knows("broken", VEERE, 'sql = "SELECT Nothing FROM Boats"')
        + knows("writes", VEERE, 'sql = "DELETE FROM Boats"')
        + knows("nothing-like-it", "Why is the sea salty?", "rows = [[8]]"),
    )
    assert [name for name, one in told.items() if one.ok] == ["same", "adapted"], told
    assert all(one.reason and one.evidence for one in told.values() if not one.ok)


def test_a_lucky_number_is_seen_through_by_sql_and_the_order_counts_where_it_is_asked_for(
    app: App, checks: Path
) -> None:
    longest = "SELECT Name FROM Boats WHERE Harbour = 'Urk' ORDER BY Metres DESC"
    told = ran(
        app,
        checks,
        knows("lucky", VEERE, 'sql = "SELECT 8"')
        + knows("unordered", "Which boats lie in Urk?", f'sql = "{longest}"')
        + knows("ordered", "Which boats lie in Urk?", f'sql = "{longest}"\nordered = true'),
    )
    assert [name for name, one in told.items() if one.ok] == ["unordered"]


def test_a_brain_that_has_forgotten_does_not_know_it(app: App, checks: Path) -> None:
    app.forget(app.ledger.episodes())
    told = ran(app, checks, knows("same", VEERE, "rows = [[8]]"))
    assert not told["same"].ok


def test_checks_ask_no_model_and_write_nothing_down(app: App, checks: Path) -> None:
    before = app.ledger.head()
    app.get_ready_to_recall()
    before = app.ledger.head()
    ran(app, checks, knows("same", VEERE, "rows = [[8]]") + '[[check]]\nkind = "contradiction"\nname = "c"')
    assert app.ledger.head() == before
    assert not any(app.ledger.events(kinds=(EventKind.ATTEMPT_STARTED,)))


def test_two_episodes_of_one_question_that_differ_contradict_whatever_their_bucket_and_writing(
    app: App, checks: Path
) -> None:
    check = '[[check]]\nkind = "contradiction"\nname = "agreed"'
    assert ran(app, checks, check)["agreed"].ok
    remember(app, "batch:same", "how many boats  lie in veere", COUNT.replace("COUNT(*)", "COUNT(BoatID)"))
    told = ran(app, checks, check)["agreed"]
    assert told.ok and told.looked["pairs"] == 1, "another query with the same rows is no contradiction"
    remember(app, "batch:other", "How many boats lie in Urk?", COUNT.replace("Veere", "Urk") + " AND Metres > 1")
    assert ran(app, checks, check)["agreed"].ok, "the same question about another harbour is another one"
    wrong = remember(app, "batch:wrong", "How many boats lie in Veere", COUNT + " AND Metres > 30")
    told = ran(app, checks, check)["agreed"]
    assert not told.ok and all(str(wrong.id) in one.id for one in told.evidence)


def test_two_episodes_that_give_the_same_rows_in_another_order_contradict_where_both_ask_for_one(
    app: App, checks: Path
) -> None:
    sql = "SELECT BoatID FROM Trips WHERE Nights = 4 ORDER BY ABS(BoatID)"
    remember(app, "batch:up", "Rank the boats with four nights", sql)
    other = remember(app, "batch:down", "Rank the boats with four nights.", f"{sql} DESC")
    told = ran(app, checks, '[[check]]\nkind = "contradiction"\nname = "agreed"')["agreed"]
    assert not told.ok and str(other.id) in told.evidence[0].id and "order" in told.evidence[0].line


def test_structure_freshness_and_coverage_are_of_the_brain_as_it_is(app: App, checks: Path) -> None:
    text = """
[[check]]
kind = "structure"
name = "apart"
never_joined = ["Boats", "Trips"]
[[check]]
kind = "structure"
name = "no-owner"
never_selected = ["Boats.Owner"]
[[check]]
kind = "freshness"
name = "fresh"
current_schema = true
days = 1
[[check]]
kind = "coverage"
name = "covered"
share = 1.0
[[check]]
kind = "structure"
name = "averages"
answered = "average"
"""
    kinds = {episode.kind for episode in app.ledger.episodes()}
    text = text.replace('"average"', f'"{sorted(kinds)[0]}"')
    assert all(one.ok for one in ran(app, checks, text).values())
    remember(app, "batch:trips", "How many nights was Boat 3 away?", "SELECT SUM(t.Nights) FROM Trips t JOIN Boats b ON b.BoatID = t.BoatID WHERE b.Name = 'Boat 3'")  # fmt: skip  # noqa: E501
    remember(app, "batch:owner", "Show everything about Boat 3", "SELECT * FROM Boats WHERE Name = 'Boat 3'")
    told = ran(app, checks, text)
    assert [name for name, one in told.items() if not one.ok] == ["apart", "no-owner"]
    app.forget(app.ledger.episodes(batch="batch:2"))
    told = ran(app, checks, text)
    assert [name for name, one in told.items() if not one.ok] == ["apart", "no-owner", "covered", "averages"], (
        "a bucket has lost its last"
    )


def test_faults_come_first_and_one_check_can_be_run_alone(app: App, checks: Path) -> None:
    (checks / "b.toml").write_text('[[check]]\nkind = "freshness"\nname = "none"', "utf-8")
    text = '[[check]]\nkind = "contradiction"\nname = "agreed"\n[[check]]\nkind = "coverage"\nname = "c"\nshare = 0.1'
    assert [one.ok for one in (ran(app, checks, text)).values()] == [False, True, True]
    assert [one.name for one in app.checking.test(checks, only="c")] == ["b.toml: none", "c"]
    (checks / "b.toml").unlink()
    [missing] = app.checking.test(checks, only="d")
    assert not missing.ok and "no check of this name" in missing.reason


def test_what_cannot_be_asked_run_or_found_is_red_by_name_and_the_checks_beside_it_run(app: App, checks: Path) -> None:
    """Careless and hostile checks: each is red with its reason, and none ends the others."""
    unseen, long = "\\u200b", "boats " * 300
    told = ran(
        app,
        checks,
        knows("unseen", unseen, "rows = [[8]]")
        + knows("writes", "Delete all boats", "rows = [[64]]")
        + knows("drops", VEERE, 'sql = "DROP TABLE Boats"')
        + knows("no-table", VEERE, 'sql = "SELECT COUNT(*) FROM Ships"')
        + knows("only-a-remark", VEERE, 'sql = "-- how many"')
        + knows("nothing", VEERE, "sql = \"SELECT Name FROM Boats WHERE Harbour = 'nowhere'\"")
        + knows("endless", VEERE, 'sql = "SELECT COUNT(*) FROM Boats a, Boats b, Boats c, Boats d, Boats e, Boats f"')
        + knows("elsewhere", long, "rows = [[8]]")
        + f"""
[[check]]
kind = "forbidden"
name = "unseen-question"
text = "Piet Hein"
questions = ["{unseen}"]
[[check]]
kind = "structure"
name = "no-such-table"
never_joined = ["Boats", "Harbours"]
[[check]]
kind = "structure"
name = "no-such-kind"
answered = "counting"
[[check]]
kind = "structure"
name = "a-star-is-no-column"
never_selected = ["Boats.*"]
[[check]]
kind = "coverage"
name = "nobody-vouches"
share = 0.000001
verifiers = ["golden"]
[[check]]
kind = "coverage"
name = "too-many"
share = 1.0
buckets = {10**30}
[[check]]
kind = "coverage"
name = "no-such-kind-either"
share = 1.0
of = "Count"
"""
        + knows("known", VEERE, "rows = [[8]]"),
    )
    assert [name for name, one in told.items() if one.ok] == ["known"], told
    assert all(one.reason or one.evidence for one in told.values())
    assert "question is empty" in told["unseen"].reason and "question is empty" in told["unseen-question"].reason
    assert "no harbours" in told["no-such-table"].reason and "no boats.*" in told["a-star-is-no-column"].reason
    assert "count" in told["no-such-kind"].evidence[0].line and "count" in told["no-such-kind-either"].reason


def test_a_thousand_answers_to_one_question_are_red_soon(app: App, checks: Path) -> None:
    known = app.ledger.episodes()[0]
    with app.ledger.transaction() as entry:
        for number in range(300):
            entry.remember(replace(known, sql=f"SELECT {number}"))
    [told] = ran(app, checks, '[[check]]\nkind = "contradiction"\nname = "agreed"').values()
    assert not told.ok and told.looked["pairs"] <= 200 and "episodes (100)" in told.reason


def test_a_forbidden_column_that_the_database_does_not_have_is_red(app: App, checks: Path) -> None:
    one = '[[check]]\nkind = "forbidden"\nname = "%s"\ncolumn = "%s"\n'
    told = ran(app, checks, one % ("misspelt", "Boats.Ownr") + one % ("nowhere", "Ships.Owner"))
    assert not any(check.ok for check in told.values())
    assert all("nothing would ever be found" in check.reason for check in told.values())


def test_another_database_than_the_shipped_has_no_checks_by_itself(app: App, tmp_path: Path) -> None:
    assert app.checking.folder == tmp_path / "brain" / "checks", "this one lies in the data folder"
    [told] = app.checking.test()
    assert not told.ok and "is no folder" in told.reason
