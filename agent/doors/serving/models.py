"""What requests say. Everything has a length, and what is not known is refused."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Question = Annotated[str, Field(min_length=1, max_length=4_000, description="The question, in plain language.")]
SQL = Annotated[str, Field(min_length=1, max_length=20_000)]
AttemptId = Annotated[str, Field(min_length=1, max_length=40, pattern=r"^[0-9a-zA-Z:_-]+$")]


class Said(BaseModel):
    """Base of all bodies."""

    model_config = ConfigDict(extra="forbid")


class Terminal(Said):
    """The terminal of a command line: so many columns, and Rich's name of its colours."""

    columns: Annotated[int, Field(ge=20, le=1_000)]
    colors: Literal["standard", "256", "truecolor", "windows"] | None = None
    options: Annotated[str, Field(max_length=2_000)] = ""
    every: bool = False


class AskBody(Said):
    """A question, and how it is to be answered where that is not left to the server."""

    question: Question
    memory: bool = True
    habits: bool | None = None
    approach: Annotated[str, Field(max_length=40)] | None = None
    think: Literal["fast", "normal", "deep"] | None = None
    terminal: Terminal | None = None


class FeedbackBody(Said):
    """A person's word on an answer: a verdict, or the right SQL."""

    attempt: AttemptId
    verdict: Literal["good", "bad"] | None = None
    sql: SQL | None = None


class TeachBody(Said):
    """A business term, such as "revenue means UnitPrice * Quantity"."""

    text: Annotated[str, Field(min_length=1, max_length=2_000)]


class RunBody(Said):
    """SQL to be run under the same guard as that of an answer."""

    sql: SQL


class ConsistencyBody(Said):
    """What the audit is told: starts of ids of episodes that a person holds important."""

    pinned: Annotated[list[Annotated[str, Field(min_length=4, max_length=36)]], Field(max_length=100)] = []


class SemanticBody(Said):
    """Which judge is asked about notes that speak of the same thing, and about how many pairs at most."""

    judge: Annotated[str, Field(max_length=40)] = "polarity"
    max_pairs: Annotated[int, Field(ge=1, le=200)] = 20
