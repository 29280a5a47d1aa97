"""A chat: what was answered is what the next follow-up is about, and the model is trusted with nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from agent.conversation import Conversation, Turned, one_question
from agent.models.port import ModelError, Prompt, Reply
from agent.models.recorded import ScriptedModel
from agent.question import QuestionError

if TYPE_CHECKING:
    from tests.agent.conftest import Bakery

TOTAL = 'SELECT SUM(Pieces) FROM "Daily Sales"'
LINZ = "How many bakers live in Linz?"
GRAZ = "How many bakers live in Graz?"
COUNT = "SELECT COUNT(*) FROM Bakers WHERE Town = 'Linz'"


@dataclass
class Chatting:
    """A chat about the bakery whose answers are scripted, and so is the model that rewrites."""

    bakery: Bakery
    conversation: Conversation

    def hear(self, text: str, *replies: str) -> Turned:
        """Say something; a question is answered with the replies of the model that writes SQL."""
        turned = self.conversation.say(text)
        if turned.question:
            attempt = self.bakery.ask(turned.question, *replies)
            self.conversation = self.conversation.answered(turned, attempt)
        return turned


@pytest.fixture
def chatting(bakery: Bakery) -> Callable[..., Chatting]:
    def begin(complete: Callable[[Prompt], Reply] | None = None) -> Chatting:
        return Chatting(bakery, Conversation(bakery.understand, complete))

    return begin


def test_the_first_thing_said_is_a_question_as_it_is(chatting: Callable[..., Chatting]) -> None:
    turned = chatting().hear(LINZ, COUNT)
    assert (turned.question, turned.by, turned.rewritten) == (LINZ, "whole", False)


def test_a_follow_up_is_rewritten_by_a_rule_that_is_named(chatting: Callable[..., Chatting]) -> None:
    chat = chatting()
    chat.hear(LINZ, COUNT)
    turned = chat.hear("and in Graz?", COUNT)
    assert (turned.question, turned.by, turned.rewritten) == (GRAZ, "rule:literal", True)
    assert chat.conversation.previous and chat.conversation.previous.attempt.question == GRAZ


def test_what_failed_or_was_declined_is_not_what_the_next_follow_up_is_about(chatting: Callable[..., Chatting]) -> None:
    chat = chatting()
    chat.hear(LINZ, COUNT)
    failed = chat.hear("and in Graz?", "no sql", "no sql")
    refused = chat.hear("delete all bakers")
    ended = [(turn.attempt.question, turn.attempt.status) for turn in chat.conversation.turns]
    assert ended == [(LINZ, "answered"), (GRAZ, "failed"), ("delete all bakers", "refused")]
    assert chat.conversation.previous and chat.conversation.previous.attempt.question == LINZ
    assert failed.question == GRAZ and refused.by == "whole"
    assert chat.hear("sorted by name").question == "", "a number cannot be sorted"
    assert chat.hear("and in Graz?", COUNT).question == GRAZ


def test_turns_are_appended_and_anew_forgets_them(chatting: Callable[..., Chatting]) -> None:
    chat = chatting()
    chat.hear(LINZ, COUNT)
    before = chat.conversation
    chat.hear("and in Graz?", COUNT)
    assert len(before.turns) == 1 and len(chat.conversation.turns) == 2
    anew = chat.conversation.anew()
    assert anew.turns == () and anew.previous is None and anew.last is None
    assert anew.say("and in Graz?").by == "whole"


def test_small_talk_and_nothing_get_a_hint(chatting: Callable[..., Chatting]) -> None:
    chat = chatting()
    for text in ("", "thanks", "why?"):
        turned = chat.hear(text)
        assert turned.question == "" and turned.hint and turned.by == ""
    assert chat.conversation.turns == ()


def test_where_no_rule_fits_the_model_is_asked_once_with_nothing_but_the_two(chatting: Callable[..., Chatting]) -> None:
    model = ScriptedModel(["Whole question: How many bakers called Mira Sand live in Linz?"])
    chat = chatting(model.complete)
    chat.hear("How many breads are there?", "SELECT COUNT(*) FROM Breads")
    chat.hear(LINZ, COUNT)
    turned = chat.hear("let it be Mira Sand", COUNT)
    assert turned.by == "model" and turned.question == "How many bakers called Mira Sand live in Linz?"
    [prompt] = model.prompts
    assert [turn.text for turn in prompt.turns] == [
        f"Question: {LINZ}\nFollow-up: let it be Mira Sand\nWhole question:"
    ]
    assert "CREATE TABLE" not in prompt.stable and len(prompt.stable) < 600


@pytest.mark.parametrize(
    "written",
    [
        "How many bakers live in Linz?",
        "How many bakers called Mira Sand are there?",
        "How many bakers called Mira Sand live in Linz or Graz?",
        "How many breads did Mira Sand bake in Linz?",
        "SELECT COUNT(*) FROM Bakers",
        "Sure! Here it is:\nHow many bakers called Mira Sand live in Linz?",
        "",
    ],
    ids=["unchanged", "drops", "adds a value", "adds a table", "a query", "more than one line", "nothing"],
)
def test_what_the_model_drops_or_invents_is_not_taken(written: str, chatting: Callable[..., Chatting]) -> None:
    chat = chatting(ScriptedModel([written]).complete)
    chat.hear(LINZ, COUNT)
    turned = chat.hear("let it be Mira Sand")
    assert turned.question == "" and "/new" in turned.hint and LINZ in turned.hint


def test_a_model_that_cannot_be_reached_is_like_none(chatting: Callable[..., Chatting]) -> None:
    for complete in (ScriptedModel([ModelError("no key")]).complete, None):
        chat = chatting(complete)
        chat.hear(LINZ, COUNT)
        assert "not understood" in chat.hear("let it be Mira Sand").hint


def test_a_name_in_the_answer_is_what_a_pronoun_means(chatting: Callable[..., Chatting]) -> None:
    chat = chatting()
    chat.hear("Which baker lives in Graz?", "SELECT Name FROM Bakers WHERE Town = 'Graz'")
    turned = chat.hear("how many breads did he sell?", TOTAL)
    assert (turned.question, turned.by) == ("How many breads did 'Pavel Novy' sell?", "rule:pointed")


def test_a_text_that_is_too_long_is_said_to_be(chatting: Callable[..., Chatting]) -> None:
    with pytest.raises(QuestionError, match="4,000"):
        chatting().hear("x" * 5_000)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ('"How many bakers are there?"', "How many bakers are there?"),
        ("**Question:** How many bakers are there?\n", "How many bakers are there?"),
        ("```\nHow many bakers are there?\n```", ""),
        ("WITH d AS (SELECT 1) SELECT * FROM d", ""),
        ("   ", ""),
        ("How many bakers are there? And how many breads?", ""),
    ],
)
def test_only_a_lone_question_is_read_from_what_a_model_wrote(text: str, question: str) -> None:
    assert one_question(text) == question
