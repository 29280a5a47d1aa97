"""`hebbql chat`, end to end: lines from a pipe or a terminal, the model behind a real HTTP endpoint."""

from __future__ import annotations

import json
import os
import pty
import select
import time
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.agent.doors.conftest import Ended, Endpoint, Home

BRAZIL = "How many customers are there in Brazil?"
GERMANY = "How many customers are there in Germany?"


def _counting(question: str, _before: int) -> str:
    """A model that counts the customers of the country in the question."""
    country = question.rstrip("?").rpartition(" in ")[2]
    return f"SELECT COUNT(*) FROM Customers WHERE Country = '{country}'"


def _objects(ended: Ended) -> list[dict[str, Any]]:
    assert ended.code == 0 and "Traceback" not in ended.err, ended.err
    return [json.loads(line) for line in ended.out.splitlines()]


def test_a_follow_up_is_shown_whole_and_then_answered_like_a_question(home: Home, endpoint: Endpoint) -> None:
    endpoint.says = _counting
    ended = home.run("chat", said=f"{BRAZIL}\nand in Germany?\n")
    assert ended.code == 0 and ended.err == "", ended
    shown = ended.out
    order = [f"> {BRAZIL}", "9", "> and in Germany?", f"\u2192 {GERMANY}", "11", "Country = 'Germany'", "/good or /bad"]
    places = [shown.index(text) for text in order[:6]]
    assert places == sorted(places) and order[6] in shown and "\x1b" not in shown
    assert f"\u2192 {BRAZIL}" not in shown, "what is whole already is not shown again"


def test_json_is_one_object_a_line_with_what_was_said_and_what_was_asked(home: Home, endpoint: Endpoint) -> None:
    endpoint.says = _counting
    said = [BRAZIL, "and in Germany?", "thanks", "", "/help", "/nonsense"]
    brazil, germany, thanks, empty, help_, nonsense = _objects(home.run("chat", "--json", said="\n".join(said)))
    assert (brazil["said"], brazil["question"], brazil["by"], brazil["rows"]) == (BRAZIL, BRAZIL, "whole", [[9]])
    assert (germany["said"], germany["question"]) == ("and in Germany?", GERMANY)
    assert (germany["by"], germany["rows"], germany["status"]) == ("rule:literal", [[11]], "answered")
    assert germany["bucket"] == home.ask(GERMANY)["bucket"]
    for one, status in ((thanks, "unclear"), (empty, "unclear"), (help_, "help"), (nonsense, "usage")):
        assert (one["status"], one["question"]) == (status, None) and one["message"]
    assert [one["said"] for one in (thanks, empty, help_, nonsense)] == said[2:]


def test_no_earlier_turn_reaches_the_prompt_that_writes_sql(home: Home, endpoint: Endpoint) -> None:
    endpoint.says = _counting
    first = "How many customers are there in Venezuela?"
    home.run("chat", "--no-memory", said=f"{first}\nand in Germany?\n")
    whole = endpoint.requests[-1]
    home.run("ask", GERMANY, "--no-memory")
    assert endpoint.requests[-1] == whole and "Venezuela?" not in json.dumps(whole)


def test_the_last_answer_is_judged_and_the_right_query_is_remembered(home: Home, endpoint: Endpoint) -> None:
    endpoint.says = lambda _question, _before: "SELECT COUNT(*) FROM Customers"
    right = "SELECT COUNT(*) FROM Customers WHERE Country = 'Norway'"
    question = "How many customers are there in Norway?"
    said = f"/good\n{question}\n/bad\n/sql {right}\n/sql\n/sql DELETE FROM Customers\n/sql {right}\n"
    early, answer, bad, corrected, lacking, hostile, again = _objects(home.run("chat", "--json", said=said))
    assert early["status"] == "usage" and "no answer yet" in early["message"]
    assert answer["rows"] == [[91]] and "marked bad" in bad["message"]
    assert corrected["status"] == "feedback" and corrected["question"] == question and corrected["remembered"]
    assert lacking["status"] == "usage" and hostile["status"] == "failed" and "already" in again["message"]
    recalled = home.ask(question)["recalled"]
    assert recalled[0]["question"] == question and recalled[0]["sql"] == right


def test_all_shows_every_row_of_the_last_answer(home: Home, endpoint: Endpoint) -> None:
    endpoint.says = lambda _question, _before: "SELECT CompanyName FROM Customers ORDER BY CompanyName"
    question, last = "List the names of all customers.", "Wolski  Zajazd"
    shown = home.run("chat", "--no-memory", said=f"/all\n{question}\n/all\n").out
    early, _, rest = shown.partition(question)
    answer, _, every = rest.partition("> /all")
    assert "no answer yet" in early and "(all of them with /all)" in answer
    assert last not in answer and last in every and "SQL" not in every
    _, told = _objects(home.run("chat", "--json", "--no-memory", said=f"{question}\n/all\n"))
    assert told["status"] == "all" and "Every row" in told["message"]


def test_new_forgets_what_was_said_and_quit_ends(home: Home, endpoint: Endpoint) -> None:
    endpoint.says = _counting
    said = f"{BRAZIL}\n/new\nand in Germany?\n/quit\n{GERMANY}\n"
    answer, new, loose = _objects(home.run("chat", "--json", said=said))
    assert answer["rows"] == [[9]] and new["status"] == "new"
    assert loose["question"] == "and in Germany?", "with nothing before it, it is asked as it is"


def test_an_error_ends_one_question_and_the_chat_goes_on(home: Home, endpoint: Endpoint) -> None:
    endpoint.says = _counting
    said = f"{'x' * 5_000}\n{BRAZIL}\nDelete all customers\nand in Germany?\n"
    long, brazil, delete, germany = _objects(home.run("chat", "--json", said=said))
    assert long["status"] == "failed" and "4,000" in long["message"] and long["question"] is None
    assert brazil["rows"] == [[9]] and delete["status"] == "refused"
    assert germany["question"] == GERMANY and germany["rows"] == [[11]], "what was refused is passed over"


def test_what_no_rule_fits_is_asked_of_the_model_and_taken_only_if_it_holds(home: Home, endpoint: Endpoint) -> None:
    written = iter(("Are there more customers in Germany than in Brazil?", "How many suppliers are there in Japan?"))

    def says(question: str, before: int) -> str:
        return next(written) if question.startswith("Question: ") else _counting(question, before)

    endpoint.says = says
    said = f"{BRAZIL}\nis it more in Germany?\nhm hm what if it were otherwise\n"
    _, taken, refused = _objects(home.run("chat", "--json", "--no-memory", said=said))
    assert taken["question"] == "Are there more customers in Germany than in Brazil?" and taken["by"] == "model"
    assert refused["status"] == "unclear" and "/new" in refused["message"] and refused["question"] is None


def test_escapes_in_what_is_said_or_made_of_it_never_reach_the_terminal(home: Home, endpoint: Endpoint) -> None:
    endpoint.says = lambda _question, _before: "SELECT char(27) || '[31mred' FROM Customers LIMIT 1"
    said = f"{BRAZIL}\x1b[31m\nand in\u202e Germany\x1b]0;title\x07?\n/bogus\x1b[1m\x9b\n\x1b[2J\n"
    ended = home.run("chat", said=said)
    assert ended.code == 0 and f"\u2192 {GERMANY}" in ended.out, ended
    assert not [c for c in ended.out + ended.err if (ord(c) < 32 and c != "\n") or c in "\x7f\x9b\u202e"]


def test_bytes_that_are_no_text_do_not_end_the_chat(home: Home, endpoint: Endpoint) -> None:
    endpoint.says = _counting
    *_, answer = _objects(home.run("chat", "--json", said=f"how many \udcff\udcfe\n{BRAZIL}\n"))
    assert answer["rows"] == [[9]]


def test_interrupting_an_answer_ends_that_answer_only(
    home: Home, endpoint: Endpoint, whole: Callable[[Home], None]
) -> None:
    endpoint.says = _counting
    endpoint.hold()
    running = home.start("chat", "--json", "--no-memory", said=f"{BRAZIL}\n{GERMANY}\n")
    assert endpoint.called.wait(60)
    running.signal(2)
    endpoint.free.set()
    stopped, answer = _objects(running.wait())
    assert (stopped["said"], stopped["status"]) == (BRAZIL, "interrupted")
    assert answer["question"] == GERMANY and answer["rows"] == [[11]]
    whole(home)


def test_no_such_model_or_database_ends_before_the_first_line(home: Home, endpoint: Endpoint) -> None:
    for arguments, word in ((("--model", "1.5bb"), "1.5bb"), (("--db", "nowhere.sqlite"), "nowhere.sqlite")):
        ended = home.run("chat", *arguments, said=f"{BRAZIL}\n")
        assert ended.code == 1 and ended.out == "" and ended.says(word), ended
    assert endpoint.requests == []


@pytest.fixture
def terminal() -> Iterator[tuple[int, str]]:
    """A terminal: what its user types into and sees, and its name."""
    ours, theirs = pty.openpty()
    yield ours, os.ttyname(theirs)
    os.close(ours)
    os.close(theirs)


def _seen(ours: int, text: str) -> str:
    """Wait until the terminal shows a text; gives all that it showed."""
    shown, until = "", time.monotonic() + 60
    while text not in shown:
        assert time.monotonic() < until, shown
        if select.select([ours], [], [], 0.1)[0]:
            shown += os.read(ours, 65_536).decode("utf-8", "replace")
    return shown


def test_on_a_terminal_it_prompts_and_ctrl_c_at_the_prompt_ends_it(
    home: Home, endpoint: Endpoint, terminal: tuple[int, str]
) -> None:
    endpoint.says = _counting
    ours, name = terminal
    running = home.start("chat", "--no-memory", terminal=name)
    _seen(ours, "/help says what can be done")
    os.write(ours, f"{BRAZIL}\n".encode())
    _seen(ours, "/good or /bad")
    os.write(ours, b"and in Germany?\n")
    shown = _seen(ours, "/good or /bad")
    assert f"\u2192 {GERMANY}" in shown
    time.sleep(0.3)
    running.signal(2)
    assert running.wait().code == 0 and running.err == ""
