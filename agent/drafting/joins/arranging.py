"""The order in which tables are joined, and over which keys. Pure: no query is read or written here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agent.database.naming import fold
from agent.keys import Join, KeyGraph


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of FROM in its order. One that is not `loose` is joined as it is written, with its own ON.

    `name` is what the query calls it; `needs` are the tables that its ON reads besides.
    """

    name: str
    table: str | None
    left: bool = False
    loose: bool = True
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """One table or other source to be joined; `via` is the key to a table that is joined already, called `parent`."""

    name: str
    table: str | None
    via: Join | None
    parent: str
    left: bool

    @property
    def edge(self) -> frozenset[str]:
        return frozenset((self.via.left, self.via.right)) if self.via is not None else frozenset()


@dataclass(frozen=True, slots=True)
class Arrangement:
    steps: tuple[Step, ...]
    outward: tuple[tuple[str, str, Join], ...] = ()
    """What a subquery calls a table of its own, the table around it, and the key between them."""

    def clashes(self, written: Iterable[str], ctes: frozenset[str]) -> bool:
        """Whether a table that comes in beside those `written` has a name that is taken, by a CTE or in FROM."""
        taken = frozenset(map(fold, written))
        names = [fold(step.name) for step in self.steps]
        return len(set(names)) < len(names) or any(name in ctes and name not in taken for name in names)


def arranged(keys: KeyGraph, items: Sequence[Item], more: Sequence[str], around: Sequence[str]) -> Arrangement | None:
    """How to join the items and the tables `more`, tied to the tables `around` a subquery; None where no key does."""
    if all(item.loose for item in items):
        return _arranged_loose(keys, items, more, around)
    return _arranged_as_written(keys, items, more, around)


def _arranged_loose(
    keys: KeyGraph, items: Sequence[Item], more: Sequence[str], around: Sequence[str]
) -> Arrangement | None:
    wanted = list(dict.fromkeys([*(item.table for item in items if item.table), *more]))
    if not wanted:
        return None if around else Arrangement(())
    if set(wanted) & set(around):
        return None
    lefts = {item.table for item in items if item.left} - {wanted[0]}
    tables, joins = keys.connect([*wanted, *around])
    if len(joins) != len(tables) - 1:
        return None
    near: dict[str, list[tuple[str, Join]]] = {name: [] for name in tables}
    for join in joins:
        near[join.left].append((join.right, join))
        near[join.right].append((join.left, join))
    if any(len(near[name]) != 1 for name in around):
        return None
    came: dict[str, tuple[str, Join]] = {}
    waiting = [wanted[0]]
    for here in waiting:
        for name, join in near[here]:
            if name != wanted[0] and name not in came:
                came[name] = (here, join)
                waiting.append(name)

    def path(name: str) -> list[str]:
        found = [name]
        while found[-1] in came:
            found.append(came[found[-1]][0])
        return found[::-1]

    inner = {name for goal in [*wanted, *around] if goal not in lefts for name in path(goal)}
    optional: dict[str, bool] = {}
    steps: list[Step] = []
    outward: list[tuple[str, str, Join]] = []
    for goal in [*wanted, *around]:
        for name in path(goal):
            if name in optional:
                continue
            if name not in came:
                optional[name] = False
                steps.append(Step(name, name, None, "", left=False))
                continue
            parent, join = came[name]
            if name in around:
                optional[name] = False
                outward.append((parent, name, join))
                continue
            optional[name] = optional[parent] or name in lefts or name not in inner
            steps.append(Step(name, name, join, parent, optional[name]))
    return Arrangement(tuple(steps), tuple(outward))


def _arranged_as_written(
    keys: KeyGraph, items: Sequence[Item], more: Sequence[str], around: Sequence[str]
) -> Arrangement | None:
    steps: list[Step] = []
    called: dict[str, tuple[str, bool]] = {}
    twice = {one.table for n, one in enumerate(items) if one.table and any(o.table == one.table for o in items[:n])}
    later = [item.table for item in items if item.loose and item.table] + list(more)

    def path_to(goal: str) -> list[tuple[str, str, Join]] | None:
        """The steps from the nearest table that is joined, each as parent, table and key."""
        near = [(d, name) for name in called if name not in twice and (d := keys.distance(name, goal)) is not None]
        if not near:
            return None
        start = min(near, key=lambda one: one[0])[1]
        _, joins = keys.connect((start, goal))
        here, found = start, []
        for join in joins if not joins or start in (joins[0].left, joins[0].right) else joins[::-1]:
            there = join.right if join.left == here else join.left
            found.append((here, there, join))
            here = there
        return found if here == goal else None

    def attach(goal: str, *, left: bool) -> bool:
        for parent, name, join in path_to(goal) or ():
            label, optional = called[parent]
            called[name] = (name, optional or left)
            steps.append(Step(name, name, join, label, optional or left))
        return goal in called

    for item in items:
        if item.loose and item.table and (item.table in called or attach(item.table, left=item.left)):
            continue
        for name in item.needs:
            if name not in called and name in later and not attach(name, left=False):
                return None
        steps.append(Step(item.name, item.table, None, "", item.left))
        if item.table:
            called.setdefault(item.table, (item.name, item.left))
    for name in more:
        if name not in called and not attach(name, left=False):
            return None
    outward: list[tuple[str, str, Join]] = []
    for name in around:
        found = path_to(name)
        if not found or name in called:
            return None
        if len(found) > 1 and not attach(found[-1][0], left=False):
            return None
        outward.append((called[found[-1][0]][0], name, found[-1][2]))
    return Arrangement(tuple(steps), tuple(outward))
