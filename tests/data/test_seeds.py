"""The Northwind seed pack: every pair runs, gives rows, and a second formulation agrees; every kind is covered."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from itertools import permutations
from math import isclose
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACK = ROOT / "data/seeds/northwind.jsonl"
SEEDS: list[dict[str, Any]] = [json.loads(line) for line in PACK.read_text("utf-8").splitlines()]
KINDS = {
    "lookup", "filter", "count", "count_distinct", "sum", "average", "min_max", "top_n", "bottom_n", "by_group",
    "over_time", "share", "ratio", "missing", "duplicates", "yes_no", "having", "rank", "running_total", "compare",
    "self_join", "set_difference", "intersection", "multi_join", "date_range", "cte", "string_match", "nulls",
}  # fmt: skip


@pytest.fixture(scope="module")
def northwind() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(f"file:{ROOT / 'data/northwind.sqlite'}?mode=ro", uri=True)
    yield connection
    connection.close()


def _alike(left: Any, right: Any) -> bool:
    numbers = (int, float)
    if isinstance(left, numbers) and isinstance(right, numbers):
        return isclose(left, right, rel_tol=1e-9)
    return type(left) is type(right) and bool(left == right)


def _sortable(row: tuple[Any, ...]) -> tuple[tuple[str, Any], ...]:
    return tuple(("number", round(v, 3)) if isinstance(v, int | float) else (type(v).__name__, v or "") for v in row)


def _agree(left: list[tuple[Any, ...]], right: list[tuple[Any, ...]], *, ordered: bool) -> bool:
    """Say whether both are the same bag of rows (or list, if ordered) with columns in any order."""
    if len(left) != len(right) or len(left[0]) != len(right[0]):
        return False
    left = left if ordered else sorted(left, key=_sortable)
    for places in permutations(range(len(left[0]))):
        moved = [tuple(row[place] for place in places) for row in right]
        moved = moved if ordered else sorted(moved, key=_sortable)
        if all(_alike(a, b) for x, y in zip(left, moved, strict=True) for a, b in zip(x, y, strict=True)):
            return True
    return False


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed["id"])
def test_a_seed_gives_rows_that_its_check_confirms(seed: dict[str, Any], northwind: sqlite3.Connection) -> None:
    rows = northwind.execute(seed["sql"]).fetchall()
    assert 0 < len(rows) < 1000
    assert any(value is not None for row in rows for value in row)
    assert _agree(rows, northwind.execute(seed["check_sql"]).fetchall(), ordered=seed["ordered"])


def test_a_check_is_another_formulation() -> None:
    assert [
        s["id"] for s in SEEDS if "".join(s["sql"].lower().split()) == "".join(s["check_sql"].lower().split())
    ] == []


def test_seeds_are_many_of_every_kind_and_never_twice() -> None:
    assert len(SEEDS) >= 120
    assert {seed["type"] for seed in SEEDS} == KINDS
    assert min(Counter(seed["type"] for seed in SEEDS).values()) >= 4
    for key in ("id", "question", "sql"):
        assert [value for value, times in Counter(s[key].lower() for s in SEEDS).items() if times > 1] == []
    assert {seed["difficulty"] for seed in SEEDS} == {"easy", "medium", "hard"}


def test_seeds_are_written_in_one_style() -> None:
    for seed in SEEDS:
        sql = seed["sql"]
        assert not sql.endswith(";") and "\n" not in sql and "  " not in sql, seed["id"]
        assert "USING (" not in sql and " LEFT OUTER " not in sql, seed["id"]
        assert "Order Details" not in sql.replace('"Order Details"', ""), seed["id"]
