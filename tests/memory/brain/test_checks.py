"""Reading checks: what is one is read, and what could pass for one and checks nothing is a fault."""

from __future__ import annotations

import os
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
        (HEAD + '"must_know"\nquestion = "q?"\nrows = [[nan]]', "x", "nan equals nothing"),
        (HEAD + '"must_know"\nquestion = "q?"\nrows = [[1997-01-01]]', "x.rows.0.0", "dates"),
        (HEAD + '"must_know"\nquestion = ["q?"]\nrows = [[1]]', "x.question", "string"),
        (HEAD + '"forbidden"\ntext = 5', "x.text", "string"),
        (HEAD + f'"forbidden"\ntext = "{"e" * 2001}"', "x.text", "at most 2000"),
        (HEAD + '"forbidden"\nvalue = "\\u200b\\u00ad"', "x", "letter"),
        (HEAD + '"forbidden"\ntext = "a"\nquestions = [" "]', "x.questions.0", ""),
        (HEAD + '"forbidden"\ncolumn = "a.b.c.d"', "x.column", ""),
        (HEAD + '"structure"\nnever_joined = "A, B"', "x.never_joined", "list"),
        (HEAD + '"structure"\nanswered = ["count"]', "x.answered", "string"),
        (HEAD + '"freshness"\ndays = 3651', "x.days", "3650"),
        (HEAD + f'"freshness"\ndays = {10**30}', "x.days", "3650"),
        (HEAD + '"freshness"\ndays = 1.5', "x.days", "integer"),
        (HEAD + '"freshness"\ndays = 2026-12-01', "x.days", "integer"),
        (HEAD + '"freshness"\ncurrent_schema = 1', "x.current_schema", "boolean"),
        (HEAD + '"coverage"\nshare = nan', "x.share", ""),
        (HEAD + '"coverage"\nshare = -0.5', "x.share", ""),
        (HEAD + '"coverage"\nshare = "90%"', "x.share", "number"),
        (f'[[check]]\nkind = "contradiction"\nname = "{"x" * 101}"', f"{'x' * 101}.name", "at most 100"),
        ('[[check]]\nkind = "contradiction"\nname = "\u0445"', "\u0445.name", ""),
        ('[[check]]\nname = "x"', "x.kind", "must be one of"),
        ('[[check]]\nkind = "contradiction"', "check 1.name", "required"),
        ('[[check]]\nkind = "contradiction"\nname = "A Name"', "A Name.name", ""),
        ('[[check]]\nkind = "contradiction"\nname = "x"\n[more]\na = 1', "more", "no such key"),
    ],
)
def test_what_checks_nothing_is_a_fault_that_names_the_key(tmp_path: Path, text: str, key: str, word: str) -> None:
    faults = read(tmp_path, text)
    assert [name for name, _ in faults] == [key] and word in faults[0][1], faults


@pytest.mark.parametrize(
    ("data", "word"),
    [
        pytest.param(b"check = " + b"[" * 100_000, "", id="nested without end"),
        pytest.param(b"check = " + b"9" * 10_000, "digits", id="a number that nobody reads"),
        pytest.param(b"#" * 1_000_001, "1,000,000 bytes", id="a very large file"),
        pytest.param("[[check]]".encode("utf-16"), "", id="another encoding"),
    ],
)
def test_a_file_that_cannot_be_read_as_toml_is_a_fault_that_says_why(tmp_path: Path, data: bytes, word: str) -> None:
    (tmp_path / "a.toml").write_bytes(data)
    [fault] = read_checks(tmp_path).faults
    assert fault.file == "a.toml" and fault.text.startswith("it cannot be read: ") and word in fault.text, fault


def test_what_is_no_file_is_not_waited_for_and_a_name_in_no_encoding_can_be_said(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.toml")
    (tmp_path / "b.toml").symlink_to("b.toml")
    odd = os.path.join(os.fsencode(tmp_path), b"c\xff")
    for name in (odd, odd + b".toml"):
        with open(name, "w") as file:
            file.write("[[check]]")
    faults = read_checks(tmp_path).faults
    assert {fault.file for fault in faults} == {"a.toml", "b.toml", "c\\udcff", "c\\udcff.toml"}
    assert all(f"{faulty(fault)}".encode() for fault in faults)


def test_the_mark_that_an_editor_puts_before_a_text_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("\ufeff" + GOOD.replace("\n", "\r\n"), "utf-8")
    loaded = read_checks(tmp_path)
    assert not loaded.faults and len(loaded.checks) == 7


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
