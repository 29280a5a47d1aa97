"""Reading what a brain's stores really hold, past every list that forgetting edits.

The ledger is read from its events and contents, not from the state of its episodes; what is kept beside it from its
own tables; Cognee's vectors and graphs from their files, wherever they lie, not from its database of datasets. Nothing
is written.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select, text

from memory.brain.forbidding import Held, leaves
from memory.ledger import EventKind, Ledger
from memory.store import StoreDamagedError
from memory.tables import CONTENT, EPISODES, LEDGER, LESSONS, MASKED_QUESTIONS, TERM_NAMES
from memory.vectors import VECTORS

_GRAPH_CACHE = 64 * 1024 * 1024
_GRAPH_SIZE = 1 << 30
"""Bytes of address space for one graph; by itself the database takes terabytes, which not every machine gives."""
_EPISODES = "RememberedQuestion"
"""How Cognee's files call an episode, a node of the graph and the beginning of the collection of vectors."""


@dataclass(frozen=True, slots=True)
class Remembering:
    """What a ledger ever wrote of its episodes, as far as it was not erased, and which are active by its events.

    `texts` are the texts of an episode by its id, `questions` the questions among them.
    """

    texts: Mapping[str, tuple[str, ...]]
    questions: Mapping[str, str]
    active: frozenset[str]


def remembering(ledger: Ledger) -> Remembering:
    """Read the events of episodes."""
    texts: dict[str, tuple[str, ...]] = {}
    questions: dict[str, str] = {}
    active: dict[str, None] = {}
    kinds = (EventKind.EPISODE_REMEMBERED, EventKind.EPISODE_FORGOTTEN, EventKind.EPISODE_ERASED)
    for event in ledger.events(kinds=kinds):
        if event.kind != EventKind.EPISODE_REMEMBERED:
            active.pop(event.subject, None)
        else:
            active[event.subject] = None
            if event.content is not None:
                texts[event.subject] = (*texts.get(event.subject, ()), *leaves(event.content))
                questions[event.subject] = str(event.content.get("question", ""))
    return Remembering(texts, questions, frozenset(active))


def history(ledger: Ledger) -> Iterator[Held]:
    """Every event with all that its content says, but for the text of the schema, which is never forgotten."""
    for event in ledger.events():
        if event.kind != EventKind.SCHEMA_SEEN:
            yield Held(f"position {event.position}, {event.kind}", (event.subject, *leaves(event.content)))


def active_episodes(ledger: Ledger, known: Remembering) -> Iterator[Held]:
    """The episodes that are active, by their events or by their row in the ledger."""
    with ledger.connection() as connection:
        rows = select(EPISODES.c.id, CONTENT.c.body).join(CONTENT, CONTENT.c.position == EPISODES.c.position)
        by_row = {id: body for id, body in connection.execute(rows.where(EPISODES.c.state == "active"))}
    for id in sorted(known.active | by_row.keys()):
        told = tuple(leaves(json.loads(by_row[id]))) if by_row.get(id) else ()
        yield Held(id, (*known.texts.get(id, ()), *told), episode=id)


def lessons(ledger: Ledger) -> Iterator[Held]:
    """The lessons that hold, by their events or by their rows."""
    held: dict[str, tuple[str, ...]] = {}
    kinds = (EventKind.LESSON_LEARNED, EventKind.LESSON_RESOLVED, EventKind.LESSON_DROPPED)
    for event in ledger.events(kinds=kinds):
        held.pop(event.subject, None)
        if event.kind != EventKind.LESSON_DROPPED and event.content is not None:
            held[event.subject] = tuple(leaves(event.content))
    with ledger.connection() as connection:
        rows = select(LESSONS.c.id, CONTENT.c.body).join(CONTENT, CONTENT.c.position == LESSONS.c.position)
        for id, body in connection.execute(rows):
            held[id] = (*held.get(id, ()), *(leaves(json.loads(body)) if body else ()))
    return (Held(id, texts) for id, texts in sorted(held.items()))


def terms(ledger: Ledger) -> Iterator[Held]:
    """The terms of the glossary that hold a name, by their events or by the table of names.

    An expression is told as a query too: it uses columns as one does.
    """
    taught: dict[int, Any] = {}
    holders: dict[str, int] = {}
    for event in ledger.events(kinds=(EventKind.TERM_TAUGHT, EventKind.TERM_DROPPED)):
        body: Any = event.content or {}
        names = [str(name).casefold() for name in body.get("names", ())]
        if event.kind == EventKind.TERM_TAUGHT:
            taught[event.position] = body
            holders.update(dict.fromkeys(names, event.position))
        else:
            for name in names:
                holders.pop(name, None)
    with ledger.connection() as connection:
        listed = {row.name: row.position for row in connection.execute(select(TERM_NAMES))}
    for position in sorted({*holders.values(), *listed.values()}):
        names = [name for name, at in (*holders.items(), *listed.items()) if at == position]
        told = {**taught.get(position, {}), "names": sorted(set(names))}
        query = [_as_query(told)] if told.get("expression") else []
        yield Held(f"position {position}", (*leaves(told), *query))


def _as_query(term: Mapping[str, Any]) -> str:
    """The expression of a term as the query that it was checked as.

    >>> _as_query({"expression": "SUM(Catch.Kilos)", "tables": ["Catch"]})
    'SELECT SUM(Catch.Kilos) FROM "Catch"'
    """
    tables = ", ".join('"' + str(name).replace('"', '""') + '"' for name in term["tables"])
    return f"SELECT {term['expression']} FROM {tables}"


def masked_questions(ledger: Ledger) -> Iterator[Held]:
    """What habits are made of: the episodes that are found by their masked question, whatever their state."""
    with ledger.connection() as connection:
        wanted = select(MASKED_QUESTIONS.c.position, LEDGER.c.subject, CONTENT.c.body)
        wanted = wanted.join(LEDGER, LEDGER.c.position == MASKED_QUESTIONS.c.position)
        wanted = wanted.join(CONTENT, CONTENT.c.position == MASKED_QUESTIONS.c.position)
        rows = connection.execute(wanted).all()
    for position, episode, body in rows:
        texts = tuple(leaves(json.loads(body))) if body else ()
        yield Held(f"position {position}", texts, episode=episode, orphan=not body)


def words(ledger: Ledger, phrase: str) -> Iterator[Held]:
    """The rows of the index of words, and the rows that its index finds by the words of a phrase."""
    with ledger.connection() as connection:
        rows = connection.execute(text("SELECT rowid, question, masked FROM lexicon")).all()
        subjects = {
            row.position: row.subject for row in connection.execute(select(LEDGER.c.position, LEDGER.c.subject))
        }
        found = _indexed(connection, phrase)
    told = {row.rowid: (str(row.question), str(row.masked)) for row in rows}
    for position, texts in told.items():
        yield Held(f"position {position}", texts, episode=subjects.get(position, ""))
    for position in found - told.keys():
        yield Held(f"position {position}, words only", (phrase,), episode=subjects.get(position, ""))


def _indexed(connection: Connection, phrase: str) -> set[int]:
    """Rows that SQLite's index of words has the phrase for, though the row itself may be gone."""
    spoken = " ".join("".join(sign if sign.isalnum() else " " for sign in phrase).split())
    if connection.dialect.name != "sqlite" or not spoken:
        return set()
    wanted = text("SELECT rowid FROM lexicon WHERE lexicon MATCH :phrase")
    return set(connection.execute(wanted, {"phrase": f'"{spoken}"'}).scalars())


def kept_vectors(ledger: Ledger, known: Remembering) -> Iterator[Held]:
    """The vectors that are kept of episodes, each as an orphan where its episode is not active."""
    with ledger.connection() as connection:
        rows = connection.execute(select(VECTORS.c.episode, VECTORS.c.part)).all()
    for episode, part in rows:
        yield Held(f"{episode}, {part}", (), episode=episode, orphan=episode not in known.active)


@dataclass(frozen=True, slots=True)
class Stored:
    """One point of Cognee's files: in the `vectors` or the `graph` of a dataset, or in `old vectors` only, a version
    of the dataset that search does not read any more. `is_episode`: its id is that of an episode.
    """

    place: str
    dataset: str
    id: str
    texts: tuple[str, ...]
    is_episode: bool

    def held(self, known: Remembering) -> Held:
        """What it holds; an orphan where it stands for an episode of which no content is known."""
        orphan = self.is_episode and self.id not in known.texts
        episode = self.id if self.is_episode else ""
        return Held(f"{self.id} in {self.dataset}", self.texts, episode=episode, orphan=orphan)


def stored(folder: Path) -> tuple[Stored, ...]:
    """Read all points below a folder, found by the names of files.

    Graphs are read from copies, as two handles of one file would each see pages of their own.

    Raises:
        StoreDamagedError: a file cannot be read, so it is not known what it holds.
    """
    found: list[Stored] = []
    try:
        for place in sorted(folder.rglob("*.lance.db")):
            found += asyncio.run(_vectors(place))
        with tempfile.TemporaryDirectory() as scratch:
            for number, place in enumerate(sorted(folder.rglob("*.lbug"))):
                found += _graph(place, Path(scratch) / f"{number}.lbug")
    except Exception as problem:
        raise StoreDamagedError(
            f"{folder} cannot be read past Cognee: {type(problem).__name__}: {problem}. Run: hebbql doctor."
        ) from problem
    return tuple(found)


async def _vectors(place: Path) -> list[Stored]:
    import lancedb

    connection = await lancedb.connect_async(str(place))
    found: dict[tuple[str, str, tuple[str, ...]], Stored] = {}
    for name in (await connection.list_tables()).tables:
        table = await connection.open_table(name)
        newest = await table.version()
        versions = sorted((int(one["version"]) for one in await table.list_versions()), reverse=True)
        for version in versions or [newest]:
            await table.checkout(version)
            for row in (await table.query().to_arrow()).to_pylist():
                id, texts = str(row.get("id", "")), tuple(leaves(row))
                where = "vectors" if version == newest else "old vectors"
                found.setdefault((name, id, texts), Stored(where, place.name, id, texts, name.startswith(_EPISODES)))
    return list(found.values())


def _graph(place: Path, copy: Path) -> list[Stored]:
    import ladybug

    for part in place.parent.glob(f"{place.name}*"):
        shutil.copy(part, copy.with_name(copy.name + part.name.removeprefix(place.name)))
    database = ladybug.Database(str(copy), buffer_pool_size=_GRAPH_CACHE, max_num_threads=1, max_db_size=_GRAPH_SIZE)
    try:
        connection = ladybug.Connection(database)
        try:
            rows = connection.execute("MATCH (n) RETURN n").get_all()
        finally:
            connection.close()
    finally:
        database.close()
    return [
        Stored("graph", place.name, str(node.get("id", "")), tuple(_told(node)), node.get("type") == _EPISODES)
        for [node] in rows
    ]


def _told(node: Mapping[str, Any]) -> Iterable[str]:
    """The texts of a node, and those of its properties, which it keeps as JSON."""
    for text_ in leaves(node):
        yield text_
        if text_.startswith("{"):
            try:
                yield from leaves(json.loads(text_))
            except ValueError:
                continue


def replies(path: Path) -> Iterator[Held]:
    """The replies of a completion cache, read from its file. None where there is no such file.

    Raises:
        sqlite3.Error: it is there and cannot be read.
    """
    if not path.is_file():
        return
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        rows = connection.execute("SELECT key, reply FROM replies").fetchall()
    for key, reply in rows:
        written = bytes(reply).decode("utf-8", "replace") if not isinstance(reply, str) else reply
        try:
            yield Held(str(key), tuple(leaves(json.loads(written))))
        except ValueError:
            yield Held(str(key), (written,))


def in_files(folders: Iterable[Path]) -> Iterator[tuple[str, bytes]]:
    """Every file below some folders, by a name that tells the folder, with its bytes."""
    for folder in folders:
        files = sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else [folder]
        for path in files:
            if path.is_file():
                name = f"{folder.name}/{path.relative_to(folder)}" if folder.is_dir() else folder.name
                yield name, path.read_bytes()
