"""Comparing and fingerprints, on golden pairs and on properties."""

from __future__ import annotations

import random
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.database.comparing import same
from agent.database.fingerprint import fingerprint
from agent.database.result import Cell, Result

PAIRS = tomllib.loads((Path(__file__).parent / "comparing.toml").read_text(encoding="utf-8"))["pair"]


def cell(value: Any) -> Cell:
    if isinstance(value, list):
        return bytes.fromhex(value[1])
    return None if value == "NULL" else value


def result(rows: list[list[Any]]) -> Result:
    return Result(tuple(f"c{n}" for n in range(len(rows[0]))), tuple(tuple(cell(v) for v in row) for row in rows))


@pytest.mark.parametrize("pair", PAIRS, ids=[pair["why"] for pair in PAIRS])
def test_golden_pairs(pair: dict[str, Any]) -> None:
    right, other = result(pair["right"]), result(pair["other"])
    assert same(right, other, ordered=pair["ordered"]) is pair["same"]
    assert same(right, right, ordered=True) and same(other, other, ordered=True)
    if not pair["ordered"]:
        assert same(other, right, ordered=False) is pair["same"]


def test_names_of_columns_do_not_count() -> None:
    assert same(Result(("a",), ((1,),)), Result(("COUNT(*)",), ((1,),)), ordered=True)


def test_empty_results_need_as_many_columns() -> None:
    assert same(Result(("a", "b"), ()), Result(("c", "d"), ()), ordered=True)
    assert not same(Result(("a", "b"), ()), Result(("c",), ()), ordered=False)
    assert not same(Result(("a",), ()), Result(("a",), ((None,),)), ordered=False)


def test_a_result_cut_off_is_not_one_that_is_whole() -> None:
    rows = ((1,), (2,))
    assert not same(Result(("a",), rows), Result(("a",), rows, truncated="rows"), ordered=False)
    assert fingerprint(Result(("a",), rows), ordered=False) != fingerprint(
        Result(("a",), rows, truncated="rows"), ordered=False
    )


def test_many_equal_columns_are_compared_in_bounded_time() -> None:
    rows = tuple(tuple((n * k) % 2 for k in range(12)) for n in range(1, 200))
    shuffled = [list(row) for row in rows]
    random.Random(1).shuffle(shuffled)
    shuffled[0][0] = 1 - int(shuffled[0][0])
    shuffled[1][0] = 1 - int(shuffled[1][0])
    began = time.monotonic()
    same(Result(tuple("abcdefghijkl"), rows), Result(tuple("abcdefghijkl"), tuple(map(tuple, shuffled))), ordered=False)
    assert time.monotonic() - began < 10


CELL = st.one_of(
    st.none(),
    st.integers(-5, 5),
    st.floats(allow_nan=True),
    st.sampled_from(["", "a", "1", "NULL"]),
    st.binary(max_size=2),
    st.integers(),
)
ROWS = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.tuples(*[CELL] * width), max_size=6).map(
        lambda rows: Result(tuple(f"c{n}" for n in range(width)), tuple(rows))
    )
)


@given(rows=ROWS, seed=st.integers(0, 99), ordered=st.booleans())
@settings(max_examples=300, deadline=None, database=None, derandomize=True)
def test_shuffled_rows_and_columns_are_the_same(rows: Result, seed: int, ordered: bool) -> None:
    chance = random.Random(seed)
    columns = list(range(len(rows.columns)))
    chance.shuffle(columns)
    kept = list(rows.rows)
    if not ordered:
        chance.shuffle(kept)
    other = Result(rows.columns, tuple(tuple(row[c] for c in columns) for row in kept))
    assert same(rows, other, ordered=ordered)
    straight = Result(rows.columns, tuple(kept))
    assert fingerprint(straight, ordered=ordered) == fingerprint(rows, ordered=ordered)


@given(a=ROWS, b=ROWS, ordered=st.booleans())
@settings(max_examples=300, deadline=None, database=None, derandomize=True)
def test_equal_fingerprints_mean_the_same_answer(a: Result, b: Result, ordered: bool) -> None:
    if fingerprint(a, ordered=ordered) == fingerprint(b, ordered=ordered):
        assert same(a, b, ordered=ordered)


@given(rows=ROWS, noise=st.sampled_from([1 + 1e-14, 1 - 1e-14, 1.0]))
@settings(max_examples=300, deadline=None, database=None, derandomize=True)
def test_noise_in_fractions_changes_nothing(rows: Result, noise: float) -> None:
    def noisy(value: Cell) -> Cell:
        return round(value, 3) * noise if isinstance(value, float) and abs(value) < 1e6 else value

    plain = Result(
        rows.columns,
        tuple(tuple(round(v, 3) if isinstance(v, float) and abs(v) < 1e6 else v for v in row) for row in rows.rows),
    )
    other = Result(rows.columns, tuple(tuple(noisy(v) for v in row) for row in plain.rows))
    assert same(plain, other, ordered=True)
    assert fingerprint(plain, ordered=True) == fingerprint(other, ordered=True)


def test_a_fingerprint_follows_values_order_and_types() -> None:
    base = Result(("a", "b"), ((1, "x"), (2, "y")))
    turned = Result(("a", "b"), ((2, "y"), (1, "x")))
    assert fingerprint(base, ordered=False) == fingerprint(turned, ordered=False)
    assert fingerprint(base, ordered=True) != fingerprint(turned, ordered=True)
    assert fingerprint(base, ordered=True) != fingerprint(base, ordered=False)
    seen = {
        fingerprint(Result(("a",), ((value,),)), ordered=False)
        for value in (1, 2, 1.5, "1", "1.5", None, "", b"1", "None", 10**12, 10**12 + 1)
    }
    assert len(seen) == 11
    assert fingerprint(Result(("a",), ()), ordered=False) != fingerprint(Result(("a", "b"), ()), ordered=False)


def test_a_fingerprint_is_the_same_in_every_release() -> None:
    rows = Result(("a", "b", "c"), ((1, "ж", 0.1), (None, "x", 2.0)))
    assert fingerprint(rows, ordered=False) == "75aca2aa8d5ce1261cd425ee714419679729bc35fc2bd36b644cbef163e2fbcb"
