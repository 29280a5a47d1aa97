"""An episode: one remembered question with the SQL that answered it."""

from __future__ import annotations

import unicodedata
import uuid
from dataclasses import dataclass
from typing import Literal

Part = Literal["question", "masked"]
"""A text of an episode that says what it is about."""

_NAMESPACE = uuid.UUID("6d4d4be8-2c0e-5d0e-9a39-4b7e4c8d1f6e")


def episode_id(bucket: str, masked: str, sql: str) -> uuid.UUID:
    """Give the lasting identity of an episode: bucket, masked question and SQL, case-sensitive.

    >>> episode_id("b", "How many <value>?", "SELECT 1") == episode_id("b", "How many <value>?", "SELECT 1")
    True
    >>> episode_id("b", "q", "SELECT 1") == episode_id("b", "q", "select 1")
    False
    """
    return uuid.uuid5(_NAMESPACE, "\x1f".join((bucket, masked, sql)))


def plain(text: str) -> str:
    """Text of which an id can be made: without half surrogate pairs."""
    return text.encode("utf-8", "replace").decode()


def folded(question: str) -> str:
    """A question without what two writings of it may differ in: case, spaces and what stands at the end.

    >>> folded("How many  customers?") == folded("how many customers")
    True
    """
    text = "".join(unicodedata.normalize("NFKC", question).casefold().split())
    while text and unicodedata.category(text[-1]).startswith("P"):
        text = text[:-1]
    return text


@dataclass(frozen=True, slots=True)
class Episode:
    """What worked once. Origin and verifier are set when it is written and never edited.

    `kind` and `tables` are the intent that `bucket` is the hash of; `masked` is the question with its
    literals replaced; `sql` is normalised; `skeleton` is its shape without names and literals.
    `origin` says who wrote it (`seed:<pack>`, `feedback:<attempt>`, `train:<run>`); `verifier` what vouched
    for it (`gold`, `person`, `agreement`); `batch` all that one source wrote at one time.
    `schema_fingerprint` is the schema version it was verified on; `result_fingerprint` what it returned then.
    """

    bucket: str
    kind: str
    tables: tuple[str, ...]
    question: str
    masked: str
    sql: str
    skeleton: str
    origin: str
    verifier: str
    batch: str
    schema_fingerprint: str
    result_fingerprint: str

    @property
    def id(self) -> uuid.UUID:
        return episode_id(self.bucket, self.masked, self.sql)
