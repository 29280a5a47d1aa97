#!/usr/bin/env python3
"""Build a small made-up database with odd names: an animal clinic, ten tables, two views, several hundred rows.

    scripts/build_odd_database.py PATH

For trying HebbQL on names with spaces, quotes, slashes and dots, reserved words, Korean and Cyrillic letters, mixed
case, composite keys, self references and a code column. The questions in data/questions/odd.jsonl are about it. Its
business words are in data/glossary/clinic.toml, which goes with a file named clinic.sqlite. Two builds hold the same
rows. A file at PATH is replaced. Needs only the standard library.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

Cell = str | int | float | None
Row = tuple[Cell, ...]

SCHEMA = """
CREATE TABLE "group" (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  parent INTEGER REFERENCES "group" (id)
);
CREATE TABLE "Owner's Card" (
  "Card No" INTEGER PRIMARY KEY,
  "Full Name" TEXT NOT NULL,
  "도시" TEXT NOT NULL,
  "e-mail" TEXT,
  "Since" TEXT NOT NULL
);
CREATE TABLE "동물" (
  "번호" INTEGER PRIMARY KEY,
  "이름" TEXT NOT NULL,
  "group" INTEGER NOT NULL REFERENCES "group" (id),
  "Card No" INTEGER NOT NULL REFERENCES "Owner's Card" ("Card No"),
  "birth date" TEXT,
  sex TEXT NOT NULL CHECK (sex IN ('F', 'M', '?')),
  "체중" REAL NOT NULL
);
CREATE TABLE "Врачи" (
  "Код" INTEGER PRIMARY KEY,
  "Имя" TEXT NOT NULL,
  "Начальник" INTEGER REFERENCES "Врачи" ("Код"),
  "hired on" TEXT NOT NULL
);
CREATE TABLE "Rooms & Wards" (
  "Room" INTEGER PRIMARY KEY,
  "floor" INTEGER NOT NULL,
  "what for" TEXT NOT NULL
);
CREATE TABLE "vIsIt" (
  "animal no" INTEGER NOT NULL REFERENCES "동물" ("번호"),
  "visit no" INTEGER NOT NULL,
  "date" TEXT NOT NULL,
  "Врач" INTEGER NOT NULL REFERENCES "Врачи" ("Код"),
  "Room" INTEGER NOT NULL REFERENCES "Rooms & Wards" ("Room"),
  kind TEXT NOT NULL CHECK (kind IN ('C', 'V', 'S', 'E')),
  "fee (EUR)" REAL NOT NULL,
  PRIMARY KEY ("animal no", "visit no")
);
CREATE TABLE "medi_Cine" (
  "Code" TEXT NOT NULL PRIMARY KEY,
  "The ""Trade"" Name" TEXT NOT NULL,
  "price/unit" REAL NOT NULL,
  "in stock" INTEGER NOT NULL,
  "min. stock" INTEGER NOT NULL
);
CREATE TABLE treatment (
  "animal no" INTEGER NOT NULL,
  "visit no" INTEGER NOT NULL,
  "Code" TEXT NOT NULL REFERENCES "medi_Cine" ("Code"),
  units INTEGER NOT NULL,
  PRIMARY KEY ("animal no", "visit no", "Code"),
  FOREIGN KEY ("animal no", "visit no") REFERENCES "vIsIt" ("animal no", "visit no")
);
CREATE TABLE "order" (
  "No." INTEGER PRIMARY KEY,
  "from" TEXT NOT NULL,
  "to" TEXT,
  "by" INTEGER NOT NULL REFERENCES "Врачи" ("Код")
);
CREATE TABLE "order line" (
  "No." INTEGER NOT NULL REFERENCES "order" ("No."),
  "line" INTEGER NOT NULL,
  "Code" TEXT NOT NULL REFERENCES "medi_Cine" ("Code"),
  units INTEGER NOT NULL,
  PRIMARY KEY ("No.", "line")
);
CREATE VIEW "Open Orders" AS
  SELECT "No.", "from", "by" FROM "order" WHERE "to" IS NULL;
CREATE VIEW "방문 비용" AS
  SELECT "animal no", strftime('%Y', "date") AS year, SUM("fee (EUR)") AS total
  FROM "vIsIt" GROUP BY "animal no", year;
"""

GROUPS: tuple[Row, ...] = (
    (1, "Mammals", None),
    (2, "Birds", None),
    (3, "Reptiles", None),
    (4, "Dogs", 1),
    (5, "Cats", 1),
    (6, "Rodents", 1),
    (7, "Parrots", 2),
    (8, "Tortoises", 3),
)
VETS: tuple[Row, ...] = (
    (1, "Vera Orlova", None, "2014-02-03"),
    (2, "Tomas Ridley", 1, "2016-09-12"),
    (3, "Han Seo-yeon", 1, "2018-05-07"),
    (4, "Ilse Brandt", 2, "2015-11-30"),
    (5, "Omar Nasser", 2, "2021-01-18"),
    (6, "Petra Novak", 3, "2022-08-01"),
    (7, "Liam O'Hara", 3, "2023-03-20"),
)
ROOMS: tuple[Row, ...] = (
    (101, 1, "check-up"),
    (102, 1, "check-up"),
    (103, 1, "vaccination"),
    (201, 2, "surgery"),
    (202, 2, "recovery"),
    (301, 3, "isolation"),
)
MEDICINES: tuple[Row, ...] = (
    ("AB-1", "Calmadol", 3.5, 40, 20),
    ("AB-2", "Purrfexin", 12.0, 8, 15),
    ("AC-1", "Tailwagin", 1.25, 120, 50),
    ("BX-7", 'Anti "Itch" Drops', 7.8, 0, 10),
    ("BX-9", "Beakopril", 9.4, 16, 10),
    ("CD-3", "Shellvit", 2.2, 60, 60),
    ("CD-4", "Hoofaderm", 15.75, 5, 10),
    ("DE-1", "Flea's End", 4.1, 90, 40),
    ("DE-2", "Gnawzol", 6.6, 33, 30),
    ("EF-5", "Serum K", 48.0, 3, 5),
    ("EF-6", "Serum L", 52.5, 6, 5),
    ("ZZ-0", "Placebo 100%", 0.1, 500, 0),
)
FIRST_NAMES = ("Ada", "Boris", "Chloe", "Dmitri", "Eun-ji", "Frida", "Gustav", "Hye-jin", "Ivan", "Julia")
LAST_NAMES = ("Ahn", "Berg", "D'Angelo", "Ivanova", "Kim", "Lindqvist", "Moreau", "Park", "Sokolov", "Weiss")
CITIES = ("서울", "Riga", "부산", "Köln", "Nice", "Riga", "서울")
ANIMAL_NAMES = (
    "Biscuit", "나비", "Rex", "Шарик", "Coco", "구름", "Mila", "Ozzy", "Пушок", "Luna", "보리", "Kiwi", "Zorro", "Nala",
)  # fmt: skip
KINDS = ("C", "C", "C", "V", "V", "S", "E")
FEES = {"C": 35.0, "V": 28.0, "S": 240.0, "E": 95.0}
ROOMS_OF_KIND = {"C": (101, 102), "V": (103,), "S": (201,), "E": (202, 301)}
SEED = 20_250_301


def numbers(seed: int) -> Callable[[int], int]:
    """Give a function that draws from 0 to below its argument, the same in every Python and on every machine.

    A linear congruential generator (constants of Numerical Recipes, 2nd edition, 7.1), high bits taken.
    """
    state = seed

    def draw(below: int) -> int:
        nonlocal state
        state = (1_664_525 * state + 1_013_904_223) % 2**32
        return (state >> 8) % below

    return draw


def rows() -> dict[str, list[Row]]:
    """Make the rows of every table, in an order that foreign keys allow."""
    draw = numbers(SEED)
    made: dict[str, list[Row]] = {
        "group": list(GROUPS),
        "Врачи": list(VETS),
        "Rooms & Wards": list(ROOMS),
        "medi_Cine": list(MEDICINES),
    }
    made["Owner's Card"] = [_owner(card, draw) for card in range(1, 31)]
    made["동물"] = [_animal(number, draw) for number in range(1, 61)]
    made["vIsIt"] = [visit for number in range(1, 61) for visit in _visits(number, draw)]
    made["treatment"] = [given for visit in made["vIsIt"] for given in _treatments(visit, draw)]
    made["order"], made["order line"] = _orders(draw)
    return made


def _day(start: str, days: int) -> str:
    return (date.fromisoformat(start) + timedelta(days=days)).isoformat()


def _owner(card: int, draw: Callable[[int], int]) -> Row:
    first = FIRST_NAMES[(card * 3) % len(FIRST_NAMES)]
    last = LAST_NAMES[(card * 7 + card // 10) % len(LAST_NAMES)]
    mail = None if draw(4) == 0 else f"{first}.{last}@example.org".lower().replace("'", "")
    return (card, f"{first} {last}", CITIES[draw(len(CITIES))], mail, _day("2019-01-07", draw(2000)))


def _animal(number: int, draw: Callable[[int], int]) -> Row:
    group = 4 + draw(5)
    born = None if draw(9) == 0 else _day("2012-03-01", draw(4200))
    weight = round((28.0, 4.5, 0.4, 0.9, 6.0)[group - 4] * (70 + draw(61)) / 100, 2)
    # The last three cards have no animal.
    card = 1 + draw(27)
    return (number, ANIMAL_NAMES[draw(len(ANIMAL_NAMES))], group, card, born, "FM?"[min(draw(9) // 4, 2)], weight)


def _visits(animal: int, draw: Callable[[int], int]) -> list[Row]:
    made: list[Row] = []
    day = draw(200)
    for number in range(1, 1 + draw(7)):
        kind = KINDS[draw(len(KINDS))]
        fee = FEES[kind] + 5 * draw(12)
        rooms = ROOMS_OF_KIND[kind]
        made.append((animal, number, _day("2023-01-09", day), 1 + draw(7), rooms[draw(len(rooms))], kind, fee))
        day += 20 + draw(180)
    return made


def _treatments(visit: Row, draw: Callable[[int], int]) -> list[Row]:
    # The last two medicines are never given.
    codes = sorted({MEDICINES[draw(10)][0] for _ in range(draw(3))}, key=str)
    return [(visit[0], visit[1], code, 1 + draw(14)) for code in codes]


def _orders(draw: Callable[[int], int]) -> tuple[list[Row], list[Row]]:
    orders: list[Row] = []
    lines: list[Row] = []
    day = 0
    for number in range(5001, 5025):
        day += 10 + draw(55)
        start = _day("2023-01-02", day)
        end = None if number > 5020 or draw(12) == 0 else _day(start, 2 + draw(20))
        orders.append((number, start, end, 1 + draw(4)))
        for line in range(1, 2 + draw(4)):
            lines.append((number, line, MEDICINES[draw(11)][0], 10 * (1 + draw(10))))
    return orders, lines


def build(path: Path) -> None:
    """Write the database to `path`, replacing what is there only when it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        draft = Path(folder) / "odd.sqlite"
        with closing(sqlite3.connect(draft)) as connection:
            connection.executescript(SCHEMA)
            for table, made in rows().items():
                marks = ", ".join("?" * len(made[0]))
                connection.executemany(f'INSERT INTO "{table}" VALUES ({marks})', made)
            connection.commit()
            connection.execute("VACUUM")
        os.replace(draft, path)


def main(arguments: Sequence[str]) -> int:
    """Build the database at the path that the command line names."""
    parser = argparse.ArgumentParser(description="Build a small database with odd names.")
    parser.add_argument("path", type=Path, metavar="PATH", help="where the SQLite file goes")
    path: Path = parser.parse_args(arguments).path
    try:
        build(path)
    except OSError as problem:
        print(f"{path} cannot be written: {problem}. Give a path in a folder that you may write to.", file=sys.stderr)
        return 1
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
