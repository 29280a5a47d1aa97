"""The grammar of a question: what can be written under it, read by a small reader of GBNF, and what cannot."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pytest
from sqlglot import exp, parse_one

from agent.attempt import Understood
from agent.database.functions import ALLOWED
from agent.database.schema import Column, Facts, ForeignKey, Schema, Table
from agent.database.skeleton import normalise
from agent.drafting.grammar import Literals, Written, any_of, grammar_for
from agent.grounding import Lexicon, ground
from agent.intent import bucket_of, mask, predict
from agent.learning.questions import Pair, read_pairs
from tests.agent.made import open_northwind

HOME = Path(__file__).parent.parent.parent.parent
DATA = HOME / "data"

# --- a reader of GBNF ----------------------------------------------------------------------------------------------

_TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|[A-Za-z0-9-]+|[()|?*+])')
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}
_LETTERS = "abXY1230 '%-"


@dataclass(frozen=True)
class Node:
    """A part of a rule: a literal, a set of letters, a rule by name, a choice, a sequence, or a repetition."""

    kind: str
    text: str = ""
    parts: tuple[Node, ...] = ()


@dataclass
class Gbnf:
    """Says whether a text can be written under a grammar; `far` is how far the last one could be read."""

    rules: dict[str, Node] = field(default_factory=dict)
    far: int = 0

    @classmethod
    def read(cls, text: str) -> Gbnf:
        made = cls()
        for line in text.splitlines():
            name, body = line.split(" ::= ", 1)
            tokens, at = [], 0
            while at < len(body.rstrip()):
                match = _TOKEN.match(body, at)
                assert match, f"{name}: {body[at : at + 40]}"
                tokens.append(match[1])
                at = match.end()
            node, end = _choice(tokens, 0)
            assert end == len(tokens), name
            assert name not in made.rules
            made.rules[name] = node
        return made

    def allows(self, text: str) -> bool:
        known: dict[tuple[int, int], frozenset[int]] = {}
        self.far = 0

        def ends(node: Node, at: int) -> frozenset[int]:
            key = (id(node), at)
            if key not in known:
                self.far = max(self.far, at)
                known[key] = frozenset(read(node, at))
            return known[key]

        def read(node: Node, at: int) -> Iterator[int]:
            if node.kind == "literal":
                yield from (at + len(node.text),) if text.startswith(node.text, at) else ()
            elif node.kind == "set":
                yield from (at + 1,) if at < len(text) and re.fullmatch(node.text, text[at], re.DOTALL) else ()
            elif node.kind == "rule":
                yield from ends(self.rules[node.text], at)
            elif node.kind == "choice":
                for part in node.parts:
                    yield from ends(part, at)
            elif node.kind == "sequence":
                here = frozenset({at})
                for part in node.parts:
                    here = frozenset(end for start in here for end in ends(part, start))
                yield from here
            else:
                seen: set[int] = set()
                new = set(ends(node.parts[0], at))
                while new - seen:
                    seen |= new
                    new = set() if node.text == "?" else {end for start in new for end in ends(node.parts[0], start)}
                yield from seen | ({at} if node.text in "?*" else set())

        return len(text) in ends(self.rules["root"], 0)

    def written(self, dice: random.Random, steps: int = 14) -> str:
        """A text that can be written, any; past so many steps down it takes what ends soonest."""
        short = self._shortest

        def write(node: Node, left: int) -> str:
            if node.kind == "literal":
                return node.text
            if node.kind == "set":
                return dice.choice([letter for letter in _LETTERS if re.fullmatch(node.text, letter)])
            if node.kind == "rule":
                return write(self.rules[node.text], left - 1)
            if node.kind == "choice":
                return write(dice.choice(node.parts) if left > 0 else min(node.parts, key=short), left)
            if node.kind == "sequence":
                return "".join(write(part, left) for part in node.parts)
            least = 0 if node.text in "?*" else 1
            return "".join(write(node.parts[0], left) for _ in range(dice.randint(least, 1) if left > 0 else least))

        return write(self.rules["root"], steps)

    @cached_property
    def _shortest(self) -> Callable[[Node], int]:
        """How many letters a part takes at least."""
        lengths = dict.fromkeys(self.rules, 1_000_000)

        def least(node: Node) -> int:
            if node.kind == "literal":
                return len(node.text)
            if node.kind == "rule":
                return lengths[node.text]
            if node.kind in ("choice", "sequence"):
                return (min if node.kind == "choice" else sum)(map(least, node.parts))
            return (
                0
                if node.text in "?*" and node.kind == "repeated"
                else 1
                if node.kind == "set"
                else least(node.parts[0])
            )

        while (new := {name: least(node) for name, node in self.rules.items()}) != lengths:
            lengths.update(new)
        return least


def _choice(tokens: Sequence[str], at: int) -> tuple[Node, int]:
    options: list[Node] = []
    while True:
        parts: list[Node] = []
        while at < len(tokens) and tokens[at] not in "|)":
            token = tokens[at]
            if token == "(":
                node, at = _choice(tokens, at + 1)
                assert tokens[at] == ")"
            elif token[0] == '"':
                node = Node("literal", re.sub(r"\\(.)", lambda match: _ESCAPED.get(match[1], match[1]), token[1:-1]))
            else:
                node = Node("set" if token[0] == "[" else "rule", token)
            at += 1
            while at < len(tokens) and tokens[at] in "?*+":
                node, at = Node("repeated", tokens[at], (node,)), at + 1
            parts.append(node)
        options.append(Node("sequence", parts=tuple(parts)))
        if at == len(tokens) or tokens[at] == ")":
            return (options[0] if len(options) == 1 else Node("choice", parts=tuple(options))), at
        at += 1


# --- databases -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    lexicon: Lexicon

    @property
    def schema(self) -> Schema:
        return self.lexicon.schema

    def understand(self, question: str) -> Understood:
        grounding = ground(question, self.lexicon)
        intent = predict(question, grounding)
        return Understood(grounding, intent, bucket_of(intent), mask(question, grounding))

    def grammar(
        self, question: str, *shown: str, literals: Literals = "free", loose: bool = False, said: bool = False
    ) -> Gbnf:
        text = grammar_for(
            self.understand(question),
            lexicon=self.lexicon,
            schema=self.lexicon.schema,
            shown=shown,
            literals=literals,
            loose=loose,
            said=said,
        )
        return Gbnf.read(text)


@pytest.fixture(scope="module")
def northwind() -> Iterator[Asked]:
    with open_northwind() as (_, lexicon):
        yield Asked(lexicon)


def _table(name: str, columns: str, *keys: ForeignKey) -> Table:
    made = tuple(Column(one.rstrip("*"), "INTEGER", primary_key=one.endswith("*")) for one in columns.split(", "))
    return Table(name, made, keys)


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def harbour(request: pytest.FixtureRequest) -> Asked:
    """Ships and their stays, with names that must be quoted, and two tables that nothing joins to the others."""
    tables = (
        _table("Ships", "ship id*, Name, select, length"),
        _table("berths", "berth_id*, dock_no, name"),
        _table(
            "stays",
            "stay_id*, ship id, berth_id, arrived, fee",
            ForeignKey(("ship id",), "Ships", ("ship id",)),
            ForeignKey(("berth_id",), "berths", ("berth_id",)),
        ),
        _table("tolls", "ship_class*, zone*, amount"),
        _table(
            "waivers", "ship_class, zone, reason", ForeignKey(("ship_class", "zone"), "tolls", ("ship_class", "zone"))
        ),
    )
    return Asked(Lexicon(Schema("harbour", request.param, tables, "", ""), Facts(), ()))


def golds(name: str) -> Sequence[Pair]:
    return read_pairs(DATA / "questions" / f"{name}.jsonl")[::10]


# --- what can be written ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["development", "training"])
@pytest.mark.parametrize("literals", ["free", "linked"])
def test_the_right_query_of_a_question_can_be_written(name: str, literals: Literals, northwind: Asked) -> None:
    kept_out = []
    for pair in golds(name):
        linked = northwind.understand(pair.question).grounding.tables
        near = {*linked, *(other for table in linked for other in northwind.lexicon.keys.neighbours(table))}
        tables = {table.name for table in parse_one(pair.sql, dialect="sqlite").find_all(exp.Table)}
        if tables & {table.name for table in northwind.schema.tables} <= near:
            grammar = northwind.grammar(pair.question, pair.sql, literals=literals)
            for sql in (pair.sql, normalise(pair.sql, "sqlite")):
                if not grammar.allows(sql):
                    kept_out.append(f"{pair.question}: {sql[: grammar.far]} <here> {sql[grammar.far :]}")
    # A date that the question only hints at (`the 1950s`) is no literal of it.
    assert len(kept_out) <= (2 if literals == "linked" else 0), "\n".join(kept_out)


COUNTRIES = "Which customers are in Germany?"
CLASSES = {
    "a column that is not there": "SELECT CompanyTitle FROM Customers",
    "a column of another table": "SELECT ShipCity FROM Customers",
    "a column under a table that has none such": "SELECT Customers.ShipCity FROM Orders "
    "JOIN Customers ON Customers.CustomerID = Orders.CustomerID",
    "a table that is not there": "SELECT CompanyName FROM Clients",
    "a table that is far away": "SELECT CompanyName FROM Suppliers",
    "a function of another database": "SELECT YEAR(OrderDate) FROM Orders",
    "a join over no key": "SELECT Customers.City FROM Customers JOIN Orders ON Orders.ShipCity = Customers.City",
    "an alias in place of a column": "SELECT Customers.Total FROM Customers",
    "a name that only a WITH could give": "SELECT Total FROM Part",
    "two statements": "SELECT City FROM Customers; SELECT City FROM Customers",
    "a statement that writes": "DELETE FROM Customers",
    "words around it": "Here it is: SELECT City FROM Customers",
}


@pytest.mark.parametrize("sql", CLASSES.values(), ids=CLASSES)
def test_what_is_not_there_cannot_be_written(sql: str, northwind: Asked) -> None:
    grammar = northwind.grammar(COUNTRIES)
    assert grammar.allows("SELECT CompanyName FROM Customers WHERE Country = 'Germany'")
    assert not grammar.allows(sql)


def test_a_name_of_two_words_is_written_in_quotes_only(northwind: Asked) -> None:
    grammar = northwind.grammar("How many units were on the order lines?")
    assert grammar.allows('SELECT SUM(Quantity) FROM "Order Details"')
    assert not grammar.allows("SELECT SUM(Quantity) FROM Order Details")
    assert not grammar.allows("SELECT SUM(Quantity) FROM OrderDetails")


def test_the_alias_of_a_table_has_the_columns_of_that_table_only(northwind: Asked) -> None:
    shown = "SELECT A.City FROM Employees JOIN Employees AS A ON A.EmployeeID = Employees.ReportsTo"
    grammar = northwind.grammar("Which employees report to somebody in another city?", shown)
    assert grammar.allows(shown)
    assert grammar.allows(shown.replace("A.City", "A.BirthDate"))
    assert not grammar.allows(shown.replace("A.City", "A.OrderDate"))
    assert not grammar.allows(shown.replace("Employees AS A", "Orders AS A"))


def test_a_table_can_be_joined_to_itself_though_no_example_shows_it(northwind: Asked) -> None:
    grammar = northwind.grammar("Which employees report to somebody in another city?")
    sql = "SELECT Employees.LastName, Other.LastName FROM Employees JOIN Employees AS Other ON "
    assert grammar.allows(sql + "Other.EmployeeID = Employees.ReportsTo WHERE Other.City <> Employees.City")
    assert not grammar.allows(sql + "Other.EmployeeID = Employees.Boss")


def test_two_tables_that_refer_to_a_third_join_over_what_they_share(northwind: Asked) -> None:
    grammar = northwind.grammar("Which territories does the employee who took order 10400 look after?")
    assert grammar.allows(
        "SELECT EmployeeTerritories.TerritoryID FROM Orders JOIN EmployeeTerritories "
        "ON EmployeeTerritories.EmployeeID = Orders.EmployeeID WHERE Orders.OrderID = 10400"
    )


def test_what_a_with_query_is_called_stands_only_behind_it(northwind: Asked) -> None:
    body = "SELECT AVG(Total) FROM Part WHERE Total > (SELECT MIN(Total) FROM Part)"
    shown = "WITH Part AS (SELECT City FROM Customers) SELECT City FROM Part"
    grammar = northwind.grammar("How many customers are there in each country?", shown)
    assert grammar.allows(f"WITH Part AS (SELECT Country, COUNT(*) AS Total FROM Customers GROUP BY Country) {body}")
    assert not grammar.allows(body)
    assert not grammar.allows("WITH Rest AS (SELECT Total FROM Part) SELECT Total FROM Rest")


def test_a_query_selects_from_a_query_only_where_half_of_the_examples_do(northwind: Asked) -> None:
    question, sql = "How many countries have ten customers?", "SELECT COUNT(*) FROM (SELECT Country FROM Customers)"
    assert northwind.grammar(question, sql).allows(sql)
    plain = "SELECT Country FROM Customers"
    assert northwind.grammar(question, sql, plain).allows(sql)
    assert not northwind.grammar(question, sql, plain, plain).allows(sql)
    assert not northwind.grammar(question, plain).allows(sql)
    assert not northwind.grammar(question).allows(f"WITH Part AS (SELECT Country FROM Customers) {sql}")


def test_names_of_the_examples_can_be_used_and_no_others(northwind: Asked) -> None:
    sql = "SELECT Country, COUNT(*) AS Buyers FROM Customers GROUP BY Country ORDER BY Buyers DESC LIMIT 3"
    question = "Which three countries have the most customers?"
    assert northwind.grammar(question, sql).allows(sql)
    assert not northwind.grammar(question).allows(sql)
    assert northwind.grammar(question).allows(sql.replace("Buyers", "Total"))


def test_an_example_that_cannot_be_read_is_passed_over() -> None:
    read = Written.read(["SELECT ((", "SELECT a AS b FROM t AS u", "DROP TABLE t"], "sqlite")
    assert (read.columns, read.tables, read.nests) == (("b",), {"u": "t"}, False)


_NAME = r'("[^"]*"|[A-Za-z_]\w*)'
_KEYWORDS = """
    SELECT DISTINCT FROM JOIN LEFT ON WHERE GROUP ORDER BY HAVING LIMIT OFFSET AND OR NOT IN IS NULL BETWEEN LIKE
    CORRELATED EXISTS
    UNION ALL EXCEPT INTERSECT WITH AS CASE WHEN THEN ELSE END CAST INTEGER REAL TEXT OVER PARTITION ASC DESC"""
QUESTIONS = ("Which customers ordered chocolate in 1997?", "How many orders per month?", "What was our revenue?")


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("loose", [False, True], ids=["whole", "loose"])
def test_every_name_in_whatever_is_written_exists(loose: bool, question: str, northwind: Asked) -> None:
    shown = "WITH Part AS (SELECT City FROM Customers) SELECT City FROM Part"
    grammar = northwind.grammar(question, shown, literals="linked", loose=loose)
    pairs = {(table.name, column.name) for table in northwind.schema.tables for column in table.columns}
    given = _words(grammar.rules["alias"]) | _words(grammar.rules["part"])
    plain = {name for pair in pairs for name in pair} | given | {"Other"} | set(_KEYWORDS.split())
    dice = random.Random(5)
    seen: set[tuple[str, str]] = set()
    for _ in range(60):
        code = re.sub("'(?:[^']|'')*'", "?", grammar.written(dice))
        for name, call in re.findall(r'("[^"]*"|[A-Za-z_]\w*)(\()?', code):
            assert (call and name.lower() in ALLOWED["sqlite"]) or name.strip('"') in plain, code
        found = {(a.strip('"'), b.strip('"')) for a, b in re.findall(rf"{_NAME}\.{_NAME}", code)}
        assert {pair for pair in found if pair[0] not in {"Other", *given}} <= pairs, code
        assert {pair for pair in found if pair[0] == "Other"} <= {("Other", name) for _, name in pairs}, code
        seen |= found
    assert len(seen) > 10, "the samples name many columns"


def _words(node: Node) -> set[str]:
    """All that a rule of literals can write."""
    if node.kind == "literal":
        return {node.text.strip('"')}
    if node.kind == "choice":
        return set.union(*map(_words, node.parts))
    if node.kind == "repeated":
        return {"", *_words(node.parts[0])}
    found = {""}
    for part in node.parts:
        found = {before + after for before in found for after in _words(part)}
    return found


# --- without FROM and JOIN --------------------------------------------------------------------------------------------


def test_a_loose_query_names_the_table_of_each_column_and_needs_no_from(northwind: Asked) -> None:
    grammar = northwind.grammar("How many orders did each customer place in 1997?", loose=True)
    sql = "SELECT Customers.CompanyName, COUNT(Orders.*) WHERE STRFTIME('%Y', Orders.OrderDate) = '1997' GROUP BY "
    assert grammar.allows(sql + "Customers.CustomerID")
    assert not grammar.allows(sql + "CustomerID")
    assert not grammar.allows(sql + "Customers.OrderDate")
    assert not grammar.allows(sql.replace("COUNT(Orders.*)", "COUNT(*)") + "Customers.CustomerID")


def test_a_loose_query_can_be_tied_to_the_one_around_it(northwind: Asked) -> None:
    grammar = northwind.grammar("Which customers never ordered?", loose=True)
    inner = "SELECT 1 FROM Orders WHERE CORRELATED(Customers)"
    assert grammar.allows(f"SELECT Customers.CompanyName WHERE NOT EXISTS({inner})")
    assert not northwind.grammar("Which customers never ordered?").allows(
        f"SELECT CompanyName FROM Customers WHERE NOT EXISTS({inner})"
    )


def test_a_loose_query_may_join_a_table_to_itself(northwind: Asked) -> None:
    grammar = northwind.grammar("Which employees report to somebody in another city?", loose=True)
    sql = "SELECT Employees.LastName FROM Employees JOIN Employees AS Other ON Other.EmployeeID = Employees.ReportsTo"
    assert grammar.allows(f"{sql} WHERE Other.City <> Employees.City")
    assert not grammar.allows(f"{sql} WHERE Other.Town <> Employees.City")


# --- what the question says -------------------------------------------------------------------------------------------


def test_the_filters_that_a_question_links_to_cannot_be_left_out(northwind: Asked) -> None:
    grammar = northwind.grammar("How many discontinued products belong to Meat/Poultry?", loose=True, said=True)
    sql = "SELECT COUNT(Products.*) WHERE Categories.CategoryName = 'Meat/Poultry'"
    assert grammar.allows(f"{sql} AND Products.Discontinued = 1")
    assert not grammar.allows(sql)
    assert not grammar.allows("SELECT COUNT(Products.*) WHERE Products.Discontinued = 1")
    assert not grammar.allows("SELECT COUNT(Products.*)")


@pytest.mark.parametrize(
    ("question", "sql"),
    [
        ("Which products did nobody in Poland ever buy?", "SELECT Products.ProductName"),
        ("How many customers are in Austria, and how many in Venezuela?", "SELECT COUNT(Customers.*)"),
        ("Which suppliers have not a single discontinued product?", "SELECT Suppliers.CompanyName"),
        ("How many orders were late, and how many on time?", "SELECT COUNT(Orders.*)"),
    ],
)
def test_a_filter_that_need_not_hold_for_all_rows_is_not_asked_for(question: str, sql: str, northwind: Asked) -> None:
    grounding = northwind.understand(question).grounding
    assert grounding.filters or grounding.terms
    assert northwind.grammar(question, loose=True, said=True).allows(sql)


def test_rows_are_held_against_nothing_that_the_question_does_not_say(northwind: Asked) -> None:
    grammar = northwind.grammar("Which customers are in Germany?", loose=True, said=True)
    sql = "SELECT Customers.CompanyName WHERE Customers.Country = 'Germany'"
    assert not grammar.allows(f"{sql} AND Customers.Fax IS NOT NULL")
    assert not grammar.allows(f"{sql} AND Customers.City = 'Berlin'")
    assert not grammar.allows(f"{sql} AND Orders.Freight > 12")
    assert not grammar.allows(f"{sql} GROUP BY Customers.City HAVING COUNT(Customers.*) > 1")
    compared = northwind.grammar("Which customers in Germany had an order with freight over 12?", loose=True, said=True)
    assert compared.allows(f"{sql} AND Orders.Freight > 12")
    faxed = northwind.grammar("Which customers in Germany have a fax?", loose=True, said=True)
    assert faxed.allows(f"{sql} AND Customers.Fax IS NOT NULL")
    assert not faxed.allows(f"{sql} AND Customers.Fax = Customers.Phone")


def test_the_limit_is_the_one_of_the_question_in_its_direction(northwind: Asked) -> None:
    grammar = northwind.grammar("Which four countries have the most customers?", loose=True, said=True)
    sql = "SELECT Customers.Country, COUNT(Customers.*) AS Total GROUP BY Customers.Country"
    assert grammar.allows(f"{sql} ORDER BY Total DESC LIMIT 4")
    for other in ("", " ORDER BY Total DESC", " ORDER BY Total DESC LIMIT 5", " ORDER BY Total LIMIT 4", " LIMIT 4"):
        assert not grammar.allows(sql + other)


def test_the_one_at_the_end_may_be_said_by_an_aggregate_too(northwind: Asked) -> None:
    grammar = northwind.grammar("What is the lowest price of a product?", loose=True, said=True)
    assert grammar.allows("SELECT MIN(Products.UnitPrice)")
    assert grammar.allows("SELECT Products.UnitPrice ORDER BY Products.UnitPrice LIMIT 1")
    assert not grammar.allows("SELECT Products.UnitPrice ORDER BY Products.UnitPrice DESC LIMIT 1")


def test_a_question_that_limits_nothing_has_no_limit(northwind: Asked) -> None:
    grammar = northwind.grammar("Which customers are in Germany?", loose=True, said=True)
    sql = "SELECT Customers.CompanyName WHERE Customers.Country = 'Germany' ORDER BY Customers.CompanyName"
    assert grammar.allows(sql)
    assert not grammar.allows(f"{sql} LIMIT 10")


def test_nothing_is_asked_for_where_an_example_selects_from_a_query(northwind: Asked) -> None:
    shown = "SELECT COUNT(*) FROM (SELECT City FROM Customers)"
    grammar = northwind.grammar("Which four countries have the most customers?", shown, loose=True, said=True)
    assert grammar.allows("SELECT Total FROM (SELECT COUNT(Customers.*) AS Total GROUP BY Customers.Country)")


# --- literals ---------------------------------------------------------------------------------------------------------


def test_only_literals_of_the_question_are_written_where_that_is_asked_for(northwind: Asked) -> None:
    grammar = northwind.grammar("Which customers in Germany ordered in March 1997?", literals="linked")
    sql = (
        "SELECT DISTINCT Customers.CompanyName FROM Orders JOIN Customers ON Customers.CustomerID = Orders.CustomerID "
        "WHERE Customers.Country = 'Germany' AND Orders.OrderDate BETWEEN '1997-03-01' AND '1997-03-31'"
    )
    assert grammar.allows(sql)
    assert grammar.allows(sql.replace("BETWEEN '1997-03-01' AND '1997-03-31'", "LIKE '1997%'"))
    assert not grammar.allows(sql.replace("Germany", "France"))
    assert not grammar.allows(sql.replace("1997-03-31", "1998-03-31"))
    assert northwind.grammar("Which customers in Germany ordered in March 1997?").allows(sql.replace("1997", "1998"))


def test_numbers_of_the_question_are_written_as_they_are_and_as_percents(northwind: Asked) -> None:
    grammar = northwind.grammar("Which order lines had a discount above 15 percent?", literals="linked")
    sql = 'SELECT OrderID FROM "Order Details" WHERE Discount > {}'
    assert grammar.allows(sql.format("0.15"))
    assert grammar.allows(sql.format("15"))
    assert not grammar.allows(sql.format("0.25"))


def test_a_value_with_marks_in_it_is_written_as_sql_writes_it(northwind: Asked) -> None:
    grammar = northwind.grammar("What is the phone number of B's Beverages?", literals="linked")
    assert grammar.allows("SELECT Phone FROM Customers WHERE CompanyName = 'B''s Beverages'")
    assert not grammar.allows("SELECT Phone FROM Customers WHERE CompanyName = 'B's Beverages'")


# --- other databases --------------------------------------------------------------------------------------------------


def test_names_are_quoted_as_the_dialect_needs(harbour: Asked) -> None:
    grammar = harbour.grammar("Which ships paid a fee?")
    table = '"Ships"' if harbour.schema.dialect == "postgres" else "Ships"
    key = f'{table}."ship id" = stays."ship id"'
    assert grammar.allows(f'SELECT {table}."select" FROM stays JOIN {table} ON {key} WHERE stays.fee > 5')
    assert not grammar.allows(f"SELECT {table}.select FROM stays JOIN {table} ON {key}")
    assert grammar.allows("SELECT ships.length FROM ships") is False


def test_tables_join_over_all_columns_of_a_key(harbour: Asked) -> None:
    grammar = harbour.grammar("Which tolls have waivers?")
    sql = "SELECT tolls.amount FROM waivers JOIN tolls ON waivers.ship_class = tolls.ship_class"
    assert grammar.allows(sql + " AND waivers.zone = tolls.zone")
    assert not grammar.allows(sql)


def test_a_question_that_links_to_nothing_may_name_any_table(harbour: Asked) -> None:
    grammar = harbour.grammar("?")
    assert grammar.allows("SELECT reason FROM waivers")
    assert grammar.allows("SELECT COUNT(*) FROM stays")


def test_the_same_question_has_the_same_grammar(harbour: Asked) -> None:
    def grammar(question: str) -> str:
        return grammar_for(harbour.understand(question), lexicon=harbour.lexicon, schema=harbour.schema)

    assert grammar("Which ships paid a fee?") == grammar("Which ships paid a fee?")
    assert grammar("Which ships paid a fee?") != grammar("Which tolls have waivers?")


def test_a_choice_writes_what_words_begin_with_once_and_allows_these_words_only() -> None:
    words = ["Order", "Orders", "OrderID", '"Order Details"', "City", "a\\b", "Größe"]
    grammar = Gbnf.read(f"root ::= {any_of(words)}\n")
    assert all(map(grammar.allows, words))
    assert not any(map(grammar.allows, ["Ord", "OrderI", "Cit", "", '"Order Details', "Grö"]))
    assert any_of(words).count("Order") == 2
