"""Says in words what one query has otherwise than another of which it was made: every change, clause by clause.

What this gives holds text of a database: who prints it makes it harmless.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp

_ALIKE = 0.5
"""How much of two conditions must be the same for one to have become the other."""

_LONGEST = 120
"""Characters of one part that are told."""

_LONG = 60
"""Characters from which on of a part that changed only what differs in it is told."""

_LITERAL = re.compile(r"'(?:[^']|'')*'|\b\d+(?:\.\d+)?\b")


_TOKEN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\w+|<=|>=|<>|!=|\|\||\S""")
_MOST_TOKENS = 400
_MOST_CHANGES = 3
_LONGEST_CHANGE = 8
"""Tokens; of what differs more than this only the clauses are named."""
_CLAUSES = {"SELECT": "SELECT", "FROM": "FROM", "WHERE": "WHERE", "GROUP": "GROUP BY"}
_CLAUSES |= {"HAVING": "HAVING", "ORDER": "ORDER BY", "LIMIT": "LIMIT"}


@dataclass(frozen=True, slots=True)
class _Part:
    """One part of a clause: its text, the same with the tables of its columns, and whether each column has one.

    `key` and `whole_key` are both with names in small letters, which are the same names.
    """

    text: str
    whole: str
    key: str
    whole_key: str
    settled: bool

    def same(self, other: _Part) -> bool:
        if self.whole_key == other.whole_key:
            return True
        return self.key == other.key and not (self.settled and other.settled)


@dataclass(frozen=True, slots=True)
class _Level:
    """One SELECT, or what several are put together with: the parts of its clauses, in order."""

    shown: tuple[_Part, ...] = ()
    distinct: bool = False
    sources: tuple[_Part, ...] = ()
    ties: tuple[_Part, ...] = ()
    conditions: tuple[_Part, ...] = ()
    groups: tuple[_Part, ...] = ()
    kept: tuple[_Part, ...] = ()
    windows: tuple[_Part, ...] = ()
    order: tuple[_Part, ...] = ()
    descends: tuple[bool, ...] = ()
    limit: str = ""
    offset: str = ""
    word: str = ""


@lru_cache(256)
def changes(before: str, after: str, *, dialect: str = "sqlite") -> tuple[str, ...] | None:
    """Tell each change from one query to another, in the order of the clauses; None where one cannot be read.

    What tables are called inside a query, and the order of conditions, change nothing.

    >>> changes("SELECT COUNT(*) FROM t WHERE a = 'x' LIMIT 3", "SELECT COUNT(*) FROM t AS u WHERE u.a = 'y' LIMIT 5")
    ("a = 'x' became a = 'y'", 'LIMIT 5 instead of 3')
    >>> changes("SELECT a FROM t ORDER BY a", "SELECT t.a FROM t JOIN u ON u.i = t.i WHERE u.b > 2 ORDER BY t.a DESC")
    ('joins u', 'added b > 2', 'sorted downwards instead of upwards')
    """
    was, now = _levels(before, dialect), _levels(after, dialect)
    if was is None or now is None:
        return None
    told = list(_changed(was[0], now[0]))
    if len(was) == len(now):
        for one, other in zip(was[1:], now[1:], strict=True):
            told += [f"inside: {change}" for change in _changed(one, other)]
        return tuple(told)
    more = len(now) - len(was)
    plural = "query" if abs(more) == 1 else "queries"
    told.append(f"{'added' if more > 0 else 'left out'} {abs(more)} inner {plural}")
    return tuple(told)


def _levels(sql: str, dialect: str) -> tuple[_Level, ...] | None:
    """What each query in a query consists of, the outermost first; None where it cannot be read."""
    from sqlglot import exp, parse_one
    from sqlglot.errors import SqlglotError

    try:
        tree = parse_one(sql, read=dialect)
        queries = [node for node in tree.walk(bfs=False) if isinstance(node, exp.Select | exp.SetOperation)]
        return tuple(_level(query, dialect) for query in queries) or None
    except (SqlglotError, RecursionError, KeyError, ValueError):
        return None


def _level(query: exp.Expr, dialect: str) -> _Level:
    from sqlglot import exp

    names = _names(query)

    def part(node: exp.Expr) -> _Part:
        mine = node.copy()
        for inner in list(mine.find_all(exp.Select, exp.SetOperation)):
            if inner is not mine:
                inner.replace(exp.Var(this="…"))
        settled = True
        for column in list(mine.find_all(exp.Column)):
            home = names.get(column.table.casefold(), column.table) if column.table else names.get("", "")
            settled &= bool(home)
            column.set("table", exp.to_identifier(home) if home else None)
        bare = mine.copy()
        for column in bare.find_all(exp.Column):
            column.set("table", None)
        texts = [node.sql(dialect, comments=False) for node in (bare, mine)]
        for name in (*bare.find_all(exp.Identifier), *mine.find_all(exp.Identifier)):
            name.set("this", name.name.casefold())
            name.set("quoted", False)
        keys = [node.sql(dialect, comments=False) for node in (bare, mine)]
        return _Part(texts[0], texts[1], keys[0], keys[1], settled)

    shown = [node.unalias() for node in query.expressions] if isinstance(query, exp.Select) else []
    called = {node.alias.casefold(): node.this for node in query.expressions if isinstance(node, exp.Alias)}

    def meant(node: exp.Expr) -> exp.Expr:
        """What a key of GROUP BY or ORDER BY stands for where it is the name or the place of what is shown."""
        if isinstance(node, exp.Ordered):
            mine: exp.Expr = node.copy()
            mine.set("this", meant(node.this).copy())
            return mine
        if isinstance(node, exp.Column) and not node.table:
            named: exp.Expr = called.get(node.name.casefold(), node)
            return named
        if isinstance(node, exp.Literal) and node.is_int and 0 < int(node.name) <= len(shown):
            placed: exp.Expr = shown[int(node.name) - 1]
            return placed
        return node

    def parts(clause: str) -> tuple[_Part, ...]:
        found = query.args.get(clause)
        return tuple(part(meant(node)) for node in found.expressions) if found is not None else ()

    def tests(clause: str) -> tuple[_Part, ...]:
        found = query.args.get(clause)
        whole = [] if found is None else found.this.flatten() if isinstance(found.this, exp.And) else [found.this]
        return tuple(part(node.unnest()) for node in whole)

    group = query.args.get("group")
    all_keys = (_Part("ALL", "ALL", "all", "all", True),) if group is not None and group.args.get("all") else ()
    sources, ties = _sources(query)
    return _Level(
        shown=tuple(map(part, shown)),
        distinct=bool(isinstance(query, exp.Select) and query.args.get("distinct")),
        sources=tuple(_Part(text, text, text.casefold(), text.casefold(), True) for text in sources),
        ties=tuple(replace(tied, text=tied.whole) for tied in map(part, ties)),
        conditions=tests("where"),
        kept=tests("having"),
        groups=parts("group") + all_keys,
        windows=tuple(_named_window(part(node)) for node in query.args.get("windows") or ()),
        order=parts("order"),
        descends=tuple(bool(key.args.get("desc")) for key in query.args["order"].expressions)
        if query.args.get("order")
        else (),
        limit=_amount(query, "limit"),
        offset=_amount(query, "offset"),
        word="" if isinstance(query, exp.Select) else _set_word(query),
    )


def _named_window(found: _Part) -> _Part:
    """A window as the WINDOW clause writes it."""
    text, whole, key, whole_key = (
        text.replace(" OVER ", " AS ", 1) for text in (found.text, found.whole, found.key, found.whole_key)
    )
    return _Part(text, whole, key, whole_key, found.settled)


def _set_word(query: exp.Expr) -> str:
    """How two queries are put together: `UNION`, `UNION ALL`, `EXCEPT` …"""
    return query.key.upper() + (" ALL" if query.args.get("distinct") is False else "")


def _amount(query: exp.Expr, clause: str) -> str:
    found = query.args.get(clause)
    return str(found.expression.sql()) if found is not None and found.args.get("expression") is not None else ""


def _names(query: exp.Expr) -> dict[str, str]:
    """The table behind each name that a query gives one; of two of one table their names. `""` for the only one."""
    from sqlglot import exp

    found = [(node.alias_or_name, node.name) for node in _tables(query) if isinstance(node, exp.Table)]
    tables = [table.casefold() for _, table in found]
    names = {name.casefold(): table if tables.count(table.casefold()) == 1 else name for name, table in found}
    if len(_tables(query)) == 1:
        names[""] = next(iter(names.values()), "")
    return names


def _tables(query: exp.Expr) -> list[exp.Expr]:
    clause = query.args.get("from_")
    first = [clause.this, *(join.this for join in clause.this.args.get("joins") or ())] if clause is not None else []
    return [*first, *(join.this for join in query.args.get("joins") or ())]


def _sources(query: exp.Expr) -> tuple[list[str], list[exp.Expr]]:
    """What a query reads, each with the side of its join, and the conditions that tie one to another."""
    from sqlglot import exp

    clause = query.args.get("from_")
    if clause is None:
        return [], []
    texts, ties = [_called(clause.this)], []
    for join in (*(clause.this.args.get("joins") or ()), *(query.args.get("joins") or ())):
        side = join.args.get("side") or ""
        texts.append(f"{side} {_called(join.this)}".strip())
        on = join.args.get("on")
        for tie in [] if on is None else on.flatten() if isinstance(on, exp.And) else [on]:
            ties.append(_turned(tie.unnest()))
        ties += [
            exp.EQ(this=exp.column(name.name), expression=exp.column(name.name))
            for name in join.args.get("using") or ()
        ]
    return texts, ties


def _called(source: exp.Expr) -> str:
    from sqlglot import exp

    return source.name if isinstance(source, exp.Table) else f"the query {source.alias_or_name}".strip()


def _turned(tie: exp.Expr) -> exp.Expr:
    """An equation with its sides in one order."""
    from sqlglot import exp

    if isinstance(tie, exp.EQ) and tie.this.sql() > tie.expression.sql():
        return exp.EQ(this=tie.expression.copy(), expression=tie.this.copy())
    return tie


def _changed(was: _Level, now: _Level) -> Sequence[str]:
    told = []
    if was.word != now.word:
        told.append(f"{now.word or 'one query'} instead of {was.word or 'one query'}")
    told += _each(
        was.shown,
        now.shown,
        became="shows {now} instead of {was}",
        added="shows {now} as well",
        left="does not show {was}",
        alike=0.0,
    )
    if not _missing(was.shown, now.shown) and not _missing(now.shown, was.shown):
        moved = [one for one, other in zip(was.shown, now.shown, strict=False) if not one.same(other)]
        told += ["shows its columns in another order"] if moved else []
    if was.distinct != now.distinct:
        told.append("added DISTINCT" if now.distinct else "left out DISTINCT")
    joins = len(was.sources) != len(now.sources)
    read = _each(
        was.sources,
        now.sources,
        became="reads {now} instead of {was}",
        added="joins {now}",
        left="does not join {was}",
        alike=2.0 if joins else 0.0,
    )
    told += read
    if not read:
        told += _each(
            was.ties,
            now.ties,
            became="joined on {now} instead of {was}",
            added="joined on {now}",
            left="not joined on {was}",
        )
    told += _tested(was, now)
    told += _list(was.groups, now.groups, "grouped by", "not grouped")
    told += _each(was.windows, now.windows, became="{was} became {now}", added="added {now}", left="left out {was}")
    turned = _list(was.order, now.order, "sorted by", "not sorted")
    if turned and [one.removesuffix(" DESC") for one in _keys(was.order)] == [
        one.removesuffix(" DESC") for one in _keys(now.order)
    ]:
        turned = [f"sorted {_direction(now.descends)} instead of {_direction(was.descends)}"]
    told += turned
    for word, before, after in (("LIMIT", was.limit, now.limit), ("OFFSET", was.offset, now.offset)):
        if before != after:
            told.append(
                f"{word} {after} instead of {before}"
                if before and after
                else f"added {word} {after}"
                if after
                else f"left out {word} {before}"
            )
    return told


def _tested(was: _Level, now: _Level) -> list[str]:
    """How conditions changed; those that only moved between WHERE and HAVING are told as such."""
    told = []
    rows, groups = list(now.conditions), list(now.kept)
    before, after = _missing(was.conditions, rows), _missing(was.kept, groups)
    to_groups = [one for one in before if not _missing([one], _missing(groups, was.kept))]
    to_rows = [one for one in after if not _missing([one], _missing(rows, was.conditions))]
    told += [f"{_short(one)} in HAVING instead of WHERE" for one in to_groups]
    told += [f"{_short(one)} in WHERE instead of HAVING" for one in to_rows]
    old = (*_missing(was.conditions, to_groups), *_missing(was.kept, to_rows))
    new = (*_missing(now.conditions, to_rows), *_missing(now.kept, to_groups))
    return told + _each(old, new, became="{was} became {now}", added="added {now}", left="left out {was}")


def _each(
    was: Sequence[_Part], now: Sequence[_Part], *, became: str, added: str, left: str, alike: float = _ALIKE
) -> list[str]:
    """What became of each part, what came and what went; of parts that changed the most alike go together."""
    gone, came = _missing(was, now), _missing(now, was)
    told = []
    while gone and came:
        ratio, before, after = max(
            ((_likeness(one, other), one, other) for one in gone for other in came), key=lambda found: found[0]
        )
        if ratio < alike:
            break
        told.append(_inside(before, after) or became.format(was=_short(before, after), now=_short(after, before)))
        gone.remove(before)
        came.remove(after)
    told += [left.format(was=_short(one)) for one in gone]
    return [*told, *(added.format(now=_short(one)) for one in came)]


def _inside(was: _Part, now: _Part) -> str:
    """What differs in a part that is long; `""` where it is short, or all of it differs."""
    if min(len(was.text), len(now.text)) < _LONG or was.text == now.text:
        return ""
    differs = sql_differs(was.text, now.text)
    return f"{differs.removeprefix('has ')} in {was.text[:20].rstrip()}…" if differs.startswith("has ") else ""


def _missing(parts: Sequence[_Part], others: Sequence[_Part]) -> list[_Part]:
    """The parts that the others do not have; what comes twice must be there twice."""
    left, found = list(others), []
    for one in parts:
        same: Callable[[_Part], bool] = one.same
        match = next((other for other in left if same(other)), None)
        if match is None:
            found.append(one)
        else:
            left.remove(match)
    return found


def _likeness(one: _Part, other: _Part) -> float:
    """How alike two parts are, in [0, 1]; those that differ in literals only are as good as the same."""
    shapes = _LITERAL.sub("?", one.text), _LITERAL.sub("?", other.text)
    if shapes[0] == shapes[1]:
        return 1.0
    return SequenceMatcher(None, *shapes, autojunk=False).ratio()


def _list(was: Sequence[_Part], now: Sequence[_Part], verb: str, none: str) -> list[str]:
    """How a list whose order counts changed."""
    if len(was) == len(now) and all(one.same(other) for one, other in zip(was, now, strict=True)):
        return []
    before, after = ", ".join(map(_short, was)), ", ".join(map(_short, now))
    if before == after:
        before, after = (", ".join(part.whole for part in parts) for parts in (was, now))
    if not now:
        return [f"{none} by {before}"]
    return [f"{verb} {after}" + (f" instead of {before}" if before else "")]


def _keys(order: Sequence[_Part]) -> list[str]:
    return [part.whole_key for part in order]


def _direction(descends: Sequence[bool]) -> str:
    return " and ".join("downwards" if one else "upwards" for one in descends)


def _short(part: _Part, beside: _Part | None = None) -> str:
    """A part as it is told, with the tables of its columns where it would else read like the other."""
    text = part.whole if beside is not None and beside.text == part.text else part.text
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def sql_differs(answer: str, other: str) -> str:
    """What `other` has instead of what the answer has; where that is too much to say, the clauses in which it is.

    >>> sql_differs("SELECT a FROM t WHERE b = 'x, y' LIMIT 5", "SELECT SUM(a) FROM t WHERE c = 'z' LIMIT 5")
    "has SUM(a) instead of a, c = 'z' instead of b = 'x, y'"
    >>> sql_differs("SELECT a FROM t", "SELECT a, b FROM t")
    'has b added'
    >>> sql_differs("SELECT a FROM t ORDER BY a", "SELECT a FROM (SELECT SUM(a) AS a FROM u GROUP BY b) ORDER BY a")
    'differs in FROM'
    """
    ours, theirs = _TOKEN.findall(answer), _TOKEN.findall(other)
    changes = _changes(ours, theirs) if max(len(ours), len(theirs)) <= _MOST_TOKENS else ()
    if 0 < len(changes) <= _MOST_CHANGES and all(_is_short(before) and _is_short(after) for before, after in changes):
        return "has " + ", ".join(_change(before, after) for before, after in changes)
    mine, its = _clauses(ours), _clauses(theirs)
    names = [name for name in _CLAUSES.values() if mine.get(name) != its.get(name)]
    return f"differs in {', '.join(names)}" if names else "is written otherwise"


def _changes(ours: Sequence[str], theirs: Sequence[str]) -> tuple[tuple[Sequence[str], Sequence[str]], ...]:
    """What stands in one and what in its place in the other; what one token parts is one change."""
    spans: list[tuple[int, int, int, int]] = []
    matcher = SequenceMatcher(None, _folded(ours), _folded(theirs), autojunk=False)
    for kind, begin, end, first, last in matcher.get_opcodes():
        if kind == "equal":
            continue
        near = bool(spans) and begin - spans[-1][1] <= 1 and first - spans[-1][3] <= 1
        since = spans.pop() if near else (begin, end, first, last)
        spans.append((since[0], end, since[2], last))
    return tuple((ours[begin:end], theirs[first:last]) for begin, end, first, last in spans)


def _folded(tokens: Sequence[str]) -> list[str]:
    return [token.upper() if token.isidentifier() else token for token in tokens]


def _is_short(tokens: Sequence[str]) -> bool:
    """Whether a change can be read alone: few tokens, and every parenthesis closed."""
    return len(tokens) <= _LONGEST_CHANGE and tokens.count("(") == tokens.count(")")


def _clauses(tokens: Sequence[str]) -> dict[str, list[str]]:
    """The tokens of each clause of a query; those of an inner query belong to the clause that it stands in."""
    found: dict[str, list[str]] = {}
    depth, at = 0, ""
    for token in _folded(tokens):
        depth += (token == "(") - (token == ")")
        at = _CLAUSES.get(token, at) if depth == 0 else at
        found.setdefault(at, []).append(token)
    return found


def _change(before: Sequence[str], after: Sequence[str]) -> str:
    was, now = (_written(tokens).removeprefix(",").removesuffix(",").strip() for tokens in (before, after))
    if not was:
        return f"{now} added"
    return f"{now} instead of {was}" if now else f"{was} left out"


def _written(tokens: Sequence[str]) -> str:
    """Tokens as one writes them.

    >>> _written(["SUM", "(", "t", ".", "a", ")", ",", "'x . y'"])
    "SUM(t.a), 'x . y'"
    """
    text = ""
    for before, token in zip(("(", *tokens), tokens, strict=False):
        close = before in "(." or token in ".,)" or (token == "(" and before.isidentifier())
        text += token if close else f" {token}"
    return text
