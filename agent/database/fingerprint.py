"""A short proof of what a query returned."""

from __future__ import annotations

import hashlib
import json

from agent.database.comparing import cell_key
from agent.database.result import Result


def fingerprint(result: Result, *, ordered: bool) -> str:
    """Give the SHA-256, in hex, of a result in canonical form.

    The order of rows counts only with `ordered`; names of columns never do, their order does. Numbers count to nine
    digits, whole numbers in a column of whole numbers exactly; a number never equals text. The cap that cut rows off
    is part of it.

    >>> one = Result(("n",), ((1,), (2.5,)))
    >>> fingerprint(one, ordered=False) == fingerprint(Result(("m",), ((2.5000000000001,), (1.0,))), ordered=False)
    True
    """
    width = len(result.columns)
    exact = [all(row[i] is None or isinstance(row[i], int) for row in result.rows) for i in range(width)]
    rows = [
        json.dumps([_written(cell_key(value, exact=exact[i])) for i, value in enumerate(row)], ensure_ascii=True)
        for row in result.rows
    ]
    if not ordered:
        rows.sort()
    digest = hashlib.sha256(f"{width}|{result.truncated or ''}|{'ordered' if ordered else 'bag'}\n".encode())
    for row in rows:
        digest.update(row.encode() + b"\n")
    return digest.hexdigest()


def _written(key: tuple[int, str | int | bytes]) -> list[str | int]:
    kind, value = key
    return [kind, value.hex() if isinstance(value, bytes) else str(value)]
