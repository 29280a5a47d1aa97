"""Episodes that answer the same question differently, and terms with two meanings."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol, TypeVar

from memory.audit.finding import NOTHING, Finding, Side, Subject, Write
from memory.audit.identity import same_words
from memory.audit.ladder import weighed
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


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Quarrel:
    """Sides that contradict each other, by their places: directly, or as both contradict a third."""

    places: tuple[int, ...]
    reason: str
    differing: frozenset[frozenset[int]]

    def finding(self, subject: Subject, what: str, reason: str, sides: Sequence[Side]) -> Finding:
        """One finding with all of them, of which only those lose that differ from the one that is recommended."""
        told, advice = weighed(sides, lambda a, b: frozenset((self.places[a], self.places[b])) in self.differing)
        return Finding("contradiction", subject, what, reason, told, advice)


def _agreeing(members: Iterable[Sequence[T]], compared: Callable[[T, T], Compared]) -> list[list[T]]:
    """Put together those whose first ones say the same."""
    sides: list[list[T]] = []
    for one in members:
        same = next((side for side in sides if compared(side[0], one[0]).verdict == "same"), None)
        if same is None:
            sides.append(list(one))
        else:
            same += one
    return sides


def _quarrels(
    sides: Sequence[Sequence[T]], compared: Callable[[T, T], Compared]
) -> tuple[list[_Quarrel], list[tuple[int, int, str]]]:
    """Which sides contradict which, and those of which it could not be shown, each with the reason."""
    found: list[_Quarrel] = []
    unclear: list[tuple[int, int, str]] = []
    for a, b in combinations(range(len(sides)), 2):
        told = compared(sides[a][0], sides[b][0])
        if told.is_unclear:
            unclear.append((a, b, told.reason))
        if not told.differs:
            continue
        near = [one for one in found if {a, b} & {*one.places}]
        places = tuple(sorted({a, b}.union(*(one.places for one in near))))
        differing = frozenset({frozenset((a, b))}).union(*(one.differing for one in near))
        merged = _Quarrel(places, near[0].reason if near else told.reason, differing)
        found = [one for one in found if one not in near] + [merged]
    return found, unclear


def _of_group(group: Sequence[Remembered], answers: Answers, important: Callable[[Episode], str]) -> Iterator[Finding]:
    by_sql: dict[tuple[str, str], list[Remembered]] = {}
    for one in group:
        by_sql.setdefault((one.episode.sql, one.episode.schema_fingerprint), []).append(one)

    def compared(one: Remembered, other: Remembered) -> Compared:
        return answers.compared(one.episode, other.episode)

    sides = _agreeing(by_sql.values(), compared)
    quarrels, unclear = _quarrels(sides, compared)
    what = group[0].episode.question
    for quarrel in quarrels:
        told = [_side(sides[place], answers, important) for place in quarrel.places]
        yield quarrel.finding("episode", what, quarrel.reason, told)
    for a, b, reason in unclear:
        pair = (_side(sides[a], answers, None), _side(sides[b], answers, None))
        yield Finding("inconclusive", "episode", what, reason, pair, NOTHING)


def _side(members: Sequence[Remembered], answers: Answers, important: Callable[[Episode], str] | None) -> Side:
    writes = []
    for one in members:
        held = one.important or (important(one.episode) if important else "")
        writes.append(Remembered(one.episode, one.at, held).write)
    return Side(answers.value(members[0].episode.sql) if important else "", tuple(writes))


def two_meanings(history: Iterable[Taught], *, compared: Callable[[Term, Term], Compared]) -> Iterator[Finding]:
    """Names that were taught with several meanings: one finding for each name, with all that contradict each other.

    A later edition of the same source takes the place of the earlier. Give teachings with the names that were not
    dropped since.
    """
    by_name: dict[str, dict[str, tuple[str, Taught]]] = {}
    for taught in history:
        source = taught.term.origin if taught.term.origin != "person" else f"person {taught.position}"
        for name in taught.term.names:
            by_name.setdefault(same_words(name), {})[source] = (name, taught)

    def told(one: tuple[str, Taught], other: tuple[str, Taught]) -> Compared:
        return compared(one[1].term, other[1].term)

    for notes in by_name.values():
        sides = _agreeing([[note] for note in notes.values()], told)
        quarrels, unclear = _quarrels(sides, told)
        for quarrel in quarrels:
            among = [_noted(sides[place]) for place in quarrel.places]
            reason = f"notes give it {len(among)} meanings: {quarrel.reason}"
            yield quarrel.finding("term", sides[quarrel.places[0]][0][0], reason, among)
        for a, b, reason in unclear:
            yield Finding("inconclusive", "term", sides[a][0][0], reason, (_noted(sides[a]), _noted(sides[b])), NOTHING)


def _noted(members: Sequence[tuple[str, Taught]]) -> Side:
    first = members[0][1].term
    return Side(first.expression or first.meaning, tuple(_note(name, taught) for name, taught in members))


def _note(name: str, taught: Taught) -> Write:
    term = taught.term
    names = {shown: id for shown, id in zip(term.names, term_ids(term), strict=True)}
    verifier = "person" if term.origin == "person" else ""  # what a person taught outranks a file at every start
    text = f"{term.expression} ({term.meaning})" if term.expression else term.meaning
    return Write("term", names[name], text, taught.at, term.origin, verifier, f"position:{taught.position}", "", name)
