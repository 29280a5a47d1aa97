"""Telling whether a text, or the bytes of a file, holds what a check forbids, however it is written there."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from memory.brain.checks import Evidence, Forbidden
from memory.brain.holding import Used

_SPACES = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
_WIDE = b"|".join(re.escape(sign.encode()) + rb"|(?i:\\u%04x)" % ord(sign) for sign in _SPACES)
_SPACE = rb"(?:\s|\\[nrt]|\x00|" + _WIDE + rb")+"
_BETWEEN = rb"(?:\s|\\[nrt]|\xc2\xa0|\\?[\"`\[\]])*"
_LETTER = rb"[0-9A-Za-z_\x80-\xff]"
_BEFORE = rb"(?:(?<!" + _LETTER + rb")|(?<=\\[nrt]))"
_AFTER = rb"(?!" + _LETTER + rb")"
_SHORT = 4
"""Letters below which a value is looked for in the bytes of files only in quotes: binary files hold all short words."""

_TOKEN = re.compile(r"'(?:[^']|'')*'|\w+|[^\w\s\"`\[\]]")
_COMMENT = re.compile(r"--[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_QUERY = re.compile(r"\bselect\b", re.IGNORECASE)
_ALIKE = (
    "a\u0430\u0251", "c\u0441", "e\u0435", "h\u04bb", "i\u0456\u0131\u0269", "j\u0458", "o\u043e\u03bf",
    "p\u0440\u03c1", "s\u0455", "x\u0445\u03c7", "y\u0443\u03b3", "v\u03bd\u0475", "w\u051d", "d\u0501", "q\u051b",
    "l\u04cf", "A\u0410\u0391", "B\u0412\u0392", "C\u0421", "E\u0415\u0395", "H\u041d\u0397", "I\u0406\u0399\u04c0",
    "J\u0408", "K\u041a\u039a", "M\u041c\u039c", "N\u039d", "O\u041e\u039f", "P\u0420\u03a1", "S\u0405",
    "T\u0422\u03a4", "X\u0425\u03a7", "Y\u0423\u03a5", "Z\u0396",
)  # fmt: skip
"""Latin, Cyrillic and Greek letters that look the same, so that one can stand for another unseen."""
_LOOKS = {sign: group for group in _ALIKE for sign in group}
_JOINED = re.compile(r"'\s*\|\|\s*'")
_HEX = re.compile(r"\b[xX]'((?:[0-9a-fA-F]{2})+)'")
_CHARS = re.compile(r"\b(?:char|chr)\s*\(\s*(\d{1,7}(?:\s*,\s*\d{1,7})*)\s*\)", re.IGNORECASE)
_APOSTROPHES = "'\u2018\u2019"
_QUOTES = '"\u201c\u201d'
_LINE = 160
_NEAR = 4_000
"""Bytes around the name of a column in which its query is looked for."""


@dataclass(frozen=True, slots=True)
class Needle:
    """What is forbidden, made ready to be looked for. `used` reads queries; only a column needs it."""

    check: Forbidden
    text: re.Pattern[bytes]
    raw: re.Pattern[bytes]
    used: Used

    @classmethod
    def of(cls, check: Forbidden, used: Used) -> Needle:
        what = _visible(unicodedata.normalize("NFKC", check.what))
        if check.column is not None:
            pattern = re.compile(_BEFORE + _said(check.column.rpartition(".")[2]) + _AFTER)
            return cls(check, pattern, pattern, used)
        if check.sql is not None:
            pattern = re.compile(_fragment(what))
            return cls(check, pattern, pattern, used)
        said = _said(what)
        if check.value is None:
            return cls(check, re.compile(said), re.compile(said), used)
        bounded = re.compile(_BEFORE + said + _AFTER)
        if len(what.strip()) < _SHORT:
            return cls(check, bounded, re.compile(rb"(?:'|\\?\")" + said + rb"(?:'|\\?\")"), used)
        # In a row of a database file one text follows another without a sign between them.
        return cls(check, bounded, bounded if what.strip().isdigit() else re.compile(said), used)

    def in_text(self, text: str) -> bool:
        """Whether a text holds it. A column is looked for in queries only."""
        if self.check.column is not None:
            return self._in_query(text)
        bare = _COMMENT.sub(" ", text)
        forms = (form for one in dict.fromkeys((text, bare, said_plainly(bare))) for form in _forms(one))
        return any(self.text.search(form.encode("utf-8", "replace")) for form in forms)

    def in_bytes(self, data: bytes) -> bool:
        """Whether the bytes of a file hold it, as text or as JSON.

        A column is held where its name, and that of its table, stand near each other after a SELECT.
        """
        if self.check.column is None:
            return self.raw.search(data) is not None
        table = self.check.column.rpartition(".")[0].rpartition(".")[2]
        named = re.compile(_said(table))
        for found in self.raw.finditer(data):
            before = data[max(0, found.start() - _NEAR) : found.start()]
            begun, made = before.upper().rfind(b"SELECT"), before.upper().rfind(b"CREATE TABLE")
            if begun > made and named.search(before[begun:] + data[found.end() : found.end() + _NEAR]):
                return True
        return False

    def line_of(self, text: str) -> str:
        """The part of a text that shows it, in one line."""
        flat = " ".join(text.split())
        written = flat.encode("utf-8", "replace")
        found = None if self.check.column else self.text.search(written)
        at = len(str(written[: found.start()], "utf-8", "ignore")) if found else 0
        begin = max(0, at - _LINE // 2) if len(flat) > _LINE else 0
        return flat[begin : begin + _LINE]

    def _in_query(self, text: str) -> bool:
        if not _QUERY.search(text):
            return False
        assert self.check.column is not None
        table, _, column = self.check.column.rpartition(".")
        used = self.used(text)
        if used is None:  # not readable: its names decide
            named = re.compile(_BEFORE + _said(table.rpartition(".")[2]) + _AFTER)
            written = text.encode("utf-8", "replace")
            return self.text.search(written) is not None and named.search(written) is not None
        return (table.rpartition(".")[2].casefold(), column.casefold()) in used


@dataclass(frozen=True, slots=True)
class Held:
    """One thing that some place holds: its id there, its texts, and the episode that it stands for, if any.

    `orphan`: it stands for an episode of which nothing is known any more, so that nobody can tell what it is.
    """

    id: str
    texts: tuple[str, ...]
    episode: str = ""
    orphan: bool = False


def found_in(
    place: str, held: Iterable[Held], needle: Needle, *, known: frozenset[str] = frozenset(), orphans: bool = False
) -> tuple[int, list[Evidence]]:
    """Look through one place: how much was looked at, and what of it is forbidden.

    `known` are the ids of episodes whose content holds what is forbidden: what stands for one of them is it, whatever
    of the episode is kept there. With `orphans` also what nobody can tell is evidence.
    """
    looked, evidence = 0, []
    for one in held:
        looked += 1
        shown = next((text for text in one.texts if needle.in_text(text)), None)
        if shown is not None:
            evidence.append(Evidence(place, one.id, needle.line_of(shown)))
        elif one.episode and one.episode in known:
            evidence.append(Evidence(place, one.id, f"stands for episode {one.episode}, which holds it"))
        elif orphans and one.orphan:
            evidence.append(Evidence(place, one.id, "stands for an episode that is erased or was never remembered"))
    return looked, evidence


def leaves(content: object) -> Iterator[str]:
    """Every text in a JSON value; its keys are ours, and its numbers count and weigh.

    >>> list(leaves({"a": ["b", 1, {"c": "d"}]}))
    ['b', 'd']
    """
    if isinstance(content, str):
        yield content
    elif isinstance(content, Mapping):
        for value in content.values():
            yield from leaves(value)
    elif isinstance(content, list | tuple):
        for value in content:
            yield from leaves(value)


def said_plainly(sql: str) -> str:
    """A query with the texts that it builds of pieces, of hexadecimal digits or of numbers of letters said as such.

    >>> said_plainly("WHERE a = 'Pi' || 'et' OR a = X'50696574' OR a = CHAR(80, 105)||'et'")
    "WHERE a = 'Piet' OR a = 'Piet' OR a = 'Piet'"
    """

    def decoded(found: re.Match[str]) -> str:
        return "'" + bytes.fromhex(found[1]).decode("utf-8", "replace").replace("'", "''") + "'"

    def lettered(found: re.Match[str]) -> str:
        codes = (int(code) for code in found[1].split(","))
        return "'" + "".join(chr(code) for code in codes if code <= sys.maxunicode).replace("'", "''") + "'"

    return _JOINED.sub("", _CHARS.sub(lettered, _HEX.sub(decoded, sql)))


def first(count: int, questions: Iterable[str]) -> tuple[str, ...]:
    """The first few different questions."""
    return tuple(islice(dict.fromkeys(questions), count))


def _forms(text: str) -> Iterator[str]:
    composed = unicodedata.normalize("NFKC", text)
    visible = _visible(composed)
    bare = visible if visible.isascii() else "".join(sign for sign in visible if unicodedata.category(sign) != "Mn")
    yield from dict.fromkeys((text, composed, composed.casefold(), visible, visible.casefold(), bare))


def _visible(text: str) -> str:
    """A text without the signs that are not seen: soft hyphens, joiners, spaces of no width.

    >>> _visible("Pi\u200bet\u00ad Hein")
    'Piet Hein'
    """
    return text if text.isascii() else "".join(sign for sign in text if unicodedata.category(sign) != "Cf")


def _said(words: str) -> bytes:
    """A pattern for words: in any case, with any space between them, plainly, in SQL and in JSON."""
    return _SPACE.join(b"".join(map(_letter, word)) for word in words.split())


def _letter(character: str) -> bytes:
    ways = {character, character.lower(), character.upper(), character.casefold()}
    ways |= {other for way in tuple(ways) for other in _LOOKS.get(way, "")}
    ways |= {unicodedata.normalize("NFD", way) for way in ways}
    if character in _APOSTROPHES:
        ways |= {*_APOSTROPHES, "''"}
    if character in _QUOTES:
        ways |= {*_QUOTES, '""', '\\"'}
    if character == "\\":
        ways |= {"\\\\"}
    told: set[bytes] = {re.escape(way.encode("utf-8", "replace")) for way in ways}
    told |= {b"(?i:" + re.escape(_escaped(way)) + b")" for way in ways if not way.isascii()}
    ordered = sorted(told, key=_longest)
    return b"(?:" + b"|".join(ordered) + b")"


def _longest(way: bytes) -> tuple[int, bytes]:
    return -len(way), way


def _escaped(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass").hex(" ", 2).encode().replace(b" ", rb"\u").join((rb"\u", b""))


def _fragment(sql: str) -> bytes:
    """A pattern for a piece of SQL, whatever stands in quotes and however it is spaced; words are whole words."""
    told = []
    for token in _TOKEN.findall(sql):
        if token.startswith("'"):
            told.append(b"'" + _said(token[1:-1]) + b"'" if token.strip("' ") else re.escape(token.encode()))
        else:
            pattern = _said(token)
            told.append(_BEFORE + pattern + _AFTER if token[0].isalnum() or token[0] == "_" else pattern)
    return _BETWEEN.join(told)
