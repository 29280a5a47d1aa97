"""The Northwind seed pack: every pair is verified as the loader does it, and every kind of question is covered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent.database.guard import check
from agent.database.reading import Database, open_database
from agent.database.result import Result
from agent.learning.questions import Pair, read_pairs
from agent.learning.seed import Unverified, verify

ROOT = Path(__file__).resolve().parents[2]
SEEDS = read_pairs(ROOT / "data/seeds/northwind.jsonl")
KINDS = {
    "lookup", "filter", "count", "count_distinct", "sum", "average", "min_max", "top_n", "bottom_n", "by_group",
    "over_time", "share", "ratio", "missing", "duplicates", "yes_no", "having", "rank", "running_total", "compare",
    "self_join", "set_difference", "intersection", "multi_join", "date_range", "cte", "string_match", "nulls",
}  # fmt: skip


@pytest.fixture(scope="module")
def northwind() -> Iterator[Database]:
    database = open_database(str(ROOT / "data/northwind.sqlite"))
    yield database
    database.close()


def _verify(pair: Pair, database: Database) -> Result:
    return verify(pair, run=lambda sql: database.run(check(sql, database.schema).sql))


def _bare(text: str) -> str:
    return "".join(text.lower().split())


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.id)
def test_a_seed_passes_the_guard_and_a_second_query_confirms_it(seed: Pair, northwind: Database) -> None:
    assert _verify(seed, northwind).rows


def test_a_seed_with_the_sql_of_another_is_found_out(northwind: Database) -> None:
    wrong = replace(SEEDS[0], sql=SEEDS[1].sql)
    with pytest.raises(Unverified, match="another result"):
        _verify(wrong, northwind)


def test_a_check_is_another_formulation() -> None:
    assert all(seed.others for seed in SEEDS)
    assert [seed.id for seed in SEEDS if _bare(seed.sql) in {_bare(other) for other in seed.others}] == []


def test_seeds_are_many_of_every_kind_and_never_twice() -> None:
    assert len(SEEDS) >= 120
    assert {seed.type for seed in SEEDS} == KINDS
    assert min(Counter(seed.type for seed in SEEDS).values()) >= 4
    assert {seed.difficulty for seed in SEEDS} == {"easy", "medium", "hard"}
    for texts in ([_bare(seed.question) for seed in SEEDS], [_bare(seed.sql) for seed in SEEDS]):
        assert [text for text, times in Counter(texts).items() if times > 1] == []


def test_seeds_are_written_in_one_style() -> None:
    for seed in SEEDS:
        assert not seed.sql.endswith(";") and "\n" not in seed.sql and "  " not in seed.sql, seed.id
        assert "USING (" not in seed.sql and " LEFT OUTER " not in seed.sql, seed.id
        assert "Order Details" not in seed.sql.replace('"Order Details"', ""), seed.id
