"""A canary: a share of the questions goes to a candidate until what comes of them says which brain is to stay. Pure.

The candidate is never a brain of its own that would fall behind: it is the live brain as it is at the moment, with the
edits on it that make the candidate out of the base it began with. So what either side learns, both know at once, and
what is promoted in the end is just what was tried.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from memory.brain.differences import Edit, diff, without_taken_names
from memory.brain.snapshot import Record, Snapshot
from memory.chain import Content
from memory.episode import folded

MARGIN = 0.02
"""By how much more of its answers may be bad than of the live brain's, so that a canary still counts as not worse."""

SURE = 0.99
"""How likely it must be at one look, by what was judged, that the canary is not worse, or that it is.

There are looks at 20, 40, 80, … answers only, so that over all of them a wrong word is said in some five of a hundred.
"""

FEWEST = 20
"""Judged answers that each side must have before the shares are first compared. Then with every doubling of them."""

IN_A_ROW = 5
"""Fewer bad answers of a canary one after the other than these never end it."""

CHANCE_OF_RUN = 0.01
"""How likely a run of bad answers may be, over all answers of a canary that is no worse than live, and still end it."""

UNKNOWN = 0.5
"""The share of bad answers that live is taken to have while too few of its own are judged to tell."""

Word = Literal["go on", "promote", "roll back"]


def takes(question: str, share: float) -> bool:
    """Whether a question is one of the share (in [0, 1]) that goes to the canary; always the same for a question.

    >>> takes("How many boats?", 1.0), takes("How many boats?", 0.0)
    (True, False)
    >>> takes("How many  boats", 0.4) == takes("how many boats?", 0.4)
    True
    """
    digest = hashlib.sha256(folded(question).encode("utf-8", "replace")).digest()
    return int.from_bytes(digest[:8], "big") < share * 2**64


@dataclass(frozen=True, slots=True)
class Tally:
    """What was said of the answers of one side: how many were good and bad, and how many of the newest bad in a row.

    Bad is what a person called bad or corrected, and what failed.
    """

    good: int = 0
    bad: int = 0
    bad_in_a_row: int = 0

    @property
    def judged(self) -> int:
        return self.good + self.bad

    def grown(self, good: bool) -> Tally:
        """The tally with one more answer, the newest."""
        if good:
            return Tally(self.good + 1, self.bad)
        return Tally(self.good, self.bad + 1, self.bad_in_a_row + 1)


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to be done with a canary, and why in words. `worse` is the chance that it is worse than the live brain,
    `not_worse` that it is worse by no more than the margin, both as of the last look; None before the first.
    """

    word: Word
    why: str
    worse: float | None = None
    not_worse: float | None = None


@dataclass(frozen=True, slots=True)
class Trial:
    """Both sides so far, and the first word that was said of them other than to go on: it stands."""

    live: Tally = Tally()
    canary: Tally = Tally()
    decision: Decision = Decision("go on", "nothing is judged yet")

    def grown(self, *, canary: bool, good: bool) -> Trial:
        """The trial with one more judged answer, of the canary or of live; looked at if it is time to."""
        live = self.live if canary else self.live.grown(good)
        other = self.canary.grown(good) if canary else self.canary
        if self.decision.word != "go on":
            return Trial(live, other, self.decision)
        run, judged = other.bad_in_a_row, min(live.judged, other.judged)
        if canary and run >= IN_A_ROW and chance_of_run(run, other.judged, live) < CHANCE_OF_RUN:
            return Trial(live, other, Decision("roll back", f"its last {run} judged answers were all bad"))
        if judged > min(self.live.judged, self.canary.judged) and is_look(judged):
            return Trial(live, other, decide(live, other))
        told = f"{other.judged} of its answers and {live.judged} of the others are judged"
        told += f"; they are compared at {_next_look(judged)} of each side"
        return Trial(live, other, Decision("go on", told, self.decision.worse, self.decision.not_worse))


def is_look(judged: int) -> bool:
    """Whether the sides are compared when the one with fewer judged answers has this many: 20, 40, 80, …

    >>> [judged for judged in range(200) if is_look(judged)]
    [20, 40, 80, 160]
    """
    times, rest = divmod(judged, FEWEST)
    return times > 0 and rest == 0 and times & (times - 1) == 0


def _next_look(judged: int) -> int:
    look = FEWEST
    while look <= judged:
        look *= 2
    return look


def chance_of_run(run: int, judged: int, live: Tally) -> float:
    """At most how likely a run that long was in all of a canary's `judged` answers, were it just as bad as live.

    The chance of the run by itself is the mean of p^run over what live's share p may be, Beta(1 + bad, 1 + good). Times
    judged * (judged + 1), as 1/2 + 1/6 + 1/12 + … is 1: so runs end no more than CHANCE_OF_RUN of all equal canaries.

    >>> chance_of_run(5, 5, Tally(20)) < 0.01, chance_of_run(5, 40, Tally(12, 8)) < 0.01
    (True, False)
    """
    alone = 1.0
    for further in range(run):
        known = (1 + live.bad + further) / (2 + live.judged + further)
        alone *= known if live.judged >= FEWEST else UNKNOWN
    return min(1.0, alone * judged * (judged + 1))


def decide(live: Tally, canary: Tally) -> Decision:
    """What one look at the two sides says. When it is time for a look, and what runs of bad answers say: see Trial.

    Once 20 answers of each side are judged, the shares of bad answers are compared, each as Beta(1 + bad, 1 + good):
    with more than 99 % for its share being the larger it is rolled back; with more than 99 % for its share being larger
    by no more than 2 points, it is promoted. The 99 % are per look; over all looks of a trial, which are at the
    doublings of 20 only, about 95 % are left.

    >>> decide(Tally(40, 10), Tally(48, 2)).word, decide(Tally(40, 10), Tally(25, 25)).word
    ('promote', 'roll back')
    >>> decide(Tally(40, 10), Tally(19, 0)).word
    'go on'
    """
    if min(live.judged, canary.judged) < FEWEST:
        told = f"{canary.judged} of its answers and {live.judged} of the others are judged; each side needs {FEWEST}"
        return Decision("go on", told)
    worse = chance_above(canary.bad, canary.good, live.bad, live.good, 0.0)
    not_worse = 1.0 - chance_above(canary.bad, canary.good, live.bad, live.good, MARGIN)
    shares = f"{canary.bad} of its {canary.judged} judged answers were bad, and {live.bad} of the {live.judged} others"
    if worse > SURE:
        return Decision("roll back", f"{shares}: with {worse:.1%} it is worse", worse, not_worse)
    if not_worse > SURE:
        return Decision("promote", f"{shares}: with {not_worse:.1%} it is not worse", worse, not_worse)
    return Decision("go on", f"{shares}, which decides nothing", worse, not_worse)


@lru_cache(maxsize=4_096)
def chance_above(bad: int, good: int, other_bad: int, other_good: int, margin: float) -> float:
    """P(x > y + margin) for x ~ Beta(1 + bad, 1 + good) and y ~ Beta(1 + other_bad, 1 + other_good).

    By the midpoint rule over the quantiles of y, which is right to three digits however many answers there were.

    >>> round(chance_above(3, 7, 3, 7, 0.0), 3), round(chance_above(5, 0, 0, 5, 0.0), 3)
    (0.5, 0.999)
    """
    import numpy
    from scipy.stats import beta

    shares = beta.ppf((numpy.arange(_POINTS) + 0.5) / _POINTS, 1 + other_bad, 1 + other_good)
    return float(beta.sf(shares + margin, 1 + bad, 1 + good).mean())


_POINTS = 1_000


def edits_on(
    base: Snapshot, candidate: Snapshot, live: Snapshot, *, taken_out: Collection[str] = ()
) -> tuple[Edit, ...]:
    """The edits on the live brain that make it what the candidate is, but for what live has learned since the base.

    What the candidate leaves as it was in the base stays as live has it. What live changed meanwhile as well keeps
    live's word: what was `taken_out` (ids of episodes) since the base, or erased at any time, is not brought in, and
    what was remembered anew is not taken out. The evidence of a synapse that both moved is live's and the candidate's
    difference to the base together. Schemas are nobody's.
    """
    away = {*taken_out, *(id for id, state in live.gone.items() if state != "forgotten")}
    edits = (_edit_on(edit, live, away) for edit in diff(base, candidate) if edit.kind != "schema")
    return without_taken_names([edit for edit in edits if edit is not None and edit.before != edit.after], live)


def _edit_on(edit: Edit, live: Snapshot, away: Set[str]) -> Edit | None:
    now = live.records.get(edit.key)
    if edit.after is not None and not away.isdisjoint(edit.after.about):
        return None
    if now == edit.before:
        return edit
    if edit.kind != "synapse" or edit.after is None or now is None:
        return None
    return Edit(now, _moved(edit.before, edit.after, now))


def _moved(before: Record | None, after: Record, now: Record) -> Record:
    """A synapse as live has it, moved by as much as the candidate's is from the base's."""
    old: Content = before.body if before else {"weight": 0.0, "successes": 0, "failures": 0}

    def by(name: str) -> float:
        return _number(after.body, name) - _number(old, name)

    if before is None:  # new to both: the weights are means of as many outcomes as there were
        tries = [_number(one.body, "successes") + _number(one.body, "failures") for one in (now, after)]
        both = zip((now, after), tries, strict=True)
        weight = sum(_number(one.body, "weight") * count for one, count in both) / (sum(tries) or 1)
    else:
        weight = _number(now.body, "weight") + by("weight")
    body = {
        **now.body,
        "weight": min(1.0, max(0.0, weight)),
        "successes": max(0, round(_number(now.body, "successes") + by("successes"))),
        "failures": max(0, round(_number(now.body, "failures") + by("failures"))),
        "last_fired": max(_number(now.body, "last_fired"), _number(after.body, "last_fired")),
    }
    return Record("synapse", body)


def _number(body: Content, name: str) -> float:
    value = body[name]
    assert isinstance(value, int | float)
    return float(value)
