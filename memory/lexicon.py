"""Finding episodes by their words: FTS5 on SQLite, full text search on PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlalchemy import Connection, text

_WORD = re.compile(r"\w+")
_MOST_WORDS = 64
_COMMON = 1_000
"""Episodes that share a word from which on it tells little: ranking them all takes 1 ms for each thousand."""
_EMPTY = frozenset(
    re.findall(
        r"\w+",
        """
        a an and are as at be been by can could did do does for from give had has have how i in is it its me much my
        of on or our please s show tell than that the their them there these they this those to us was we were what
        when where which who whom whose will with would you
        """,
    )
)
"""English words that ask but name nothing. PostgreSQL leaves out its own list of them, SQLite has none."""

_CREATE = {
    "sqlite": (
        "CREATE VIRTUAL TABLE lexicon USING fts5(question, masked, tokenize='porter unicode61 remove_diacritics 2')",
    ),
    "postgresql": (
        "CREATE TABLE lexicon (rowid INTEGER PRIMARY KEY, question TEXT NOT NULL, masked TEXT NOT NULL, words TSVECTOR "
        "GENERATED ALWAYS AS (to_tsvector('english', question || ' ' || masked)) STORED)",
        "CREATE INDEX lexicon_by_words ON lexicon USING GIN (words)",
    ),
}
_SEARCH = {
    "sqlite": "SELECT rowid FROM lexicon WHERE lexicon MATCH :words ORDER BY bm25(lexicon), rowid LIMIT :limit",
    "postgresql": "SELECT rowid FROM lexicon, to_tsquery('english', :words) AS wanted WHERE words @@ wanted "
    "ORDER BY ts_rank_cd(words, wanted) DESC, rowid LIMIT :limit",
}


_COUNT = {
    "sqlite": "(SELECT COUNT(*) FROM (SELECT 1 FROM lexicon WHERE lexicon MATCH :word{n} LIMIT :most))",
    "postgresql": "(SELECT COUNT(*) FROM (SELECT 1 FROM lexicon WHERE words @@ to_tsquery('english', :word{n}) "
    "LIMIT :most) AS those{n})",
}


def create(connection: Connection) -> None:
    for statement in _CREATE[connection.dialect.name]:
        connection.execute(text(statement))


def add(connection: Connection, position: int, question: str, masked: str) -> None:
    """Index one episode under the position that it was remembered at."""
    row = {"position": position, "question": _storable(question), "masked": _storable(masked)}
    connection.execute(
        text("INSERT INTO lexicon (rowid, question, masked) VALUES (:position, :question, :masked)"), row
    )


def remove(connection: Connection, position: int) -> None:
    """Take one episode out, so that it is not found. Its words may stay in the index until `scrub`."""
    connection.execute(text("DELETE FROM lexicon WHERE rowid = :position"), {"position": position})


def scrub(connection: Connection) -> None:
    """Build the index anew: FTS5 keeps the words of what was deleted until it happens to merge them away."""
    if connection.dialect.name == "sqlite":
        connection.execute(text("INSERT INTO lexicon (lexicon) VALUES ('rebuild')"))


def search(connection: Connection, words: str, limit: int) -> Sequence[int]:
    """Positions of the episodes that share a word with `words`, best first; none when no word in it names anything.

    Words that very many episodes share are left out; when there are no others, the rarest of them stays.
    """
    spoken = dict.fromkeys(_WORD.findall(_storable(words).casefold()))
    quote = '"' if connection.dialect.name == "sqlite" else "'"
    named = [f"{quote}{word}{quote}" for word in spoken if word not in _EMPTY][:_MOST_WORDS]
    if not (telling := _telling(connection, named)):
        return ()
    query = (" OR " if connection.dialect.name == "sqlite" else " | ").join(telling)
    rows = connection.execute(text(_SEARCH[connection.dialect.name]), {"words": query, "limit": limit})
    return tuple(rows.scalars())


def _telling(connection: Connection, words: Sequence[str]) -> Sequence[str]:
    counts = _counted(connection, words, _COMMON)
    if telling := [word for word, episodes in counts.items() if 0 < episodes < _COMMON]:
        return telling
    counts = _counted(connection, [word for word, episodes in counts.items() if episodes], 20 * _COMMON)
    return sorted(counts, key=lambda word: counts[word])[:1]


def _counted(connection: Connection, words: Sequence[str], most: int) -> dict[str, int]:
    """How many episodes hold each word, counted no further than `most`."""
    if not words:
        return {}
    count = _COUNT[connection.dialect.name]
    counts = text("SELECT " + ", ".join(count.format(n=number) for number in range(len(words))))
    named = {f"word{number}": word for number, word in enumerate(words)}
    return dict(zip(words, connection.execute(counts, {**named, "most": most}).one(), strict=True))


def positions(connection: Connection) -> frozenset[int]:
    return frozenset(connection.execute(text("SELECT rowid FROM lexicon")).scalars())


def _storable(words: str) -> str:
    return words.replace("\0", " ").encode("utf-8", "replace").decode()
