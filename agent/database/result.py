"""What running a query gives: rows, or feedback that the model can answer."""

from __future__ import annotations

from dataclasses import dataclass

Cell = str | int | float | bytes | None


class DatabaseError(Exception):
    """Base of all that the database package raises."""


class QueryRejected(DatabaseError):
    """Feedback: the guard will not run this SQL. `reason` is shown to the model and the user."""

    def __init__(self, reason: str, *, rule: str = "guard") -> None:
        super().__init__(reason)
        self.reason = reason
        self.rule = rule


class QueryFailed(DatabaseError):
    """Feedback: the database could not run this SQL (unknown column, deadline …)."""

    def __init__(self, reason: str, *, kind: str = "error") -> None:
        super().__init__(reason)
        self.reason = reason
        self.kind = kind


class DatabaseUnusableError(DatabaseError):
    """Failure: the database is missing, empty, locked, foreign or of an unsupported kind."""


@dataclass(frozen=True, slots=True)
class Result:
    """Rows in the order the database gave them. `seconds` is wall time inside the worker.

    `truncated` names the cap that cut the rows off (`rows`, `bytes`), or is None.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    truncated: str | None = None
    seconds: float = 0.0
