"""The one writing of SQL, and its shape."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from agent.database.result import QueryRejected
from agent.database.skeleton import normalise, skeleton

HERE = Path(__file__).parent
PAIRS = tomllib.loads((HERE / "skeletons.toml").read_text(encoding="utf-8"))["pair"]
IDIOMS = {
    dialect: (HERE / "guard" / f"idioms_{dialect}.txt").read_text(encoding="utf-8").split("\n\n")[1:]
    for dialect in ("sqlite", "postgres")
}


@pytest.mark.parametrize("pair", PAIRS, ids=[pair["shape"] for pair in PAIRS])
def test_golden_shapes(pair: dict[str, str]) -> None:
    assert skeleton(pair["sql"], pair.get("dialect", "sqlite")) == pair["shape"]


@pytest.mark.parametrize("dialect", sorted(IDIOMS))
def test_every_idiom_has_one_writing_and_a_shape_without_names_and_literals(dialect: str) -> None:
    for sql in IDIOMS[dialect]:
        once = normalise(sql, dialect)
        assert normalise(once, dialect) == once
        shape = skeleton(sql, dialect)
        assert shape == skeleton(once, dialect)
        for word in ("Customer", "Order", "customers", "Germany", "1997", "Freight", "'", '"'):
            assert word not in shape


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT a FROM t WHERE b = 1", "select  x\nfrom u -- why\nwhere y='z';"),
        ("SELECT a, b FROM t ORDER BY a, b", "SELECT a, b, c FROM t ORDER BY a"),
        ("SELECT COUNT(*) AS n FROM t ORDER BY n", "SELECT COUNT(x) FROM u ORDER BY COUNT(x)"),
        ("SELECT COUNT(*) FROM t GROUP BY a ORDER BY 1", "SELECT COUNT(*) FROM t GROUP BY a ORDER BY COUNT(*)"),
        ("SELECT a FROM t WHERE b = 1 AND c > 2", "SELECT a FROM t WHERE (c > 3 AND d = 4)"),
    ],
)
def test_what_differs_in_names_literals_and_writing_has_one_shape(one: str, other: str) -> None:
    assert skeleton(one, "sqlite") == skeleton(other, "sqlite")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT SUM(a) FROM t", "SELECT AVG(a) FROM t"),
        ("SELECT a FROM t", "SELECT DISTINCT a FROM t"),
        ("SELECT a FROM t ORDER BY b", "SELECT a FROM t ORDER BY b DESC"),
        ("SELECT a FROM t JOIN u USING (c)", "SELECT a FROM t LEFT JOIN u USING (c)"),
        ("SELECT a FROM t WHERE b = 1", "SELECT a FROM t WHERE b > 1"),
        ("SELECT a FROM t LIMIT 1", "SELECT a FROM t"),
    ],
)
def test_what_asks_for_another_thing_has_another_shape(one: str, other: str) -> None:
    assert skeleton(one, "sqlite") != skeleton(other, "sqlite")


def test_normalising_keeps_literals_and_drops_comments() -> None:
    assert (
        normalise("select  Name from t -- all\n where x='It''s' ;", "sqlite") == "SELECT Name FROM t WHERE x = 'It''s'"
    )


@pytest.mark.parametrize("sql", ["", "SELECT 1; SELECT 2", "SELEC", "SELECT '", "(" * 5_000])
def test_what_is_no_statement_is_refused(sql: str) -> None:
    for read in (normalise, skeleton):
        with pytest.raises(QueryRejected):
            read(sql, "sqlite")
