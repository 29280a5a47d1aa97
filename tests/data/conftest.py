"""What the tests of the question files stand on: the databases asked, and what tells questions that are alike."""

from __future__ import annotations

import json
import sqlite3
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import lru_cache
from pathlib import Path

import pytest

from agent.database.comparing import same
from agent.database.guard import check
from agent.database.reading import Database, open_database
from agent.database.result import Result
from agent.grounding import Lexicon, ground
from agent.intent import mask
from agent.learning.leaks import Leak, leaks
from agent.learning.mistakes import one_spelling
from agent.learning.questions import Pair
from memory.semantic import Term

ROOT = Path(__file__).resolve().parents[2]

Leaked = Callable[[Sequence[Pair], Sequence[Pair]], tuple[Leak, ...]]
Answered = Callable[[str], Result]
Wordings = Callable[[Path, str], list[Pair]]
AnsweredAlike = Callable[[Sequence[Pair], Sequence[Pair]], list[tuple[str, str]]]


@pytest.fixture(scope="session")
def northwind() -> Iterator[Database]:
    database = open_database(str(ROOT / "data/northwind.sqlite"))
    yield database
    database.close()


@pytest.fixture(scope="session")
def marina_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("marina") / "marina.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((ROOT / "data/questions/marina.sql").read_text(encoding="utf-8"))
    return path


@pytest.fixture(scope="session")
def marina(marina_file: Path) -> Iterator[Database]:
    database = open_database(str(marina_file))
    yield database
    database.close()


@pytest.fixture(scope="session")
def leaked(northwind: Database) -> Leaked:
    return _leaked(northwind, "northwind")


@pytest.fixture(scope="session")
def leaked_in_marina(marina: Database) -> Leaked:
    return _leaked(marina, "marina")


def _leaked(database: Database, glossary: str) -> Leaked:
    listed = tomllib.loads((ROOT / f"data/glossary/{glossary}.toml").read_text(encoding="utf-8"))["term"]
    terms = [Term(tuple(t["names"]), t["meaning"], t.get("expression"), tuple(t["tables"]), "glossary") for t in listed]
    lexicon = Lexicon.build(database.schema, database.facts, terms)

    masked = lru_cache(maxsize=2_000)(lambda question: mask(question, ground(question, lexicon)))
    spelled = lru_cache(maxsize=4_000)(lambda sql: one_spelling(sql, "sqlite"))

    def found(training: Sequence[Pair], holdout: Sequence[Pair]) -> tuple[Leak, ...]:
        return leaks(training, holdout, mask=masked, normalise=spelled)

    return found


@pytest.fixture(scope="session")
def answered(northwind: Database) -> Answered:
    return _answered(northwind)


@pytest.fixture(scope="session")
def answered_in_marina(marina: Database) -> Answered:
    return _answered(marina)


def _answered(database: Database) -> Answered:
    """Check and run SQL on a database. What a query gave is kept: many tests ask the same."""
    return lru_cache(maxsize=2_000)(lambda sql: database.run(check(sql, database.schema).sql))


@pytest.fixture(scope="session")
def answered_alike(answered: Answered) -> AnsweredAlike:
    """Name each known and each asked question with the same answer, where that is hardly so by chance.

    That is a result of several rows, or a number with a fraction.
    """

    def found(known: Sequence[Pair], asked: Sequence[Pair]) -> list[tuple[str, str]]:
        telling = [(pair.id, result) for pair in asked if _telling(result := answered(pair.sql))]
        assert len(telling) > len(asked) / 2
        results = [(pair.id, answered(pair.sql)) for pair in known]
        return [
            (known_id, asked_id)
            for asked_id, result in telling
            for known_id, other in results
            if same(result, other, ordered=False)
        ]

    return found


def _telling(result: Result) -> bool:
    cells = [cell for row in result.rows for cell in row]
    return len(result.rows) > 1 or any(isinstance(cell, float) and not cell.is_integer() for cell in cells)


@pytest.fixture(scope="session")
def wordings() -> Wordings:
    """Read the questions on one database from a file of groups, each with a query that tells nothing but its tables."""

    def read(path: Path, database: str) -> list[Pair]:
        pairs: list[Pair] = []
        for line in path.read_text("utf-8").splitlines():
            group = json.loads(line)
            if group.get("schema", "northwind") != database:
                continue
            sql = "SELECT 1 FROM " + " CROSS JOIN ".join(_quoted(table) for table in group["tables"])
            for text in group["questions"]:
                name = f"{group['group']}: {len(pairs)}"
                pairs.append(Pair(name, text, sql, (), False, "", "", "", len(pairs) + 1))
        return pairs

    return read


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@pytest.fixture(scope="session")
def repeated() -> Callable[[Sequence[Pair]], list[str]]:
    """Name the questions whose second query is the first again, or whose first is another question's."""

    def found(pairs: Sequence[Pair]) -> list[str]:
        golds = {pair.id: one_spelling(pair.sql, "sqlite") for pair in pairs}
        times = Counter(golds.values())
        return [
            pair.id
            for pair in pairs
            if times[golds[pair.id]] > 1 or golds[pair.id] in {one_spelling(other, "sqlite") for other in pair.others}
        ]

    return found
