"""A chat: what was asked and answered so far, and how the next thing said becomes a whole question.

Only the whole question goes on to be answered; what was said before never reaches the prompt that writes SQL.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from agent.attempt import Attempt, Understood
from agent.followup import Shown, holds, nudge, rewrite
from agent.models.port import ModelError, Prompt, Reply, Turn
from agent.question import asks_to_write, read_question

LONGEST_REWRITE = 120
"""Tokens that the model may write for one whole question."""

INSTRUCTIONS = (
    "You turn a follow-up into one whole question. You get a question that was asked of a database, and what the user "
    "said next. Write the one whole question, in the words of both, that the user means now. Change only what the "
    "follow-up changes. Write the question and nothing else: no answer, no query."
)
_LABEL = re.compile(
    r"\A[\s>*\"'`-]*(?:(?:whole|new|full|complete|rewritten)\s+)?(?:question\s*:)?[\s*\"'`]*", re.IGNORECASE
)
_NOT_UNDERSTOOD = (
    "{said!r} was not understood after {question!r}. Ask it as one whole question, or begin anew with /new."
)


@dataclass(frozen=True, slots=True)
class Turned:
    """What something said became. `question` is `""` where it asks for nothing; `hint` then says what to do.

    `by` is `whole` (it was a question already), `rule:NAME`, `model`, or `""`.
    """

    said: str
    question: str = ""
    by: str = ""
    hint: str = ""

    @property
    def rewritten(self) -> bool:
        return self.by not in ("", "whole")


@dataclass(frozen=True, slots=True)
class Answered:
    """A turn with its answer."""

    turned: Turned
    attempt: Attempt


@dataclass(frozen=True, slots=True)
class Conversation:
    """A chat so far: turns are appended, never changed. `understand` links a question to the database.

    `complete` asks a model; None where only rules rewrite.
    """

    understand: Callable[[str], Understood]
    complete: Callable[[Prompt], Reply] | None = None
    turns: tuple[Answered, ...] = ()

    @property
    def previous(self) -> Answered | None:
        """The last turn that was answered; what was declined or failed is passed over."""
        return next((turn for turn in reversed(self.turns) if turn.attempt.status == "answered"), None)

    @property
    def last(self) -> Attempt | None:
        """The attempt that feedback is about: the last one, however it ended."""
        return self.turns[-1].attempt if self.turns else None

    def answered(self, turned: Turned, attempt: Attempt) -> Conversation:
        """The chat with one more turn."""
        return replace(self, turns=(*self.turns, Answered(turned, attempt)))

    def anew(self) -> Conversation:
        """The chat with nothing said."""
        return replace(self, turns=())

    def say(self, text: str) -> Turned:
        """Make a whole question of what was said, by the rules, else by the model, else not at all.

        Raises:
            QuestionError: it is too long, or no text.
        """
        said = " ".join(text.split())
        if hint := nudge(said):
            return Turned(said, hint=hint)
        said = read_question(text)
        before = self.previous
        if before is None or before.attempt.understood is None or asks_to_write(said):
            return Turned(said, said, "whole")
        result = before.attempt.result
        shown = Shown(result.columns, result.rows, result.truncated is not None) if result else None
        found = rewrite(before.attempt.understood, said, self.understand, shown)
        if found is not None:
            return Turned(said, found.question, "whole" if found.rule == "whole" else f"rule:{found.rule}")
        written = self._ask_the_model(before.attempt.understood, said)
        if written:
            return Turned(said, written, "model")
        question = before.attempt.question
        return Turned(said, hint=_NOT_UNDERSTOOD.format(said=said, question=question))

    def _ask_the_model(self, before: Understood, said: str) -> str:
        """The model's whole question if it has all that it must have, else `""`."""
        if self.complete is None:
            return ""
        shown = f"Question: {before.grounding.question}\nFollow-up: {said}\nWhole question:"
        try:
            reply = self.complete(Prompt(INSTRUCTIONS, (Turn("user", shown),), LONGEST_REWRITE))
        except ModelError:
            return ""
        for text in (reply.text, reply.declined or ""):
            written = one_question(text)
            if written and holds(before, self.understand(said).grounding, self.understand(written)):
                return written
        return ""


def one_question(text: str) -> str:
    """The question that a model wrote, without label and quotes; `""` where it wrote something else.

    >>> one_question('**Whole question:** "How many orders were placed in 1998?"')
    'How many orders were placed in 1998?'
    >>> one_question("SELECT 1"), one_question("a\\nb")
    ('', '')
    """
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    if len(lines) != 1:
        return ""
    question = re.sub(r"[\"'`*\s]+\Z", "", _LABEL.sub("", lines[0], count=1))
    if (
        not question
        or "?" in question[:-1]
        or re.match(r"(?:select|with\s+\w+\s+as|insert|update|delete)\b", question, re.IGNORECASE)
    ):
        return ""
    return question
