"""Whether checks hold that need no question asked: structure, freshness, coverage and contradiction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Protocol

from memory.brain.checks import Checked, Contradiction, Coverage, Evidence, Freshness, Structure, concluded
from memory.brain.snapshot import Snapshot
from memory.episode import Episode

VOUCHING = ("gold", "person", "agreement")
"""Verifiers whose word makes an episode verified."""

_DAY = 86_400.0

_ENOUGH = 100
"""Contradictions after which no more are looked for: of a thousand answers to one question half a million pairs are."""

Used = Callable[[str], frozenset[tuple[str, str]] | None]
"""Tables and columns that a query uses, in small letters, each table once with `""`; None for no query."""

Columns = Mapping[str, frozenset[str]]
"""The columns of each table of the schema, in small letters."""


class Contradicting(Protocol):
    """Tells what episodes ask, and whether two queries answer it alike on the data as it is."""

    def asked(self, episode: Episode) -> Iterable[Hashable]:
        """Whatever two episodes share one of, they ask the same."""
        ...

    def differ(self, one: str, other: str) -> str:
        """How the results of two queries differ, in a line; `""` where they are the same."""
        ...


def structure(
    check: Structure, snapshot: Snapshot, *, used: Used, schema: Columns, buckets: Mapping[str, str]
) -> Checked:
    """`buckets` are all that are known, with the kind of question of each. A name that is not in the schema is red."""
    if check.answered is not None:
        return _answered(check, snapshot, buckets)
    wanted = [(table.casefold(), "") for table in check.never_joined or ()]
    for name in check.never_selected or ():
        table, _, column = name.rpartition(".")
        wanted.append((table.rpartition(".")[2].casefold(), column.casefold()))
    unknown = [
        Evidence("schema", ".".join(filter(None, (table, column))), "there is no such table or column")
        for table, column in wanted
        if table not in schema or (column and column not in schema[table])
    ]
    if unknown:
        return concluded(check, {}, unknown, red=f"the database has no {unknown[0].id}, so nothing would ever be found")
    evidence = []
    together = check.never_joined is not None
    for episode in snapshot.episodes:
        found = used(episode.sql)
        if found is None:
            evidence.append(Evidence("episodes", str(episode.id), f"it cannot be read: {episode.sql}"))
        elif (all if together else any)(one in found for one in wanted):
            evidence.append(Evidence("episodes", str(episode.id), episode.sql))
    return concluded(check, {"episodes": len(snapshot.episodes)}, evidence)


def _answered(check: Structure, snapshot: Snapshot, buckets: Mapping[str, str]) -> Checked:
    held = {episode.bucket for episode in snapshot.episodes}
    wanted = sorted(bucket for bucket, kind in buckets.items() if kind == check.answered)
    empty = [Evidence("buckets", bucket, f"no episode answers this bucket of {check.answered}") for bucket in wanted]
    empty = [one for one in empty if one.id not in held]
    fewest = check.buckets or 1
    if len(wanted) < fewest:
        empty.append(_too_few(wanted, fewest, check.answered, buckets))
    return concluded(check, {"buckets": len(wanted)}, empty)


def _too_few(known: Sequence[str], fewest: int, kind: str | None, buckets: Mapping[str, str]) -> Evidence:
    """Evidence that buckets are missing of which nobody can tell any more that they were there."""
    told = f"{len(known)} are known{f' of the kind {kind}' if kind else ''}; there must be {fewest} at least"
    if kind and not known:
        told += f" (kinds that are known: {', '.join(sorted(set(buckets.values()))) or 'none'})"
    return Evidence("buckets", kind or "", told)


def freshness(check: Freshness, snapshot: Snapshot, *, schema: str, now: float) -> Checked:
    """`schema` is the fingerprint of the schema as it is, `now` seconds since 1970, UTC.

    An episode that is from the future is not fresh.
    """
    evidence = []
    for record in snapshot.of_kind("episode"):
        episode, since = record.episode, float(str(record.body["since"]))
        age = (now - since) / _DAY
        if check.current_schema and episode.schema_fingerprint != schema:
            told = f"verified on schema {episode.schema_fingerprint[:12]}, now it is {schema[:12]}: {episode.question}"
            evidence.append(Evidence("episodes", str(episode.id), told))
        elif check.days is not None and age > check.days:
            evidence.append(Evidence("episodes", str(episode.id), f"{age:.0f} days old: {episode.question}"))
        elif check.days is not None and age < -1:
            evidence.append(
                Evidence("episodes", str(episode.id), f"from the future, {-age:.0f} days: {episode.question}")
            )
    return concluded(check, {"episodes": len(snapshot.episodes)}, evidence)


def coverage(check: Coverage, snapshot: Snapshot, *, buckets: Mapping[str, str]) -> Checked:
    """`buckets` are all that are known, with the kind of question of each, whether they hold an episode or not."""
    vouching = frozenset(check.verifiers or VOUCHING)
    counted = Counter(episode.bucket for episode in snapshot.episodes if episode.verifier in vouching)
    wanted = sorted(bucket for bucket, kind in buckets.items() if check.of in (None, kind))
    short = [bucket for bucket in wanted if counted[bucket] < check.episodes]
    reached = len(wanted) - len(short)
    told = f"{reached} of {len(wanted)} buckets have {check.episodes} verified episodes or more"
    if len(wanted) < check.buckets:
        few = _too_few(wanted, check.buckets, check.of, buckets)
        return concluded(check, {"buckets": len(wanted)}, [few], red=few.line)
    if reached < check.share * len(wanted):
        evidence = [Evidence("buckets", bucket, f"{counted[bucket]} verified episodes") for bucket in short]
        return concluded(check, {"buckets": len(wanted)}, evidence, red=f"{told}; wanted are {check.share:.0%}")
    return concluded(check, {"buckets": len(wanted)}, [], green=told)


def contradiction(check: Contradiction, snapshot: Snapshot, reader: Contradicting) -> Checked:
    """Every two episodes that ask the same are compared, once for each two queries, until enough is found."""
    alike: dict[Hashable, dict[str, Episode]] = {}
    for episode in snapshot.episodes:
        for asked in reader.asked(episode):
            alike.setdefault(asked, {}).setdefault(episode.sql, episode)
    told: dict[tuple[str, str], str] = {}
    evidence: list[Evidence] = []
    for group in alike.values():
        for one, other in combinations(_in_order(group.values()), 2):
            pair = (str(one.id), str(other.id))
            if pair not in told and len(evidence) < _ENOUGH:
                told[pair] = reader.differ(one.sql, other.sql)
                if told[pair]:
                    line = f"{one.question} {told[pair]}: {one.sql} / {other.sql}"
                    evidence.append(Evidence("episodes", " and ".join(pair), line))
    looked = {"episodes": len(snapshot.episodes), "pairs": len(told)}
    return concluded(check, looked if snapshot.episodes else {}, evidence)


def _in_order(episodes: Iterable[Episode]) -> Sequence[Episode]:
    return sorted(episodes, key=lambda episode: str(episode.id))
