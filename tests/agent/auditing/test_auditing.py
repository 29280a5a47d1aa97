"""An audit on the whole application: it changes nothing, recommends, and forgets only when it is told to."""

from __future__ import annotations

import hashlib
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from agent.app import App, open_app
from agent.attempt import Attempt
from agent.auditing.auditing import Audit
from agent.auditing.copying import opened_copy
from agent.auditing.labelled import episode_of, plant
from agent.journal import Unwritten
from agent.keeping.measuring import answering
from agent.learning.feedback import FeedbackError
from agent.settings import Settings
from memory.episode import Episode
from memory.errors import BrainError, BrainForeignError, BrainMissingError
from memory.semantic import Term

ROOT = Path(__file__).parents[3]
QUESTION = "How many boats are longer than 20 metres?"
RIGHT, WRONG = "SELECT COUNT(*) FROM Boats WHERE Metres > 20", "SELECT COUNT(*) FROM Boats WHERE Metres > 22"


def made(app: App, sql: str, question: str = QUESTION, *, verifier: str = "gold") -> Episode:
    """An episode as it is given."""
    told = {"question": question, "sql": sql, "origin": "seed:test", "verifier": verifier}
    return episode_of(app, told, "test")


def remember(app: App, *episodes: Episode) -> None:
    """Write episodes at one moment."""
    with app.ledger.transaction() as entry:
        for episode in episodes:
            entry.remember(episode, since=1_700_000_000)


def write(app: App, sql: str, question: str = QUESTION, *, verifier: str = "gold") -> Episode:
    """Make and remember one."""
    episode = made(app, sql, question, verifier=verifier)
    remember(app, episode)
    return episode


def hashes(folder: Path) -> dict[str, str]:
    """The content of every file of a folder."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def audited(settings: Settings) -> Audit:
    with opened_copy(settings, open_app) as app:
        return app.auditing.audit()


def test_no_file_of_the_brain_changes_with_real_cognee_even_where_opening_would_write(settings: Settings) -> None:
    with open_app(settings, seeding=False) as app:
        write(app, RIGHT)
        write(app, WRONG, verifier="person")
        app.bring_up_to_date()
        app.ledger.abandon("none")
    with closing(sqlite3.connect(settings.database)) as connection:
        connection.execute("CREATE TABLE Harbours (Name TEXT)")  # opening the brain itself would note the new schema
    folder = Path(str(settings.brain))
    before = hashes(folder)
    assert any("cognee" in name for name in before)
    found = audited(settings)
    assert [one.kind for one in found.findings] == ["inconclusive"]
    assert hashes(folder) == before


KILLED = """
import os, signal, sys
from pathlib import Path
from agent.app import open_app
from agent.auditing.labelled import episode_of
from agent.settings import Settings
database, brain, sql = sys.argv[1:]
settings = Settings(database=database, data=Path(brain).parent, runs=Path(brain).parent, brain=brain, sow=False)
with open_app(settings, seeding=False) as app:
    told = {"question": "How many boats are longer than 20 metres?", "sql": sql}
    with app.ledger.transaction() as entry:
        entry.remember(episode_of(app, told, "killed"))
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("index", ["left", "gone"])
def test_no_file_is_written_or_made_beside_a_brain_whose_process_was_killed(settings: Settings, index: str) -> None:
    folder = Path(str(settings.brain))
    given = (settings.database, str(folder), RIGHT)
    killed = subprocess.run([sys.executable, "-c", KILLED, *given], cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert list(folder.glob("*-wal")), "the log is left"
    if index == "gone":
        for path in folder.glob("*-shm"):
            path.unlink()
    before = hashes(folder)
    assert audited(settings).episodes == 1, "what was committed is in the log, and is read"
    assert hashes(folder) == before


def test_what_is_wrong_with_a_brain_names_the_brain_and_not_the_copy(settings: Settings, tmp_path: Path) -> None:
    with open_app(settings, seeding=False):
        pass
    other = tmp_path / "other" / "boats.sqlite"
    other.parent.mkdir()
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE Stars (Name TEXT)")
    with pytest.raises(BrainForeignError) as raised:
        audited(replace(settings, database=str(other)))
    assert str(settings.brain) in str(raised.value) and "hebbql-audit-" not in str(raised.value)


@pytest.mark.parametrize("brain", ["named", ""])
def test_a_ledger_on_a_server_is_refused_in_plain_words_before_it_is_opened(settings: Settings, brain: str) -> None:
    opened: list[Settings] = []

    def noting(given: Settings, **_how: object) -> object:
        opened.append(given)
        return open_app(given)

    there = replace(settings, ledger="postgresql://nobody@localhost:1/brain", brain=settings.brain if brain else None)
    with pytest.raises(BrainError, match="PostgreSQL"), opened_copy(there, noting):  # type: ignore[arg-type]
        pass
    assert opened == []


def test_a_brain_that_is_not_there_is_not_made(settings: Settings) -> None:
    with pytest.raises(BrainMissingError):
        audited(settings)
    assert not Path(str(settings.brain)).exists()


def test_a_pinned_episode_is_recommended_though_a_better_verifier_says_otherwise(app: App) -> None:
    write(app, RIGHT)
    wrong = write(app, WRONG, verifier="agreement")
    advice = app.auditing.audit(pinned=[str(wrong.id)[:8]]).findings[0].recommendation
    assert (advice.recommended_id, advice.rule) == (str(wrong.id), "pinned")
    assert app.auditing.audit().findings[0].recommendation.rule == "verifier"


def test_two_pinned_sides_leave_it_to_the_next_rung(app: App) -> None:
    ids = [str(write(app, RIGHT).id), str(write(app, WRONG, verifier="agreement").id)]
    assert app.auditing.audit(pinned=ids).findings[0].recommendation.rule == "verifier"


def test_a_pin_is_kept_for_every_audit_and_answer_until_it_is_taken_away(settings: Settings) -> None:
    with open_app(settings, seeding=False) as app:
        right, wrong = write(app, RIGHT), write(app, WRONG, verifier="agreement")
        app.auditing.pin([str(wrong.id)[:8]])
        position = app.ledger.head()[0]
        app.auditing.pin([str(wrong.id)[:8]])
        assert app.ledger.head()[0] == position, "what is pinned is not pinned again"
    with open_app(settings, seeding=False) as app:
        advice = app.auditing.audit().findings[0].recommendation
        assert (advice.recommended_id, advice.rule) == (str(wrong.id), "pinned")
        app.bring_up_to_date()
        attempt = answered(app)
        told = next(one for one in app.auditing.about(attempt) if one.what == QUESTION)
        assert (told.recommendation.recommended_id, told.recommendation.rule) == (str(wrong.id), "pinned")
        assert app.ledger.verify().ok
        app.auditing.pin(unpin=[str(wrong.id)[:8]])
        told = next(one for one in app.auditing.about(attempt) if one.what == QUESTION)
        assert (told.recommendation.recommended_id, told.recommendation.rule) == (str(right.id), "verifier")
        assert app.auditing.audit().findings[0].recommendation.rule == "verifier"


def test_only_what_is_pinned_can_be_unpinned_and_nothing_is_written_where_one_id_fits_none(app: App) -> None:
    right = write(app, RIGHT)
    before = app.ledger.head()
    with pytest.raises(FeedbackError, match="No pinned episodes begin with"):
        app.auditing.pin(unpin=[str(right.id)])
    with pytest.raises(FeedbackError, match="--pin"):
        app.auditing.pin([str(right.id), "ffffffff"])
    assert app.ledger.head() == before


def test_that_it_could_not_be_looked_at_is_told_and_is_not_nothing(app: App) -> None:
    write(app, RIGHT)
    write(app, WRONG, verifier="agreement")
    app.bring_up_to_date()
    attempt = answered(app)

    def away(_masked: str) -> object:
        raise BrainError("the ledger is away")

    app.ledger.masked = away  # type: ignore[method-assign,assignment]
    (finding,) = app.auditing.about(attempt)
    assert finding.kind == "inconclusive" and "the ledger is away" in finding.reason and finding.writes


def test_a_meaning_that_a_person_taught_is_kept_against_two_files(app: App) -> None:
    for expression, origin in (("9", "person"), ("2", "glossary:a"), ("3", "glossary:b")):
        term = Term(("load", "weight"), "What it carries.", f"Boats.Metres * {expression}", ("Boats",), origin)
        with app.ledger.transaction() as entry:
            app.semantic.write(entry, term)
    found = app.auditing.audit()
    assert [(one.what, len(one.sides)) for one in found.findings] == [("load", 3), ("weight", 3)]
    app.auditing.apply(found)
    held = {name: one.expression for one in app.semantic.glossary() for name in one.names}
    assert held == dict.fromkeys(("load", "weight"), "Boats.Metres * 9")
    assert app.auditing.audit().findings == ()


def test_applying_spares_an_episode_that_was_not_shown_to_contradict_the_recommended_one(app: App) -> None:
    asked = "Which boats lie in Urk?"
    gold = write(app, "SELECT Name FROM Boats WHERE Harbour = 'Urk'", asked)
    more = write(app, "SELECT Name, Metres FROM Boats WHERE Harbour = 'Urk'", asked, verifier="person")
    wrong = write(app, "SELECT Name FROM Boats WHERE Harbour = 'Hoorn'", asked, verifier="")
    done = app.auditing.apply(app.auditing.audit())
    assert done.forgotten == (str(wrong.id),)
    assert {app.ledger.episode_state(one.id) for one in (gold, more)} == {"active"}


def test_a_pin_that_fits_no_episode_is_told(app: App) -> None:
    write(app, RIGHT)
    with pytest.raises(FeedbackError, match="begin with"):
        app.auditing.audit(pinned=["ffffffff"])


def test_applying_forgets_the_losing_sides_only_and_the_audit_is_clean_then(app: App) -> None:
    kept, lost = write(app, RIGHT), write(app, WRONG, verifier="agreement")
    gone = write(app, "SELECT COUNT(*) FROM Captains", "How many captains are there?")
    app.teach("length means Metres * 2")
    app.teach("length means Metres * 3")
    plant(app, {"case": [{"name": "a", "label": "absence", "synapse": [_LOOSE]}]})
    done = app.auditing.apply(app.auditing.audit())
    assert set(done.forgotten) == {str(lost.id), str(gone.id)}
    assert done.left == 0 and done.dropped == ("length",) and len(done.loosened) == 1
    assert app.auditing.audit().findings == ()
    assert app.ledger.episode_state(kept.id) == "active" and app.ledger.episode_state(lost.id) == "forgotten"
    assert [term.expression for term in app.semantic.glossary()] == ["Boats.Metres * 3"]


_LOOSE = {"bucket": "5e1f0000", "to": "gone", "successes": 1, "failures": 1}


def test_applying_leaves_ties_and_what_is_inconclusive(app: App) -> None:
    write(app, RIGHT)
    write(app, WRONG)
    write(app, "SELECT SUM(PriceEUR) FROM Trips", "What was paid?")
    write(app, "SELECT SUM(PriceUSD) FROM Trips", "What was paid?", verifier="person")
    before = app.ledger.head()
    done = app.auditing.apply(app.auditing.audit())
    assert (done.forgotten, done.left) == ((), 2)
    assert app.ledger.head() == before and len(app.auditing.audit().findings) == 2


def test_data_that_changes_while_it_is_read_shows_nothing(app: App) -> None:
    write(app, RIGHT)
    write(app, WRONG, verifier="person")
    run = app.checked_run

    def meanwhile(sql: str) -> object:
        result = run(sql)
        with closing(sqlite3.connect(app.settings.database)) as connection, connection:
            connection.execute("DELETE FROM Boats WHERE BoatID = (SELECT MAX(BoatID) FROM Boats)")
        return result

    app.checked_run = meanwhile  # type: ignore[method-assign,assignment]
    finding = app.auditing.audit().findings[0]
    assert finding.kind == "inconclusive" and "while the data changed" in finding.reason


def test_a_thousand_episodes_run_only_queries_that_may_contradict(app: App) -> None:
    asked = "How many boats are longer than {} m?"
    sql = "SELECT COUNT(*) FROM Boats WHERE Metres > {}"
    remember(app, *(made(app, sql.format(number), asked.format(number)) for number in range(1_000)))
    write(app, "SELECT COUNT(*) FROM Boats WHERE Metres >= 23", asked.format(20))
    found = app.auditing.audit()
    assert [one.kind for one in found.findings] == ["contradiction"]
    assert (found.episodes, found.runs) == (1_001, 2)


def answered(app: App, question: str = QUESTION) -> Attempt:
    with answering(app, asks_model=False):
        *_, attempt = app.ask(question, journal=Unwritten())
    return attempt


def test_an_answer_says_what_its_episodes_contradict_and_looks_at_no_others(settings: Settings) -> None:
    with open_app(settings, seeding=False) as app:
        right, wrong = write(app, RIGHT), write(app, WRONG, verifier="agreement")
        for number in range(1950, 1970):
            asked = f"How many boats were built after {number}?"
            pair = (f"SELECT COUNT(*) FROM Boats WHERE Built {sign} {number}" for sign in (">", ">="))
            remember(app, *(made(app, sql, asked) for sql in pair))
        app.bring_up_to_date()
        attempt = answered(app)
        found = app.auditing.about(attempt)
        ran = app.auditing.answering.runs
        here = next(one for one in found if one.what == QUESTION)
        assert {write.id for write in here.writes} == {str(right.id), str(wrong.id)}
        assert (here.recommendation.recommended_id, here.recommendation.rule) == (str(right.id), "verifier")
        behind = {str(one.episode.id) for one in (*attempt.recalled, *attempt.nearby)}
        assert all(behind & {write.id for write in one.writes} for one in found)
        assert len(found) < 20 and ran <= 2 * len(found)
        assert app.auditing.about(attempt) is found and app.auditing.answering.runs == ran
        app.forget((wrong,))
        assert QUESTION not in {one.what for one in app.auditing.about(attempt)}


def test_the_answer_is_important_that_a_check_of_the_brain_names(settings: Settings) -> None:
    with closing(sqlite3.connect(settings.database)) as connection:
        wanted = connection.execute(WRONG).fetchone()[0]
    checks = settings.data / "brain" / "checks"
    checks.mkdir(parents=True)
    told = f'[[check]]\nkind = "must_know"\nname = "long"\nquestion = "{QUESTION}"\nrows = [[{wanted}]]\n'
    (checks / "a.toml").write_text(told, encoding="utf-8")
    with open_app(replace(settings), seeding=False) as app:
        write(app, RIGHT)
        other = write(app, WRONG, verifier="agreement")
        advice = app.auditing.audit().findings[0].recommendation
    assert (advice.recommended_id, advice.rule) == (str(other.id), "pinned") and "check long" in advice.rationale
