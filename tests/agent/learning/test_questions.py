"""Question files: what is read, and how a broken line is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.learning.questions import LONGEST_LINE, Pair, QuestionFileError, read_pairs

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
    assert (first.others, first.accepted) == (("SELECT 1",), ("SELECT 2", "SELECT 3"))
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


@pytest.mark.parametrize("name", ["check_sql", "alt_sql", "ordered", "type", "difficulty", "language"])
def test_an_optional_field_may_be_null(tmp_path: Path, name: str) -> None:
    assert read_pairs(written(tmp_path, {**LINE, name: None})) == read_pairs(written(tmp_path, LINE))


@pytest.mark.parametrize(
    ("line", "said", "mend"),
    [
        ("{", "no JSON (Expecting property name", "whole on that line"),
        ("not json", "no JSON (Expecting value at character 1)", "Each line is an object with id, question and sql"),
        ('{"id": "a', "no JSON (Unterminated string starting at character 8)", "whole on that line"),
        ('{"id": "tab\tin it"}', "no JSON (Invalid control character at character 12)", "whole on that line"),
        ("[" * 100_000, "no JSON", "Each line is an object"),
        ('{"id": ' + "9" * 5_000 + "}", "no JSON", "Each line is an object"),
        (json.dumps(LINE) * 2, "more than one JSON value", "Put each question on a line of its own"),
        (json.dumps(LINE) + "\r" + json.dumps(LINE), "more than one JSON value", "Put each question on a line"),
        ('{"id": "q", "question": "x", "sql": NaN}', "no JSON (NaN is no JSON number)", "Write null or a number"),
        ('{"score": -Infinity}', "no JSON (-Infinity is no JSON number)", "Write null or a number"),
        ("[]", "line: [] where an object should be", '{"id": …, "question": …, "sql": …}'),
        ('"text"', 'line: "text" where an object should be', '{"id": …, "question": …, "sql": …}'),
        ("null", "line: null where an object should be", '{"id": …, "question": …, "sql": …}'),
        ("{}", "id: missing", "the line holds nothing"),
        ({"id": "q", "question": "x", "query": "y"}, "sql: missing", 'the line holds "id", "question", "query"'),
        ({str(n): n for n in range(100)}, "id: missing", 'the line holds "0", "1", "2", "3", "4", "5", "6", "7", …)'),
        ({**LINE, "sql": "  "}, "sql: empty", "Write the query that answers it"),
        ({**LINE, "question": ""}, "question: empty", "Write the question in words"),
        ({**LINE, "check_sql": " "}, "check_sql: empty", "or leave it out"),
        ({**LINE, "sql": None}, "sql: null where a text in quotes should be", "the query that answers it"),
        ({**LINE, "id": 7}, "id: 7 where a text in quotes should be", "It is a name of its own"),
        ({**LINE, "type": ["a"] * 50}, 'type: ["a", "a", ', "where a text in quotes should be"),
        ({**LINE, "ordered": "yes"}, 'ordered: "yes" where true or false should be', "asks for an order of rows"),
        ({**LINE, "ordered": 1}, "ordered: 1 where true or false should be", "asks for an order of rows"),
        ({**LINE, "alt_sql": "SELECT 1"}, 'alt_sql: "SELECT 1" where a list, ["…"] should be', "other queries"),
        ({**LINE, "alt_sql": [""]}, "alt_sql.0: empty", "or leave it out"),
        ({**LINE, "alt_sql": ["SELECT 1", None]}, "alt_sql.1: null where a text in quotes should be", "other queries"),
        ('{"id": "q", "question": "\\ud800", "sql": "x"}', "question: it holds half a char", "Write it whole"),
        ('{"id": "q", "question": "x", "sql": "y", "alt_sql": ["\\udfff"]}', "alt_sql: it holds", "Write it whole"),
        ('{"id": "q", "question": "x", "sql": ["\\ud800"]}', "sql: it holds half a character", "Write it whole"),
        ('{"id": "q", "question": "x", "sql": {"a": "\\ud800"}}', "sql: {", "where a text in quotes should be"),
        ('{"id": "q\\u0000", "question": "x", "sql": "y"}', "id: it holds the character NUL", "Take it out"),
        ('{"id": "q", "question": "x", "sql": "y", "sql": "z"}', "the field 'sql' stands there twice", "Keep one"),
        ("\ufeff" + json.dumps(LINE), "a byte order mark (EF BB BF)", "Take it out"),
        ("\0", "the byte NUL is in it", "Save the file as UTF-8"),
        ({**LINE, "question": "x" * LONGEST_LINE}, "longer than 1,000,000 bytes", "break the file after each of them"),
    ],
)  # fmt: skip
def test_a_broken_line_is_named_by_its_number_and_says_how_to_mend_it(
    tmp_path: Path, line: object, said: str, mend: str
) -> None:
    path = written(tmp_path, {**LINE, "id": "fine"}, "", line)
    with pytest.raises(QuestionFileError) as error:
        read_pairs(path)
    told = str(error.value)
    assert f"{path}, line 3: {said}" in told
    assert mend in told
    assert len(told) < 500 + len(str(path))
    told.encode("utf-8")


def test_everything_wrong_with_a_line_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(QuestionFileError, match=r"line 1: question: missing.*; sql: empty.*; ordered: 3 where"):
        read_pairs(written(tmp_path, {"id": "q", "sql": "", "ordered": 3}))


def test_the_line_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    path = tmp_path / "latin.jsonl"
    path.write_bytes(json.dumps(LINE).encode() + b'\n{"id": "b", "question": "Wie viele K\xfcnstler?", "sql": "x"}\n')
    with pytest.raises(
        QuestionFileError, match=r"latin\.jsonl, line 2: not UTF-8 \(byte 37 is 0xfc\)\. Save the file as"
    ):
        read_pairs(path)
    path.write_text(json.dumps(LINE), encoding="utf-16")
    with pytest.raises(QuestionFileError, match=r"line 1: the byte NUL is in it, as in UTF-16"):
        read_pairs(path)


def test_an_endless_file_is_told_by_its_first_line() -> None:
    with pytest.raises(QuestionFileError, match=r"/dev/zero, line 1: longer than 1,000,000 bytes"):
        read_pairs(Path("/dev/zero"))


def test_an_id_twice_is_named_with_both_lines(tmp_path: Path) -> None:
    path = written(tmp_path, LINE, {**LINE, "id": "other"}, LINE)
    with pytest.raises(QuestionFileError, match=r"line 3: the id 'q1' stands in line 1 too. Give one of them"):
        read_pairs(path)


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xef\xbb\xbf\r\n"])
def test_an_empty_file_says_what_a_line_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "pack.jsonl"
    path.write_bytes(content)
    with pytest.raises(
        QuestionFileError, match=r"holds no question\. Each line is an object with id, question and sql"
    ):
        read_pairs(path)


def test_a_file_that_is_missing_or_a_folder_says_so(tmp_path: Path) -> None:
    for path, what in ((tmp_path / "missing.jsonl", "No such file"), (tmp_path, "it is a folder")):
        with pytest.raises(QuestionFileError, match=rf"cannot be read: {what}.*Give a file of JSON lines in UTF-8"):
            read_pairs(path)
    with pytest.raises(QuestionFileError, match=r"cannot be read: .*null"):
        read_pairs(Path("a\0b"))


@pytest.mark.parametrize(
    "path",
    ["seeds/northwind.jsonl", "questions/development.jsonl", "questions/readme.jsonl", "questions/holdout.jsonl"],
)
def test_what_is_shipped_can_be_read(path: str) -> None:
    assert read_pairs(HOME / "data" / path)
