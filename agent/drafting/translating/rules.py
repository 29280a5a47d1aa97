"""Which call or phrase has which rule, in each dialect."""

from __future__ import annotations

import re
from functools import cache

from agent.drafting.translating.formats import DAY_NAME, MONTH_NAME, format_call, formatted, strftime_of_sqlite
from agent.drafting.translating.lists import ordered_lists, string_agg
from agent.drafting.translating.parts import (
    date_difference,
    date_part,
    extract,
    full_difference,
    number_of,
    part_call,
    truncated_date,
)
from agent.drafting.translating.phrases import converted, distinct_on, distinct_pairs, divided, fetched, mysql_cast
from agent.drafting.translating.postgres import (
    iif,
    julianday,
    plus_of_postgres,
    sqlite_date,
    strftime_of_postgres,
    summed_truth,
)
from agent.drafting.translating.steps import added, moved_by
from agent.drafting.translating.templates import Rule, by_count, filled_in
from agent.drafting.translating.texts import (
    concat,
    concat_ws,
    left_part,
    like_for_ilike,
    padded,
    right_part,
)


def _null_or_value(called: str) -> Rule:
    return by_count({1: "_0 IS NULL", 2: f"{called}(_0, _1)"})


_NAMED_PARTS: dict[str, Rule] = {
    "year": part_call("year"),
    "quarter": part_call("quarter"),
    "month": part_call("month"),
    "day": part_call("day"),
    "dayofmonth": part_call("day"),
    "hour": part_call("hour"),
    "minute": part_call("minute"),
    "dayofweek": part_call("weekday"),
    "dayofyear": part_call("doy"),
    "weekofyear": part_call("isoweek"),
    "datepart": date_part,
    "datediff": date_difference,
    "date_diff": date_difference,
    "timestampdiff": full_difference,
    "date_add": added(1),
    "dateadd": added(1),
    "adddate": added(1),
    "timestampadd": added(1),
    "date_sub": added(-1),
    "subdate": added(-1),
    "nvl2": by_count({3: "CASE WHEN NOT _0 IS NULL THEN _1 ELSE _2 END"}),
    "len": by_count({1: "LENGTH(_0)"}),
    "ucase": by_count({1: "UPPER(_0)"}),
    "lcase": by_count({1: "LOWER(_0)"}),
    "count": distinct_pairs,
    "CAST": mysql_cast,
    "CONVERT": converted,
}
RULES: dict[str, dict[str, Rule]] = {
    "sqlite": {
        **_NAMED_PARTS,
        "second": part_call("second"),
        "char_length": by_count({1: "LENGTH(_0)"}),
        "character_length": by_count({1: "LENGTH(_0)"}),
        "weekday": by_count({1: f"({number_of('%w')} + 6) % 7"}),
        "week": by_count({1: f"({number_of('%j')} + 6 - {number_of('%w')}) / 7"}),
        "dayname": by_count({1: DAY_NAME}),
        "monthname": by_count({1: MONTH_NAME}),
        "EXTRACT": extract,
        "date_part": date_part,
        "date_trunc": truncated_date,
        "datetrunc": truncated_date,
        "last_day": by_count({1: "DATE(_0, 'start of month', '+1 month', '-1 day')"}),
        "eomonth": by_count({1: "DATE(_0, 'start of month', '+1 month', '-1 day')"}),
        "unix_timestamp": by_count({0: "CAST(STRFTIME('%s', 'now') AS INTEGER)", 1: number_of("%s")}),
        "now": by_count({0: "DATETIME('now')"}),
        "getdate": by_count({0: "DATETIME('now')"}),
        "getutcdate": by_count({0: "DATETIME('now')"}),
        "sysdate": by_count({0: "DATETIME('now')"}),
        "current_timestamp": by_count({0: "CURRENT_TIMESTAMP"}),
        "curdate": by_count({0: "DATE('now')"}),
        "current_date": by_count({0: "CURRENT_DATE"}),
        "today": by_count({0: "DATE('now')"}),
        "curtime": by_count({0: "TIME('now')"}),
        "make_date": by_count({3: "PRINTF('%04d-%02d-%02d', _0, _1, _2)"}),
        "datefromparts": by_count({3: "PRINTF('%04d-%02d-%02d', _0, _1, _2)"}),
        "to_date": by_count({1: "DATE(_0)"}),
        "date_format": formatted("mysql"),
        "to_char": formatted("postgres"),
        "format": format_call,
        "strftime": strftime_of_sqlite,
        "ADD": moved_by(1),
        "SUB": moved_by(-1),
        "left": left_part,
        "right": right_part,
        "concat": concat,
        "concat_ws": concat_ws,
        "lpad": padded("left"),
        "rpad": padded("right"),
        "octet_length": by_count({1: "LENGTH(CAST(_0 AS BLOB))"}),
        "charindex": by_count({2: "INSTR(_1, _0)"}),
        "locate": by_count({2: "INSTR(_1, _0)"}),
        "strpos": by_count({2: "INSTR(_0, _1)"}),
        "STRPOSITION": lambda node, dialect: filled_in("INSTR(_0, _1)", dialect, node.this, node.args["substr"]),
        "isnull": _null_or_value("IFNULL"),
        "nvl": by_count({2: "IFNULL(_0, _1)"}),
        "greatest": by_count({count: f"MAX({', '.join(f'_{n}' for n in range(count))})" for count in range(2, 7)}),
        "least": by_count({count: f"MIN({', '.join(f'_{n}' for n in range(count))})" for count in range(2, 7)}),
        "iif": by_count({2: "CASE WHEN _0 THEN _1 END"}),
        "string_agg": string_agg,
        "group_concat": string_agg,
        "GROUPCONCAT": string_agg,
        "ILIKE": like_for_ilike,
        "FETCH": fetched,
        "INTDIV": lambda node, dialect: filled_in("CAST(_0 / _1 AS INTEGER)", dialect, node.this, node.expression),
        "DIV": divided,
        "SELECT": lambda node, dialect: distinct_on(node, dialect) or ordered_lists(node, dialect),
    },
    "postgres": {
        **_NAMED_PARTS,
        "date_format": formatted("mysql"),
        "strftime": strftime_of_postgres,
        "julianday": julianday,
        "datetime": sqlite_date("TIMESTAMP"),
        "date": sqlite_date("DATE"),
        "date_trunc": truncated_date,
        "datetrunc": truncated_date,
        "last_day": by_count(
            {1: "CAST(DATE_TRUNC('month', CAST(_0 AS TIMESTAMP)) + INTERVAL '1 month' - INTERVAL '1 day' AS DATE)"}
        ),
        "getdate": by_count({0: "CURRENT_TIMESTAMP"}),
        "sysdate": by_count({0: "CURRENT_TIMESTAMP"}),
        "curdate": by_count({0: "CURRENT_DATE"}),
        "current_date": by_count({0: "CURRENT_DATE"}),
        "current_timestamp": by_count({0: "CURRENT_TIMESTAMP"}),
        "datefromparts": by_count({3: "MAKE_DATE(_0, _1, _2)"}),
        "ifnull": by_count({2: "COALESCE(_0, _1)"}),
        "isnull": _null_or_value("COALESCE"),
        "nvl": by_count({2: "COALESCE(_0, _1)"}),
        "iif": iif,
        "total": by_count({1: "CAST(COALESCE(SUM(_0), 0) AS DOUBLE PRECISION)"}),
        "instr": by_count({2: "STRPOS(_0, _1)"}),
        "charindex": by_count({2: "STRPOS(_1, _0)"}),
        "locate": by_count({2: "STRPOS(_1, _0)"}),
        "group_concat": string_agg,
        "ADD": plus_of_postgres,
        "SUB": plus_of_postgres,
        "sum": summed_truth,
        "avg": summed_truth,
    },
}
_SIGNS = (
    r"`|\[|==|\bTOP\b|\bFETCH\b|\bILIKE\b|\bINTERVAL\b|\bSEPARATOR\b|\bDIV\b|\bDISTINCT\s+ON\b|\bCONVERT\b|\bDECIMAL\b"
    r"|\bNUMERIC\b|\bNUMBER\b|SIGNED\b|\bDATETIME2\b|\bEXTRACT\b|\bPOSITION\b|\bDISTINCT\b[^()]*,"
)


@cache
def hints(dialect: str) -> re.Pattern[str]:
    """What stands in every query that may need a change; most have none of it and need not be read."""
    calls = sorted(name for name in RULES[dialect] if name.islower() and name != "count")
    return re.compile(rf"{_SIGNS}|\b(?:{'|'.join(calls)})\s*\(", re.IGNORECASE)
