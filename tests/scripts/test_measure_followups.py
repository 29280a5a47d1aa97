"""The follow-ups that are measured, and how what they become is counted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.app import App, open_app
from agent.settings import Settings
from scripts.measure_followups import came

ROOT = Path(__file__).resolve().parents[2]


def pairs(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (ROOT / name).read_text(encoding="utf-8").splitlines()]


PAIRS = pairs("data/questions/followups.jsonl")
TUNED_ON = pairs("tests/agent/followups.jsonl")


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    place = tmp_path_factory.mktemp("measured")
    northwind = Settings(database=str(ROOT / "data/northwind.sqlite"), data=ROOT / "data", runs=place, brain=str(place))
    with open_app(northwind, seeding=False) as opened:
        yield opened


def test_none_of_the_measured_follow_ups_is_one_that_the_rules_were_made_with() -> None:
    tuned = {(pair["previous"], pair["followup"]) for pair in TUNED_ON}
    measured = {(pair["previous"], pair["followup"]) for pair in PAIRS}
    assert len(measured) == 40 and not measured & tuned


def test_each_link_of_a_chain_follows_on_the_one_before() -> None:
    chains: dict[str, list[dict[str, str]]] = {}
    for pair in PAIRS:
        if "chain" in pair:
            chains.setdefault(pair["chain"], []).append(pair)
    assert sum(map(len, chains.values())) >= 10
    for chain in chains.values():
        assert [pair["whole"] for pair in chain[:-1]] == [pair["previous"] for pair in chain[1:]]


def test_every_question_before_has_an_answer(app: App) -> None:
    assert all(app.checked_run(pair["sql"]).rows for pair in PAIRS)


@pytest.mark.parametrize(
    ("became", "expected", "counted"),
    [
        ("How many customers are there per city?", "How many customers are there in each city?", "as meant"),
        ("How many customers are there in Berlin?", "How many customers are there in London?", "other"),
        ("Which products cost more than 100?", "Which products cost more than 50?", "other"),
        ("Which products cost more than 50?", "Which products cost less than 50?", "other"),
        ("Which five customers placed the most orders?", "Which five customers placed the fewest orders?", "other"),
        ("How many orders were placed in 1997?", "How many orders were placed?", "other"),
        (None, "How many orders were placed?", "not understood"),
        (None, None, "as meant"),
        ("How many orders were placed?", None, "other"),
    ],
)
def test_a_follow_up_is_as_meant_only_if_nothing_that_counts_differs(
    became: str | None, expected: str | None, counted: str, app: App
) -> None:
    assert came(app, became, expected) == counted
