"""Judges an answer against a gold pair, on the database and on mutated copies, so that luck earns nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from agent.database.comparing import cell_key, covers, same
from agent.database.guard import sorts
from agent.database.result import QueryFailed, QueryRejected, Result
from agent.learning.questions import Pair
from agent.learning.ties import tie_broken

ErrorKind = Literal[
    "", "no_answer", "not_run", "columns", "rows", "values", "order", "empty", "cut", "lucky", "uninformative"
]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an answer is right. `error` and `reason` are empty when it is.

    `reason` is one plain sentence that a model can learn from; it tells no value of the right answer. `lenient` says
    that the answer would count if columns that were not asked for were forgiven; a right one does.
    """

    right: bool
    error: ErrorKind = ""
    reason: str = ""
    lenient: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """Judges answers. `run` checks and runs SQL on the real database, each of `copies` on one mutated copy of it.

    What gold queries give is kept, so that an answer costs one run for each copy, and none when it is wrong already
    on the real database.
    """

    run: Callable[[str], Result]
    copies: Sequence[Callable[[str], Result]]
    dialect: str = "sqlite"
    _gold: dict[tuple[int, str], Result | None] = field(default_factory=dict, init=False, repr=False, compare=False)

    def judge(self, pair: Pair, sql: str, result: Result | None, *, problem: str = "") -> Verdict:
        """Judge an answer. `result` is what it gave on the real database; None where it did not run, for `problem`.

        It is right when one of the accepted queries of the pair gives the same on the database and on every copy
        where that query runs whole and its rows do not hang on how ties fall. A copy says nothing either where the
        answer takes too long, or is some of the right rows and ties that only the copy has decide which. Nothing that
        SQL does raises.
        """
        if not sql.strip():
            return Verdict(False, "no_answer", problem or "No SQL was written.")
        if result is None:
            return Verdict(False, "not_run", problem or "It did not run.")
        accepted = [query for query in (pair.sql, *pair.others, *pair.accepted) if self.runs(query)]
        if not accepted:
            return Verdict(False, "uninformative", "The query known to be right does not run whole on this database.")
        if result.truncated is not None:
            return Verdict(False, "cut", _cut(self._gold_of(0, accepted[0]), result))
        answers = _Answers(sql, (self.run, *self.copies), result)
        fits = [query for query in accepted if self._agrees(0, query, result, pair, same)]
        if not fits:
            error, reason = _difference(self._gold_of(0, accepted[0]), result, ordered=pair.ordered)
            return Verdict(False, error, reason, lenient=self._everywhere(accepted, answers, pair, covers))
        if pair.ordered and len(result.rows) > 1 and self._sorts(pair.sql) and not self._sorts(sql):
            return Verdict(False, "order", "The rows came in the right order by luck: the query asks for no order.")
        right = [query for query in fits if self._first_difference(query, answers, pair, same) is None]
        if not right:
            where = self._first_difference(fits[0], answers, pair, same)
            assert where is not None, "an accepted query that differs nowhere is right"
            lenient = self._everywhere(accepted, answers, pair, covers)
            return Verdict(False, "lucky", self._lucky(where, fits[0], answers, pair), lenient=lenient)
        if all(self._stopped_everywhere(query, answers) for query in right):
            return Verdict(False, "uninformative", "It ran on none of the other data to its end: it may be luck.")
        if all(self._says_nothing(query) for query in right):
            return Verdict(
                False, "uninformative", "It gives nothing, on this data and on all others: that proves nothing."
            )
        return Verdict(True, lenient=True)

    def confirm(self, pair: Pair) -> Verdict:
        """Whether the queries of a pair that must agree run, and do so on the database and on every copy.

        What is accepted besides may give something else, and is passed over where it does not run.
        """
        for query in (pair.sql, *pair.others):
            result = self._gold_of(0, query)
            if result is None:
                return Verdict(False, "not_run", f"This does not run: {query}")
            if result.truncated is not None:
                return Verdict(
                    False, "cut", f"Its result is cut off at {len(result.rows):,} rows, so none can be compared."
                )
        gold = self._gold_of(0, pair.sql)
        assert gold is not None, "it ran just now"
        for query in pair.others:
            other = self._gold_of(0, query)
            assert other is not None, "it ran just now"
            if not same(gold, other, ordered=pair.ordered):
                error, reason = _difference(gold, other, ordered=pair.ordered)
                return Verdict(False, error, f"{reason} That is: {query}")
            answers = _Answers(query, (self.run, *self.copies), other)
            where = self._first_difference(pair.sql, answers, pair, same)
            if where is not None:
                return Verdict(False, "lucky", f"{self._lucky(where, pair.sql, answers, pair)} That is: {query}")
            if self._stopped_everywhere(pair.sql, answers):
                reason = f"It ran on none of the other data to its end: {query}"
                return Verdict(False, "uninformative", reason)
        if self._says_nothing(pair.sql):
            return Verdict(False, "uninformative", "Its result is empty, on this data and on all others.")
        return Verdict(True, lenient=True)

    def runs(self, query: str) -> bool:
        """Whether a query runs whole on the real database, so that something can be compared with it."""
        result = self._gold_of(0, query)
        return result is not None and result.truncated is None

    # What gold queries give

    def _gold_of(self, place: int, query: str) -> Result | None:
        key = (place, query)
        if key not in self._gold:
            self._gold[key] = self._determined(place, query) if place else _given(self.run, query)
        return self._gold[key]

    def _determined(self, place: int, query: str) -> Result | None:
        """What a query gives on a copy; None when it does not run whole there, or ties decide what it gives."""
        run = self.copies[place - 1]
        result = _given(run, query)
        if result is None or result.truncated is not None:
            return None
        return None if self._hangs_on_ties(place, query, result) else result

    def _hangs_on_ties(self, place: int, sql: str, result: Result) -> bool:
        others = (_given((self.run, *self.copies)[place], broken) for broken in tie_broken(sql, self.dialect))
        return any(other is not None and not same(result, other, ordered=False) for other in others)

    def _says_nothing(self, query: str) -> bool:
        results = (self._gold_of(place, query) for place in range(len(self.copies) + 1))
        return all(result is None or is_empty(result) for result in results)

    # Comparing

    def _agrees(self, place: int, query: str, answer: Result | None, pair: Pair, rule: _Rule) -> bool:
        gold = self._gold_of(place, query)
        if gold is None or answer is _STOPPED:
            return True
        return answer is not None and answer.truncated is None and rule(gold, answer, ordered=pair.ordered)

    def _stopped_everywhere(self, query: str, answers: _Answers) -> bool:
        """Whether no copy tells an answer from luck, as it reached its limits wherever it could be compared."""
        places = [place for place in range(1, len(self.copies) + 1) if self._gold_of(place, query) is not None]
        return bool(places) and all(answers.on(place) is _STOPPED for place in places)

    def _sorts(self, sql: str) -> bool:
        return sorts(sql, self.dialect)

    def _first_difference(self, query: str, answers: _Answers, pair: Pair, rule: _Rule) -> int | None:
        for place in range(1, len(self.copies) + 1):
            if (
                self._gold_of(place, query) is not None
                and not self._agrees(place, query, answers.on(place), pair, rule)
                and not self._cuts_a_tie(place, query, answers)
            ):
                return place
        return None

    def _cuts_a_tie(self, place: int, query: str, answers: _Answers) -> bool:
        """Whether an answer leaves out right rows of a copy because others tie with them, as none do in reality."""
        gold, answer = self._gold_of(place, query), answers.on(place)
        return (
            gold is not None
            and answer is not None
            and 0 < len(answer.rows) < len(gold.rows)
            and not _bag(answer) - _bag(gold)
            and self._hangs_on_ties(place, answers.sql, answer)
            and not self._hangs_on_ties(0, answers.sql, answers.real)
        )

    def _everywhere(self, accepted: Sequence[str], answers: _Answers, pair: Pair, rule: _Rule) -> bool:
        return any(
            self._agrees(0, query, answers.on(0), pair, rule)
            and self._first_difference(query, answers, pair, rule) is None
            and not self._says_nothing(query)
            for query in accepted
        )

    def _lucky(self, place: int, query: str, answers: _Answers, pair: Pair) -> str:
        gold, answer = self._gold_of(place, query), answers.on(place)
        start = "Right on this data only: after rows changed, it"
        if answer is None:
            return f"{start} does not run."
        assert gold is not None, "a copy where the gold does not run is passed over"
        if answer.truncated is not None:
            return f"{start} gives more rows than can be read."
        _, reason = _difference(gold, answer, ordered=pair.ordered)
        return f"{start} {reason.removeprefix('It ran, but ')}"


_Rule = Callable[..., bool]
_LIMITS = frozenset({"deadline", "worker", "memory", "locked", "connection", "too_big", "too_long"})
"""Kinds of failure that say how much a query needs, or that nobody could run it just now: not that it is wrong."""
_STOPPED = Result((), (), "stopped")
"""What an answer gives that came to such a limit."""


@dataclass(slots=True)
class _Answers:
    """What one query gives on each database, run when first asked for."""

    sql: str
    runs: Sequence[Callable[[str], Result]]
    real: Result
    _found: dict[int, Result | None] = field(default_factory=dict)

    def on(self, place: int) -> Result | None:
        if place == 0:
            return self.real
        if place not in self._found:
            try:
                self._found[place] = self.runs[place](self.sql)
            except QueryFailed as problem:
                self._found[place] = _STOPPED if problem.kind in _LIMITS else None
            except QueryRejected:
                self._found[place] = None
        return self._found[place]


def _given(run: Callable[[str], Result], sql: str) -> Result | None:
    try:
        return run(sql)
    except (QueryRejected, QueryFailed):
        return None


def is_empty(result: Result) -> bool:
    """Whether a result says nothing: no row, or nothing but NULL in all of them.

    >>> is_empty(Result(("n",), ((None,),))), is_empty(Result(("n",), ((0,),)))
    (True, False)
    """
    return all(cell is None for row in result.rows for cell in row)


def _difference(gold: Result | None, answer: Result, *, ordered: bool) -> tuple[ErrorKind, str]:
    """Name the first way in which an answer is not the gold result."""
    assert gold is not None, "only what runs is compared"
    if is_empty(answer) and not is_empty(gold):
        return (
            "empty",
            f"It ran, but gave nothing where {_counted(len(gold.rows), 'row')} {_are(len(gold.rows))} right.",
        )
    if len(answer.columns) != len(gold.columns):
        wanted = len(gold.columns)
        return (
            "columns",
            f"It ran, but gave {_counted(len(answer.columns), 'column')} where {wanted} {_are(wanted)} asked for.",
        )
    if len(answer.rows) != len(gold.rows):
        wanted = len(gold.rows)
        return "rows", f"It ran, but gave {_counted(len(answer.rows), 'row')} where {wanted} {_are(wanted)} right."
    if ordered and same(gold, answer, ordered=False):
        return "order", "It ran, but gave the right rows in the wrong order."
    width = len(gold.columns)
    alone = sum(
        not any(same(_column(gold, i), _column(answer, j), ordered=False) for j in range(width)) for i in range(width)
    )
    if width == 1 and len(gold.rows) == 1:
        return "values", "It ran, but gave a wrong value."
    if not alone:
        return "values", "It ran, but gave the right values in the wrong rows."
    which = "the column" if width == 1 else f"{alone} of the {width} columns"
    return "values", f"It ran, but gave wrong values in {which}."


def _bag(result: Result) -> Counter[str]:
    """The rows of a result, whatever the order of the columns."""
    return Counter(repr(sorted(repr(cell_key(cell)) for cell in row)) for row in result.rows)


def _column(result: Result, index: int) -> Result:
    return Result((result.columns[index],), tuple((row[index],) for row in result.rows))


def _cut(gold: Result | None, answer: Result) -> str:
    wanted = 0 if gold is None else len(gold.rows)
    return f"It ran, but gave more than {len(answer.rows):,} rows where {wanted:,} {_are(wanted)} right."


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"
