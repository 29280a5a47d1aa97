"""The guard and the worker on a real PostgreSQL."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from agent.database.guard import check
from agent.database.reading import Database, open_database
from agent.database.result import DatabaseUnusableError, QueryFailed, QueryRejected

HERE = Path(__file__).parent / "guard"


def paragraphs(name: str) -> list[str]:
    return (HERE / name).read_text(encoding="utf-8").split("\n\n", 1)[1].strip("\n").split("\n\n")


def ruled(name: str) -> list[tuple[str, str]]:
    return [(p.partition("\n")[0].removeprefix("# "), p.partition("\n")[2]) for p in paragraphs(name)]


def home(url: str) -> str:
    return url.partition("host=")[2]


@pytest.fixture(scope="module")
def url(postgres_url: str) -> Iterator[str]:
    """A database of this module's own with the golden schema, and a role that may only read."""
    with psycopg.connect(host=home(postgres_url), user="hebbql", dbname="postgres", autocommit=True) as admin:
        admin.execute("CREATE DATABASE shop")
        admin.execute("CREATE ROLE reader LOGIN")
    with psycopg.connect(host=home(postgres_url), user="hebbql", dbname="shop", autocommit=True) as connection:
        connection.execute((HERE / "schema_postgres.sql").read_bytes())
        connection.execute("GRANT USAGE ON SCHEMA sales, hr TO reader")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public, sales, hr TO reader")
    yield postgres_url.replace("/postgres?", "/shop?")
    with psycopg.connect(host=home(postgres_url), user="hebbql", dbname="postgres", autocommit=True) as admin:
        admin.execute("DROP DATABASE shop WITH (FORCE)")
        admin.execute("DROP ROLE reader")


@pytest.fixture(scope="module")
def shop(url: str) -> Iterator[Database]:
    database = open_database(url.replace("hebbql@", "reader@"))
    yield database
    database.close()


@pytest.fixture
def quick(url: str) -> Iterator[Database]:
    database = open_database(url, deadline=0.5, row_cap=3, byte_cap=1_000)
    yield database
    database.close()


@pytest.mark.parametrize(("rule", "sql"), ruled("hostile_postgres.txt"))
def test_hostile_sql_is_refused_by_its_rule(rule: str, sql: str, shop: Database) -> None:
    with pytest.raises(QueryRejected) as refused:
        check(sql, shop.schema)
    assert refused.value.rule == rule, refused.value.reason


@pytest.mark.parametrize("sql", paragraphs("idioms_postgres.txt"))
def test_idioms_pass_and_give_the_same_rows_as_written(sql: str, shop: Database, url: str) -> None:
    if "(SELECT FROM" in sql:
        with pytest.raises(QueryRejected, match="names no columns"):
            check(sql, shop.schema)
        return
    checked = check(sql, shop.schema)
    path = "-c search_path=public,hr,sales"
    with psycopg.connect(host=home(url), user="hebbql", dbname="shop", options=path) as connection:
        rows = connection.execute(sql.encode()).fetchall()
        # Compare in the text of the server, so that no Python type hides a difference.
        texts = connection.execute(b"SELECT t::text FROM (" + checked.sql.encode() + b") AS t").fetchall()
        originals = connection.execute(b"SELECT t::text FROM (" + sql.encode() + b") AS t").fetchall()
    assert rows and texts == originals
    assert len(shop.run(checked.sql).rows) == len(rows)
    assert check(checked.sql, shop.schema) == checked


def test_a_role_that_may_only_read_gives_no_warning_and_a_superuser_does(shop: Database, url: str) -> None:
    assert shop.warnings == ()
    database = open_database(url)
    assert "superuser" in database.warnings[0]
    database.close()


def test_tables_of_all_namespaces_are_read_and_a_second_name_is_qualified(shop: Database) -> None:
    tables = {table.name: table for table in shop.schema.tables}
    assert list(tables) == ["customers", "group", "hr.customers", "Order Details", "counted", "large", "orders"]
    assert tables["orders"].namespace == "sales"
    assert tables["counted"].is_view and tables["large"].is_view
    assert [key.referred_table for key in tables["hr.customers"].foreign_keys] == ["hr.customers"]
    assert [key.referred_table for key in tables["orders"].foreign_keys] == ["customers"]
    assert [c.name for c in tables["Order Details"].columns if c.primary_key] == ["order_id", "line"]
    assert {c.name: c.type for c in tables["customers"].columns}["tags"] == "TEXT[]"


def test_the_name_that_the_schema_gives_a_second_table_can_be_used(shop: Database) -> None:
    checked = check('SELECT "hr.customers".id FROM "hr.customers" ORDER BY "hr.customers".id', shop.schema)
    assert checked.tables == ("hr.customers",)
    assert shop.run(checked.sql).rows == ((1,), (2,))


def test_tables_that_the_role_may_not_read_and_parts_of_tables_are_left_out(url: str) -> None:
    with psycopg.connect(host=home(url), user="hebbql", dbname="shop", autocommit=True) as admin:
        admin.execute("CREATE TABLE secrets (a int); CREATE TABLE parts (a int) PARTITION BY RANGE (a)")
        admin.execute("CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (9)")
        admin.execute("GRANT SELECT ON parts TO reader")
    try:
        database = open_database(url.replace("hebbql@", "reader@"))
        database.close()
        names = {table.name for table in database.schema.tables}
        assert "parts" in names and not names & {"secrets", "parts_1"}
    finally:
        with psycopg.connect(host=home(url), user="hebbql", dbname="shop", autocommit=True) as admin:
            admin.execute("DROP TABLE secrets, parts")


def test_the_schema_text_is_the_same_each_time(shop: Database, url: str) -> None:
    again = open_database(url)
    again.close()
    assert again.schema == shop.schema
    assert 'CREATE TABLE sales."Order Details"' in again.schema.text
    assert "CREATE TABLE customers" in again.schema.text and "-- mood: happy, sad" in again.schema.text
    assert "GENERATED ALWAYS AS" in again.schema.text


def test_facts_hold_values_dates_and_numbers(shop: Database) -> None:
    facts = {(fact.table, fact.column): fact for fact in shop.facts.columns}
    assert [(f.table, f.column) for f in shop.facts.columns] == [
        (t.name, c.name) for t in shop.schema.tables for c in t.columns
    ]
    assert facts["customers", "country"].values == ("France", "Germany") and facts["customers", "country"].complete
    assert facts["customers", "mood"].values == ("happy", "sad")
    day = facts["orders", "day"]
    assert (day.is_date, day.minimum, day.maximum) == (True, "1997-01-01", "1998-05-06")
    assert facts["orders", "ordered_at"].is_date
    assert (facts["orders", "amount"].minimum, facts["orders", "amount"].maximum) == ("7.25", "100.00")
    assert facts["group", "имя"].values == ("Жук", "한국")
    assert facts["customers", "doc"].values == ()


def test_values_come_as_plain_python(shop: Database) -> None:
    sql = "SELECT id, amount, day, ordered_at, note, 1.5::float8, 'a'::text, NULL, true, 'NaN'::float8 FROM orders"
    row = shop.run(check(sql + " ORDER BY id", shop.schema).sql).rows[0]
    assert row[:9] == (1, 12.5, "1997-01-01", "1997-01-01 10:00:00", "first", 1.5, "a", None, True)
    assert row[9] != row[9]
    wide = shop.run("SELECT 12345678901234567890::numeric, 3::numeric, '\\x00ff'::bytea, 1e400::numeric")
    assert wide.rows == ((1.2345678901234567e19, 3, b"\x00\xff", float("inf")),)


def test_an_empty_result_has_columns(shop: Database) -> None:
    found = shop.run("SELECT id, name FROM customers WHERE id < 0")
    assert (found.columns, found.rows) == (("id", "name"), ())


def test_the_worker_cannot_write_even_as_superuser(quick: Database, url: str) -> None:
    for sql in (
        "DELETE FROM customers",
        "CREATE TABLE t (a int)",
        "SELECT nextval('customers_id_seq')",
        "SELECT 1; DELETE FROM customers",
        "COMMIT; DELETE FROM customers",
    ):
        with pytest.raises(QueryFailed):
            quick.run(sql)
    with psycopg.connect(host=home(url), user="hebbql", dbname="shop") as connection:
        assert connection.execute("SELECT count(*) FROM customers").fetchone() == (3,)


def test_settings_of_one_query_do_not_reach_the_next(quick: Database) -> None:
    with pytest.raises(QueryFailed):
        quick.run("SET default_transaction_read_only = off; SELECT 1")
    quick.run("SELECT set_config('default_transaction_read_only', 'off', false)")
    quick.run("SELECT set_config('search_path', 'hr', false)")
    assert quick.run("SHOW default_transaction_read_only").rows == (("on",),)
    assert quick.run("SHOW transaction_read_only").rows == (("on",),)
    assert quick.run("SELECT name FROM customers WHERE id = 1").rows == (("Anna",),)


def test_a_long_query_is_stopped_and_the_next_runs(quick: Database) -> None:
    began = time.monotonic()
    with pytest.raises(QueryFailed) as failed:
        quick.run("SELECT pg_sleep(20)")
    assert failed.value.kind == "deadline" and time.monotonic() - began < 3
    assert quick.run("SELECT 1").rows == ((1,),)


def test_rows_and_bytes_are_capped_and_named(quick: Database) -> None:
    found = quick.run("SELECT generate_series(1, 1000000000) AS n")
    assert (len(found.rows), found.truncated) == (3, "rows")
    found = quick.run("SELECT repeat('x', 800) FROM generate_series(1, 3)")
    assert (len(found.rows), found.truncated) == (1, "bytes")


def test_a_broken_connection_is_made_again(quick: Database, url: str) -> None:
    quick.run("SELECT 1")
    with psycopg.connect(host=home(url), user="hebbql", dbname="postgres", autocommit=True) as admin:
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'hebbql'")
    assert quick.run("SELECT 2").rows == ((2,),)


def test_a_locked_table_is_reported(url: str) -> None:
    database = open_database(url, deadline=8.0)
    with psycopg.connect(host=home(url), user="hebbql", dbname="shop") as connection:
        connection.execute("LOCK TABLE sales.orders IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(QueryFailed) as failed:
            database.run("SELECT count(*) FROM orders")
    database.close()
    assert failed.value.kind == "locked"


def test_an_error_of_the_database_names_the_nearest_real_name(shop: Database) -> None:
    with pytest.raises(QueryFailed) as failed:
        shop.run("SELECT contry FROM customers")
    assert "Nearest: country" in failed.value.reason
    with pytest.raises(QueryFailed) as failed:
        shop.run("SELECT 1 FROM custmers")
    assert "Nearest: customers" in failed.value.reason
    with pytest.raises(QueryFailed, match="division by zero"):
        shop.run("SELECT 1 / (id - id) FROM customers")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("/shop?", "/nowhere?"), "no database nowhere"),
        (("hebbql@", "stranger:s3cret@"), "no role stranger"),
        (("host=", "host=/nowhere"), "cannot be reached"),
        (("hebbql@/shop?", "hebbql:s3cret@127.0.0.1:9/shop?other="), "cannot be reached"),
    ],
)
def test_an_unusable_server_is_named_and_the_password_is_not(url: str, change: tuple[str, str], words: str) -> None:
    with pytest.raises(DatabaseUnusableError) as unusable:
        open_database(url.replace(*change))
    assert words in str(unusable.value)
    assert "s3cret" not in str(unusable.value)


def test_an_empty_database_is_unusable(postgres_database: str) -> None:
    with pytest.raises(DatabaseUnusableError, match="has no tables"):
        open_database(postgres_database)
