"""Dates as text: the formats of MySQL, PostgreSQL and SQL Server in the words of each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp

from agent.drafting.translating.parts import ISO_WEEK, QUARTER, number_of
from agent.drafting.translating.templates import Rule, filled_in, is_text

_DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_MONTH_WORDS = """
    January February March April May June July August September October November December"""
_MONTHS = tuple(_MONTH_WORDS.split())


def _case(subject: str, names: Sequence[str], first: int) -> str:
    whens = " ".join(f"WHEN {number} THEN '{name}'" for number, name in enumerate(names, first))
    return f"CASE {subject} {whens} END"


DAY_NAME = _case(number_of("%w"), _DAYS, 0)
MONTH_NAME = _case(number_of("%m"), _MONTHS, 1)
_TO_STRFTIME = {
    "mysql": {
        "%Y": "%Y", "%y": "yy", "%m": "%m", "%c": "m", "%d": "%d", "%e": "d", "%H": "%H", "%k": "H", "%i": "%M",
        "%s": "%S", "%S": "%S", "%j": "%j", "%w": "%w", "%T": "%H:%M:%S", "%M": "Month", "%b": "Mon", "%W": "Day",
        "%a": "Dy", "%%": "%%",
    },
    "postgres": {
        "YYYY": "%Y", "YY": "yy", "FMMM": "m", "FMMonth": "Month", "FMDay": "Day", "MM": "%m", "FMDD": "d",
        "DDD": "%j", "DD": "%d", "HH24": "%H", "FMHH24": "H", "MI": "%M", "SS": "%S", "Mon": "Mon", "Dy": "Dy",
        "Q": "q", "IW": "iw",
    },
    "tsql": {
        "yyyy": "%Y", "yy": "yy", "MMMM": "Month", "MMM": "Mon", "MM": "%m", "dddd": "Day", "ddd": "Dy", "dd": "%d",
        "HH": "%H", "mm": "%M", "ss": "%S",
    },
}  # fmt: skip
_PIECES: dict[str, str] = {
    "yy": "SUBSTR(STRFTIME('%Y', _0), 3)",
    "m": number_of("%m"),
    "d": number_of("%d"),
    "H": number_of("%H"),
    "q": QUARTER,
    "iw": f"PRINTF('%02d', {ISO_WEEK})",
    "Month": MONTH_NAME,
    "Mon": f"SUBSTR({MONTH_NAME}, 1, 3)",
    "Day": DAY_NAME,
    "Dy": f"SUBSTR({DAY_NAME}, 1, 3)",
}


def formatted(kind: str) -> Rule:
    """A date as text in a format of another database."""

    def rule(node: exp.Expr, dialect: str) -> exp.Expr | None:
        if len(node.expressions) != 2 or not is_text(node.expressions[1]):
            return None
        value, form = node.expressions[0], node.expressions[1].name
        if is_text(value) and "%" in value.name:
            return None
        if dialect == "postgres":
            made = to_char_format(form) if kind == "mysql" else None
            text = "TO_CHAR(CAST(_0 AS TIMESTAMP), _1)"
            return filled_in(text, dialect, value, exp.Literal.string(made)) if made else None
        pieces = _pieces(form, kind)
        if pieces is None:
            return None
        texts: list[str] = []
        for piece in pieces:
            if piece in _PIECES:
                texts.append(f"({_PIECES[piece]})" if piece == "q" else _PIECES[piece])
            elif "%" not in piece:
                texts.append(f"'{piece}'")
            elif texts and texts[-1].startswith("STRFTIME('"):
                texts[-1] = texts[-1].replace("', _0)", f"{piece}', _0)")
            else:
                texts.append(f"STRFTIME('{piece}', _0)")
        if len(texts) == 1 and not texts[0].startswith(("STRFTIME", "SUBSTR", "CASE", "PRINTF")):
            texts[0] = f"CAST({texts[0]} AS TEXT)"
        return filled_in(" || ".join(texts), dialect, value)

    return rule


def _pieces(form: str, kind: str) -> list[str] | None:
    """A format in the words of STRFTIME, literal text joined to its neighbours; None where it has more."""
    known = _TO_STRFTIME[kind]
    pieces: list[str] = []
    dated = False
    for part in _tokens_of(form, known, kind):
        made = known.get(part)
        if made is None:
            if any(character.isalnum() or character in "%'\\\"" for character in part) or len(part) != 1:
                return None
            made = part
        else:
            dated = True
        if pieces and made not in _PIECES and pieces[-1] not in _PIECES:
            pieces[-1] += made
        else:
            pieces.append(made)
    return pieces if dated else None


def _tokens_of(form: str, known: Mapping[str, str], kind: str) -> Iterator[str]:
    words = sorted(known, key=len, reverse=True)
    place = 0
    while place < len(form):
        if kind == "mysql" and form[place] == "%":
            yield form[place : place + 2]
            place += 2
            continue
        found = next((word for word in words if form.startswith(word, place)), None)
        if found is None and kind == "postgres":
            found = next((word for word in words if word.isupper() and form[place:].upper().startswith(word)), None)
            if found:
                yield found
                place += len(found)
                continue
        yield found or form[place]
        place += len(found or form[place])


_TO_CHAR = {
    "%Y": "YYYY", "%y": "YY", "%m": "MM", "%d": "DD", "%H": "HH24", "%i": "MI", "%M": "MI", "%S": "SS", "%s": "SS",
    "%j": "DDD", "%b": "Mon", "%a": "Dy", "%c": "FMMM", "%e": "FMDD", "%T": "HH24:MI:SS",
}  # fmt: skip


def to_char_format(form: str, *, sqlite: bool = False) -> str | None:
    """A format with `%` as TO_CHAR has it; `%M` is the minute in SQLite, the name of the month in MySQL."""
    made = ""
    for part in re.findall(r"%.|[^%]", form, re.DOTALL):
        if part.startswith("%"):
            if not sqlite and part == "%M":
                made += "FMMonth"
                continue
            if not sqlite and part == "%W":
                made += "FMDay"
                continue
            if part not in _TO_CHAR or (sqlite and part in ("%s", "%i", "%b", "%a", "%c", "%y")):
                return None
            made += _TO_CHAR[part]
        elif part.isalpha() or part == '"':
            made += f'"{part}"' if part != '"' else ""
        else:
            made += part
    return made


def format_call(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """FORMAT(date, 'yyyy-MM') of SQL Server; SQLite's own has the format first."""
    given = node.expressions
    if dialect == "sqlite" and len(given) == 2 and not is_text(given[0]):
        return formatted("tsql")(node, dialect)
    return None


def strftime_of_sqlite(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """STRFTIME(date, '%Y'): the arguments the other way round, as in DuckDB."""
    given = node.expressions
    if len(given) == 2 and not is_text(given[0]) and is_text(given[1]) and "%" in given[1].name:
        return filled_in("STRFTIME(_1, _0)", dialect, *given)
    return None
