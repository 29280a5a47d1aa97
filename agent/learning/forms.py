"""What a line of a question file and an entry of a glossary must look like.

Imported when such a file is read: pydantic takes a tenth of a second, and a question rarely needs one.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class QuestionLine(BaseModel):
    """One line of a question file. What else stands in it is passed over."""

    model_config = ConfigDict(extra="ignore", strict=True)

    id: Text
    question: Text
    sql: Text
    check_sql: Text | None = None
    alt_sql: list[Text] = Field(default_factory=list)
    ordered: bool = False
    type: str = ""
    difficulty: str = ""
    language: str = "en"


class GlossaryEntry(BaseModel):
    """One business term. `expression` is SQL, and `tables` says which of several columns of a name is meant."""

    model_config = ConfigDict(extra="forbid")

    names: list[Text] = Field(min_length=1)
    meaning: Text
    expression: str | None = None
    tables: list[str] = Field(default_factory=list)


class GlossaryFile(BaseModel):
    """A whole glossary file: nothing but `[[term]]` tables."""

    model_config = ConfigDict(extra="forbid")

    term: list[GlossaryEntry] = Field(default_factory=list)
