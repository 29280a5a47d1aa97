"""What an answer cost is shown: tokens read anew and from a cache, tokens written, money."""

from __future__ import annotations

import json

import pytest

from agent.attempt import Attempt, Draft
from agent.database.result import Result
from agent.doors import rendering
from agent.models.port import Prompt, Reply, Turn, Usage

SHOWN = Prompt("stable", (Turn("user", "How many?"),))


def answered(*usages: Usage) -> Attempt:
    drafts = tuple(
        Draft(SHOWN, Reply("SELECT 1", usage), sql="SELECT 1", result=Result(("1",), ((1,),), None, 0.0))
        for usage in usages
    )
    return Attempt("0a1b2c3d4e", "How many?", "claude", drafts=drafts, status="answered")


def footer(attempt: Attempt, capsys: pytest.CaptureFixture[str]) -> str:
    rendering.answer(attempt, rendering.Showing(0.5, 0.1), as_json=False)
    return " ".join(capsys.readouterr().out.split())


def test_cache_reads_and_writes_of_all_drafts_are_summed_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    attempt = answered(Usage(20, 10, 0, 4_000, 0.01), Usage(30, 5, 4_000, 0, 0.002))
    rendering.answer(attempt, rendering.Showing(0.5, 0.1), as_json=True)
    assert json.loads(capsys.readouterr().out)["usage"] == {
        "input_tokens": 50,
        "output_tokens": 15,
        "cache_read_tokens": 4_000,
        "cache_write_tokens": 4_000,
        "cost_usd": pytest.approx(0.012),
    }


def test_the_footer_says_how_much_of_what_was_read_came_from_a_cache(capsys: pytest.CaptureFixture[str]) -> None:
    assert "8,050 (4,000 from cache) + 15 tokens" in footer(
        answered(Usage(20, 10, 0, 4_000, 0.01), Usage(30, 5, 4_000, 0, 0.002)), capsys
    )
    uncached = footer(answered(Usage(1_100, 7)), capsys)
    assert "1,100 + 7 tokens" in uncached and "cache" not in uncached


def test_an_answer_that_no_model_was_asked_for_names_no_tokens(capsys: pytest.CaptureFixture[str]) -> None:
    assert "tokens" not in footer(answered(Usage()), capsys)
