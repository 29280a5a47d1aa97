"""Question files: what is read, and how a broken line is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.learning.questions import Pair, QuestionFileError, read_pairs

HOME = Path(__file__).resolve().parents[3]
LINE = {"id": "q1", "question": "How many breads?", "sql": "SELECT COUNT(*) FROM Breads"}


def written(tmp_path: Path, *lines: object) -> Path:
    path = tmp_path / "pack.jsonl"
    text = "\n".join(line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_line_is_read_with_what_it_leaves_out(tmp_path: Path) -> None:
    assert read_pairs(written(tmp_path, LINE)) == (
        Pair("q1", "How many breads?", "SELECT COUNT(*) FROM Breads", (), False, "", "", "en", 1),
    )


def test_every_other_formulation_is_kept_and_blank_lines_and_unknown_fields_are_passed_over(tmp_path: Path) -> None:
    full = {**LINE, "check_sql": "SELECT 1", "alt_sql": ["SELECT 2", "SELECT 3"], "ordered": True, "type": "count"}
    more = {"difficulty": "easy", "language": "de", "note": "anything"}
    [first, second] = read_pairs(written(tmp_path, "", {**full, **more}, "  ", {**LINE, "id": "q2"}, ""))
    assert first.others == ("SELECT 1", "SELECT 2", "SELECT 3")
    assert (first.ordered, first.type, first.difficulty, first.language) == (True, "count", "easy", "de")
    assert (first.line, second.line, second.id) == (2, 4, "q2")


def test_a_text_may_hold_any_line_break_but_the_real_one(tmp_path: Path) -> None:
    odd = {**LINE, "question": "How\u2028many\u0085breads\u2029are\x0bthere?"}
    [pair] = read_pairs(written(tmp_path, odd))
    assert pair.question == odd["question"]


def test_windows_line_ends_and_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    path = tmp_path / "pack.jsonl"
    path.write_bytes(
        b"\xef\xbb\xbf" + json.dumps(LINE).encode() + b"\r\n\r\n" + json.dumps({**LINE, "id": "x"}).encode()
    )
    assert [(pair.id, pair.line) for pair in read_pairs(path)] == [("q1", 1), ("x", 3)]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "no JSON"),
        ("not json", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ('{"id": ' + "9" * 5_000 + "}", "no JSON"),
        ("[]", "line: "),
        ('"text"', "line: "),
        ({"id": "q", "question": "x"}, "sql: "),
        ({**LINE, "sql": "  "}, "sql: "),
        ({**LINE, "question": ""}, "question: "),
        ({**LINE, "id": 7}, "id: "),
        ({**LINE, "ordered": "yes"}, "ordered: "),
        ({**LINE, "alt_sql": "SELECT 1"}, "alt_sql: "),
        ({**LINE, "alt_sql": [""]}, "alt_sql.0: "),
        ('{"id": "q", "question": "\\ud800", "sql": "SELECT 1"}', "question: "),
    ],
)
def test_a_broken_line_is_named_by_its_number(tmp_path: Path, line: object, said: str) -> None:
    path = written(tmp_path, {**LINE, "id": "fine"}, "", line)
    with pytest.raises(QuestionFileError) as error:
        read_pairs(path)
    assert f"{path}, line 3: {said}" in str(error.value)


def test_an_id_twice_is_named_with_both_lines(tmp_path: Path) -> None:
    path = written(tmp_path, LINE, {**LINE, "id": "other"}, LINE)
    with pytest.raises(QuestionFileError, match=r"line 3: the id 'q1' stands in line 1 too"):
        read_pairs(path)


@pytest.mark.parametrize("content", [b"", b"\n \n"])
def test_an_empty_file_says_what_a_line_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "pack.jsonl"
    path.write_bytes(content)
    with pytest.raises(
        QuestionFileError, match=r"holds no question\. Each line is an object with id, question and sql"
    ):
        read_pairs(path)


def test_a_file_that_is_missing_a_folder_or_not_utf8_says_so(tmp_path: Path) -> None:
    binary = tmp_path / "binary.jsonl"
    binary.write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "missing.jsonl", tmp_path, binary):
        with pytest.raises(QuestionFileError, match=r"cannot be read: .*Give a file of JSON lines in UTF-8"):
            read_pairs(path)


@pytest.mark.parametrize("path", ["seeds/northwind.jsonl", "questions/development.jsonl", "questions/readme.jsonl"])
def test_what_is_shipped_can_be_read(path: str) -> None:
    assert read_pairs(HOME / "data" / path)
