"""Making the query of a remembered question fit another one, without a model.

The query is taken apart into what the two questions may differ in: the rows and values asked about, amounts, filters,
times, numbers, limit and direction. Each part is filled anew from what the question links to; the joins follow. What
fits badly is strained, and a part that cannot be filled gives no query at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from sqlglot import exp, parse_one

from agent.database.dialects import dialect as read_dialect
from agent.database.guard import parse_query
from agent.database.naming import quoted
from agent.database.result import QueryRejected
from agent.database.skeleton import normalise
from agent.drafting.joining import joined, unjoined
from agent.drafting.literals import Column, number_in, slot_links
from agent.drafting.operands import Compared, Names, comparisons
from agent.drafting.saying import Said, Thing, canonical, display, said
from agent.drafting.times import as_text, forms, split_clock, time_of, written
from agent.keys import qualified
from agent.linked import Comparison, Grounding, Link
from agent.periods import filter_sql, grouping_sql
from agent.quantities import is_excluded

if TYPE_CHECKING:
    from agent.attempt import Understood
    from agent.linking import Lexicon
    from memory.episode import Episode

_SEVERAL = re.compile(
    r"\b(?:several|multiple|more than once|repeated\w*|twice|duplicates?|same|shared?)\b", re.IGNORECASE
)
_PER = re.compile(r"(?:\b(?:per|each|every|by|for all(?: the)?|within|across)\b|\b별)\s*(?:\w+\s+)?\Z", re.IGNORECASE)
_COMPLEMENT = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "<>", "<>": "="}
_NODES: Mapping[str, type[exp.Binary]] = {
    "<": exp.LT, "<=": exp.LTE, ">": exp.GT, ">=": exp.GTE, "=": exp.EQ, "<>": exp.NEQ,
}  # fmt: skip
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}


@dataclass(frozen=True, slots=True)
class Adapted:
    """A query for a question, what was changed in the remembered one, in words, and how hard that was.

    `strain` is 0 for other literals of the same columns, and grows with all that is less certain than that.
    """

    sql: str
    notes: tuple[str, ...]
    strain: float


class _Misfit(Exception):
    """The remembered query cannot be made to fit. Stays in this module."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """An episode and how its question is read."""

    episode: Episode
    understood: Understood
    said: Said


def remembered(episode: Episode, understood: Understood, lexicon: Lexicon) -> Remembered:
    return Remembered(episode, understood, said(understood.grounding, lexicon))


def adapt(known: Remembered, asked: Understood, *, lexicon: Lexicon) -> Adapted | None:
    """Make the query of an episode fit a question; None where it cannot be. Never raises for what they hold."""
    try:
        return _Fitting(known, asked, lexicon).adapted()
    except (_Misfit, QueryRejected, RecursionError):
        return None


@dataclass(slots=True)
class _Held:
    """A literal of the remembered query, what it is held against, and the link of its question that explains it."""

    compared: Compared
    link: Link
    form: str = ""
    column: Column | None = None
    spot: exp.Expr | None = None
    """The condition of a WHERE or HAVING that can be taken out with it, if it stands in one."""


@dataclass(slots=True)
class _Filter:
    """A condition to be put into a WHERE, of `scope` where one of the kind stood there before."""

    sql: str
    tables: tuple[str, ...]
    scope: exp.Select | None = None


class _Fitting:
    """The work of one `adapt`. Each step changes the tree, and notes what it changed."""

    def __init__(self, known: Remembered, asked: Understood, lexicon: Lexicon) -> None:
        self.known, self.asked, self.lexicon = known, asked, lexicon
        self.old, self.new = known.said, said(asked.grounding, lexicon)
        self.then, self.now = known.understood.grounding, asked.grounding
        self.schema = lexicon.schema
        self.dialect = self.schema.dialect
        self.notes: list[str] = []
        self.strain = 0.0
        self.spent = ""
        self.settled: list[Thing] = []
        self.emptied: exp.Select | None = None
        self.thresholds: list[_Filter] = []
        tree = parse_query(normalise(known.episode.sql, self.dialect), self.dialect)
        loose = unjoined(tree, lexicon=lexicon)
        if loose is None:
            raise _Misfit
        self.tree, self.rigid = loose.tree, loose.rigid
        self.names = Names(self.tree, self.schema, [(d.table, d.column) for d in lexicon.date_columns])
        self.refers = {
            (table.name, here): (key.referred_table, there)
            for table in self.schema.tables
            for key in table.foreign_keys
            for here, there in zip(key.columns, key.referred_columns, strict=True)
        }
        self.used_before = {id(scope): self._tables_used(scope) for scope in self.tree.find_all(exp.Select)}

    def adapted(self) -> Adapted:
        self._check_kind()
        self.held = self._explain()
        self._fit_limit()
        self._fit_direction()
        self._fit_numbers()
        wanted = self._fit_filters()
        self._fit_measures()
        self._fit_aggregate()
        self._fit_distinct()
        self._fit_things()
        self._fit_grain()
        self._add([*wanted, *self.thresholds])
        self._drop_unused()
        whole = joined(self.tree, lexicon=self.lexicon)
        if whole is None:
            raise _Misfit
        for name in whole.find_all(exp.Identifier):
            name.set("quoted", quoted(name.name, self.dialect) != name.name)
        return Adapted(whole.sql(read_dialect(self.dialect), comments=False), tuple(self.notes), round(self.strain, 2))

    # What differs on the whole

    def _check_kind(self) -> None:
        if self.known.understood.intent.kind != self.asked.intent.kind:
            self._strain(1.5)
        if self.then.english != self.now.english:
            self._strain(0.2)
        if bool(self.then.negations) != bool(self.now.negations):
            self._strain(1.0)
        odds = self.old.aggregates ^ self.new.aggregates
        self._strain(0.4 * len(odds))

    def _strain(self, much: float, note: str = "") -> None:
        self.strain += much
        if note:
            self.notes.append(note)

    # Literals of the remembered query

    def _explain(self) -> list[_Held]:
        """Find for each literal the link that it comes from; those that come from none belong to the shape."""
        found: list[_Held] = []
        links = slot_links(self.then)
        for one in comparisons(self.tree):
            held = self._explained(one, links)
            if held is not None:
                held.spot = self._spot(one.node)
                found.append(held)
        return found

    def _explained(self, one: Compared, links: Sequence[Link]) -> _Held | None:
        text, date = one.literal.name, self.names.date_part(one.other)
        if date is not None:
            day = split_clock(text)[0] if date.part == "day" or date.part.startswith("trunc") else text
            day = day.rstrip("%-") if one.how == "like" else day
            part = date.part
            if one.how == "like":
                part = {4: "year", 7: "year_month"}.get(len(day), "day")  # type: ignore[assignment]
            for link in links:
                time = time_of(link.kind, link.value or "")
                for form in forms(part, time.kind) if time else ():
                    if time and as_text(written(time, form), part, quoted=one.literal.is_string) == day:
                        return _Held(one, link, form, date.column)
            return None
        column = self.names.column(one.other)
        for link in self.old.values:
            home = (link.table, link.column)
            same = column is not None and (column == home or self.refers.get(column) == home)
            value = link.value or ""
            pattern = one.how == "like" and text.strip("%").casefold() == value.casefold()
            if (text == value or pattern) and (same or pattern):
                return _Held(one, link, "value", column)
        for link in links:
            number = number_in(text)
            if (
                link.kind == "value"
                and link.table is None
                and text.strip("%").casefold() == (link.value or "").casefold()
            ):
                return _Held(one, link, "quoted", column)
            if link.kind in ("number", "limit") and number is not None and link.value is not None:
                meant = Decimal(link.value)
                if number in (meant, meant / 100):
                    return _Held(one, link, "number" if number == meant else "hundredth", column)
        return None

    def _spot(self, node: exp.Expr) -> exp.Expr | None:
        """The widest condition around a comparison that AND alone ties to its WHERE or HAVING."""
        here: exp.Expr = node
        while here.parent is not None and not isinstance(here.parent, exp.Where | exp.Having | exp.And):
            if isinstance(here.parent, exp.Query | exp.Case | exp.If | exp.Join):
                return None
            here = here.parent
        above: exp.Expr | None = here.parent
        while isinstance(above, exp.And | exp.Paren):
            above = above.parent
        return here if isinstance(above, exp.Where | exp.Having) else None

    # Rows asked for

    def _fit_limit(self) -> None:
        then, now = self.then.limit, self.now.limit
        limits = [
            node for node in self.tree.find_all(exp.Limit) if isinstance(node.args.get("expression"), exp.Literal)
        ]
        ranked = [one for one in self.held if one.link.kind == "limit"]
        if then == now:
            return
        if now is None:
            self._strain(1.0, "a limit was kept")
            return
        if then is None:
            if not limits and not ranked and self.tree.args.get("order") is not None:
                self.tree.set("limit", exp.Limit(expression=exp.Literal.number(now)))
                self._strain(1.0, f"limited to {now}")
                return
            self._strain(1.0)
        changed = False
        for node in limits:
            if then is None or node.expression.name == str(then):
                node.set("expression", exp.Literal.number(now))
                changed = True
        for one in ranked:
            one.compared.literal.replace(exp.Literal.number(now))
            changed = True
        if not changed:
            raise _Misfit
        self._strain(0.05, f"{then or 'no limit'} became {now}")

    def _fit_direction(self) -> None:
        then, now = self.then.direction, self.now.direction
        if self.then.offset != self.now.offset:
            raise _Misfit
        if then == now:
            return
        if then is None or now is None:
            self._strain(1.0)
            return
        turned = False
        for order in self.tree.find_all(exp.Order):
            scope = order.parent
            ends = isinstance(scope, exp.Window) or (scope is not None and scope.args.get("limit") is not None)
            first = order.expressions[0] if order.expressions else None
            if ends and isinstance(first, exp.Ordered):
                if bool(first.args.get("desc")) != (now == "high"):
                    first.set("nulls_first", not first.args.get("nulls_first"))
                first.set("desc", now == "high")
                turned = True
        if not turned:
            for node in list(self.tree.find_all(exp.Max, exp.Min)):
                node.replace((exp.Max if now == "high" else exp.Min)(this=node.this))
                turned = True
        if not turned:
            raise _Misfit
        self._strain(0.1, "lowest became highest" if now == "high" else "highest became lowest")

    def _fit_numbers(self) -> None:
        """Numbers that something is held against, one for one, each with its sign."""
        then = [link for link in self.old.numbers if not _only_says_one(link, self.then)]
        now = [link for link in self.new.numbers if not _only_says_one(link, self.now)]
        held = [one for one in self.held if one.link in then]
        known = [link for link in then if any(one.link is link for one in held)]
        if not known and not now:
            return
        if not now:
            if _SEVERAL.search(self.now.question) and [link.value for link in known] == ["1"]:
                return
            for one in held:
                self._take_out(one)
            self._strain(0.8, "a threshold was left out")
            return
        if len(known) != len(now):
            if len(known) == 1 and len(now) == 2 and self._widen(held, now):
                return
            if not known and len(now) == 1 and self._add_threshold(now[0]):
                return
            raise _Misfit
        for before, after in zip(known, now, strict=True):
            old, new = _comparison(before, self.then), _comparison(after, self.now)
            if (old is None) != (new is None) or (
                old and new and (old.operator == "between") != (new.operator == "between")
            ):
                self._strain(0.6)
            for one in held:
                if one.link is before:
                    self._hold(one, after, old, new)
            if before.value != after.value:
                self._strain(0.05, f"{before.value} became {after.value}")

    def _hold(self, one: _Held, after: Link, old: Comparison | None, new: Comparison | None) -> None:
        number = Decimal(after.value or "0")
        number = number / 100 if one.form == "hundredth" else number
        literal = f"{number.normalize():f}"
        one.compared.literal.replace(
            exp.Literal.string(literal) if one.compared.literal.is_string else exp.Literal.number(literal)
        )
        if old is None or new is None or old.operator == new.operator or "between" in (old.operator, new.operator):
            return
        node = one.compared.node
        if not isinstance(node, tuple(_NODES.values())):
            raise _Misfit
        sign = new.operator if one.compared.operator == old.operator else _COMPLEMENT[new.operator]
        left = node.find(exp.Literal) is not None and isinstance(node.this, exp.Literal)
        node.replace(_NODES[_FLIPPED[sign] if left else sign](this=node.this, expression=node.expression))
        self._strain(0.1, f"{old.operator} became {new.operator}")

    def _widen(self, held: Sequence[_Held], now: Sequence[Link]) -> bool:
        """Hold between two numbers what was held against one."""
        sign = _comparison(now[0], self.now)
        if not _is_range(sign) or _comparison(now[1], self.now) is not sign or len(held) != 1:
            return False
        low, high = (exp.Literal.number(link.value or "0") for link in now)
        held[0].compared.node.replace(exp.Between(this=held[0].compared.other.copy(), low=low, high=high))
        self._strain(0.2, f"{held[0].link.value} became {now[0].value} to {now[1].value}")
        return True

    def _add_threshold(self, number: Link) -> bool:
        """Hold the one amount that the question names against its number, row by row."""
        sign = _comparison(number, self.now)
        measures = self.new.measures
        if sign is None or len(measures) != 1 or number.value is None or sign.operator == "between":
            return False
        dialect = read_dialect(self.dialect)
        if not self.new.aggregates - {"COUNT"} and not self.tree.args.get("group"):
            self.spent = measures[0]
            self.thresholds.append(_Filter(f"{measures[0]} {sign.operator} {number.value}", ()))
        elif isinstance(self.tree, exp.Select) and self.tree.args.get("group") and not self.tree.args.get("having"):
            amount = self._summed(measures[0])
            held = _NODES[sign.operator](this=amount, expression=exp.Literal.number(number.value))
            self.tree.set("having", exp.Having(this=parse_one(held.sql(dialect), read=dialect)))
        else:
            return False
        self._strain(0.8, f"added {sign.text}")
        return True

    # Filters

    def _fit_filters(self) -> list[_Filter]:
        """Take out the filters that the old question asked for, and give those of the new one that are to be put in.

        What stands in the shape itself, as in a CASE, is replaced one for one.
        """
        wanted = self._fit_values()
        wanted += self._fit_times()
        wanted += self._fit_conditions()
        return wanted

    def _fit_values(self) -> list[_Filter]:
        held = [one for one in self.held if one.form in ("value", "quoted")]
        fixed = _links(one for one in held if one.spot is None or self._shares_its_spot(one))
        free = [one for one in held if one.link not in fixed]
        new = list(self.new.values) + [v for v in slot_links(self.now) if v.kind == "value" and v.table is None]
        old = [*fixed, *_links(free)]
        left = list(new)
        if fixed:
            if len(new) < len(fixed):
                raise _Misfit
            if len(new) != len(old):
                self._strain(0.5)
            order = sorted(old, key=lambda link: link.start)
            pairs = dict(zip(map(id, order), new, strict=False))
            for link in fixed:
                after = pairs.get(id(link))
                if after is None:
                    raise _Misfit
                left = [one for one in left if one is not after]
                for one in held:
                    if one.link is link:
                        self._put(one, after)
        gone = _links(free)
        quoted = [one for one in free if one.form == "quoted"]
        unplaced = [link for link in left if link.table is None]
        if unplaced and len(_links(quoted)) != len(unplaced):
            raise _Misfit
        for before, after in zip(_links(quoted), unplaced, strict=False):
            for one in quoted:
                if one.link is before:
                    self._put(one, after)
        placed = [link for link in left if link.table is not None]
        done: list[Link] = []
        kept = [link for link in gone if link.table is not None]
        matched = _paired(kept, placed, key=lambda link: (link.table, link.column))
        if len(kept) == len(placed):
            rest = [link for link in kept if all(link is not before for before, _ in matched)]
            others = [link for link in placed if all(link is not after for _, after in matched)]
            matched += list(zip(rest, others, strict=True))
        for before, after in matched:
            if is_excluded(self.then.question, before.start) != is_excluded(self.now.question, after.start):
                continue
            for one in free:
                if one.link is before:
                    self._put(one, after)
            done.append(before)
            placed = [link for link in placed if link is not after]
        spots = [self._scope_of(one) for one in free if one.link.table is not None and one.link not in done]
        self.emptied = next(iter(spots), self.emptied)
        for one in free:
            if one.link.table is not None and one.link not in done:
                self._take_out(one)
        dropped = [link for link in gone if link.table is not None and link not in done]
        self._strain(0.15 * len(dropped))
        self.notes += [f"left out {link.value}" for link in dropped]
        if len(placed) > len(dropped):
            self._strain(0.15 * (len(placed) - len(dropped)))
        self.notes += [f"added {link.value}" for link in placed]
        return self._value_filters(placed)

    def _value_filters(self, links: Sequence[Link]) -> list[_Filter]:
        groups: dict[tuple[str, str, bool], list[Link]] = {}
        for link in links:
            out = is_excluded(self.now.question, link.start)
            groups.setdefault((link.table or "", link.column or "", out), []).append(link)
        found = []
        for (table, column, out), members in groups.items():
            name = qualified(table, column, self.dialect)
            values = [
                (link.value or "") if link.kind == "number" else "'" + (link.value or "").replace("'", "''") + "'"
                for link in members
            ]
            values = list(dict.fromkeys(values))
            if len(values) == 1:
                sql = f"{name} {'<>' if out else '='} {values[0]}"
            else:
                sql = f"{name} {'NOT IN' if out else 'IN'} ({', '.join(values)})"
            found.append(_Filter(sql, (table,), self.emptied))
        return found

    def _put(self, one: _Held, after: Link) -> None:
        """Write another value, of the same or another column, in the place of one."""
        literal, value = one.compared.literal, after.value or ""
        if after.table is not None and one.column is not None and (after.table, after.column) != one.column:
            if self.refers.get(one.column) == (after.table, after.column):
                pass
            elif isinstance(one.compared.other, exp.Column):
                one.compared.other.replace(self._column(after.table, after.column or ""))
                self._strain(0.15)
            else:
                raise _Misfit
        if one.compared.how == "like":
            text = literal.name.replace(literal.name.strip("%"), value)
            literal.replace(exp.Literal.string(text))
        else:
            literal.replace(exp.Literal.string(value) if after.kind != "number" else exp.Literal.number(value))
        if value != one.link.value:
            self.notes.append(f"{one.link.value} became {value}")

    def _fit_times(self) -> list[_Filter]:
        held = [one for one in self.held if time_of(one.link.kind, one.link.value or "") is not None]
        periods = list(self.now.periods)
        free = [one for one in held if one.spot is not None and not self._shares_its_spot(one)]
        fixed = [one for one in held if one not in free]
        links = [link for link in slot_links(self.now) if time_of(link.kind, link.value or "") is not None]
        column = self._date_column([*free, *fixed])
        if fixed:
            order = _links(sorted(held, key=lambda one: one.link.start))
            if len(order) != len(links):
                raise _Misfit
            for one in held:
                self._put_time(one, links[order.index(one.link)])
            return []
        spots: dict[int, exp.Select | None] = {}
        for one in free:
            place = next((n for n, p in enumerate(self.then.periods) if p.start <= one.link.start < p.end), 0)
            spots.setdefault(place, self._scope_of(one))
            self._take_out(one)
        if not periods:
            if free:
                self._strain(0.3, "left out the time")
            return []
        if column is None:
            raise _Misfit
        if not free:
            self._strain(0.3)
        elif [p.text for p in self.then.periods] != [p.text for p in periods]:
            self.notes.append("the time became " + " and ".join(period.text for period in periods))
        apart = len({id(scope) for scope in spots.values()}) > 1
        if apart and len(spots) == len(periods):
            return [
                _Filter(filter_sql(period, *column, self.dialect), (column[0],), spots[place])
                for place, period in zip(sorted(spots), periods, strict=True)
            ]
        if apart and len(spots) != len(periods):
            self._strain(0.8)
        where = next(iter(spots.values()), None)
        if len({period.month is None for period in periods}) > 1 or len(periods) == 1:
            return [_Filter(filter_sql(p, *column, self.dialect), (column[0],), where) for p in periods]
        either = " OR ".join(f"({filter_sql(p, *column, self.dialect)})" for p in periods)
        self._strain(0.3)
        return [_Filter(f"({either})", (column[0],), where)]

    def _date_column(self, held: Sequence[_Held]) -> Column | None:
        used = next((one.column for one in held if one.column is not None), None)
        if used is not None and (self.then.date_column == self.now.date_column or self.now.date_column is None):
            return used
        return self.now.date_column or used

    def _put_time(self, one: _Held, after: Link) -> None:
        time = time_of(after.kind, after.value or "")
        date = self.names.date_part(one.compared.other)
        before = time_of(one.link.kind, one.link.value or "")
        if time is None or date is None or before is None or one.compared.how == "like":
            raise _Misfit
        if one.form not in forms(date.part, time.kind):
            raise _Misfit
        if before.kind != time.kind:
            self._strain(0.5)
        text = one.compared.literal.name
        tail = split_clock(text)[1] if date.part == "day" else ""
        fresh = as_text(written(time, one.form), date.part, quoted=one.compared.literal.is_string) + tail
        one.compared.literal.replace(
            exp.Literal.string(fresh) if one.compared.literal.is_string else exp.Literal.number(fresh)
        )
        if fresh != text:
            self.notes.append(f"{text} became {fresh}")

    def _fit_conditions(self) -> list[_Filter]:
        """Conditions of glossary terms."""
        if self.old.conditions == self.new.conditions:
            return []
        wanted = [one for one in self.new.conditions if one not in self.old.conditions]
        gone = [one for one in self.old.conditions if one not in self.new.conditions]
        for text in gone:
            found = False
            for node in self._matching(text):
                spot = self._spot(node)
                if spot is not None and spot is node:
                    self._remove(node)
                    found = True
                elif len(gone) == len(wanted) == 1:
                    node.replace(parse_one(wanted[0], read=read_dialect(self.dialect)))
                    self._strain(0.3, f"{text} became {wanted[0]}")
                    return []
            if not found:
                self._strain(1.0)
            self._strain(0.2, f"left out {text}")
        self._strain(0.3 * len(wanted))
        self.notes += [f"added {text}" for text in wanted]
        return [_Filter(text, self._tables_of(text)) for text in wanted]

    def _matching(self, text: str) -> list[exp.Expr]:
        dialect = read_dialect(self.dialect)
        kind = type(parse_one(text, read=dialect))
        return [node for node in self.tree.find_all(kind) if node.sql(dialect, comments=False, identify=True) == text]

    def _tables_of(self, text: str) -> tuple[str, ...]:
        tree = parse_one(text, read=read_dialect(self.dialect))
        return tuple(dict.fromkeys(column.table for column in tree.find_all(exp.Column)))

    def _shares_its_spot(self, one: _Held) -> bool:
        """Whether the condition around a literal says more than filters of the question."""
        if one.spot is None or any(isinstance(node, exp.Query) for node in one.spot.walk()):
            return True
        known = {id(held.compared.literal) for held in self.held}
        settled = {
            id(inner)
            for node in one.spot.walk()
            if not isinstance(node, exp.Column | exp.Literal) and self.names.date_part(node) is not None
            for inner in node.find_all(exp.Literal)
        }
        return any(id(node) not in known | settled for node in one.spot.find_all(exp.Literal))

    def _scope_of(self, one: _Held) -> exp.Select | None:
        return one.compared.node.find_ancestor(exp.Select)

    def _take_out(self, one: _Held) -> None:
        if one.spot is None:
            raise _Misfit
        self._remove(one.spot)

    def _remove(self, node: exp.Expr) -> None:
        """Take a condition out of its WHERE or HAVING; the clause goes with its last one."""
        parent = node.parent
        if parent is None:
            return
        if isinstance(parent, exp.And):
            other = parent.expression if parent.this is node else parent.this
            parent.replace(other)
        elif isinstance(parent, exp.Paren):
            self._remove(parent)
        elif isinstance(parent, exp.Where | exp.Having):
            scope = parent.parent
            if scope is None:
                raise _Misfit
            scope.set("where" if isinstance(parent, exp.Where) else "having", None)

    def _add(self, filters: Sequence[_Filter]) -> None:
        for one in filters:
            self._filter(one)

    def _filter(self, one: _Filter) -> None:
        scope = one.scope or self._scope_for(one)
        condition = parse_one(one.sql, read=read_dialect(self.dialect))
        where = scope.args.get("where")
        if where is None:
            scope.set("where", exp.Where(this=condition))
        else:
            kept = where.this
            kept = exp.paren(kept, copy=False) if isinstance(kept, exp.Or) else kept
            where.set("this", exp.And(this=kept, expression=condition))

    def _scope_for(self, one: _Filter) -> exp.Select:
        """The SELECT whose rows a filter is about: one that reads its tables, else the one nearest to them."""
        best: tuple[int, int, int] | None = None
        chosen: exp.Select | None = None
        wanted = one.tables or self._tables_of(one.sql)
        for place, scope in enumerate(self.tree.find_all(exp.Select, bfs=False)):
            tables = self._tables_used(scope) | self._anchors(scope)
            if not tables:
                continue
            away = [self.lexicon.keys.distance(a, b) for a in wanted for b in tables]
            far = min((d for d in away if d is not None), default=99)
            rank = (far, 0 if self._aggregates(scope) else 1, -place)
            if best is None or rank < best:
                best, chosen = rank, scope
        if chosen is None:
            raise _Misfit
        if sum(1 for _ in self.tree.find_all(exp.Select)) > 1:
            self._strain(0.3)
        return chosen

    # Amounts

    def _fit_measures(self) -> None:
        old = [one for one in self.old.measures if one not in self.new.measures]
        new = [one for one in self.new.measures if one not in self.old.measures and one != self.spent]
        if not new:
            used = [one for one in old if self._matching(one)]
            self._strain(0.8 * len(used))
            return
        old = [one for one in old if self._matching(one)] or old
        if len(old) == len(new):
            for before, after in zip(old, new, strict=True):
                self._swap(before, after)
            return
        counts = [node for node in self.tree.find_all(exp.Count) if isinstance(node.this, exp.Star)]
        if not old and len(new) == 1 and counts:
            for count in counts:
                self._replace(count, self._summed(new[0]))
            self._strain(0.6, f"COUNT(*) became {new[0]}")
            return
        self._strain(1.2)

    def _summed(self, expression: str) -> exp.Expr:
        tree = parse_one(expression, read=read_dialect(self.dialect))
        if tree.find(exp.AggFunc) is not None:
            return tree
        return (exp.Avg if "AVG" in self.new.aggregates else exp.Sum)(this=tree)

    def _swap(self, before: str, after: str) -> None:
        found = self._matching(before)
        if not found:
            raise _Misfit
        dialect = read_dialect(self.dialect)
        fresh = parse_one(after, read=dialect)
        whole = fresh.find(exp.AggFunc) is not None
        was_whole = parse_one(before, read=dialect).find(exp.AggFunc) is not None
        for node in found:
            around = node.parent
            if whole and not was_whole and isinstance(around, exp.Sum | exp.Avg):
                self._replace(around, fresh.copy())
            elif was_whole and not whole:
                self._replace(node, self._summed(after))
            else:
                self._replace(node, fresh.copy())
                self._turn_aggregate(around)
        self._strain(0.25, f"{before} became {after}")

    def _fit_aggregate(self) -> None:
        """The average of an amount where its sum was asked for, and the other way round."""
        then, now = "AVG" in self.old.aggregates, "AVG" in self.new.aggregates
        if then == now or set(self.old.measures) != set(self.new.measures) or len(self.new.measures) != 1:
            return
        amounts = [node.parent for node in self._matching(self.new.measures[0])]
        found = [node for node in amounts if isinstance(node, exp.Sum if now else exp.Avg)]
        for node in found:
            node.replace((exp.Avg if now else exp.Sum)(this=node.this))
        if found:
            self._strain(-0.1, "the average was taken" if now else "the sum was taken")

    def _turn_aggregate(self, node: exp.Expr | None) -> None:
        """AVG for SUM and the other way round, where the words say so."""
        then, now = self.old.aggregates & {"AVG", "SUM"}, self.new.aggregates & {"AVG", "SUM"}
        if len(then) == len(now) == 1 and then != now and isinstance(node, exp.Sum | exp.Avg):
            node.replace((exp.Avg if "AVG" in now else exp.Sum)(this=node.this))
            self._strain(0.3)

    def _replace(self, node: exp.Expr, fresh: exp.Expr) -> None:
        needs = isinstance(fresh, exp.Binary) and isinstance(node.parent, exp.Binary)
        node.replace(exp.paren(fresh, copy=False) if needs else fresh)

    def _fit_distinct(self) -> None:
        """Count different ones where only rows were counted."""
        thing = self.new.distinct
        if (self.old.distinct is None) == (thing is None):
            return
        counts = [node for node in self.tree.find_all(exp.Count) if isinstance(node.this, exp.Star)]
        if thing is None or len(counts) != 1:
            self._strain(0.8)
            return
        column = self._column(thing.table, thing.column) if thing.column else self._key_to("", thing.table)
        counts[0].set("this", exp.Distinct(expressions=[column]))
        self.settled.append(thing)
        self._strain(0.4, f"different ones of {thing} are counted")

    # Rows and values asked about

    def _fit_things(self) -> None:
        old, new = list(self.old.things), list(self.new.things)
        before = [one for one in old if one not in new]
        after = [one for one in new if one not in old and one not in self.settled]
        if self._fit_columns_shown():
            return
        if not before and not after:
            if old != new:
                self._strain(0.3)
            return
        pairs = self._aligned(before, after)
        for one, other in pairs:
            self._turn(one, other)
            self._strain(0.2, f"{one} became {other}")
        rest = [one for one in before if one not in {a for a, _ in pairs}]
        more = [one for one in after if one not in {b for _, b in pairs}]
        for one in rest:
            self._drop_group(one)
        for one in more:
            self._add_group(one)
        self._strain(0.5 * sum(self._is_used(one) for one in rest))
        self._strain(0.5 * sum(not self._is_used(one) for one in more))

    def _add_group(self, thing: Thing) -> None:
        """Part one figure by something that the question says `per` of."""
        scope = self.tree
        if not isinstance(scope, exp.Select) or scope.args.get("group") or not self._aggregates(scope):
            return
        links = (one for one in self.now.chosen if one.table == thing.table and one.column in (thing.column, None))
        if not any(_PER.search(self.now.question[: link.start]) for link in links):
            return
        if any(not node.find_ancestor(exp.AggFunc) for one in scope.expressions for node in one.find_all(exp.Column)):
            return
        keys = self.lexicon.primary_keys.get(thing.table, ())
        if thing.column is None and len(keys) != 1:
            return
        shown = [thing.column] if thing.column else list(display(thing.table, self.lexicon))
        scope.set("expressions", [*(self._column(thing.table, column) for column in shown), *scope.expressions])
        scope.set("group", exp.Group(expressions=[self._column(thing.table, thing.column or keys[0])]))
        self._strain(0.4, f"parted by {thing}")

    def _drop_group(self, thing: Thing) -> None:
        """Give one figure for all where it was parted by something that is not asked for."""
        scope = self.tree
        group = scope.args.get("group") if isinstance(scope, exp.Select) else None
        if group is None or not isinstance(scope, exp.Select) or scope.args.get("having") or scope.args.get("limit"):
            return
        own = {thing.column} if thing.column else {
            *display(thing.table, self.lexicon), *self.lexicon.primary_keys.get(thing.table, ())
        }  # fmt: skip
        homes = {(thing.table, column) for column in own}
        left = [one for one in group.expressions if _home(one) not in homes]
        shown = [one for one in scope.expressions if _home(one) not in homes]
        if len(left) == len(group.expressions) or not shown:
            return
        if left:
            group.set("expressions", left)
        else:
            scope.set("group", None)
            scope.set("order", None)
        scope.set("expressions", shown)
        self._strain(0.3, f"not parted by {thing}")

    def _aligned(self, before: Sequence[Thing], after: Sequence[Thing]) -> list[tuple[Thing, Thing]]:
        if len(before) == len(after):
            return list(zip(before, after, strict=True))
        tables = [one for one in before if one.column is None], [one for one in after if one.column is None]
        columns = [one for one in before if one.column], [one for one in after if one.column]
        pairs = list(zip(*tables, strict=True)) if len(tables[0]) == len(tables[1]) else []
        pairs += list(zip(*columns, strict=True)) if len(columns[0]) == len(columns[1]) else []
        return pairs

    def _fit_columns_shown(self) -> bool:
        """Where rows are shown just as they are, other columns are shown in place of those that were asked for.

        It is done where the old question, read the same way, asks for what the old query shows.
        """
        scope = self.tree
        if not isinstance(scope, exp.Select) or scope.args.get("group") or not self.new.shown:
            return False
        before = [_home(one) for one in scope.expressions]
        if None in before or set(before) != set(self.old.shown) or set(self.old.shown) == set(self.new.shown):
            return False
        heads = (
            {one.table for one in self.old.things if one.column is None},
            {one.table for one in self.new.things if one.column is None},
        )
        if heads[0] != heads[1]:
            return False
        scope.set("expressions", [self._column(*one) for one in self.new.shown])
        self._strain(0.2, "shows " + ", ".join(column for _, column in self.new.shown))
        return True

    def _as_column(self, text: str) -> Column | None:
        tree = parse_one(text, read=read_dialect(self.dialect))
        return (tree.table, tree.name) if isinstance(tree, exp.Column) else None

    def _turn(self, before: Thing, after: Thing) -> None:
        if self.rigid:
            self._strain(0.5)
        if before.column is None and after.column is None:
            self._turn_table(before.table, after.table)
        elif before.column is not None and after.column is not None:
            self._turn_column((before.table, before.column), (after.table, after.column))
        elif before.column is None:
            self._show_column(before.table, (after.table, after.column or ""))
        else:
            self._show_rows((before.table, before.column), after.table)

    def _turn_column(self, before: Column, after: Column) -> None:
        found = [c for c in self.tree.find_all(exp.Column) if (c.table, c.name) == before]
        if not found:
            raise _Misfit
        for column in found:
            self._rename(column, self._column(*after))

    def _turn_table(self, before: str, after: str) -> None:
        if not self._is_used(Thing(before)):
            raise _Misfit
        shown, fresh = display(before, self.lexicon), display(after, self.lexicon)
        for scope in list(self.tree.find_all(exp.Select)):
            self._show(scope, {(before, column) for column in shown}, [(after, column) for column in fresh])
        for column in list(self.tree.find_all(exp.Column)):
            home = (column.table, column.name)
            if column.table == before:
                self._rename(column, self._column(after, self._role(home, after)))
            elif (referred := self.refers.get(home)) is not None and referred[0] == before:
                self._rename(column, self._key_to(column.table, after))
        for table in self.tree.find_all(exp.Table):
            if table.name == before:
                table.set("this", exp.to_identifier(after, quoted=True))

    def _role(self, column: Column, table: str) -> str:
        """The column of another table that plays the part of this one."""
        before, name = column
        keys, others = self.lexicon.primary_keys.get(before, ()), self.lexicon.primary_keys.get(table, ())
        if name in keys and len(keys) == len(others) == 1:
            return others[0]
        shown = display(before, self.lexicon)
        if name in shown:
            return display(table, self.lexicon)[0]
        known = {c.name.casefold(): c.name for t in self.schema.tables if t.name == table for c in t.columns}
        if name.casefold() in known:
            self._strain(0.1)
            return known[name.casefold()]
        referred = self.refers.get(column)
        for (home, here), there in self.refers.items():
            if home == table and there == referred:
                return here
        raise _Misfit

    def _key_to(self, table: str, wanted: str) -> exp.Expr:
        for (home, here), there in self.refers.items():
            if home == table and there[0] == wanted:
                return self._column(home, here)
        keys = self.lexicon.primary_keys.get(wanted, ())
        if len(keys) != 1:
            raise _Misfit
        return self._column(wanted, keys[0])

    def _show(self, scope: exp.Select, before: set[Column], after: Sequence[Column]) -> None:
        """Show other columns of rows in the place of some; what refers to them by name still finds the first."""
        places = [n for n, one in enumerate(scope.expressions) if _home(one) in before]
        if not places:
            return
        inner = scope is not self.tree
        fresh: list[exp.Expr] = []
        for n, one in enumerate(scope.expressions):
            if n not in places:
                fresh.append(one)
            elif n == places[0]:
                named = exp.alias_(self._column(*after[0]), one.alias_or_name, quoted=True) if inner else None
                fresh.append(named or self._column(*after[0]))
                fresh += [self._column(*column) for column in after[1:]]
            elif inner:
                fresh.append(exp.alias_(self._column(*after[0]), one.alias_or_name, quoted=True))
        scope.set("expressions", fresh)

    def _show_column(self, before: str, after: Column) -> None:
        """Values of a column are asked for where rows of a table were: shown, grouped and counted by."""
        shown = {(before, column) for column in display(before, self.lexicon)}
        keys = {(before, column) for column in self.lexicon.primary_keys.get(before, ())}
        keys |= {home for home, there in self.refers.items() if there in keys}
        for scope in list(self.tree.find_all(exp.Select)):
            self._show(scope, shown, [after])
        left = [c for c in self.tree.find_all(exp.Column) if (c.table, c.name) in shown | keys]
        if not left and not any((c.table, c.name) == after for c in self.tree.find_all(exp.Column)):
            raise _Misfit
        for column in left:
            if column.find_ancestor(exp.Where, exp.Join):
                raise _Misfit
            self._rename(column, self._column(*after))
        self._unique_groups()
        self._strain(0.2)

    def _show_rows(self, before: Column, after: str) -> None:
        """Rows of a table are asked for where values of a column were."""
        keys = self.lexicon.primary_keys.get(after, ())
        if len(keys) != 1 or not any((c.table, c.name) == before for c in self.tree.find_all(exp.Column)):
            raise _Misfit
        for scope in list(self.tree.find_all(exp.Select)):
            self._show(scope, {before}, [(after, column) for column in display(after, self.lexicon)])
        for column in list(self.tree.find_all(exp.Column)):
            if (column.table, column.name) == before:
                self._rename(column, self._column(after, keys[0]))
        self._strain(0.2)

    def _rename(self, column: exp.Column, fresh: exp.Expr) -> None:
        """Write another column for one; a bare column of an inner query keeps the name by which others know it."""
        parent = column.parent
        inner = isinstance(parent, exp.Select) and parent is not self.tree and column.arg_key == "expressions"
        column.replace(exp.alias_(fresh, column.name, quoted=True) if inner else fresh)

    def _unique_groups(self) -> None:
        for group in self.tree.find_all(exp.Group):
            seen: dict[str, exp.Expr] = {}
            for one in group.expressions:
                seen.setdefault(one.sql(), one)
            group.set("expressions", list(seen.values()))

    # Times to group by

    def _fit_grain(self) -> None:
        """Months for years, where one question is by month and the other by year."""
        then, now = self.old.grain, self.new.grain
        if then == now:
            return
        if then is None or now is None:
            self._strain(1.0)
            return
        column = self.then.date_column
        if column is None:
            raise _Misfit
        found = self._matching(canonical(grouping_sql(then, *column, self.dialect), self.dialect))
        if not found:
            self._strain(0.8)
            return
        for node in found:
            node.replace(parse_one(grouping_sql(now, *column, self.dialect), read=read_dialect(self.dialect)))
        self._strain(0.2, f"{then} became {now}")

    # Sources

    def _tables_used(self, scope: exp.Select) -> set[str]:
        """The tables whose columns a scope itself names."""
        known = {table.name for table in self.schema.tables}
        return {
            column.table
            for column in scope.find_all(exp.Column)
            if column.table in known and column.find_ancestor(exp.Select) is scope
        }

    def _anchors(self, scope: exp.Select) -> set[str]:
        known = {table.name for table in self.schema.tables}
        return {
            table.name
            for table in scope.find_all(exp.Table)
            if table.name in known and table.find_ancestor(exp.Select) is scope
        }

    def _aggregates(self, scope: exp.Select) -> bool:
        return any(node.find_ancestor(exp.Select) is scope for node in scope.find_all(exp.AggFunc))

    def _is_used(self, thing: Thing) -> bool:
        if thing.column is not None:
            return any((c.table, c.name) == (thing.table, thing.column) for c in self.tree.find_all(exp.Column))
        return any(t.name == thing.table for t in self.tree.find_all(exp.Table)) or any(
            c.table == thing.table for c in self.tree.find_all(exp.Column)
        )

    def _drop_unused(self) -> None:
        """Take tables out of FROM that stood there for columns which are gone; rows that are counted stay."""
        for scope in self.tree.find_all(exp.Select):
            before = self.used_before.get(id(scope), set())
            lost = before - self._tables_used(scope)
            for name in lost:
                self._drop(scope, name)

    def _drop(self, scope: exp.Select, name: str) -> None:
        clause, joins = scope.args.get("from_"), list(scope.args.get("joins") or ())
        if clause is None or not joins:
            return
        others = [
            t.name for t in [clause.this, *(join.this for join in joins)] if isinstance(t, exp.Table) and t.name != name
        ]
        counted = any(isinstance(node.this, exp.Star) for node in scope.find_all(exp.Count))
        if counted and name in self.lexicon.keys.grain([name, *others]):
            return
        kept = [join for join in joins if not (isinstance(join.this, exp.Table) and join.this.name == name)]
        if len(kept) < len(joins):
            scope.set("joins", kept)
        elif isinstance(clause.this, exp.Table) and clause.this.name == name and not kept[0].side:
            clause.set("this", kept[0].this)
            scope.set("joins", kept[1:])

    def _column(self, table: str, column: str) -> exp.Column:
        return exp.column(exp.to_identifier(column, quoted=True), table=exp.to_identifier(table, quoted=True))


def _home(node: exp.Expr) -> Column | None:
    inner = node.unalias()
    return (inner.table, inner.name) if isinstance(inner, exp.Column) else None


def _links(held: Sequence[_Held] | Iterator[_Held]) -> list[Link]:
    found: dict[int, Link] = {}
    for one in held:
        found.setdefault(id(one.link), one.link)
    return sorted(found.values(), key=lambda link: link.start)


def _comparison(link: Link, grounding: Grounding) -> Comparison | None:
    return next((c for c in grounding.comparisons if c.start <= link.start < c.end), None)


def _is_range(comparison: Comparison | None) -> bool:
    return comparison is not None and comparison.operator == "between"


def _only_says_one(link: Link, grounding: Grounding) -> bool:
    """Whether it is the `one` of `at least one order`, which asks for no more than that there is any."""
    sign = _comparison(link, grounding)
    return link.value == "1" and (sign is None or sign.operator == ">=")


def _paired(before: Sequence[Link], after: Sequence[Link], *, key: Callable[[Link], object]) -> list[tuple[Link, Link]]:
    """Links of the same key, one for one in reading order."""
    left = list(after)
    pairs = []
    for one in before:
        other = next((link for link in left if key(link) == key(one)), None)
        if other is not None:
            left = [link for link in left if link is not other]
            pairs.append((one, other))
    return pairs
