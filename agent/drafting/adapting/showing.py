"""What the answer shows: the columns and figures that the question asks for, in its order, and no others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from sqlglot import exp

from agent.database.dialects import dialect as read_dialect
from agent.drafting.adapting.calls import aggregates, call, is_call
from agent.drafting.adapting.parting import homes_of, is_parted_by
from agent.drafting.adapting.sources import has_aggregates, sources_of, tables_used
from agent.drafting.adapting.work import Work, column_of, home_of, parsed
from agent.drafting.literals import Column
from agent.drafting.saying import display
from agent.drafting.wishes import Figure, Head, figures_asked, head_asked

_ON_ALL = re.compile(
    r"\A\W*(?:what|how much)\s+(?:did|does|do|was|were|is)\b.*\b(?:on|of|for|over|across|in)\s+all\b"
    r"|\b(?:altogether|in total)\b",
    re.IGNORECASE | re.DOTALL,
)

_STOP = re.compile(r"[?.!:;]\s+")
_BOTH = re.compile(r"\bboth\b", re.IGNORECASE)
_ONLY = re.compile(
    r"\b(?:just|only)\s+(?:(?:the|their|its|our)\s+)?(?:\w+\s+){0,3}\w+\W*\Z"
    r"|\b(?:only|will do|is enough|are enough|suffices?)\W*\Z",
    re.IGNORECASE,
)


def fit_shown(work: Work) -> None:
    """Show what the question asks for, where it says this for certain; strain where the query cannot show it."""
    scope = work.tree
    if not isinstance(scope, exp.Select) or scope.find(exp.Window) or any(one.is_star for one in scope.expressions):
        return
    clause = scope.args.get("from_")
    if clause is None or not isinstance(clause.this, exp.Table):
        return
    _show_both(work, scope)
    _part_by_what_is_said(work, scope)
    _show_figures(work, scope)
    _add_up(work, scope)
    _leave_out_what_is_given(work, scope)
    _show_head_alone(work, scope)
    _show_names_only(work, scope)


def _show_both(work: Work, scope: exp.Select) -> None:
    """Show the columns asked for of both rows of a table that is held against itself: `both last names`."""
    joins = scope.args.get("joins") or ()
    sources = [one for one in (scope.args["from_"].this, *(join.this for join in joins)) if isinstance(one, exp.Table)]
    if len(sources) != 2 or len({one.name for one in sources}) != 1 or scope.args.get("group"):
        return
    table = sources[0].name
    at = max((match.end() for match in _STOP.finditer(work.now.question)), default=0)
    links = [one for one in work.now.chosen if one.start >= at and one.table == table and one.column]
    columns = [one.column or "" for one in links if (table, one.column) not in work.refers]
    both = _BOTH.search(work.now.question, at) is not None
    named = display(table, work.lexicon)
    twice = {one for one in columns if columns.count(one) > 1 or (both and one in named)}
    if not at or not twice:
        return
    names = [one.alias_or_name for one in sources]
    pairs = [(name, one) for name in names for one in dict.fromkeys(columns) if one in twice]
    wanted = [*pairs, *((names[0], one) for one in dict.fromkeys(columns) if one not in twice)]
    shown = [one.unalias() for one in scope.expressions]
    if [(one.table, one.name) for one in shown if isinstance(one, exp.Column)] != wanted:
        scope.set("expressions", [column_of(*one) for one in wanted])
        work.bend(0.2, "shows both")


def _show_names_only(work: Work, scope: exp.Select) -> None:
    """Leave out the figure that groups are listed by, where the question wants names and nothing more."""
    places = [n for n, one in enumerate(scope.expressions) if any(aggregates(one))]
    asked = set(work.new.shown)
    if not work.new.listed or not asked or not places or not scope.args.get("group"):
        return
    if not _ONLY.search(work.now.question) or asked & work.lexicon.amounts:
        return
    if {home_of(one) for n, one in enumerate(scope.expressions) if n not in places} != asked:
        return
    leave_out(work, scope, places)
    work.bend(0.05, "shows no figure")


def _part_by_what_is_said(work: Work, scope: exp.Select) -> None:
    """Part figures by nothing else than what the question says `per` of, and by what it asks for by `which`."""
    group = scope.args.get("group")
    parts = [one for one in work.new.things if is_parted_by(work, one)]
    if group is None or not parts or not has_aggregates(scope) or work.new.listed:
        return
    head = head_asked(work.now, work.lexicon)
    wanted = [homes_of(work, one) for one in (*parts, *([head.thing] if head else ()))]
    kept = set().union(*wanted)
    gone = [one for one in group.expressions if (home := home_of(one)) and home[0] and home not in kept]
    left = [one for one in group.expressions if one not in gone]
    if not gone or not any(home_of(one) in kept for one in left):
        return
    tables = {one.table for one in gone} - {table for table, _ in kept}
    lost = {home_of(one) for one in gone}
    leave_out(
        work,
        scope,
        [
            n
            for n, one in enumerate(scope.expressions)
            if (home := home_of(one)) and home not in kept and (home in lost or home[0] in tables)
        ],
    )
    group.set("expressions", left)
    work.bend(0.1, "parted by what is asked for alone")


def _show_figures(work: Work, scope: exp.Select) -> None:
    """Show the figures that the question names side by side: the lowest and the highest price."""
    asked = figures_asked(work.now, work.lexicon)
    if len(asked) < 2:
        return
    places = [n for n, one in enumerate(scope.expressions) if any(aggregates(one))]
    shown = [_figure(work, scope.expressions[n]) for n in places]
    if shown == list(asked):
        return
    known = [one for one in shown if one is not None and (one in asked or one.of in {a.of for a in asked})]
    if not known or len(known) < len(shown) or scope.args.get("limit") or not _same_rows(work, scope, asked):
        work.bend(1.5)
        return
    fresh = [_call(work, one) for one in asked]
    before = {_figure(work, one): one for one in scope.expressions if any(aggregates(one))}
    fresh = [before.get(one, made) for one, made in zip(asked, fresh, strict=True)]
    _write_out(scope, [scope.expressions[n] for n in places if scope.expressions[n] not in fresh])
    kept = [(n, one) for n, one in enumerate(scope.expressions) if n not in places]
    at = sum(n < places[0] for n, _ in kept)
    rest = [one for _, one in kept]
    scope.set("expressions", [*rest[:at], *fresh, *rest[at:]])
    work.bend(0.1, "shows " + ", ".join(str(one) for one in asked))


def _same_rows(work: Work, scope: exp.Select, asked: Sequence[Figure]) -> bool:
    """Whether each figure can be made of the rows that are read already."""
    tables = tables_used(work, scope) | sources_of(work, scope)
    wanted = {one.table for one in asked}
    return wanted <= tables and len({tuple(sorted(work.lexicon.keys.grain([*tables, one]))) for one in wanted}) == 1


def _figure(work: Work, node: exp.Expr) -> Figure | None:
    """What an expression works out, if it is one aggregate and no more."""
    inner = node.unalias()
    if not is_call(inner, "SUM", "AVG", "MIN", "MAX", "COUNT") or len(inner.expressions) != 1:
        return None
    held = inner.expressions[0]
    if is_call(inner, "COUNT"):
        return Figure("COUNT") if held.key == "star" else None
    return Figure(inner.name.upper(), held.sql(read_dialect(work.dialect), comments=False, identify=True))


def _call(work: Work, one: Figure) -> exp.Expr:
    if one.by == "COUNT":
        return call("COUNT", exp.Star())
    return call(one.by, parsed(work, one.of))


def _leave_out_what_is_given(work: Work, scope: exp.Select) -> None:
    """Do not show the one value that the question itself gives, beside what it asks for of it."""
    where = scope.args.get("where")
    if where is None or work.new.listed or head_asked(work.now, work.lexicon) is not None:
        return
    given = {(one.table, one.column) for one in work.new.values if one.kind == "value"}
    held: set[Column | None] = set()
    for one in where.this.flatten() if isinstance(where.this, exp.And) else (where.this,):
        if isinstance(one, exp.EQ) and isinstance(one.expression, exp.Literal) and home_of(one.this) in given:
            held.add(home_of(one.this))
    named = {(one.table, one.column) for one in work.new.things if one.column is not None}
    gone = [n for n, one in enumerate(scope.expressions) if home_of(one) in held - named]
    if not gone or len(gone) == len(scope.expressions):
        return
    tables = {home[0] for n in gone if (home := home_of(scope.expressions[n]))}
    leave_out(work, scope, gone)
    group = scope.args.get("group")
    if group is not None:
        left = [one for one in group.expressions if home_of(one) is None or one.table not in tables]
        if left:
            group.set("expressions", left)
        else:
            scope.set("group", None)
            scope.set("order", None)
    work.bend(0.1, "does not show what is given")


def _show_head_alone(work: Work, scope: exp.Select) -> None:
    """Show of rows just what `which` stands before, where the question asks for nothing else."""
    head = head_asked(work.now, work.lexicon)
    if head is None or not head.alone or scope.args.get("group") or has_aggregates(scope):
        return
    homes = [home_of(one) for one in scope.expressions]
    wanted = list(head.columns)
    then = head_asked(work.then, work.lexicon)
    if None in homes or homes == wanted:
        return
    if not set(homes) & homes_of(work, head.thing):
        _show_head_instead(work, scope, head)
        return
    if not set(homes) & set(wanted) or (then is not None and then.alone):
        # What the query shows though its own question asks for one thing alone is how such rows are shown.
        return
    if any(join.side for join in scope.find_all(exp.Join)):
        # Rows without what is asked for would be shown as nothing.
        work.bend(1.0)
        return
    gone = [n for n, home in enumerate(homes) if home not in wanted]
    lost = {home[0] for n in gone if (home := homes[n])}
    if gone:
        leave_out(work, scope, gone)
        tables = tables_used(work, scope) | sources_of(work, scope)
        bare = not scope.args.get("limit") and not scope.args.get("order") and bool(lost - {head.thing.table})
        if bare and work.lexicon.keys.grain([head.thing.table]) != work.lexicon.keys.grain(tables):
            scope.set("distinct", exp.Distinct())
        work.bend(0.1, f"shows {head.thing} alone")


def _show_head_instead(work: Work, scope: exp.Select, head: Head) -> None:
    """Show what is asked for, where its table is read already and the query shows something else of it."""
    if head.thing.table not in {home[0] for one in scope.expressions if (home := home_of(one))}:
        work.bend(1.0)
        return
    scope.set("expressions", [column_of(*one) for one in head.columns])
    work.bend(0.4, f"shows {head.thing} instead")


def _add_up(work: Work, scope: exp.Select) -> None:
    """Give the total of an amount where the question asks what all rows cost, and not for each of them."""
    asked = work.new.measures
    if scope.args.get("group") or scope.args.get("limit") or has_aggregates(scope) or len(asked) != 1:
        return
    if work.new.listed or not _ON_ALL.search(work.now.question) or any(is_parted_by(work, t) for t in work.new.things):
        return
    dialect = read_dialect(work.dialect)
    shown = [one.unalias().sql(dialect, comments=False, identify=True) for one in scope.expressions]
    if asked[0] in shown and not any(aggregates(parsed(work, asked[0]))):
        scope.set("expressions", [call("SUM", parsed(work, asked[0]))])
        scope.set("distinct", None)
        scope.set("order", None)
        work.bend(0.2, f"{asked[0]} is added up")


def leave_out(work: Work, scope: exp.Select, places: Iterable[int]) -> None:
    """Show some of the columns no more. What refers to them by their name elsewhere gets what they stand for."""
    gone = set(places)
    _write_out(scope, [one for n, one in enumerate(scope.expressions) if n in gone])
    scope.set("expressions", [one for n, one in enumerate(scope.expressions) if n not in gone])


def _write_out(scope: exp.Select, gone: Iterable[exp.Expr]) -> None:
    names = {one.alias: one.unalias() for one in gone if one.alias}
    for clause in ("group", "having", "order"):
        held = scope.args.get(clause)
        for column in list(held.find_all(exp.Column)) if held is not None else ():
            if not column.table and column.name in names:
                column.replace(names[column.name].copy())
