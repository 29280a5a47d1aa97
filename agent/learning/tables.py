"""Figures and tables of reports, in Markdown (pure)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from agent.learning.statistics import Difference, Share

if TYPE_CHECKING:
    from agent.learning.evaluating import Tokens

_WORDS = {
    "no_answer": "no answer",
    "not_run": "did not run",
    "columns": "other columns",
    "rows": "other rows",
    "values": "other values",
    "order": "other order",
    "empty": "no rows",
    "cut": "too many rows",
    "lucky": "right by luck",
    "uninformative": "proves nothing",
}


def in_words(code: str) -> str:
    """A kind of error, a rule of the guard, or one with the other, as a person reads it.

    >>> in_words("not_run (unknown_column)"), in_words("values"), in_words("abstained")
    ('did not run (unknown column)', 'other values', 'abstained')
    """
    kind, space, rule = code.partition(" ")
    return (_WORDS.get(kind, kind) + space + rule).replace("_", " ")


def percent(found: Share) -> str:
    """A share with its interval.

    >>> from agent.learning.statistics import share
    >>> percent(share(52, 80)), percent(share(0, 0))
    ('65.0 % (54 to 75)', 'none')
    """
    if found.value is None:
        return "none"
    return f"{100 * found.value:.1f} % ({100 * found.interval.low:.0f} to {100 * found.interval.high:.0f})"


def points(found: Difference) -> str:
    """A difference in points of a hundred, with its interval.

    >>> from agent.learning.statistics import difference
    >>> points(difference(30, 2, 80)), points(difference(0, 0, 0))
    ('+35.0 (+23.4 to +46.6)', 'none')
    """
    if found.value is None:
        return "none"
    return f"{_signed(found.value)} ({_signed(found.interval.low)} to {_signed(found.interval.high)})"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the first column is text, the others are figures.

    >>> print(table(["arm", "right"], [["a|b", "3"]]))
    | arm | right |
    | :-- | --: |
    | a\\|b | 3 |
    """
    rule = [":--", *["--:"] * (len(header) - 1)]
    shown = [[cell(text) for text in header], rule, *([cell(text) for text in row] for row in rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in shown)


def cell(text: str) -> str:
    """A text as it may stand in a cell: on one line, with nothing that Markdown or HTML would read.

    >>> cell("a|b\\nc <b>")
    'a\\\\|b c &lt;b>'
    """
    return " ".join(text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|").split())


def differences(
    compared: Sequence[tuple[str, str, Difference]],
    *,
    header: Sequence[str] = (),
    more: Sequence[Sequence[str]] = (),
) -> str:
    """A table of what was compared: the first, what it is held against, and their difference on the same questions.

    `header` and `more` are further columns, with one row for each comparison.
    """
    rows = [
        [
            f"`{one}` against `{other}`",
            points(found),
            str(found.total),
            str(found.gained),
            str(found.lost),
            p_value(found.p),
            *beside,
        ]
        for (one, other, found), beside in zip(compared, more or [()] * len(compared), strict=True)
    ]
    usual = ["", "points (95 % interval)", "questions", "only the first right", "only the second", "p"]
    return table([*usual, *header], rows)


def counts(title: str, found: Sequence[tuple[str, Mapping[str, int]]]) -> str:
    """A table of how often each code came in each column, the most frequent first; `""` where none did."""
    totals: dict[str, int] = {}
    for _, counted in found:
        for name, count in counted.items():
            totals[name] = totals.get(name, 0) + count
    if not totals:
        return ""
    names = sorted(totals, key=lambda name: (-totals[name], name))
    rows = [[in_words(name), *(str(counted.get(name, 0)) for _, counted in found)] for name in names]
    return table([title, *(f"`{column}`" for column, _ in found)], rows)


def right_of(found: Share | None) -> str:
    """How many were right of how many."""
    return f"{found.right}/{found.total}" if found else ""


def _signed(value: float) -> str:
    tenths = round(1000 * value)
    return f"{tenths / 10:+.1f}" if tenths else "0"


def p_value(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else "< 0.001"


def tokens_of(tokens: Tokens) -> str:
    return " + ".join(f"{round(count):,}" for count in (tokens.input, tokens.cached, tokens.output))


def seconds_of(value: float | None) -> str:
    return "none" if value is None else f"{value:.1f}"
