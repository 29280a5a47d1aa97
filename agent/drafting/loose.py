"""Queries without FROM and JOIN, for models that write such: `Table.Column` everywhere, and code completes the joins.

A small model writes the columns that it means and forgets the table they come from, or joins one that has nothing to do
with them. So the examples are shown to it without joins, it writes without joins, and the keys say the rest (the idea
of NatSQL, Gan et al. 2021). What cannot be said so, a table joined to itself or a LEFT JOIN, keeps its FROM.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from sqlglot import exp

from agent.attempt import Attempt
from agent.database.dialects import dialect
from agent.database.guard import parse_query
from agent.database.naming import quoted
from agent.database.result import QueryRejected
from agent.drafting.grammar import grammar_for
from agent.drafting.joining import joined, unjoined
from agent.drafting.joins.scopes import home
from agent.linking import Lexicon
from agent.models.port import Prompt, Turn


def loosely(sql: str, *, lexicon: Lexicon) -> str | None:
    """Write a query without FROM and JOIN wherever its columns say as much; None where it comes back as another.

    `COUNT(*)` becomes `COUNT(Table.*)`, so that it says what it counts.
    """
    try:
        tree = parse_query(sql, lexicon.schema.dialect)
    except QueryRejected:
        return None
    loose = unjoined(tree, lexicon=lexicon)
    if loose is None or loose.rigid:
        return None
    for scope in list(loose.tree.find_all(exp.Select)):
        _drop_from(scope, lexicon)
    back = joined(loose.tree.copy(), lexicon=lexicon)
    if back is None or _tables(back) != _tables(tree):
        return None
    return _written(loose.tree, lexicon)


def completed(sql: str, *, lexicon: Lexicon) -> str | None:
    """A query with the joins that its columns need; None where it cannot be read, or no key leads to a table."""
    try:
        whole = joined(parse_query(sql, lexicon.schema.dialect), lexicon=lexicon)
    except QueryRejected:
        return None
    if whole is None:
        return None
    for column in list(whole.find_all(exp.Column)):
        if isinstance(column.this, exp.Star) and _is_counted(column):
            column.replace(exp.Star())
    return _written(whole, lexicon)


def loosened(attempt: Attempt, prompt: Prompt, *, lexicon: Lexicon, said: bool = True) -> Prompt:
    """The prompt with its examples written without joins, no joins among its facts, and the grammar to go with it.

    For `said` see `grammar_for`. What the model writes under it must go through `completed`. A prompt without examples,
    or that shows something else beside their SQL (a plan, say), stays as it is: the model would not know the form.
    """
    assert attempt.understood is not None, "an attempt is understood before it is drafted"
    shown = {memory.episode.sql for memory in attempt.recalled}
    if not shown or not shown <= {turn.text for turn in prompt.turns if turn.role == "assistant"}:
        return prompt
    written = {sql: loosely(sql, lexicon=lexicon) or sql for sql in shown}
    lines = {f"({line})" for line in _joins(lexicon)}
    turns = []
    for turn in prompt.turns:
        if turn.role == "assistant":
            turns.append(Turn(turn.role, written.get(turn.text, turn.text)))
        else:
            turns.append(Turn(turn.role, "\n".join(line for line in turn.text.split("\n") if line not in lines)))
    grammar = grammar_for(
        attempt.understood,
        lexicon=lexicon,
        schema=lexicon.schema,
        shown=sorted(shown),
        literals="linked" if said else "free",
        loose=True,
        said=said,
    )
    return replace(prompt, turns=tuple(turns), grammar=grammar)


def is_due(attempt: Attempt) -> bool:
    """Whether the next draft is to be one under a grammar: the last of the model did not run, and none was yet.

    Told what is wrong, a small model mostly writes the same again; under the grammar it writes what runs. What ran
    stays as it is: there the grammar lost about as many right answers as it gained.
    """
    written = attempt.written
    return bool(written) and bool(written[-1].problem) and not any(one.prompt and one.prompt.grammar for one in written)


def _drop_from(scope: exp.Select, lexicon: Lexicon) -> None:
    """Take FROM out of a SELECT where every table that it lists is the table of a column, or of what it counts."""
    clause = scope.args.get("from_")
    if clause is None:
        return
    joins = scope.args.get("joins") or ()
    nodes = [clause.this, *(join.this for join in joins)]
    real = {table.name for table in lexicon.schema.tables}
    if any(join.side for join in joins) or not all(_is_plain(node, real) for node in nodes):
        return
    names = [node.name for node in nodes]
    used = {column.table for column in scope.find_all(exp.Column) if home(column) is scope}
    counted = [star for star in scope.find_all(exp.Star) if _is_counted(star) and home(star) is scope]
    lacking = [name for name in names if name not in used]
    if len(lacking) > 1 or (lacking and not counted):
        return
    root = lacking[0] if lacking else names[0]
    named = exp.to_identifier(root, quoted=quoted(root, lexicon.schema.dialect) != root)
    for star in counted:
        star.replace(exp.Column(this=exp.Star(), table=named.copy()))
    scope.set("from_", None)
    scope.set("joins", None)


def _is_plain(node: exp.Expr, real: Iterable[str]) -> bool:
    return isinstance(node, exp.Table) and not node.alias and node.name in real


def _is_counted(star: exp.Expr) -> bool:
    """Whether it is all that a call is given: `COUNT(*)`, `COUNT(Orders.*)`."""
    return isinstance(star.parent, exp.Anonymous)


def _tables(tree: exp.Expr) -> Counter[str]:
    return Counter(table.name for table in tree.find_all(exp.Table))


def _joins(lexicon: Lexicon) -> set[str]:
    """The conditions of all joins over one key, as the facts of a question write them."""
    keys, names = lexicon.keys, [table.name for table in lexicon.schema.tables]
    return {
        join.sql(lexicon.schema.dialect)
        for name in names
        for near in keys.neighbours(name)
        for join in keys.connect((name, near))[1]
    }


def _written(tree: exp.Expr, lexicon: Lexicon) -> str:
    return tree.sql(dialect(lexicon.schema.dialect), comments=False)
