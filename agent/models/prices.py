"""What a call to a hosted model costs, by a dated table."""

from __future__ import annotations

import datetime
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.models.port import ModelError, Usage

PRICES_FILE = Path(__file__).resolve().parents[2] / "data" / "prices.toml"

_DATED = re.compile(r"-\d{8}$")
_PER_MILLION = 1e-6


class PricesError(ModelError):
    """The price table is missing or wrong."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens, for prompts of more than `prompt_over` tokens."""

    models: tuple[str, ...]
    input: float
    output: float
    cache_write: float
    cache_read: float
    prompt_over: int = 0


@dataclass(frozen=True, slots=True)
class Prices:
    """The table with the day and the place it was read."""

    as_of: datetime.date
    source: str
    rows: tuple[Price, ...]

    def cost(self, model: str, usage: Usage) -> float | None:
        """US dollars for this usage, or None when the model is not in the table."""
        prompt = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        row = self._row(model, prompt)
        if row is None:
            return None
        return _PER_MILLION * (
            usage.input_tokens * row.input
            + usage.output_tokens * row.output
            + usage.cache_write_tokens * row.cache_write
            + usage.cache_read_tokens * row.cache_read
        )

    def most(self, model: str, *, prompt_bytes: int, max_tokens: int) -> float | None:
        """US dollars that a call costs at the very most: no token is shorter than a byte, and all is written to
        the cache. None when the model is not in the table."""
        row = self._row(model, prompt_bytes)
        if row is None:
            return None
        return _PER_MILLION * (prompt_bytes * max(row.input, row.cache_write) + max_tokens * row.output)

    def _row(self, model: str, prompt_tokens: int) -> Price | None:
        """The row for this model and prompt; `claude-x-20260101` is priced as `claude-x`."""
        names = {model, _DATED.sub("", model)}
        rows = [row for row in self.rows if names & set(row.models) and row.prompt_over < max(prompt_tokens, 1)]
        return max(rows, key=lambda row: row.prompt_over, default=None)


def load_prices(path: Path = PRICES_FILE) -> Prices:
    """Read the table. Raises PricesError."""
    try:
        table = tomllib.loads(path.read_text("utf-8"))
        rows = tuple(_price(row) for row in table["price"])
        prices = Prices(table["as_of"], table["source"], rows)
    except FileNotFoundError as problem:
        raise PricesError(f"The price table {path} is missing. Restore it from the repository.") from problem
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as problem:
        raise PricesError(f"The price table {path} cannot be read: {problem}. Correct the file.") from problem
    for row in rows:
        if min(row.input, row.output, row.cache_write, row.cache_read) < 0:
            raise PricesError(f"The price table {path} has a price below zero for {', '.join(row.models)}.")
    return prices


def _price(row: dict[str, Any]) -> Price:
    dollars = {name: float(row[name]) for name in ("input", "output", "cache_write", "cache_read")}
    return Price(models=tuple(row["models"]), prompt_over=int(row.get("prompt_over", 0)), **dollars)
