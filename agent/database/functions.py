"""The functions that a query may call, by dialect, and what to write instead of foreign ones.

A function that is not listed is refused: nothing here reads files, sleeps, changes settings, or makes a value
whose size is a free number. Of SQLite only what version 3.40 has is listed.
"""

from __future__ import annotations

_SHARED = """
    abs coalesce nullif round upper lower length replace trim ltrim rtrim substr substring sign ceil ceiling floor
    exp ln log log10 mod pi pow power sqrt trunc radians degrees sin cos tan asin acos atan atan2
    count sum avg min max
    row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value
    random like
"""

_SQLITE = """
    char format glob hex if ifnull iif instr likely unlikely printf quote soundex total typeof unicode log2
    date time datetime julianday unixepoch strftime current_date current_time current_timestamp
    group_concat sinh cosh tanh
    json json_valid json_type json_extract json_array json_object json_array_length json_group_array
    json_group_object json_quote -> ->>
"""

_POSTGRES = """
    age date_part date_trunc date_bin extract to_char to_date to_timestamp to_number make_date make_interval
    make_timestamp now statement_timestamp transaction_timestamp clock_timestamp justify_days justify_hours
    justify_interval isfinite
    string_agg concat concat_ws octet_length
    array_agg array_length array_position array_to_string string_to_array cardinality any all some every
    bool_and bool_or bit_and bit_or corr covar_pop covar_samp regr_slope regr_intercept regr_r2 stddev stddev_pop
    stddev_samp variance var_pop var_samp percentile_cont percentile_disc mode
    greatest least cbrt div width_bucket gcd lcm char_length character_length btrim left right initcap reverse
    split_part strpos position starts_with ascii chr translate md5 lpad rpad overlay
    regexp_replace regexp_match regexp_count regexp_substr regexp_like
    grouping row num_nonnulls num_nulls
    json_agg jsonb_agg json_object_agg jsonb_object_agg json_build_object jsonb_build_object json_build_array
    jsonb_build_array json_array_length jsonb_array_length json_extract_path_text jsonb_extract_path_text
    json_extract_path jsonb_extract_path jsonb_typeof json_typeof to_json to_jsonb date timestamp
"""

ALLOWED: dict[str, frozenset[str]] = {
    "sqlite": frozenset((_SHARED + _SQLITE).split()),
    "postgres": frozenset((_SHARED + _POSTGRES).split()),
}
"""Lower-case names by sqlglot dialect."""

_SQLITE_DATES = "in SQLite write strftime('%Y', column) for the year, strftime('%m', column) for the month"

INSTEAD: dict[str, dict[str, str]] = {
    "sqlite": {
        "year": "in SQLite write CAST(strftime('%Y', column) AS INTEGER)",
        "month": "in SQLite write CAST(strftime('%m', column) AS INTEGER)",
        "day": "in SQLite write CAST(strftime('%d', column) AS INTEGER)",
        "quarter": "in SQLite write (CAST(strftime('%m', column) AS INTEGER) + 2) / 3",
        "extract": _SQLITE_DATES,
        "date_part": _SQLITE_DATES,
        "datepart": _SQLITE_DATES,
        "date_trunc": "in SQLite write date(column, 'start of month') or strftime('%Y-%m', column)",
        "to_char": _SQLITE_DATES,
        "date_format": _SQLITE_DATES,
        "datediff": "in SQLite write julianday(later) - julianday(earlier)",
        "date_diff": "in SQLite write julianday(later) - julianday(earlier)",
        "dateadd": "in SQLite write date(column, '+1 day')",
        "date_add": "in SQLite write date(column, '+1 day')",
        "date_sub": "in SQLite write date(column, '-1 day')",
        "now": "in SQLite write datetime('now')",
        "getdate": "in SQLite write datetime('now')",
        "curdate": "in SQLite write date('now')",
        "left": "in SQLite write substr(column, 1, n)",
        "right": "in SQLite write substr(column, -n)",
        "greatest": "in SQLite write max(a, b)",
        "least": "in SQLite write min(a, b)",
        "isnull": "write ifnull(column, value)",
        "nvl": "write ifnull(column, value)",
        "concat": "in SQLite write a || b, with ifnull(a, '') for what may be NULL",
        "concat_ws": "in SQLite write a || ', ' || b, with ifnull(a, '') for what may be NULL",
        "octet_length": "in SQLite write length(CAST(column AS BLOB))",
        "timediff": "in SQLite write julianday(later) - julianday(earlier)",
        "len": "write length(column)",
        "charindex": "write instr(column, 'text')",
        "strpos": "write instr(column, 'text')",
        "position": "write instr(column, 'text')",
        "median": "SQLite has none; order the rows and take the middle one with LIMIT and OFFSET",
        "stddev": "SQLite has none; write sqrt(avg(x * x) - avg(x) * avg(x))",
    },
    "postgres": {
        "strftime": "in PostgreSQL write to_char(column, 'YYYY-MM') or EXTRACT(YEAR FROM column)",
        "julianday": "in PostgreSQL subtract dates directly",
        "datetime": "in PostgreSQL cast: column::timestamp",
        "year": "in PostgreSQL write EXTRACT(YEAR FROM column)",
        "month": "in PostgreSQL write EXTRACT(MONTH FROM column)",
        "day": "in PostgreSQL write EXTRACT(DAY FROM column)",
        "datediff": "in PostgreSQL subtract dates directly",
        "ifnull": "write COALESCE(column, value)",
        "isnull": "write COALESCE(column, value)",
        "nvl": "write COALESCE(column, value)",
        "iif": "write CASE WHEN … THEN … ELSE … END",
        "if": "write CASE WHEN … THEN … ELSE … END",
        "group_concat": "write string_agg(column, ',')",
        "instr": "write strpos(column, 'text')",
        "total": "write COALESCE(SUM(column), 0)",
        "generate_series": "list the values with a recursive CTE",
        "unnest": "list the values in an IN list",
        "repeat": "leave it out",
    },
}
"""What to write instead of a function of another database."""
