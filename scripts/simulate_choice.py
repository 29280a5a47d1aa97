#!/usr/bin/env python3
"""Simulate the choice between six approaches whose odds are known, by HebbQL's rule and by others.

    .venv/bin/python scripts/simulate_choice.py --runs 2000 --write

Needs no model and no database; 2,000 runs take some minutes. An approach counts as found when it is what the rule
takes next and its odds are the best or within 0.1 of them. Everything follows from the seeds 0, 1, 2 and so on.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from procedural.choosing import ranked  # noqa: E402
from procedural.synapse import (  # noqa: E402
    UNTRIED,
    Synapse,
    Target,
    new_synapse,
    posterior_mean,
    prunable,
    reinforce,
)

APPROACHES = ("direct", "values", "skeleton", "lessons", "plan", "vote")
"""In the order they are offered, cheapest first."""

CALLS = {"plan": 2, "vote": 3}
"""Calls of the model, where it is not one."""

NEAR = 0.1
"""Odds that differ by no more than this are as good."""

Tried = Mapping[str, Synapse]
Rule = Callable[[Tried, random.Random], str]
"""Gives what to take next from what was tried so far."""


@dataclass(frozen=True)
class Profile:
    """Odds of the approaches in the order they are offered, or in an order drawn for each run.

    `lucky`: the first try succeeds whatever its odds. `moves`: after 40 tries the best falls to its odds below, and
    another takes its place.
    """

    name: str
    odds: tuple[float, ...]
    shuffled: bool = True
    lucky: bool = False
    moves: float | None = None

    def drawn(self, chance: random.Random) -> list[float]:
        odds = list(self.odds)
        if self.shuffled:
            chance.shuffle(odds)
        return odds


SPREAD = (0.8, 0.4, 0.35, 0.3, 0.25, 0.2)

PROFILES = (
    Profile("one best", SPREAD),
    Profile("best is last", SPREAD[::-1], shuffled=False),
    Profile("two good", (0.8, 0.7, 0.4, 0.3, 0.3, 0.2)),
    Profile("all bad but one", (0.6, 0.05, 0.05, 0.05, 0.05, 0.05)),
    Profile("close", (0.7, 0.6, 0.55, 0.5, 0.45, 0.4)),
    Profile("all rather good", (0.95, 0.8, 0.75, 0.7, 0.7, 0.6)),
    Profile("all hard", (0.4, 0.2, 0.15, 0.1, 0.1, 0.05)),
    Profile("bad one lucky first", (0.2, 0.3, 0.3, 0.3, 0.3, 0.8), shuffled=False, lucky=True),
    Profile("best one changes", SPREAD, moves=0.2),
    Profile("all equal", (0.5,) * 6, shuffled=False),
    Profile("all zero", (0.0,) * 6, shuffled=False),
)


@dataclass(frozen=True)
class Played:
    """One run: the odds at its end, what was taken at each try and one more that was not tried, and the outcomes."""

    odds: Mapping[str, float]
    taken: Sequence[str]
    right: Sequence[bool]

    def found(self, tries: int) -> bool:
        """Whether what is taken after so many tries is as good as the best."""
        return as_good(self.odds, self.taken[tries])


def as_good(odds: Mapping[str, float], name: str) -> bool:
    return odds[name] >= max(odds.values()) - NEAR - 1e-9


def by_hebbql(tried: Tried, _chance: random.Random) -> str:
    return ranked(APPROACHES, 0.0, here=tried, same_kind={}, same_tables={})[0].candidate


def by_mean_and_weight(tried: Tried, _chance: random.Random) -> str:
    """HebbQL's rule before 2026-11-30: posterior mean of all outcomes, times the weight."""
    return _best(
        tried,
        lambda one: posterior_mean(one, 0.0) * one.weight - prunable(one),
        untried=UNTRIED,
    )


def by_mean(tried: Tried, _chance: random.Random) -> str:
    return _best(tried, lambda one: posterior_mean(one, 0.0) - prunable(one), untried=UNTRIED)


def by_success_rate(tried: Tried, _chance: random.Random) -> str:
    """Plain greed: each once, then the highest rate of success."""
    return _best(tried, lambda one: one.successes / _tries(one), untried=2.0)


def by_ucb1(tried: Tried, _chance: random.Random) -> str:
    """Auer, Cesa-Bianchi and Fischer 2002."""
    told = 2.0 * math.log(max(1, sum(map(_tries, tried.values()))))
    return _best(tried, lambda one: one.successes / _tries(one) + math.sqrt(told / _tries(one)), untried=9.0)


def by_thompson(tried: Tried, chance: random.Random) -> str:
    """A draw from Beta(1 + s, 1 + f) for each."""
    drawn = {}
    for name in APPROACHES:
        one = tried.get(name)
        drawn[name] = chance.betavariate(1 + one.successes, 1 + one.failures) if one else chance.betavariate(1, 1)
    return max(APPROACHES, key=lambda name: drawn[name])


def by_chance(_tried: Tried, chance: random.Random) -> str:
    return chance.choice(APPROACHES)


def always_the_first(_tried: Tried, _chance: random.Random) -> str:
    return APPROACHES[0]


RULES: dict[str, Rule] = {
    "HebbQL": by_hebbql,
    "mean x weight": by_mean_and_weight,
    "posterior mean": by_mean,
    "success rate": by_success_rate,
    "Thompson": by_thompson,
    "UCB1": by_ucb1,
    "by chance": by_chance,
    "always direct": always_the_first,
}


def _tries(one: Synapse) -> int:
    return one.successes + one.failures


def _best(tried: Tried, worth: Callable[[Synapse], float], *, untried: float) -> str:
    return max(APPROACHES, key=lambda name: worth(tried[name]) if name in tried else untried)


def fired(tried: Tried, name: str, right: bool) -> dict[str, Synapse]:
    """The synapses after one more try."""
    before = tried.get(name) or new_synapse("b", Target("approach", name), 0.0)
    return {**tried, name: reinforce(before, float(right), 0.0)}


def play(rule: Rule, profile: Profile, seed: int, tries: int) -> Played:
    """One bucket of its own. The order of the odds and the luck follow from the seed, and are alike for all."""
    chance, own = random.Random(seed), random.Random(f"rule {seed}")
    odds = dict(zip(APPROACHES, profile.drawn(chance), strict=True))
    tried: dict[str, Synapse] = {}
    taken, outcomes = [], []
    for number in range(tries):
        if profile.moves is not None and number == 40:
            best = max(odds, key=lambda name: odds[name])
            other = chance.choice([name for name in APPROACHES if name != best])
            odds[other], odds[best] = odds[best], profile.moves
        name = rule(tried, own)
        right = chance.random() < odds[name] or (profile.lucky and number == 0)
        tried = fired(tried, name, right)
        taken.append(name)
        outcomes.append(right)
    return Played(odds, [*taken, rule(tried, own)], outcomes)


@dataclass(frozen=True)
class Measured:
    """`found`: the share of runs that found the best after 12 tries, or 40 tries after it changed. `right`: the mean
    number of successes in 40 tries, or in the 40 after it changed."""

    found: float
    right: float


def measure(rule: Rule, profile: Profile, runs: int) -> Measured:
    moving = profile.moves is not None
    played = [play(rule, profile, seed, 80 if moving else 40) for seed in range(runs)]
    found = sum(run.found(80 if moving else 12) for run in played) / runs
    return Measured(found, sum(sum(run.right[-40:]) for run in played) / runs)


def by_bucket_and_global(rule: Rule, seed: int, *, buckets: int = 12, tries: int = 20) -> tuple[int, int, int]:
    """Successes over buckets that each have another order of the odds: choosing in each bucket for itself, choosing
    once for all, and always taking the one approach that is best on the whole."""
    chance, own = random.Random(seed), random.Random(f"rule {seed}")
    odds = [dict(zip(APPROACHES, turned(SPREAD, place), strict=True)) for place in range(buckets)]
    asked = [place for place in range(buckets) for _ in range(tries)]
    chance.shuffle(asked)
    each: list[dict[str, Synapse]] = [{} for _ in odds]
    whole: dict[str, Synapse] = {}
    one = max(APPROACHES, key=lambda name: sum(bucket[name] for bucket in odds))
    won = [0, 0, 0]
    for place in asked:
        luck = chance.random()
        for way, name in enumerate((rule(each[place], own), rule(whole, own), one)):
            right = luck < odds[place][name]
            won[way] += right
            if way == 0:
                each[place] = fired(each[place], name, right)
            if way == 1:
                whole = fired(whole, name, right)
    return won[0], won[1], won[2]


def turned(odds: Sequence[float], places: int) -> list[float]:
    """The odds, each some places further on."""
    places %= len(odds)
    return [*odds[-places:], *odds[:-places]] if places else list(odds)


Borrowing = Callable[[Sequence[str], Tried, Mapping[str, Sequence[Synapse]]], str]
"""Gives what to take from the names, what was tried in the bucket, and what was tried in buckets of its kind."""


def borrowing(names: Sequence[str], here: Tried, sisters: Mapping[str, Sequence[Synapse]]) -> str:
    return ranked(names, 0.0, here=here, same_kind=sisters, same_tables={})[0].candidate


def borrowing_nothing(names: Sequence[str], here: Tried, _sisters: Mapping[str, Sequence[Synapse]]) -> str:
    return ranked(names, 0.0, here=here, same_kind={}, same_tables={})[0].candidate


def borrow(choose: Borrowing, alike: float, seed: int, *, kinds: int = 6, sisters: int = 8) -> tuple[float, float]:
    """Shares of success at the first try and at the first ten tries of buckets that come one after the other.

    `alike` is the share of buckets with the odds of their kind; the others have odds of their own.
    """
    chance = random.Random(seed)
    of_kind = [PROFILES[0].drawn(chance) for _ in range(kinds)]
    asked = [kind for kind in range(kinds) for _ in range(sisters)]
    chance.shuffle(asked)
    known: list[list[dict[str, Synapse]]] = [[] for _ in range(kinds)]
    first = ten = 0
    for kind in asked:
        drawn = of_kind[kind] if chance.random() < alike else PROFILES[0].drawn(chance)
        odds = dict(zip(APPROACHES, drawn, strict=True))
        others = {name: [bucket[name] for bucket in known[kind] if name in bucket] for name in APPROACHES}
        here: dict[str, Synapse] = {}
        for number in range(10):
            name = choose(APPROACHES, here, others)
            right = chance.random() < odds[name]
            here = fired(here, name, right)
            first += right and number == 0
            ten += right
        known[kind].append(here)
    return first / len(asked), ten / len(asked) / 10


def calls(rule: Rule, odds: float, seed: int, tries: int = 40) -> int:
    """Calls of the model in so many tries where every approach does equally well."""
    run = play(rule, Profile("", (odds,) * 6, shuffled=False), seed, tries)
    return sum(CALLS.get(name, 1) for name in run.taken[:tries])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000, help="seeded runs of each rule on each profile")
    parser.add_argument("--write", action="store_true", help="keep the figures in runs/reference/choice.json")
    given = parser.parse_args()
    kept: dict[str, object] = {"command": f"scripts/simulate_choice.py --runs {given.runs}", "runs": given.runs}

    print("found after 12 tries (in 'best one changes': 40 tries after), and successes in 40")
    width = max(len(profile.name) for profile in PROFILES)
    print(" " * width, *(f"{name:>14}" for name in RULES))
    table: dict[str, dict[str, dict[str, float]]] = {}
    for profile in PROFILES:
        found = {name: measure(rule, profile, given.runs) for name, rule in RULES.items()}
        cells = (f"{f'{one.found:.0%} {one.right:.1f}':>14}" for one in found.values())
        print(f"{profile.name:{width}}", *cells, flush=True)
        table[profile.name] = {
            name: {"found": round(one.found, 4), "right_of_40": round(one.right, 3)} for name, one in found.items()
        }
    kept["profiles"] = table

    some = max(1, given.runs // 10)
    print(f"\n12 buckets with 6 best approaches, 20 tries each: successes of 240, mean of {some} runs")
    whole: dict[str, dict[str, float]] = {}
    for name, rule in RULES.items():
        runs = [by_bucket_and_global(rule, seed) for seed in range(some)]
        each, one, fixed = (sum(column) / some for column in zip(*runs, strict=True))
        print(f"  {name:16} per bucket {each:6.1f}  one for all {one:6.1f}  the best single one {fixed:6.1f}")
        whole[name] = {"per_bucket": each, "one_for_all": one, "best_single": fixed}
    kept["per_bucket_or_global"] = whole

    print(f"\na new bucket with sisters of its kind: share right at its first try, and in its first ten ({some} runs)")
    lent: dict[str, dict[str, dict[str, float]]] = {}
    for alike in (1.0, 0.75, 0.5, 0.25, 0.0):
        lent[str(alike)] = {}
        for name, choose in (("borrowing", borrowing), ("borrowing nothing", borrowing_nothing)):
            pairs = [borrow(choose, alike, seed) for seed in range(some)]
            first, ten = (sum(column) / some for column in zip(*pairs, strict=True))
            print(f"  {alike:4.0%} of them alike: {name:17} first {first:.3f}  ten {ten:.3f}")
            lent[str(alike)][name] = {"first": round(first, 4), "ten": round(ten, 4)}
    kept["borrowing"] = lent

    print(f"\ncalls of the model for a try where all do equally well ({given.runs} runs of 40 tries)")
    cost: dict[str, dict[str, float]] = {}
    for odds in (0.85, 0.7, 0.5):
        spent = {name: sum(calls(rule, odds, seed) for seed in range(given.runs)) for name, rule in RULES.items()}
        cost[str(odds)] = {name: round(number / given.runs / 40, 3) for name, number in spent.items()}
        print(f"  odds {odds:.2f}:", ", ".join(f"{name} {number:.2f}" for name, number in cost[str(odds)].items()))
    kept["calls_per_try"] = cost

    if given.write:
        path = ROOT / "runs" / "reference" / "choice.json"
        path.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
        print(f"\nkept in {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
