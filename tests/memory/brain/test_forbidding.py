"""Finding what is forbidden however it is written, in texts and in the bytes of files."""

from __future__ import annotations

import json
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from memory.brain.checks import Forbidden
from memory.brain.forbidding import Held, Needle, found_in, leaves
from memory.brain.forbidding_stores import terms
from memory.ledger import Ledger
from memory.semantic import SemanticMemory, Term


def used(sql: str) -> frozenset[tuple[str, str]] | None:
    """A reader of three queries, that stands for one of any."""
    return {
        'SELECT MAX(Staff.HomePhone) FROM "Staff"': frozenset({("staff", ""), ("staff", "homephone")}),
        "SELECT s.HomePhone FROM Staff s": frozenset({("staff", ""), ("staff", "homephone")}),
        "SELECT b.HomePhone FROM Boats b": frozenset({("boats", ""), ("boats", "homephone")}),
    }.get(sql)


def needle(**what: str) -> Needle:
    return Needle.of(Forbidden(kind="forbidden", name="x", **what), used)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "what", "text"),
    [
        ("text", "Rio de Janeiro", "who lives in rio  DE\n janeiro?"),
        ("text", "Piet Hein", "who is Pi\u200bet He\u00adin?"),
        ("text", "Piet H\u200bein", "who is Piet Hein?"),
        ("value", "Piet", "WHERE Name = '\u200bPiet'"),
        ("sql", "DELETE FROM Boats", "delete /* all */ from -- of them\n boats"),
        ("text", "Piet Hein", "who is \u0420i\u0435t He\u0456n?"),
        ("text", "\u041c\u043e\u0441\u043a\u0432\u0430", "in M\u043ec\u043a\u0432a"),
        ("text", "Piet Hein", "who is P\u0336i\u0336e\u0336t\u0336 Hein?"),
        ("text", "Piet Hein", "Piet\u2003Hein, Piet\u3000Hein"),
        ("text", "Piet Hein", "\uff30\uff49\uff45\uff54 \uff28\uff45\uff49\uff4e"),
        ("text", "Piet Hein", "WHERE Name = 'Pi' || 'et' || ' Hein'"),
        ("value", "Piet", "WHERE Name = X'50696574'"),
        ("value", "Piet", "WHERE Name = char(80, 105)||'et'"),
        ("sql", "Name = 'Piet'", "WHERE Name = 'P' /* oh */ || 'iet'"),
        ("text", "Straße", "in der STRASSE"),
        ("text", "STRASSE", "in der Straße"),
        ("text", "Café", "the Cafe\u0301 there"),
        ("text", "O'Hara", "WHERE Name = 'O''Hara'"),
        ("text", "O'Hara", "what did O\u2019Hara buy"),
        ("value", "10248", "WHERE OrderID = 10248"),
        ("value", "Linz", "WHERE Town = 'Linz'"),
        ("value", "São Paulo", "in SÃO PAULO."),
        ("sql", 'JOIN "Daily Sales" ON', "SELECT 1 FROM Breads AS b join [Daily Sales]\n ON b.BreadID = 1"),
        ("sql", "Country = 'Brazil'", "WHERE c.Country='brazil' AND 1"),
        ("sql", "UnitPrice * Quantity", 'SUM("Order Details"."UnitPrice"*"Quantity")'),
        ("column", "Staff.HomePhone", "SELECT s.HomePhone FROM Staff s"),
        ("column", "staff.homephone", "SELECT s.HomePhone FROM Staff s"),
        ("column", "Staff.HomePhone", "SELECT HomePhone FORM Staff, and this is not readable"),
    ],
)
def test_it_is_found_in_any_writing(kind: str, what: str, text: str) -> None:
    assert needle(**{kind: what}).in_text(text)


@pytest.mark.parametrize(
    ("kind", "what", "text"),
    [
        ("text", "Rio de Janeiro", "Rio Grande de Janeiro"),
        ("value", "1024", "WHERE OrderID = 10248"),
        ("value", "Lin", "WHERE Town = 'Linz'"),
        ("value", "Piet", "WHERE a = 'Pi' AND b = 'et'"),
        ("value", "ab", "WHERE a = 'a' || ' ' || 'b'"),
        ("sql", "DELETE FROM Boats", "delete /* from boats, without an end"),
        ("sql", "JOIN Orders", "JOIN OrdersOld ON 1"),
        ("sql", "Quantity * UnitPrice", "UnitPrice * Quantity"),
        ("column", "Staff.HomePhone", "SELECT b.HomePhone FROM Boats b"),
        ("column", "Staff.HomePhone", "What is the HomePhone of the staff?"),
    ],
)
def test_what_is_something_else_is_not(kind: str, what: str, text: str) -> None:
    assert not needle(**{kind: what}).in_text(text)


@pytest.mark.parametrize("escaped", [True, False])
@pytest.mark.parametrize(
    ("kind", "what", "text"),
    [
        ("text", "Müller \u2013 Söhne", "bei MÜLLER \u2013 SÖHNE"),
        ("text", "two words", "two\nwords"),
        ("text", "two words", "two\u2003words"),
        ("text", "two words", "tw\u043e words"),
        ("value", "Köln", 'in "Köln"'),
        ("value", "DE", "WHERE c = 'DE'"),
        ("sql", 'FROM "Daily Sales"', 'SELECT 1 FROM "Daily Sales"'),
        ("column", "Staff.HomePhone", 'SELECT s."HomePhone" FROM "Staff" s'),
    ],
)
def test_bytes_of_json_hold_it_escaped_or_not(kind: str, what: str, text: str, escaped: bool) -> None:
    written = json.dumps({"sql": text}, ensure_ascii=escaped).encode()
    assert needle(**{kind: what}).in_bytes(b"\x00\x01" + written + b"\xff")
    assert not needle(**{kind: what}).in_bytes(json.dumps({"sql": "SELECT 1"}).encode())


def test_the_schema_that_has_a_column_is_no_query_that_uses_it() -> None:
    schema = b"CREATE TABLE Staff (StaffID INTEGER, HomePhone TEXT)"
    assert not needle(column="Staff.HomePhone").in_bytes(b"SELECT 1 FROM Boats; " + schema)
    assert needle(column="Staff.HomePhone").in_bytes(schema + b" SELECT HomePhone FROM Staff")


def test_a_value_is_found_where_rows_of_a_database_follow_each_other_without_a_sign(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (a TEXT, b TEXT)")
        connection.execute("INSERT INTO t VALUES ('in Veere', 'how many boats')")
    assert needle(value="Veere").in_bytes(path.read_bytes())


def test_the_expression_of_a_term_uses_a_column_as_a_query_does(ledger: Ledger) -> None:
    SemanticMemory(ledger).teach(Term(("call",), "", "MAX(Staff.HomePhone)", ("Staff",), "person"))
    SemanticMemory(ledger).teach(Term(("staff",), "Who works here.", None, ("Staff",), "person"))
    looked, evidence = found_in("glossary", terms(ledger), needle(column="Staff.HomePhone"))
    assert looked == 2 and len(evidence) == 1 and "HomePhone" in evidence[0].line
    assert not found_in("glossary", terms(ledger), needle(column="Boats.HomePhone"))[1]


def test_a_text_that_is_made_to_take_long_does_not() -> None:
    """Ended by an alarm where it does: each of these once took time by the square of its length, or could."""
    signal.alarm(60)
    for text in ("/*" * 200_000, "--" * 200_000, "'" * 200_000, "' " * 100_000, "' ||" * 100_000, "X'0" * 100_000):
        for one in (needle(sql="DELETE FROM Boats"), needle(text="a b c d e f g"), needle(value="O'Hara")):
            assert not one.in_text(text) and not one.in_bytes(text.encode())
    assert not needle(text="a b").in_bytes(b"a" + b" \x00\\n" * 100_000)
    signal.alarm(0)


def test_leaves_give_every_text_however_deep() -> None:
    assert list(leaves({"a": ["b", {"c": ("d", None, 1.5, True)}], "e": "f"})) == ["b", "d", "f"]


def test_what_stands_for_an_episode_that_holds_it_is_found_by_its_id_alone() -> None:
    held = [Held("row 1", ("How many boats?",), episode="e1"), Held("row 2", (), episode="e2", orphan=True)]
    looked, found = found_in("vectors", held, needle(value="Linz"), known=frozenset({"e1"}), orphans=True)
    assert looked == 2 and [one.id for one in found] == ["row 1", "row 2"]
    assert found_in("vectors", held, needle(value="Linz")) == (2, [])


def test_the_line_that_is_shown_has_it_in_view() -> None:
    text = "x " * 400 + "Piet Hein" + " y" * 400
    assert "Piet Hein" in needle(text="piet hein").line_of(text) and len(needle(text="piet hein").line_of(text)) < 200
