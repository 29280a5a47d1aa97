"""Whether a query shows, measures, reads or keeps apart what its question does not speak of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from sqlglot import exp

from agent.drafting.covering.case import Case, own_columns
from agent.drafting.covering.unsaid import explained
from agent.drafting.literals import Column
from agent.keys import qualified
from agent.wording import tokens

_WORTH = re.compile(
    r"\b(?:cost\w*|pric\w+|worth|values?|spen\w+|paid|pays?|paying|buy\w*|bought|s[eo]ld|sell\w*|sales?|earn\w*|money"
    r"|much|dear|expensive|cheap\w*|brought|bring\w*|made|make\w*|heavy|size|long|old|young|many (?:units|pieces))\b",
    re.IGNORECASE,
)
_SOMEBODY = re.compile(
    r"\b(?:who|whom|whose|what|things?|everyone|anybody|anyone|somebody|people|where)\b", re.IGNORECASE
)
_SOMETIME = re.compile(
    r"\b(?:when|dates?|days?|weeks?|months?|quarters?|years?|time|long|old\w*|young\w*|age|born|birth\w*|start\w*|began"
    r"|join\w*|daily|weekly|monthly|quarterly|yearly|annual\w*|latest|newest|first|last|recent\w*)\b",
    re.IGNORECASE,
)
_ROOT = 4


def amounts(case: Case) -> Iterator[str]:
    """An amount that is shown or ordered by is one that the question speaks of."""
    if not _is_told(case) or _is_measured(case) or case.reads_views:
        return
    used = {
        column
        for select in case.answers
        for part in (*select.expressions, select.args.get("order"))
        for column in _columns(case, part)
        if column in case.lexicon.amounts
    }
    loose = used - explained(case)
    if loose and loose == used:
        yield f"the question does not speak of {_named(case, loose)}"


def columns(case: Case) -> Iterator[str]:
    """A column that is shown as it is belongs to what the question speaks of."""
    if not _is_told(case):
        return
    for select in case.answers[:1]:
        for one in (one.unalias() for one in select.expressions):
            part = case.names.date_part(one)
            column = part.column if part is not None else case.names.column(one)
            if column is not None and not _is_asked(case, column):
                yield f"the question does not speak of {_named(case, [column])}"


def conditions(case: Case) -> Iterator[str]:
    """Two columns are held against each other, or rows without a value are kept, only where the question says so."""
    if not _is_told(case):
        return
    spoken = explained(case)
    for node in case.tree.find_all(exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Is):
        left_out = isinstance(node.parent, exp.Not) or case.grounding.negations
        if isinstance(node, exp.Is) and (left_out or not isinstance(node.expression, exp.Null)):
            continue
        sides = [node.this] if isinstance(node, exp.Is) else [node.this, node.expression]
        found = [case.names.column(side) for side in sides if isinstance(side, exp.Column)]
        known = [column for column in found if column is not None and not case.is_key(column)]
        if len(set(known)) == len(sides) and not any(column in spoken for column in known):
            yield f"the question does not speak of {node.sql()}"


def tables(case: Case) -> Iterator[str]:
    """Some table that is read is one that the question speaks of."""
    spoken = {link.table for link in case.grounding.links if link.table} | set(case.grounding.tables)
    read = case.names.tables | {home for column in case.columns if (home := case.keyed(column)) is not None}
    named = {token.stem for table in read for token in tokens(table)}
    if case.names.tables and spoken and not case.reads_views and not read & spoken and not named & case.said:
        yield f"the question does not speak of {' and '.join(sorted(case.names.tables))}"


def _is_told(case: Case) -> bool:
    """Whether every word that is asked with links to something, so that nothing else can be meant."""
    return not case.grounding.leftover and case.grounding.evidence.level == "strong"


def _columns(case: Case, node: exp.Expr | None) -> Iterable[Column]:
    found = (case.names.column(one) for one in own_columns(node)) if node is not None else ()
    return [column for column in found if column is not None]


def _is_measured(case: Case) -> bool:
    """Whether an amount is asked for by any word: `the dearest`, `what does it cost`, `more than 20000`."""
    linked = any(link.role in ("amount", "measure", "aggregate") for link in case.grounding.links)
    held = case.grounding.direction is not None or bool(case.grounding.comparisons) or case.kind == "versus_average"
    return linked or held or case.says(_WORTH)


def _is_asked(case: Case, column: Column) -> bool:
    """Whether a column that is shown is named, or is of the rows, the time or the amount that is asked for."""
    words = case.lexicon.column_words.get(column, frozenset())
    roots = {word[:_ROOT] for word in words if len(word) >= _ROOT}
    if words and not any(word.isascii() for word in words):
        # No word of the question is held against a name in another script.
        return True
    if column in explained(case) or words & case.said or any(said.startswith(tuple(roots)) for said in case.said):
        return True
    if column in case.lexicon.naming or case.is_key(column):
        tables = {link.table for link in case.grounding.links if link.kind != "value"}
        return bool({column[0], case.keyed(column)} & tables) or case.says(_SOMEBODY)
    if any((one.table, one.column) == column for one in case.lexicon.date_columns):
        return case.says(_SOMETIME) or bool(case.grounding.grouping)
    return column in case.lexicon.amounts and _is_measured(case)


def _named(case: Case, columns: Iterable[Column]) -> str:
    return " and ".join(qualified(*column, case.lexicon.schema.dialect) for column in sorted(columns))
