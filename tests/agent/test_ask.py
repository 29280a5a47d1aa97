"""The loop, from question to settled attempt: what is tried, what is given up, and what is kept."""

from __future__ import annotations

import hashlib
import itertools
import shutil
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from agent.attempt import USUAL, Attempt, Status
from agent.database.comparing import same
from agent.database.reading import Database, open_database
from agent.grounding import Lexicon
from agent.learning.questions import Pair, read_pairs
from agent.learning.seed import verify
from agent.learning.teaching import read_glossary
from agent.models.port import ModelError, Prompt, Reply, Usage
from agent.models.recorded import RecordedModel, RecordingModel, ScriptedModel
from memory.ledger import EventKind
from memory.recall import Recalled

if TYPE_CHECKING:
    from agent.attempt import Understood
    from tests.agent.conftest import Bakery

HOME = Path(__file__).resolve().parents[2]
QUESTION = "How many breads are there?"
RIGHT = "SELECT COUNT(*) FROM Breads"
OVERFLOWS = "SELECT SUM(9223372036854775807) FROM Breads"


def settled(bakery: Bakery, attempt: Attempt) -> dict[str, Any]:
    record = bakery.ledger.attempt(attempt.id)
    assert record is not None and record.state == "settled" and record.settled is not None
    return dict(record.settled)


def test_a_first_draft_that_runs_is_the_answer(bakery: Bakery) -> None:
    model = ScriptedModel([f"```sql\n{RIGHT};\n```"])
    *_, attempt = bakery.asking(QUESTION, model)
    assert (attempt.status, attempt.message, attempt.sql) == ("answered", "", RIGHT)
    assert attempt.result is not None and attempt.result.rows == ((3,),)
    assert attempt.last is not None and attempt.last.tables == ("Breads",)
    assert len(model.prompts) == 1
    assert attempt.total_seconds >= attempt.recall_seconds >= 0
    body = settled(bakery, attempt)
    assert (body["status"], body["sql"], body["result"]["rows"]) == ("answered", RIGHT, 1)
    bakery.prove()


def test_what_the_guard_turns_down_goes_back_to_the_model_with_the_reason(bakery: Bakery) -> None:
    model = ScriptedModel(["SELECT COUNT(*) FROM Bred", RIGHT])
    *_, attempt = bakery.asking(QUESTION, model)
    assert attempt.status == "answered"
    assert [draft.rule for draft in attempt.drafts] == ["unknown_table", ""]
    asked, wrote, told = model.prompts[1].turns
    assert (asked, wrote.text) == (model.prompts[0].turns[0], "SELECT COUNT(*) FROM Bred")
    assert told.role == "user" and attempt.drafts[0].problem in told.text and "Breads" in told.text


def test_what_the_database_cannot_run_goes_back_to_the_model_with_the_reason(bakery: Bakery) -> None:
    model = ScriptedModel([OVERFLOWS, RIGHT])
    *_, attempt = bakery.asking(QUESTION, model)
    assert attempt.status == "answered"
    assert [draft.rule for draft in attempt.drafts] == ["failed", ""]
    assert "overflow" in model.prompts[1].turns[-1].text


def test_after_two_repairs_it_gives_up_and_says_what_to_do(bakery: Bakery) -> None:
    model = ScriptedModel(["SELECT Nme FROM Breads", "SELECT Nam FROM Breads", OVERFLOWS, RIGHT])
    *_, attempt = bakery.asking(QUESTION, model)
    assert attempt.status == "failed"
    assert len(model.prompts) == USUAL.drafts == 3
    assert attempt.message.startswith("No query ran after 3 drafts.")
    assert attempt.drafts[-1].problem in attempt.message
    assert f"hebbql feedback {attempt.id} --sql" in attempt.message
    body = settled(bakery, attempt)
    assert (body["sql"], body["skeleton"], body["result"]) == ("", "", None)
    assert [draft["rule"] for draft in body["drafts"]] == ["unknown_column", "unknown_column", "failed"]


def test_a_model_that_repeats_itself_is_not_asked_again(bakery: Bakery) -> None:
    model = ScriptedModel(["SELECT Nme FROM Breads", "SELECT Nme FROM Breads", RIGHT])
    *_, attempt = bakery.asking(QUESTION, model)
    assert (attempt.status, len(model.prompts)) == ("failed", 2)


@pytest.mark.parametrize(
    "write",
    [
        "DELETE FROM Breads",
        "DROP TABLE Breads",
        "UPDATE Breads SET Price = 0",
        "INSERT INTO Breads VALUES (9, 'x', 1, 'y')",
        "WITH d AS (DELETE FROM Breads RETURNING 1) SELECT * FROM d",
        "SELECT 1; DELETE FROM Breads",
        "ATTACH DATABASE 'other.sqlite' AS other",
        "PRAGMA writable_schema = 1",
    ],
)
def test_a_draft_that_would_write_is_refused_and_the_file_stays_as_it_was(bakery: Bakery, write: str) -> None:
    before = hashlib.sha256(bakery.path.read_bytes()).hexdigest()
    attempt = bakery.ask(QUESTION, write, f"```sql\n{write}\n```", f"{write} -- please")
    assert (attempt.status, len(attempt.drafts)) == ("refused", 3)
    assert attempt.message == attempt.drafts[-1].problem != ""
    assert settled(bakery, attempt)["status"] == "refused"
    assert hashlib.sha256(bakery.path.read_bytes()).hexdigest() == before
    assert [path.name for path in bakery.path.parent.iterdir()] == [bakery.path.name]


def test_a_refused_draft_may_be_mended(bakery: Bakery) -> None:
    attempt = bakery.ask(QUESTION, "DELETE FROM Breads", RIGHT)
    assert (attempt.status, attempt.sql) == ("answered", RIGHT)


def test_a_model_that_declines_is_believed(bakery: Bakery) -> None:
    model = ScriptedModel([Reply("", declined="There is no table of ovens."), RIGHT])
    *_, attempt = bakery.asking(QUESTION, model)
    assert (attempt.status, attempt.message) == ("abstained", "There is no table of ovens.")
    assert len(model.prompts) == 1
    assert settled(bakery, attempt)["status"] == "abstained"


def test_sql_beside_a_refusal_to_answer_is_not_run(bakery: Bakery) -> None:
    attempt = bakery.ask(QUESTION, Reply(RIGHT, declined="It is not known."))
    assert (attempt.status, attempt.result, attempt.sql) == ("abstained", None, "")
    assert [draft.problem for draft in attempt.drafts] == [""]


def test_a_model_that_cannot_be_reached_fails_the_attempt_and_settles_it(bakery: Bakery) -> None:
    attempt = bakery.ask(QUESTION, ModelError("The key is wrong. Check ANTHROPIC_API_KEY."))
    assert (attempt.status, attempt.message) == ("failed", "The key is wrong. Check ANTHROPIC_API_KEY.")
    assert attempt.drafts == ()
    assert settled(bakery, attempt)["status"] == "failed"
    assert bakery.ledger.unsettled() == ()


def test_a_model_that_is_lost_during_a_repair_keeps_what_was_drafted(bakery: Bakery) -> None:
    attempt = bakery.ask(QUESTION, "SELECT Nme FROM Breads", ModelError("No network."))
    assert (attempt.status, attempt.message, len(attempt.drafts)) == ("failed", "No network.", 1)
    assert settled(bakery, attempt)["drafts"][0]["rule"] == "unknown_column"


def test_a_question_that_links_to_nothing_is_not_put_to_the_model(bakery: Bakery) -> None:
    model = ScriptedModel([RIGHT])
    *_, attempt = bakery.asking("Which planets orbit Jupiter?", model)
    assert attempt.status == "abstained"
    assert "planets" in attempt.message and "hebbql teach" in attempt.message
    assert (model.prompts, attempt.recalled, attempt.approach) == ([], (), "")
    assert settled(bakery, attempt)["status"] == "abstained"


def test_an_order_to_change_the_data_is_not_put_to_the_model(bakery: Bakery) -> None:
    model = ScriptedModel([RIGHT])
    *_, attempt = bakery.asking("Delete all breads", model)
    assert (attempt.status, model.prompts) == ("refused", [])
    assert "only reads" in attempt.message
    assert settled(bakery, attempt)["status"] == "refused"


def test_a_reply_that_was_cut_off_is_asked_for_again_shorter(bakery: Bakery) -> None:
    model = ScriptedModel([Reply("SELECT COUNT(* FROM", stop="length"), RIGHT])
    *_, attempt = bakery.asking(QUESTION, model)
    assert [draft.rule for draft in attempt.drafts] == ["cut", ""]
    assert "cut off before the query ended; write a shorter one" in model.prompts[1].turns[-1].text
    assert attempt.status == "answered"


def test_a_model_that_never_comes_to_an_end_has_failed_whatever_it_began(bakery: Bakery) -> None:
    attempt = bakery.ask(
        QUESTION, *(Reply(f"DELETE FROM Breads WHERE ({number}", stop="length") for number in range(3))
    )
    assert (attempt.status, [draft.rule for draft in attempt.drafts]) == ("failed", ["cut"] * 3)


def test_a_query_that_ended_before_the_cut_counts(bakery: Bakery) -> None:
    attempt = bakery.ask(QUESTION, Reply(f"{RIGHT};\nThis counts the", stop="length"))
    assert (attempt.status, attempt.sql) == ("answered", RIGHT)


@pytest.mark.parametrize(
    ("replies", "status"),
    [
        (["", " ", "\n"], "failed"),
        (["Sure!", "I would gladly help.", "Which breads?"], "failed"),
        (["SELECT " * 3000, "SELECT a" + " + a" * 4000, "((((" * 2000], "failed"),
        (["SELECT (" * 400 + "1" + ")" * 400] * 3, "failed"),
        (["\ud800", "\x00SELECT", "\ud83d SELECT 1 FROM \udc00"], "failed"),
        (["x" * 200_000, "SELECT '" + "y" * 200_000, ";" * 50_000], "failed"),
        (["SELECT Name FROM Breads JOIN Bakers", "SELECT x.Name FROM Breads y", "SELECT Price FROM Bakers"], "failed"),
    ],
)
def test_whatever_a_model_writes_the_attempt_is_settled(bakery: Bakery, replies: list[str], status: Status) -> None:
    attempt = bakery.ask(QUESTION, *replies)
    assert attempt.status == status, attempt.drafts
    assert settled(bakery, attempt)["status"] == status
    bakery.prove()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(some.lists(some.text(some.characters(codec=None), max_size=40), min_size=3, max_size=3))
def test_no_reply_ever_raises(bakery: Bakery, replies: list[str]) -> None:
    attempt = bakery.ask(QUESTION, *replies)
    assert attempt.status is not None and bakery.ledger.unsettled() == ()


@pytest.fixture(scope="module")
def northwind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    path = tmp_path_factory.mktemp("copy") / "northwind.sqlite"
    shutil.copyfile(HOME / "data" / "northwind.sqlite", path)
    with closing(open_database(str(path))) as database:
        yield database


@pytest.fixture(scope="module")
def northwind_lexicon(northwind: Database) -> Lexicon:
    glossary = read_glossary(HOME / "data" / "glossary" / "northwind.toml", northwind.schema, warn=pytest.fail)
    return Lexicon(northwind.schema, northwind.facts, glossary)


@pytest.fixture
def shop(bakery: Bakery, northwind: Database, northwind_lexicon: Lexicon) -> Bakery:
    """The shipped database in place of the bakery, with an empty brain."""
    return replace(bakery, database=northwind, lexicon=northwind_lexicon)


@pytest.mark.parametrize(
    "pair", read_pairs(HOME / "data" / "questions" / "readme.jsonl"), ids=lambda pair: str(pair.id)
)
def test_the_questions_of_the_readme_are_answered_by_their_sql_and_remembered(shop: Bakery, pair: Pair) -> None:
    attempt = shop.ask(pair.question, f"Here it is:\n```sql\n{pair.sql};\n```")
    assert attempt.status == "answered", attempt.message
    expected = verify(pair, run=lambda sql: shop.run(shop.check(sql)))
    assert attempt.result is not None and same(expected, attempt.result, ordered=pair.ordered)
    [stored] = shop.teacher.take(attempt.id, "good").remembered
    shop.remember(())
    again = shop.ask(pair.question, pair.sql)
    assert [str(memory.episode.id) for memory in again.recalled] == [stored]
    assert again.recalled[0].level == "bucket"
    shop.prove()


class Watching(ScriptedModel):
    """Looks into the ledger at the moment it is called."""

    def __init__(self, bakery: Bakery, replies: list[str]) -> None:
        super().__init__(replies)
        self.bakery = bakery
        self.seen: list[tuple[tuple[str, str, str], ...]] = []

    def complete(self, prompt: Prompt) -> Reply:
        open_now = self.bakery.ledger.unsettled()
        self.seen.append(tuple((one.id, one.state, str((one.started or {}).get("question"))) for one in open_now))
        return super().complete(prompt)


def test_the_attempt_is_in_the_journal_before_the_model_is_called(bakery: Bakery) -> None:
    model = Watching(bakery, ["SELECT Nme FROM Breads", RIGHT])
    *_, attempt = bakery.asking(QUESTION, model)
    assert model.seen == [((attempt.id, "started", QUESTION),)] * 2
    assert bakery.ledger.unsettled() == ()


@pytest.mark.parametrize(
    ("question", "replies"),
    [
        (QUESTION, [RIGHT]),
        (QUESTION, ["SELECT Nme FROM Breads", OVERFLOWS, RIGHT]),
        (QUESTION, ["nothing"]),
        ("Which planets orbit Jupiter?", []),
        ("Delete all breads", []),
    ],
)
def test_every_state_grows_out_of_the_one_before(bakery: Bakery, question: str, replies: list[str]) -> None:
    bakery.ask("List all breads", "SELECT Name FROM Breads")
    states = list(bakery.asking(question, ScriptedModel(replies)))
    assert len({(state.id, state.question, state.model) for state in states}) == 1
    for former, later in itertools.pairwise(states):
        assert later.drafts[: len(former.drafts)] == former.drafts
        assert len(later.drafts) <= len(former.drafts) + 1
        assert later.recalled[: len(former.recalled)] == former.recalled
        for name in ("understood", "approach", "status", "message", "recall_seconds", "total_seconds"):
            assert getattr(former, name) in (None, "", 0.0, getattr(later, name)), name
    assert states[-1].status is not None


def test_settling_is_one_write_or_none(open_bakery: Callable[..., Bakery]) -> None:
    steps: list[str] = []
    armed = {"at": ""}

    def between(step: str) -> None:
        steps.append(step)
        if armed["at"] == f"{len(steps)}":
            raise KeyboardInterrupt(step)

    bakery = open_bakery(between)
    attempt = bakery.asking(QUESTION, ScriptedModel([RIGHT]))
    states = [next(attempt) for _ in range(3)]
    before = len(steps)
    [last] = list(attempt)
    inside = steps[before:]
    assert inside == [
        "attempt_settled event",
        "attempt_settled content",
        "attempt row",
        "before commit",
        "after commit",
    ]
    for number in range(1, len(inside)):
        attempt = bakery.asking(QUESTION, ScriptedModel([RIGHT]))
        states = [next(attempt) for _ in range(3)]
        armed["at"] = f"{len(steps) + number}"
        with pytest.raises(KeyboardInterrupt):
            next(attempt)
        assert [one.id for one in bakery.ledger.unsettled()] == [states[-1].id]
        bakery.prove()
        bakery.ledger.abandon("The process ended.")
    assert last.status == "answered"


def test_an_answer_that_nobody_waits_for_stays_open_until_it_is_closed(bakery: Bakery) -> None:
    asking = bakery.asking(QUESTION, ScriptedModel([RIGHT]))
    next(asking)
    assert bakery.ledger.unsettled() == ()
    state = next(asking)
    assert isinstance(asking, Generator)
    asking.close()
    assert [one.id for one in bakery.ledger.unsettled()] == [state.id]
    assert bakery.ledger.abandon("The process ended.") == (state.id,)
    bakery.prove()


def test_what_it_cost_is_the_sum_of_all_drafts(bakery: Bakery) -> None:
    first = Reply("SELECT Nme FROM Breads", usage=Usage(100, 10, 5, 6, 0.25))
    attempt = bakery.ask(QUESTION, first, Reply(RIGHT, usage=Usage(140, 12, 0, 0, 0.5)))
    assert attempt.usage == Usage(240, 22, 5, 6, 0.75)
    assert settled(bakery, attempt)["usage"] == {
        "input": 240,
        "output": 22,
        "cache_read": 5,
        "cache_write": 6,
        "cost_usd": 0.75,
    }
    unknown = bakery.ask(QUESTION, first, Reply(RIGHT, usage=Usage(1, 1, cost_usd=None)))
    assert unknown.usage.cost_usd is None


def test_a_result_that_a_cap_cut_off_says_so(bakery: Bakery) -> None:
    crossed = "SELECT a.SaleID FROM " + ", ".join(f'"Daily Sales" AS {name}' for name in "abc")
    attempt = bakery.ask("How many daily sales are there?", crossed)
    assert attempt.status == "answered"
    assert attempt.result is not None and (len(attempt.result.rows), attempt.result.truncated) == (50, "rows")
    assert attempt.message == "Only the first 50 rows are shown: the row cap was reached."


def test_memories_are_looked_for_once_and_not_for_every_draft(bakery: Bakery, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    inner = bakery.recalled

    def counting(understood: Understood) -> tuple[Recalled, ...]:
        asked.append(understood.grounding.question)
        return inner(understood)

    monkeypatch.setattr(bakery, "recalled", counting)
    bakery.ask(QUESTION, "SELECT Nme FROM Breads", RIGHT)
    assert asked == [QUESTION]


def test_a_recorded_model_gives_the_same_attempt_again(bakery: Bakery, tmp_path: Path) -> None:
    replies = tmp_path / "replies.jsonl"
    live = RecordingModel(model=ScriptedModel(["SELECT Nme FROM Breads", RIGHT]), path=replies)
    *_, first = bakery.asking(QUESTION, live)
    *_, again = bakery.asking(QUESTION, RecordedModel(path=replies))
    assert again.drafts[0].prompt == first.drafts[0].prompt
    assert [(draft.reply, draft.sql, draft.problem) for draft in again.drafts] == [
        (draft.reply, draft.sql, draft.problem) for draft in first.drafts
    ]
    *_, other = bakery.asking("How many bakers are there?", RecordedModel(path=replies))
    assert other.status == "failed" and "has no reply" in other.message
    kinds = (EventKind.ATTEMPT_STARTED, EventKind.ATTEMPT_SETTLED)
    assert [event.kind for event in bakery.ledger.events(kinds=kinds)] == list(kinds) * 3
