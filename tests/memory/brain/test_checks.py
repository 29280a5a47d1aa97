"""Reading checks: what is one is read, and what could pass for one and checks nothing is a fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory.brain.checks import (
    Contradiction,
    Coverage,
    Evidence,
    Forbidden,
    Freshness,
    MustKnow,
    Structure,
    concluded,
    faulty,
    read_checks,
)

GOOD = """
[[check]]
kind = "must_know"
name = "boats-in-veere"
question = "How many boats lie in Veere?"
rows = [[2]]

[[check]]
kind = "must_know"
name = "longest"
question = "Which boat is the longest?"
sql = "SELECT Name FROM Boats ORDER BY Metres DESC LIMIT 1"
ordered = true

[[check]]
kind = "forbidden"
name = "no-owner"
why = "the owner asked for it"
text = "Piet Hein"
questions = ["Who owns the Stille?"]
erased = true

[[check]]
kind = "structure"
name = "apart"
never_joined = ["Boats", "Owners"]

[[check]]
kind = "freshness"
name = "fresh"
days = 30

[[check]]
kind = "coverage"
name = "covered"
share = 0.5
episodes = 2

[[check]]
kind = "contradiction"
name = "agreed"
"""


def read(folder: Path, *texts: str) -> list[tuple[str, str]]:
    """The faults of a folder with these files, a, b and so on."""
    for name, text in zip("abc", texts, strict=False):
        (folder / f"{name}.toml").write_text(text, "utf-8")
    return [(fault.key, fault.text) for fault in read_checks(folder).faults]


def test_every_kind_is_read_in_the_order_of_files(tmp_path: Path) -> None:
    (tmp_path / "b.toml").write_text(GOOD, "utf-8")
    (tmp_path / "a.toml").write_text('[[check]]\nkind = "contradiction"\nname = "first"', "utf-8")
    loaded = read_checks(tmp_path)
    assert loaded.faults == ()
    assert [type(check) for _, check in loaded.checks] == [
        Contradiction,
        MustKnow,
        MustKnow,
        Forbidden,
        Structure,
        Freshness,
        Coverage,
        Contradiction,
    ]
    assert loaded.checks[0][0] == "a.toml"
    owner = loaded.named("no-owner")
    assert isinstance(owner, Forbidden) and owner.what == "Piet Hein" and owner.erased
    assert loaded.named("nobody") is None


@pytest.mark.parametrize("made", [False, True], ids=["no folder", "no file"])
def test_a_folder_without_checks_is_a_fault(tmp_path: Path, made: bool) -> None:
    place = tmp_path / "checks"
    if made:
        place.mkdir()
    loaded = read_checks(place)
    assert loaded.checks == () and len(loaded.faults) == 1
    assert not faulty(loaded.faults[0]).ok and str(place) in loaded.faults[0].text


@pytest.mark.parametrize("name", ["b.TOML", "b.tml", "b.toml.bak", "b", ".b.swp", "b.toml~", "more/b.toml", "more/x/b"])
def test_whatever_else_lies_in_the_folder_is_a_fault(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.toml").write_text('[[check]]\nkind = "contradiction"\nname = "first"', "utf-8")
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(GOOD, "utf-8")
    loaded = read_checks(tmp_path)
    assert [check.name for _, check in loaded.checks] == ["first"]
    assert [fault.file for fault in loaded.faults] == [name.partition("/")[0]]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="an empty file"),
        pytest.param("# nothing but a remark", id="a remark alone"),
        pytest.param("check = []", id="an empty list"),
        pytest.param('[check]\nkind = "contradiction"\nname = "a"', id="a table in place of a list"),
        pytest.param("[[check]]\nkind = ", id="broken TOML"),
        pytest.param('[[checks]]\nkind = "contradiction"\nname = "a"', id="a misspelt list"),
    ],
)
def test_a_file_without_a_check_is_a_fault_even_beside_good_ones(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, GOOD, text)


def test_a_file_that_is_no_text_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "b.toml").mkdir()
    assert [fault.file for fault in read_checks(tmp_path).faults] == ["a.toml", "b.toml"]


HEAD = '[[check]]\nname = "x"\nkind = '


@pytest.mark.parametrize(
    ("text", "key", "word"),
    [
        (HEAD + '"must_know"\nquestion = "q?"', "x", "rows and sql"),
        (HEAD + '"must_know"\nquestion = "q?"\nrows = []', "x", "empty"),
        (HEAD + '"must_know"\nquestion = "q?"\nrows = [[]]', "x", "empty"),
        (HEAD + '"must_know"\nquestion = "q?"\nrows = [[1], [1, 2]]', "x", "different numbers"),
        (HEAD + '"must_know"\nquestion = "q?"\nsql = " "', "x.sql", ""),
        (HEAD + '"must_know"\nquestion = "q?"\nrows = [[1]]\nsql = "SELECT 1"', "x", "one of"),
        (HEAD + '"must_know"\nquestion = "  "\nrows = [[1]]', "x.question", ""),
        (HEAD + '"must_know"\nrows = [[1]]', "x.question", "required"),
        (HEAD + '"must_know"\nquestion = "q?"\nrow = [[1]]\nrows = [[1]]', "x.row", "no such key"),
        (HEAD + '"must_know"\nquestion = "q?"\nrows = [[1]]\nordered = "yes"', "x.ordered", ""),
        (HEAD + '"forbidden"', "x", "one of text"),
        (HEAD + '"forbidden"\ntext = ""', "x.text", ""),
        (HEAD + '"forbidden"\ntext = " "', "x.text", ""),
        (HEAD + '"forbidden"\ntext = "--"', "x", "letter"),
        (HEAD + '"forbidden"\ntext = "a"\nvalue = "b"', "x", "one of text"),
        (HEAD + '"forbidden"\ncolumn = "BirthDate"', "x.column", ""),
        (HEAD + '"forbidden"\ntext = "a"\nerase = true', "x.erase", "no such key"),
        (HEAD + '"structure"', "x", "one of never_joined"),
        (HEAD + '"structure"\nnever_joined = ["A"]', "x", "two tables"),
        (HEAD + '"structure"\nnever_joined = ["A", "a"]', "x", "two tables"),
        (HEAD + '"structure"\nnever_selected = []', "x", "empty"),
        (HEAD + '"freshness"', "x", "how fresh"),
        (HEAD + '"freshness"\ncurrent_schema = false', "x", "how fresh"),
        (HEAD + '"freshness"\ndays = 0', "x.days", ""),
        (HEAD + '"coverage"\nshare = 0.0', "x.share", ""),
        (HEAD + '"coverage"\nshare = 90', "x.share", ""),
        (HEAD + '"coverage"\nshare = 0.5\nepisodes = 0', "x.episodes", ""),
        (HEAD + '"coverage"\nshare = 0.5\nverifiers = []', "x.verifiers", ""),
        (HEAD + '"coverage"\nshare = 0.5\nbuckets = 0', "x.buckets", ""),
        (HEAD + '"structure"\nnever_selected = ["A.b"]\nbuckets = 1', "x", "buckets goes with answered"),
        (HEAD + '"contradiction"\nsql = "SELECT 1"', "x.sql", "no such key"),
        (HEAD + '"must-know"\nquestion = "q?"\nrows = [[1]]', "x.kind", "must be one of"),
        ('[[check]]\nname = "x"', "x.kind", "must be one of"),
        ('[[check]]\nkind = "contradiction"', "check 1.name", "required"),
        ('[[check]]\nkind = "contradiction"\nname = "A Name"', "A Name.name", ""),
        ('[[check]]\nkind = "contradiction"\nname = "x"\n[more]\na = 1', "more", "no such key"),
    ],
)
def test_what_checks_nothing_is_a_fault_that_names_the_key(tmp_path: Path, text: str, key: str, word: str) -> None:
    faults = read(tmp_path, text)
    assert [name for name, _ in faults] == [key] and word in faults[0][1], faults


def test_a_fault_does_not_hide_the_checks_beside_it(tmp_path: Path) -> None:
    assert len(read(tmp_path, GOOD + "\n[[check]]\nkind = 'freshness'\nname = 'none'")) == 1
    assert len(read_checks(tmp_path).checks) == 7


def test_two_checks_of_one_name_are_a_fault(tmp_path: Path) -> None:
    one = '[[check]]\nkind = "contradiction"\nname = "twice"'
    assert read(tmp_path, one, one) == [("twice", "a.toml has a check of this name already")]


def test_nothing_looked_at_is_red() -> None:
    check = Contradiction(kind="contradiction", name="x")
    assert not concluded(check, {}, []).ok and not concluded(check, {"episodes": 0, "pairs": 0}, []).ok
    assert concluded(check, {"episodes": 1}, []).ok


def test_every_place_is_named_however_much_is_found_in_one() -> None:
    check = Contradiction(kind="contradiction", name="x")
    found = [Evidence("vectors", str(number), "") for number in range(50)] + [Evidence("graph", "1", "")]
    told = concluded(check, {"all": 51}, found)
    assert told.reason == "found in vectors (50), graph (1)"
    assert {one.place for one in told.evidence} == {"vectors", "graph"} and len(told.evidence) < 10
