"""The query at work: its tree while it is made to fit, what was changed, and what all steps share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from sqlglot import exp, parse_one

from agent.database.dialects import dialect as read_dialect
from agent.drafting.joining import Unjoined
from agent.drafting.literals import Column
from agent.drafting.operands import Compared, Names
from agent.drafting.saying import Said, Thing
from agent.linked import Link

if TYPE_CHECKING:
    from agent.attempt import Understood
    from agent.linking import Lexicon
    from memory.episode import Episode


class Misfit(Exception):
    """The remembered query cannot be made to fit. Stays in this package."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """An episode, how its question is read, and its query without its joins; no tree where it cannot be read."""

    episode: Episode
    understood: Understood
    said: Said
    loose: Unjoined | None


@dataclass(slots=True)
class Held:
    """A literal of the remembered query, what it is held against, and the link of its question that explains it."""

    compared: Compared
    link: Link
    form: str = ""
    column: Column | None = None
    spot: exp.Expr | None = None
    """The condition of a WHERE or HAVING that can be taken out with it, if it stands in one."""


@dataclass(slots=True)
class Filter:
    """A condition to be put into a WHERE, of `scope` where one of the kind stood there before."""

    sql: str
    tables: tuple[str, ...]
    scope: exp.Select | None = None


@dataclass(frozen=True, slots=True)
class Either:
    """A condition that was put in for several things named, that of each of them, and where these are named."""

    sql: str
    parts: tuple[str, ...]
    starts: tuple[int, ...]


class Work:
    """The state of one adapting. Each step changes the tree, and notes what it changed.

    `old` and `new` are what the two questions speak of, `then` and `now` what they link to.
    """

    @property
    def of_other_kind(self) -> bool:
        """Whether the question asks for another kind of answer than the remembered one did."""
        return self.asked.intent.kind != self.known.understood.intent.kind

    def __init__(self, known: Remembered, asked: Understood, new: Said, lexicon: Lexicon) -> None:
        """Raises Misfit where the remembered query cannot be read."""
        if known.loose is None:
            raise Misfit
        self.known, self.asked, self.lexicon = known, asked, lexicon
        self.old, self.new = known.said, new
        self.then, self.now = known.understood.grounding, asked.grounding
        self.schema = lexicon.schema
        self.dialect = self.schema.dialect
        self.notes: list[str] = []
        self.strain = 0.0
        self.spent = ""
        """An amount that became a filter, and is not shown."""
        self.counted = ""
        """The table whose rows are counted now, where others were."""
        self.either: list[Either] = []
        """Conditions that hold for either of several things named."""
        self.cut = False
        """Whether as many rows as asked for are still to be cut from the list."""
        self.settled: list[Thing] = []
        """Things asked about that stand in the tree already."""
        self.placed: set[str] = set()
        """Conditions asked for that stand in the tree already."""
        self.emptied: exp.Select | None = None
        """The SELECT from which values were taken out."""
        self.thresholds: list[Filter] = []
        self.held: list[Held] = []
        self.tree, self.rigid = known.loose.tree.copy(), known.loose.rigid
        self.names = Names(self.tree, self.schema, [(d.table, d.column) for d in lexicon.date_columns])
        self.tables = frozenset(table.name for table in self.schema.tables)
        self.refers = lexicon.refers

    def bend(self, much: float, note: str = "") -> None:
        """Note a change and how uncertain it is."""
        self.strain += much
        if note:
            self.notes.append(note)


@lru_cache(maxsize=4_096)
def _parsed(text: str, dialect: str) -> exp.Expr:
    return parse_one(text, read=read_dialect(dialect))


def parsed(work: Work, text: str) -> exp.Expr:
    """The tree of an expression, the caller's own."""
    return _parsed(text, work.dialect).copy()


def column_of(table: str, column: str) -> exp.Column:
    return exp.column(exp.to_identifier(column, quoted=True), table=exp.to_identifier(table, quoted=True))


def matching(work: Work, text: str) -> list[exp.Expr]:
    dialect = read_dialect(work.dialect)
    kind = type(_parsed(text, work.dialect))
    return [node for node in work.tree.find_all(kind) if node.sql(dialect, comments=False, identify=True) == text]


def tables_of(work: Work, text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(column.table for column in _parsed(text, work.dialect).find_all(exp.Column)))


def take_out(work: Work, one: Held) -> None:
    if one.spot is None:
        raise Misfit
    remove(one.spot)


def remove(node: exp.Expr) -> None:
    """Take a condition out of its WHERE or HAVING; the clause goes with its last one."""
    parent = node.parent
    if parent is None:
        return
    if isinstance(parent, exp.And):
        other = parent.expression if parent.this is node else parent.this
        parent.replace(other)
    elif isinstance(parent, exp.Paren):
        remove(parent)
    elif isinstance(parent, exp.Where | exp.Having):
        scope = parent.parent
        if scope is None:
            raise Misfit
        scope.set("where" if isinstance(parent, exp.Where) else "having", None)


def key_to(work: Work, table: str, wanted: str) -> exp.Expr:
    for (home, here), there in work.refers.items():
        if home == table and there[0] == wanted:
            return column_of(home, here)
    keys = work.lexicon.primary_keys.get(wanted, ())
    if len(keys) != 1:
        raise Misfit
    return column_of(wanted, keys[0])


def scope_of(one: Held) -> exp.Select | None:
    return one.compared.node.find_ancestor(exp.Select)


def home_of(node: exp.Expr) -> Column | None:
    inner = node.unalias()
    return (inner.table, inner.name) if isinstance(inner, exp.Column) else None


def links_of(held: Iterable[Held]) -> list[Link]:
    found: dict[int, Link] = {}
    for one in held:
        found.setdefault(id(one.link), one.link)
    return sorted(found.values(), key=lambda link: link.start)
