"""Episodes that answer the same question differently, and terms with two meanings."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

from memory.audit.finding import NOTHING, Finding, Side, Write
from memory.audit.identity import same_words
from memory.audit.ladder import recommend
from memory.episode import Episode
from memory.semantic import Taught, Term, term_ids


@dataclass(frozen=True, slots=True)
class Compared:
    """What comparing two queries came to. `reason` says why they differ, or why nothing is shown."""

    verdict: str
    reason: str = ""

    @property
    def differs(self) -> bool:
        return self.verdict == "differs"

    @property
    def is_unclear(self) -> bool:
        return self.verdict == "unclear"


SAME = Compared("same")


class Answers(Protocol):
    """Tells what an episode is about besides its words, and what queries answer on the data as it is."""

    def literals(self, question: str) -> Hashable:
        """What a question names of the data."""
        ...

    def compared(self, one: Episode, other: Episode) -> Compared:
        """Whether two episodes of one question answer it alike."""
        ...

    def value(self, sql: str) -> str:
        """What a query gives, in a line."""
        ...


@dataclass(frozen=True, slots=True)
class Remembered:
    """An episode, when it was first written, and why it is held important."""

    episode: Episode
    at: float
    important: str = ""

    @property
    def write(self) -> Write:
        one = self.episode
        return Write(
            "episode", str(one.id), one.sql, self.at, one.origin, one.verifier, one.batch, self.important, one.question
        )


def contradictions(
    remembered: Iterable[Remembered], answers: Answers, *, important: Callable[[Episode], str] = lambda _episode: ""
) -> Iterator[Finding]:
    """What episodes of one question and the same literals say against each other.

    Episodes with the same query agree and are not run. Those that do not contradict each other but could not be
    compared give a finding that is inconclusive. `important` is asked of contradicting episodes only.
    """
    for group in grouped(remembered, answers):
        yield from _of_group(group, answers, important)


def grouped(remembered: Iterable[Remembered], answers: Answers) -> Iterator[Sequence[Remembered]]:
    """Episodes that ask the same of the same, where they have more than one query."""
    by_words: dict[str, list[Remembered]] = {}
    for one in remembered:
        by_words.setdefault(same_words(one.episode.question), []).append(one)
    for alike in by_words.values():
        if len({one.episode.sql for one in alike}) < 2:
            continue
        groups: dict[Hashable, list[Remembered]] = {}
        for one in alike:
            groups.setdefault(answers.literals(one.episode.question), []).append(one)
        for group in groups.values():
            if len({one.episode.sql for one in group}) > 1:
                yield sorted(group, key=lambda one: (one.at, str(one.episode.id)))


@dataclass(slots=True)
class _Agreeing:
    """Episodes of one query, or of queries that give the same."""

    members: list[Remembered]

    @property
    def first(self) -> Episode:
        return self.members[0].episode


def _of_group(group: Sequence[Remembered], answers: Answers, important: Callable[[Episode], str]) -> Iterator[Finding]:
    by_sql: dict[tuple[str, str], _Agreeing] = {}
    for one in group:
        by_sql.setdefault((one.episode.sql, one.episode.schema_fingerprint), _Agreeing([])).members.append(one)
    sides: list[_Agreeing] = []
    for query in by_sql.values():
        found = [(side, answers.compared(side.first, query.first)) for side in sides]
        same = next((side for side, compared in found if compared.verdict == "same"), None)
        if same is not None:
            same.members += query.members
        else:
            sides.append(query)
    against: list[_Agreeing] = []
    why = ""
    unclear: list[tuple[_Agreeing, _Agreeing, str]] = []
    for left, right in combinations(sides, 2):
        compared = answers.compared(left.first, right.first)
        if compared.differs:
            against += [side for side in (left, right) if side not in against]
            why = why or compared.reason
        elif compared.is_unclear:
            unclear.append((left, right, compared.reason))
    if against:
        told = [_side(side, answers, important) for side in against]
        yield Finding("contradiction", "episode", group[0].episode.question, why, tuple(told), recommend(told))
    for left, right, reason in unclear:
        pair = (_side(left, answers, None), _side(right, answers, None))
        yield Finding("inconclusive", "episode", group[0].episode.question, reason, pair, NOTHING)


def _side(side: _Agreeing, answers: Answers, important: Callable[[Episode], str] | None) -> Side:
    writes = []
    for one in side.members:
        held = one.important or (important(one.episode) if important else "")
        writes.append(Remembered(one.episode, one.at, held).write)
    return Side(answers.value(side.first.sql) if important else "", tuple(writes))


def two_meanings(history: Iterable[Taught], *, compared: Callable[[Term, Term], Compared]) -> Iterator[Finding]:
    """Terms that were taught with two meanings. A later edition of the same source takes the place of the earlier.

    Give teachings with the names that were not dropped since.
    """
    by_name: dict[str, dict[str, tuple[str, Taught]]] = {}
    for taught in history:
        source = taught.term.origin if taught.term.origin != "person" else f"person {taught.position}"
        for name in taught.term.names:
            by_name.setdefault(same_words(name), {})[source] = (name, taught)
    told: set[tuple[int, ...]] = set()
    for notes in by_name.values():
        for (name, one), (other_name, other) in combinations(notes.values(), 2):
            pair = (one.position, other.position)
            if pair in told or (verdict := compared(one.term, other.term)) == SAME:
                continue
            told.add(pair)
            sides = tuple(_note(shown, taught) for shown, taught in ((name, one), (other_name, other)))
            if verdict.is_unclear:
                yield Finding("inconclusive", "term", name, verdict.reason, sides, NOTHING)
            else:
                reason = f"two notes give it two meanings: {verdict.reason}"
                yield Finding("contradiction", "term", name, reason, sides, recommend(sides))


def _note(name: str, taught: Taught) -> Side:
    term = taught.term
    names = {shown: id for shown, id in zip(term.names, term_ids(term), strict=True)}
    verifier = "person" if term.origin == "person" else ""  # what a person taught outranks a file at every start
    text = f"{term.expression} ({term.meaning})" if term.expression else term.meaning
    return Side(
        term.expression or term.meaning,
        (Write("term", names[name], text, taught.at, term.origin, verifier, f"position:{taught.position}", "", name),),
    )
