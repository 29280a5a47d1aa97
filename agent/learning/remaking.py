"""Makes a copy of a SQLite file whose rows are others, though all that holds for every row still holds.

What a reader of the schema and the data would take for granted stays true: keys and references, constraints, names that
go with their key, a city that lies in one country, dates in their order, no NULL where there was none,
the usual texts of a column, a child for each parent where each had one. The rest moves: which row refers to which,
which value stands in which row, how many rows there are, what is the largest.
"""

from __future__ import annotations

import itertools
import random
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from agent.database.naming import fold
from agent.database.result import Cell
from agent.database.schema import Schema
from agent.learning.kinds import ALWAYS_AND_NEVER, Reference, Row, TableRows, classify, digits_after_point, is_date

_ROUND = (1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1_000, 5_000, 10_000, 50_000, 100_000)
_TRIES = 20
_MOST_NEW = 1_000
_LARGEST_NUMBER = (1 << 63) - 4
"""From here on the next whole numbers do not fit into a column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Recipe:
    """How far one copy goes: shares of rows removed, repeated, and made new; of cells that change, or become NULL.

    With `renamed`, values and parents change places as a whole, so that what was frequent is rare.
    """

    removed: float
    repeated: float
    new: float
    moved: float
    nulled: float
    renamed: bool


_RECIPES = (
    _Recipe(removed=0.33, repeated=0.05, new=0.15, moved=0.15, nulled=0.05, renamed=True),
    _Recipe(removed=0.0, repeated=0.30, new=0.40, moved=0.10, nulled=0.10, renamed=False),
    _Recipe(removed=0.20, repeated=0.10, new=0.25, moved=0.35, nulled=0.10, renamed=True),
)
_Thing = TypeVar("_Thing", bound=Hashable)
_VARIED = 8
"""From so many distinct values on, a text column gets values that it did not have."""


def remake(source: Path, target: Path, schema: Schema, *, number: int, seed: int) -> None:
    """Write to `target` a copy of the database at `source` with other rows; copy `number` differs from the others.

    Raises:
        sqlite3.Error: the source cannot be read, or the target not written.
    """
    with (
        closing(sqlite3.connect(f"file:{quote(str(source.resolve()))}?mode=ro", uri=True)) as original,
        closing(sqlite3.connect(target, isolation_level=None)) as copy,
    ):
        original.backup(copy)
        copy.text_factory = lambda raw: raw.decode("utf-8", "replace")
        for pragma in ("journal_mode=MEMORY", "synchronous=OFF", "foreign_keys=OFF", "trusted_schema=OFF"):
            copy.execute(f"PRAGMA {pragma}")
        copy.execute("BEGIN")
        broken = _broken_references(copy)
        triggers = copy.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            copy.execute(f"DROP TRIGGER {_quoted(name)}")
        tables = _read(copy, schema)
        _Remaker(tables, _RECIPES[number % len(_RECIPES)], random.Random(f"{seed}:{number}")).remake()
        for table in tables:
            _write(copy, table)
        _mend(copy, but=broken)
        for _, sql in triggers:
            copy.execute(sql)
        copy.execute("COMMIT")


# Reading and writing


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _read(connection: sqlite3.Connection, schema: Schema) -> list[TableRows]:
    """Read all plain tables, those that are referred to first."""
    plain = {
        name
        for name, kind in connection.execute("SELECT name, type FROM pragma_table_list WHERE schema = 'main'")
        if kind == "table"
    }
    made: dict[str, TableRows] = {}
    known = [table for table in schema.tables if not table.is_view and table.name in plain]
    for table in known:
        info = [
            row for row in connection.execute(f"PRAGMA table_xinfo({_quoted(table.name)})").fetchall() if row[6] == 0
        ]
        columns = [row[1] for row in info]
        places = {fold(name): n for n, name in enumerate(columns)}
        key = tuple(places[fold(row[1])] for row in sorted(info, key=lambda row: row[5]) if row[5])
        unique = {key} if key else set()
        for index in connection.execute(f"PRAGMA index_list({_quoted(table.name)})").fetchall():
            if index[2]:
                parts = [row[2] for row in connection.execute(f"PRAGMA index_info({_quoted(index[1])})")]
                if all(part is not None and fold(part) in places for part in parts):
                    unique.add(tuple(places[fold(part)] for part in parts))
        listed = ", ".join(map(_quoted, columns))
        found = connection.execute(f"SELECT {listed} FROM {_quoted(table.name)}").fetchall() if columns else []
        made[table.name] = TableRows(
            name=table.name,
            columns=columns,
            types=[str(row[2] or "") for row in info],
            required=[bool(row[3]) for row in info],
            key=key or min(unique, default=()),
            unique=sorted(unique),
            rows=[Row(list(row), tuple(row)) for row in found],
        )
    for table in known:
        own = made[table.name]
        for foreign in table.foreign_keys:
            parent = made.get(foreign.referred_table)
            if parent is None:
                continue
            here = {fold(name): n for n, name in enumerate(own.columns)}
            there = {fold(name): n for n, name in enumerate(parent.columns)}
            if all(fold(c) in here for c in foreign.columns) and all(
                fold(c) in there for c in foreign.referred_columns
            ):
                own.references.append(
                    Reference(
                        tuple(here[fold(c)] for c in foreign.columns),
                        parent,
                        tuple(there[fold(c)] for c in foreign.referred_columns),
                    )
                )
    tables = _parents_first(list(made.values()))
    for own in tables:
        _refer(own)
    for own in tables:
        classify(own)
    return tables


def _parents_first(tables: list[TableRows]) -> list[TableRows]:
    ordered: list[TableRows] = []
    waiting = list(tables)
    while waiting:
        free = [t for t in waiting if not any(r.parent in waiting and r.parent is not t for r in t.references)]
        ordered += free or waiting[:1]
        waiting = [t for t in waiting if t not in ordered]
    return ordered


def _refer(table: TableRows) -> None:
    """Turn the foreign keys of the rows into references to rows."""
    for reference in table.references:
        found = {_matched(row.values, reference.referred): row for row in reference.parent.rows}
        for row in table.rows:
            row.parents.append(found.get(_matched(row.values, reference.columns)))
        used = Counter(row.parents[-1] for row in table.rows)
        reference.least = min((used[parent] for parent in reference.parent.rows), default=0)


def _matched(values: Sequence[Cell], columns: Iterable[int]) -> Hashable:
    """What a key is matched by: None where a part is NULL; a number in a text column is that text."""
    parts = [values[column] for column in columns]
    return None if any(part is None for part in parts) else tuple(map(str, parts))


def _write(connection: sqlite3.Connection, table: TableRows) -> None:
    """Replace the rows of a table. One that the constraints refuse stays as it was, or is left out when it is new."""
    if not table.columns:
        return
    name = _quoted(table.name)
    connection.execute(f"DELETE FROM {name}")
    listed, marks = ", ".join(map(_quoted, table.columns)), ", ".join("?" * len(table.columns))
    insert = f"INSERT OR IGNORE INTO {name} ({listed}) VALUES ({marks})"
    for row in table.rows:
        try:
            done = connection.execute(insert, row.values).rowcount
        except sqlite3.IntegrityError:
            done = 0
        if not done and row.original is not None:
            connection.execute(insert, row.original)


def _broken_references(connection: sqlite3.Connection) -> set[tuple[str, int]]:
    try:
        return {(row[0], row[3]) for row in connection.execute("PRAGMA foreign_key_check")}
    except sqlite3.OperationalError:  # a key that refers to nothing that could be referred to
        return set()


def _mend(connection: sqlite3.Connection, *, but: set[tuple[str, int]]) -> None:
    """Take away rows that refer to nothing, but for the references that were broken before."""
    for _ in range(_TRIES):
        try:
            found = connection.execute("PRAGMA foreign_key_check").fetchall()
        except sqlite3.OperationalError:
            return
        doomed = [(table, rowid) for table, rowid, _, number in found if (table, number) not in but and rowid]
        if not doomed:
            return
        for table, rowid in doomed:
            connection.execute(f"DELETE FROM {_quoted(table)} WHERE rowid = ?", (rowid,))


# Other rows


class _Remaker:
    """Changes the rows of all tables in place. `tables` stand parents first."""

    def __init__(self, tables: list[TableRows], recipe: _Recipe, chance: random.Random) -> None:
        self.tables = tables
        self.recipe = recipe
        self.chance = chance
        self.keys: dict[str, set[Hashable]] = {}
        self.originals = {table.name: [tuple(row.values) for row in table.rows] for table in tables}
        self.texts = {
            (table.name, n): {row.values[n] for row in table.rows} - {None}
            for table in tables
            for n, kind in enumerate(table.kinds)
            if kind in ("text", "code")
        }

    def remake(self) -> None:
        for table in self.tables:
            self._move(table)
            self._relabel(table)
            self._move_in_tree(table)
        self._remove()
        for table in self.tables:
            self._add(table)
        for table in self.tables:
            self._give_children(table)
        for table in self.tables:
            self._find_again(table)
        for table in self.tables:
            self._settle(table)

    # Which value stands in which row

    def _move(self, table: TableRows) -> None:
        rows, chance = table.rows, self.chance
        if len(rows) < 2:
            return
        for block in table.blocks:
            kinds = {table.kinds[n] for n in block}
            pool = [tuple(row.values[n] for n in block) for row in rows]
            chance.shuffle(pool)
            if kinds <= {"text", "code"}:
                pool = self._renamed(pool)
            elif kinds == {"date"}:
                pool = self._redated(pool)
            for row, values in zip(rows, pool, strict=True):
                for n, value in zip(block, values, strict=True):
                    row.values[n] = value
        for n, kind in enumerate(table.kinds):
            if kind == "measure":
                self._measure(table, n)
            if kind in ("text", "code", "date", "measure") and any(row.values[n] is None for row in rows):
                self._empty(table, n)

    def _renamed(self, pool: list[tuple[Cell, ...]]) -> list[tuple[Cell, ...]]:
        """Let the values change places with each other, and some rows take others, so that another is most frequent."""
        chance = self.chance
        distinct = list(dict.fromkeys(values for values in pool if any(value is not None for value in values)))
        if len(distinct) < 2:
            return pool
        known = set(distinct)
        # Where one column decides another, as city and country, those of the coarsest change places. One with gaps is
        # none: all that have no value would take the place of one that has.
        found = [{values[n] for values in distinct} for n in range(len(distinct[0]))]
        coarsest = min(range(len(found)), key=lambda n: (None in found[n], len(found[n])))
        groups: dict[Cell, list[tuple[Cell, ...]]] = defaultdict(list)
        for values in distinct:
            groups[values[coarsest]].append(values)
        names = list(groups)
        to = self._exchanged(names)
        turns = {name: itertools.cycle(group) for name, group in groups.items()}
        weights = list(itertools.accumulate(chance.random() ** 3 for _ in names))
        made = []
        for values in pool:
            if chance.random() < self.recipe.moved:
                made.append(chance.choice(groups[chance.choices(names, cum_weights=weights)[0]]))
            elif self.recipe.renamed and values in known:
                made.append(next(turns[to[values[coarsest]]]))
            else:
                made.append(values)
        return made

    def _exchanged(self, things: Sequence[_Thing]) -> dict[_Thing, _Thing]:
        """Let each take the place of another, and none its own; all stay where they are when the recipe says so."""
        ring = list(things)
        if not self.recipe.renamed:
            return dict(zip(ring, ring, strict=True))
        self.chance.shuffle(ring)
        return dict(zip(ring, ring[1:] + ring[:1], strict=True))

    def _redated(self, pool: list[tuple[Cell, ...]]) -> list[tuple[Cell, ...]]:
        """Let some months have more rows than others, and days be others within their month."""
        chance = self.chance
        months: dict[str, list[tuple[Cell, ...]]] = defaultdict(list)
        for values in pool:
            if values[0] is not None:
                months[str(values[0])[:7]].append(values)
        if not months:
            return pool
        names = sorted(months)
        found = sorted(str(value)[:4] for values in pool for value in values if is_date(value))
        years = (found[0], found[-1])
        weights = [chance.random() ** 3 for _ in names]
        # Where no two rows have the same date they still have not: who is the oldest stays one.
        told = [values[0] for values in pool if values[0] is not None]
        distinct = len(set(told)) == len(told)
        taken: set[Cell] = set()
        made = []
        for values in pool:
            drawn = values[0] is not None and chance.random() < 0.25 + self.recipe.moved
            picked = chance.choice(months[chance.choices(names, weights)[0]]) if drawn else values
            moved = self._other_day(picked, years)
            for _ in range(_TRIES):
                if not distinct or moved[0] not in taken:
                    break
                moved = self._other_day(picked, years)
            taken.add(moved[0])
            made.append(moved)
        return made

    def _other_day(self, values: tuple[Cell, ...], years: tuple[str, str]) -> tuple[Cell, ...]:
        """Shift dates that go together by as many days: the first within its month, none out of the years there are."""
        first = values[0]
        if not is_date(first) or self.chance.random() < 0.2:
            return values
        days = self.chance.randint(1, 28) - int(str(first)[8:10])
        moved = tuple(_shifted(value, days) for value in values)
        return moved if all(not is_date(v) or years[0] <= str(v)[:4] <= years[1] for v in moved) else values

    def _measure(self, table: TableRows, n: int) -> None:
        numbers = [v for row in table.rows if isinstance(v := row.values[n], int | float)]
        least, most = min(numbers), max(numbers)
        whole = all(isinstance(value, int) for value in numbers)
        places = 0 if whole else min(6, max(digits_after_point(value) for value in numbers))
        ranked = sorted(numbers)
        low, high = ranked[len(ranked) // 20], ranked[-1 - len(ranked) // 20]
        taken = set(ranked[-3:]) | set(ranked[:3])
        for row in table.rows:
            value = row.values[n]
            if not isinstance(value, int | float) or value == 0:
                continue
            changed = self._near(value, least, most, places, plain=low < value < high)
            outer = not low < value < high
            for _ in range(_TRIES):
                if not outer or changed not in taken:
                    break
                changed = self._near(value, least, most, places, plain=False)
            if outer:
                taken.add(changed)
            row.values[n] = int(changed) if isinstance(value, int) else float(changed)

    def _near(self, value: float, least: float, most: float, places: int, *, plain: bool) -> float:
        changed = value * self.chance.uniform(0.8, 1.2)
        if plain and self.chance.random() < 0.3:
            changed = min(_ROUND, key=lambda one: abs(one - abs(changed))) * (1 if changed > 0 else -1)
        if changed > most:
            changed = 2 * most - changed
        if changed < least:
            changed = 2 * least - changed
        changed = round(min(max(changed, least), most), places)
        return changed if changed or places else value

    def _empty(self, table: TableRows, n: int) -> None:
        for row in table.rows:
            if self.chance.random() < self.recipe.nulled / 2:
                row.values[n] = None

    # Which row refers to which

    def _relabel(self, table: TableRows) -> None:
        """Let the parents change places, and where the reference is no part of a key, some rows move freely."""
        for number, reference in enumerate(table.references):
            if reference.parent is table or _shared(table, number):
                continue
            used = list(dict.fromkeys(row.parents[number] for row in table.rows if row.parents[number] is not None))
            to = self._exchanged([parent for parent in used if parent is not None])
            free = not any(n in columns for columns in table.unique for n in reference.columns)
            parents = [row.parents[number] for row in table.rows]
            if free:
                self.chance.shuffle(parents)
            for row, parent in zip(table.rows, parents, strict=True):
                if parent is None:
                    if free:
                        row.parents[number] = None
                elif free and self.chance.random() < self.recipe.moved:
                    row.parents[number] = self.chance.choice(reference.parent.rows)
                else:
                    row.parents[number] = to[parent]

    def _move_in_tree(self, table: TableRows) -> None:
        """Give a row another parent in its own table, one that stood nearer to the root, so that no ring is made."""
        for number, reference in enumerate(table.references):
            if reference.parent is not table or any(n in c for c in table.unique for n in reference.columns):
                continue
            depth = {row: _depth(row, number) for row in table.rows}
            if None in depth.values():
                continue
            for row in table.rows:
                if row.parents[number] is not None:
                    nearer = [r for r in table.rows if (depth[r] or 0) < (depth[row] or 0)]
                    row.parents[number] = self.chance.choice(nearer)

    # How many rows there are

    def _remove(self) -> None:
        gone: set[Row] = set()
        children: dict[str, list[tuple[TableRows, int]]] = defaultdict(list)
        for table in self.tables:
            for number, reference in enumerate(table.references):
                children[reference.parent.name].append((table, number))

        def removable(table: TableRows, seen: frozenset[str]) -> bool:
            return not table.named and all(
                child is not table and (child.name in seen or removable(child, seen | {child.name}))
                for child, _ in children[table.name]
            )

        for table in self.tables:
            if len(table.rows) > 3 and removable(table, frozenset({table.name})):
                least = max(2, len(table.rows) // 4)
                doomed = [row for row in table.rows if self.chance.random() < self.recipe.removed]
                gone |= set(doomed[: len(table.rows) - least])
        for table in self.tables:
            table.rows = [
                row
                for row in table.rows
                if row not in gone and not any(parent in gone for parent in row.parents if parent is not None)
            ]
            kept = set(table.rows)
            gone |= {row for row in table.rows if row not in kept}

    def _add(self, table: TableRows) -> None:
        old = list(table.rows)
        if not old:
            return
        share = self.recipe.new if table.named else self.recipe.repeated
        for _ in range(min(_MOST_NEW, max(2, round(share * len(old))))):
            row = self._made(table, old)
            if row is not None:
                table.rows.append(row)

    def _made(self, table: TableRows, old: Sequence[Row]) -> Row | None:
        """Make a new row: a repeated one, or with values of several; None when no key is free for it."""
        chance = self.chance
        like = chance.choice(old)
        row = Row(list(like.values), None, list(like.parents))
        if table.named:
            for block in table.blocks:
                source = chance.choice(old)
                for n in block:
                    row.values[n] = source.values[n]
                if table.kinds[block[0]] == "date":
                    shift = chance.randint(-9, 9)
                    for n in block:
                        row.values[n] = _shifted_within_year(row.values[n], shift)
            for n, kind in enumerate(table.kinds):
                value = row.values[n]
                if kind == "measure" and isinstance(value, int | float):
                    less = value * chance.uniform(0.7, 1.0)  # another, so that it does not tie with the row it is from
                    row.values[n] = round(less) if isinstance(value, int) else round(less, digits_after_point(value))
        for block in table.blocks:
            varied = all(
                table.kinds[n] == "text" and len(self.texts.get((table.name, n), ())) >= _VARIED for n in block
            )
            if varied and chance.random() < 0.2:
                for n in block:
                    row.values[n] = self._unused(table, n, row.values[n])
        if table.named:
            for number, reference in enumerate(table.references):
                source_parent = chance.choice(old).parents[number]
                row.parents[number] = source_parent if reference.parent is not table else row.parents[number]
        return row if self._rekey(table, row) else None

    def _rekey(self, table: TableRows, row: Row, *, keeping: int = -1) -> bool:
        """Give a new row keys and names that no other has; one of its references may have to stay."""
        for n, kind in enumerate(table.kinds):
            repeats = kind == "name" and n > 0 and table.kinds[n - 1] == "name" and self.chance.random() < 0.3
            if repeats and not any(n in columns for columns in table.unique):
                continue
            if kind in ("name", "own") or (kind == "other" and any(n in columns for columns in table.unique)):
                row.values[n] = self._unused(table, n, row.values[n])
        own = [n for n in table.key if table.kinds[n] == "key"]
        inside = [number for number, r in enumerate(table.references) if any(n in table.key for n in r.columns)]
        if own:
            row.values[own[-1]] = self._unused(table, own[-1], row.values[own[-1]], within=row if inside else None)
            return True
        taken = self._taken(table) if inside else set()
        for _ in range(_TRIES):
            if (identity := _identity(table, row)) not in taken:
                taken.add(identity)
                return True
            free = [number for number in inside if number != keeping]
            if not free:
                return False
            number = self.chance.choice(free)
            row.parents[number] = self.chance.choice(table.references[number].parent.rows)
        return False

    def _taken(self, table: TableRows) -> set[Hashable]:
        """The keys of a table, read once when its first new row is made."""
        if table.name not in self.keys:
            self.keys[table.name] = {_identity(table, row) for row in table.rows}
        return self.keys[table.name]

    def _unused(self, table: TableRows, n: int, like: Cell, within: Row | None = None) -> Cell:
        rows = table.rows
        if within is not None:
            rows = [r for r in rows if _same_parents(table, r, within)]
        taken = dict.fromkeys(row.values[n] for row in rows)  # in order, so that the same seed draws the same
        if isinstance(like, int | float) or (like is None and "INT" in table.types[n].upper()):
            numbers = [value for value in taken if isinstance(value, int | float)]
            step = 1 if within is not None else self.chance.randint(1, 3)
            most = max(numbers, default=0)
            return most + step if most < _LARGEST_NUMBER else next(n for n in itertools.count(1) if n not in taken)
        if isinstance(like, str):
            for _ in range(_TRIES):
                made = self._other_text(like, [str(value) for value in taken if isinstance(value, str)], table.kinds[n])
                if made not in taken:
                    return made
            return f"{like} {len(rows)}"
        return like if table.required[n] else None

    def _other_text(self, like: str, known: Sequence[str], kind: str) -> str:
        """A text that could be one of the known: words of two of them, or other letters of the same sort."""
        words = like.split()
        if kind == "name" and len(words) > 1 and known:
            other = self.chance.choice(known).split()
            made = " ".join([*words[:-1], other[-1]]) if other else like
        else:
            made = "".join(map(self._other_character, like))
        return made

    def _other_character(self, character: str) -> str:
        if character.isascii() and character.isdigit():
            return self.chance.choice("0123456789")
        if character.isascii() and character.isalpha():
            letters = "bcdfghklmnprst" if character.lower() not in "aeiou" else "aeiou"
            made = self.chance.choice(letters)
            return made.upper() if character.isupper() else made
        return character

    def _give_children(self, table: TableRows) -> None:
        """Where each row of a parent had children, each still has some: at least a quarter of the fewest."""
        for number, reference in enumerate(table.references):
            if not reference.least or not table.rows or reference.parent is table:
                continue
            used = Counter(row.parents[number] for row in table.rows)
            least = -(-reference.least // 4)
            for parent in reference.parent.rows:
                for _ in range(least - used[parent]):
                    like = self.chance.choice(table.rows)
                    row = Row(list(like.values), None, list(like.parents))
                    row.parents[number] = parent
                    if self._rekey(table, row, keeping=number):
                        table.rows.append(row)

    # What must hold

    def _find_again(self, table: TableRows) -> None:
        """Put back values of text columns that are found in no row any more, with those they go together with.

        In columns that go together, those that stood in one row only stay away: else all would be as it was.
        """
        for block in table.blocks:
            for n in block:
                lost = self.texts.get((table.name, n), set()) - {row.values[n] for row in table.rows}
                if len(block) > 1 and lost:
                    frequent = Counter(one[n] for one in self.originals[table.name])
                    lost = {value for value in lost if frequent[value] > 1}
                for value in sorted(lost, key=str):
                    together = next(one for one in self.originals[table.name] if one[n] == value)
                    counts = [(m, Counter(row.values[m] for row in table.rows)) for m in block]
                    spare = [
                        row
                        for row in table.rows
                        if all(row.values[m] is None or count[row.values[m]] > 1 for m, count in counts)
                    ]
                    for row in self.chance.sample(spare, min(1, len(spare))):
                        for m in block:
                            row.values[m] = together[m]

    def _settle(self, table: TableRows) -> None:
        """Write the keys of the parents into the rows that refer to them."""
        for row in table.rows:
            for reference, parent in zip(table.references, row.parents, strict=True):
                if parent is not None:
                    for n, m in zip(reference.columns, reference.referred, strict=True):
                        row.values[n] = parent.values[m]
                elif row.original is not None and any(row.original[n] is None for n in reference.columns):
                    for n in reference.columns:
                        if row.original[n] is None:
                            row.values[n] = None


def _shared(table: TableRows, number: int) -> bool:
    """Whether a foreign key has columns in common with a wider one, which then decides."""
    mine = set(table.references[number].columns)
    return any(
        mine & set(other.columns) and (len(other.columns), -n) > (len(mine), -number)
        for n, other in enumerate(table.references)
        if n != number
    )


def _same_parents(table: TableRows, a: Row, b: Row) -> bool:
    return all(
        a.parents[number] is b.parents[number]
        for number, reference in enumerate(table.references)
        if any(n in table.key for n in reference.columns)
    )


def _identity(table: TableRows, row: Row) -> Hashable:
    values = list(row.values)
    for reference, parent in zip(table.references, row.parents, strict=True):
        if parent is not None:
            for n, m in zip(reference.columns, reference.referred, strict=True):
                values[n] = parent.values[m]
    return tuple(values[n] for n in table.key)


def _depth(row: Row, number: int) -> int | None:
    """How far a row is from the root of its tree; None in a ring."""
    seen: set[Row] = set()
    at: Row | None = row
    while at is not None:
        if at in seen:
            return None
        seen.add(at)
        at = at.parents[number]
    return len(seen)


def _shifted(value: Cell, days: int) -> Cell:
    text = str(value)
    if not is_date(value) or text[:4] in ALWAYS_AND_NEVER:
        return value
    moved = date(int(text[:4]), int(text[5:7]), int(text[8:10])) + timedelta(days=days)
    return moved.isoformat() + text[10:]


def _shifted_within_year(value: Cell, days: int) -> Cell:
    moved = _shifted(value, days)
    return moved if str(moved)[:4] == str(value)[:4] else value
