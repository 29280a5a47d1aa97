"""The question sets: every gold is confirmed by a second query, and none of them is a seed in other words."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from agent.database.guard import check
from agent.database.reading import Database, open_database
from agent.learning.leaks import Leak
from agent.learning.questions import Pair, read_pairs
from agent.learning.seed import verify
from scripts import build_odd_database

Leaked = Callable[[Sequence[Pair], Sequence[Pair]], tuple[Leak, ...]]

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "data/questions"
SEEDS = read_pairs(ROOT / "data/seeds/northwind.jsonl")
DEVELOPMENT = read_pairs(FOLDER / "development.jsonl")
README = read_pairs(FOLDER / "readme.jsonl")
ODD = read_pairs(FOLDER / "odd.jsonl")


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    path = tmp_path_factory.mktemp("odd") / "clinic.sqlite"
    build_odd_database.build(path)
    database = open_database(str(path))
    yield database
    database.close()


def _bare(text: str) -> str:
    return "".join(re.findall(r"\w", text.lower()))


@pytest.mark.parametrize("question", [*DEVELOPMENT, *README], ids=lambda question: question.id)
def test_a_gold_about_northwind_is_confirmed_by_a_second_query(question: Pair, northwind: Database) -> None:
    assert question.others
    assert verify(question, run=lambda sql: northwind.run(check(sql, northwind.schema).sql)).rows


@pytest.mark.parametrize("question", ODD, ids=lambda question: question.id)
def test_a_gold_about_odd_names_is_confirmed_by_a_second_query(question: Pair, odd: Database) -> None:
    assert question.others
    assert verify(question, run=lambda sql: odd.run(check(sql, odd.schema).sql)).rows


def test_sets_are_as_large_as_promised_and_hold_no_question_twice() -> None:
    assert len(DEVELOPMENT) >= 80
    assert len(README) == 10
    assert len(ODD) >= 25
    assert README[0].question == "Which five customers brought the most revenue in 1997?"
    asked = Counter(_bare(pair.question) for pair in (*SEEDS, *DEVELOPMENT, *README, *ODD))
    assert [text for text, times in asked.items() if times > 1] == []


def test_no_gold_is_the_sql_of_a_seed(leaked: Leaked) -> None:
    found = leaked(SEEDS, (*DEVELOPMENT, *README))
    assert [leak for leak in found if leak.rule in {"same question", "same SQL"}] == []


def test_most_development_questions_are_fresh_and_say_so(leaked: Leaked) -> None:
    lines = [json.loads(line) for line in (FOLDER / "development.jsonl").read_text("utf-8").splitlines()]
    fresh = {line["id"] for line in lines if line["relation"] == "fresh"}
    assert {line["relation"] for line in lines} == {"fresh", "same_shape"}
    assert len(fresh) >= 0.75 * len(lines)
    shaped = {leak.holdout for leak in leaked(SEEDS, DEVELOPMENT) if leak.rule != "paraphrase"}
    assert sorted(fresh & shaped) == []


def test_development_questions_have_the_types_of_the_seeds_and_several_languages() -> None:
    assert {pair.type for pair in DEVELOPMENT} == {seed.type for seed in SEEDS}
    assert {pair.language for pair in DEVELOPMENT} == {"en", "de", "ko"}
    assert {pair.difficulty for pair in DEVELOPMENT} == {"easy", "medium", "hard"}


def test_the_odd_database_is_the_same_each_time_and_replaces_what_was_there(tmp_path: Path) -> None:
    first, second = tmp_path / "first.sqlite", tmp_path / "deep" / "second.sqlite"
    first.write_text("something else")
    assert build_odd_database.main([str(first)]) == 0
    assert build_odd_database.main([str(second)]) == 0
    assert first.read_bytes() == second.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep", "first.sqlite"]


def test_the_odd_database_has_sound_keys_and_the_names_it_is_made_for(tmp_path: Path) -> None:
    path = tmp_path / "odd.sqlite"
    build_odd_database.build(path)
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        names = {name: kind for name, kind in connection.execute("SELECT name, type FROM sqlite_master")}
    assert {"group", "order", "order line", "Owner's Card", "동물", "Врачи", "Rooms & Wards"} <= names.keys()
    assert sum(kind == "table" for kind in names.values()) >= 8
    assert sum(kind == "view" for kind in names.values()) == 2


def test_an_unwritable_path_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert build_odd_database.main([str(blocked / "odd.sqlite")]) == 1
    assert "Give a path in a folder" in capsys.readouterr().err
