"""Every gold and its second query agree on copies with other rows too: where not, luck may count as right."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.database.guard import check
from agent.database.reading import Database, open_database
from agent.learning.judging import Judge
from agent.learning.mutating import mutated
from agent.learning.questions import read_pairs

DATA = Path(__file__).resolve().parents[2] / "data"


@pytest.fixture(scope="module")
def judge(northwind: Database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    """One judge with one set of copies for all files."""
    with mutated(
        northwind,
        file=DATA / "northwind.sqlite",
        folder=tmp_path_factory.mktemp("copies"),
        open_copy=lambda path: open_database(str(path)),
    ) as copies:
        yield Judge(run=lambda sql: northwind.run(check(sql, northwind.schema).sql), copies=copies)


@pytest.mark.parametrize(
    "name",
    [
        "seeds/northwind",
        "questions/calibration",
        "questions/development",
        "questions/fresh",
        "questions/readme",
        "questions/retrieval",
        "questions/strange",
        "questions/training",
    ],
)
def test_independent_formulations_agree_on_every_copy(name: str, judge: Judge) -> None:
    verdicts = {pair.id: judge.confirm(pair) for pair in read_pairs(DATA / f"{name}.jsonl")}
    assert {id: verdict.reason for id, verdict in verdicts.items() if not verdict.right} == {}
