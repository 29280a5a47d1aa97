"""SQL of the pairs: names and literals as the dialect writes them, joins along the ways of a thing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent.database.naming import quoted
from agent.keys import Join, qualified
from agent.learning.sowing.survey import Thing, Way


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes the parts of queries in one dialect."""

    dialect: str

    def name(self, name: str) -> str:
        return quoted(name, self.dialect)

    def of(self, table: str, column: str) -> str:
        return qualified(table, column, self.dialect)

    def label(self, thing: Thing, *, alone: bool = False) -> str:
        """The columns that show a row, with commas between; without their table where it is the only one."""
        return ", ".join(self.name(column) if alone else self.of(thing.table, column) for column in thing.label)

    def key(self, thing: Thing) -> str:
        """What figures of a thing are grouped by: its key; in PostgreSQL that allows its other columns too."""
        return self.of(thing.table, thing.key or thing.label[0])

    def text(self, value: object) -> str:
        """A literal.

        >>> Writer("sqlite").text("O'Brien"), Writer("sqlite").text(3)
        ("'O''Brien'", '3')
        """
        if isinstance(value, int):
            return str(value)
        if isinstance(value, float):
            return number(value)
        return "'" + str(value).replace("'", "''") + "'"

    def is_row(self, thing: Thing, row: dict[str, object], *, alone: bool = False) -> str:
        """The condition that a row is the one shown by its label; `alone` as for that."""
        names = ((self.name(column) if alone else self.of(thing.table, column), column) for column in thing.label)
        return " AND ".join(f"{name} = {self.text(row[column])}" for name, column in names)

    def how_many(self, condition: str) -> str:
        """How many rows are so."""
        return f"SUM(CASE WHEN {condition} THEN 1 ELSE 0 END)"

    def source(self, table: str, *ways: Way) -> str:
        """FROM a table, joined up the ways; a table on two of them stands once."""
        done, parts = {table}, [f"FROM {self.name(table)}"]
        for way in ways:
            for join in way.joins:
                if join.right not in done:
                    done.add(join.right)
                    parts.append(f"JOIN {self.name(join.right)} ON {self.on(join)}")
        return " ".join(parts)

    def grouped(self, thing: Thing, way: Way, up: Thing) -> str:
        """FROM a thing, grouped by what its rows belong to."""
        return f"{self.source(thing.table, way)} GROUP BY {self.key(up)}"

    def on(self, join: Join) -> str:
        pairs = zip(join.left_columns, join.right_columns, strict=True)
        return " AND ".join(f"{self.of(join.right, b)} = {self.of(join.left, a)}" for a, b in pairs)

    def year(self, column: str) -> str:
        """The year of a date, as text."""
        return f"TO_CHAR({column}, 'YYYY')" if self.dialect == "postgres" else f"strftime('%Y', {column})"

    def month(self, column: str) -> str:
        """Year and month of a date, as text: `1997-03`."""
        return f"TO_CHAR({column}, 'YYYY-MM')" if self.dialect == "postgres" else f"strftime('%Y-%m', {column})"

    def yes_no(self, inner: str) -> str:
        return f"SELECT EXISTS ({inner})"


def number(value: float) -> str:
    """A number as a person writes it.

    >>> number(30.0), number(2.5)
    ('30', '2.5')
    """
    return f"{value:.10g}" if value != int(value) or abs(value) > 1e15 else str(int(value))


def either(options: Sequence[str], place: int) -> str:
    """One of several wordings, in turn.

    >>> either(["a", "b"], 3)
    'b'
    """
    return options[place % len(options)]
