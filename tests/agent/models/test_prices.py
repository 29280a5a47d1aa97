"""The price table."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.models.port import Usage
from agent.models.prices import PricesError, load_prices

TABLE = """
as_of = 2026-01-02
source = "a page"
[[price]]
models = ["m"]
input = 1.0
output = 10.0
cache_write = 2.0
cache_read = 0.5
[[price]]
models = ["m"]
prompt_over = 1000
input = 3.0
output = 30.0
cache_write = 6.0
cache_read = 1.5
"""


def test_the_shipped_table_says_when_and_where_it_was_read() -> None:
    prices = load_prices()
    assert prices.as_of >= datetime.date(2026, 1, 1)
    assert "Claude" in prices.source
    assert all(row.cache_read < row.input < row.cache_write < row.output for row in prices.rows)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "prices.toml"
    path.write_text(TABLE)
    return path


def test_each_kind_of_token_has_its_price(table: Path) -> None:
    cost = load_prices(table).cost("m", Usage(100, 200, 300, 400))
    assert cost == pytest.approx((100 * 1 + 200 * 10 + 300 * 0.5 + 400 * 2) / 1e6)


def test_long_prompts_cost_what_their_row_says(table: Path) -> None:
    prices = load_prices(table)
    assert prices.cost("m", Usage(input_tokens=1000)) == pytest.approx(1000 * 1 / 1e6)
    assert prices.cost("m", Usage(input_tokens=501, cache_read_tokens=500)) == pytest.approx(
        (501 * 3 + 500 * 1.5) / 1e6
    )


def test_a_dated_name_has_the_price_of_its_model_and_an_unknown_one_none(table: Path) -> None:
    prices = load_prices(table)
    assert prices.cost("m-20260203", Usage(100)) == prices.cost("m", Usage(100))
    assert prices.cost("m-2", Usage(100)) is None
    assert prices.most("m-2", prompt_bytes=1, max_tokens=1) is None


@given(
    split=st.lists(st.integers(0, 2000), min_size=3, max_size=3),
    output=st.integers(0, 500),
    spare=st.integers(0, 500),
)
def test_the_most_a_call_can_cost_is_never_less_than_what_it_costs(split: list[int], output: int, spare: int) -> None:
    prices = load_prices()
    for row in prices.rows:
        most = prices.most(row.models[0], prompt_bytes=sum(split) + spare, max_tokens=output + spare)
        cost = prices.cost(row.models[0], Usage(split[0], output, split[1], split[2]))
        assert most is not None and cost is not None and cost <= most + 1e-12


@pytest.mark.parametrize(
    "content", [None, "as_of = ", "as_of = 2026-01-01", TABLE.replace("10.0", '"x"'), TABLE.replace("1.0", "-1.0")]
)
def test_a_broken_table_is_refused_by_its_path(content: str | None, tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    if content is not None:
        path.write_text(content)
    with pytest.raises(PricesError, match=r"prices\.toml"):
        load_prices(path)
