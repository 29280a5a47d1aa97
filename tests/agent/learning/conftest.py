"""What tests of learning share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.database.guard import check
from agent.database.reading import Database, open_database
from agent.database.result import Result
from agent.learning.judging import Judge
from agent.learning.mutating import mutated


@pytest.fixture(scope="module")
def judge(bakery_file: Path, bakery_database: Database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    """A judge with real mutated copies of the bakery."""

    def run(sql: str) -> Result:
        return bakery_database.run(check(sql, bakery_database.schema).sql)

    with mutated(
        bakery_database,
        file=bakery_file,
        folder=tmp_path_factory.mktemp("copies"),
        open_copy=lambda path: open_database(str(path), row_cap=50),
    ) as copies:
        yield Judge(run=run, copies=copies)
