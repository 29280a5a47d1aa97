"""Which remembered episodes help with a question, and why each of them does."""

from __future__ import annotations

import re
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Protocol

from memory.embedder import Embedder, EmbedderError
from memory.episode import Episode, Part
from memory.store import Hit, StoreError

if TYPE_CHECKING:
    from memory.embedder import Vector

Level = Literal["bucket", "kind", "tables", "family"]

MOST_DATASETS = 6
"""Datasets searched for one question, at most. Each costs 2 ms of processor time."""

PER_DATASET = 16
"""Episodes taken of one dataset, at most."""

_WORDS_LOOKED_AT = 40
_SLOT = re.compile(r"<\w+>")
_NAME = r'(?:"(?:[^"]|"")+"|`[^`]+`|\w+)'
_SOURCE = re.compile(rf"\b(?:FROM|JOIN)\s+({_NAME}(?:\.{_NAME})*)")


class Intended(Protocol):
    """What kind of answer something gives, over which tables."""

    @property
    def kind(self) -> str: ...

    @property
    def tables(self) -> tuple[str, ...]: ...


class KnownIntent(Intended, Protocol):
    """One intent that a bucket holds episodes of."""

    @property
    def bucket(self) -> str: ...


class Episodes(Protocol):
    """The record of all episodes, as recall reads it. Only active ones are given."""

    def intents(self) -> Sequence[KnownIntent]:
        """Kind and tables of all episodes, by bucket; one bucket may hold several sets of tables."""
        ...

    def episodes(self, bucket: str | None = None) -> Sequence[Episode]:
        """Episodes of one bucket, or of all, in the order they were remembered."""
        ...

    def by_ids(self, ids: Sequence[uuid.UUID]) -> Sequence[Episode]:
        """Those of the episodes that are active, in the order they were remembered."""
        ...

    def first_of(self, buckets: Sequence[str]) -> Sequence[Episode]:
        """The oldest episode of each bucket, in the order they were remembered."""
        ...

    def search(self, text: str, limit: int) -> Sequence[Episode]:
        """Episodes of the whole family that share words with the text, best first."""
        ...

    def search_buckets(self, text: str, limit: int) -> Sequence[str]:
        """The bucket of each episode that `search` finds, best first."""
        ...


class Meanings(Protocol):
    """Where episodes are found by meaning: of an `EpisodeStore`, what recall needs."""

    def recall_each(self, buckets: Sequence[str], text: str, limit: int) -> Sequence[Hit]:
        """Find the most alike episodes of several buckets, at most `limit` of each, bucket after bucket."""
        ...


class Vectors(Protocol):
    """Vectors of the texts of episodes, kept or made."""

    def of(self, episodes: Sequence[Episode], part: Part) -> list[Vector]:
        """One vector per episode, in order, of its question or its masked question. Raises EmbedderError."""
        ...


@dataclass(frozen=True, slots=True)
class Recalled:
    """One episode and what speaks for it. `score` is in [0, 1]: rank by it, never threshold on it."""

    episode: Episode
    score: float
    level: Level
    why: str


@dataclass(frozen=True, slots=True)
class _Wanted:
    bucket: str
    kind: str
    tables: tuple[str, ...]
    question: str
    masked: str
    known: frozenset[str] = frozenset()
    """All tables that questions are known to be about, in lower case."""

    @property
    def words(self) -> str:
        return f"{self.question} {self.masked}"

    @property
    def slots(self) -> Counter[str]:
        return _slots(self.masked)


@dataclass(frozen=True, slots=True)
class _Candidate:
    episode: Episode
    wording: float
    """Cosine of the two questions; without the store, how high the ledger ranks the episode by shared words."""


def indexed_text(episode: Episode) -> str:
    """Give the text an episode is found by: the question as it was asked.

    The masked question is not in it. It is compared apart, where it can be weighed.
    """
    return episode.question


class _Embedded:
    """Embeds the texts of episodes whenever they are asked for."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def of(self, episodes: Sequence[Episode], part: Part) -> list[Vector]:
        return self._embedder.embed([getattr(episode, part) for episode in episodes])


def _any(_episode: Episode) -> bool:
    return True


class Recall:
    """Finds episodes by bucket first, then by its neighbours, never by a global favourite."""

    def __init__(
        self,
        *,
        episodes: Episodes,
        store: Meanings,
        embedder: Embedder,
        vectors: Vectors | None = None,
        notice: Callable[[str], None] = lambda _trouble: None,
        most_datasets: int = MOST_DATASETS,
        per_dataset: int = PER_DATASET,
    ) -> None:
        """`notice` is told when the store cannot be read and recall goes on by shared words.

        Without `vectors` all candidates are embedded for each recall. The two numbers bound what is looked at.
        """
        self._episodes = episodes
        self._store = store
        self._embedder = embedder
        self._vectors = vectors or _Embedded(embedder)
        self._notice = notice
        self._most_datasets = most_datasets
        self._per_dataset = per_dataset
        self._warm = False

    def recall(
        self,
        *,
        bucket: str,
        kind: str,
        tables: tuple[str, ...],
        question: str,
        masked: str,
        limit: int = 3,
        allowed: Callable[[Episode], bool] = _any,
    ) -> tuple[Recalled, ...]:
        """Give at most `limit` episodes, best first. What `allowed` turns down is never given.

        Every candidate comes from the vector search of its dataset. Which datasets are searched, no more than
        `most_datasets`, is decided from the ledger: the bucket's own, then those nearest to it by kind, by tables and
        by words shared with the question. An episode with the same masked question and the same shape as a
        better one is given only when nothing else is left. Never raises for a store or an
        embedder that fails: then the ledger's lexical search decides, and `why` says so.
        """
        wanted = _Wanted(bucket, kind, tables, question, masked)
        if limit < 1:
            return ()
        by_words, intents, embedded = self._looked_up(wanted)
        wanted = replace(wanted, known=_lower(*tables, *(table for known in intents for table in known.tables)))
        try:
            embedded()
            return self._by_meaning(wanted, intents, by_words, limit, allowed)
        except (StoreError, EmbedderError) as trouble:
            self._notice(str(trouble))
            shared = "; found by shared words, as the episode store could not be read"
            candidates = [one for one in self._by_words(wanted) if allowed(one.episode)]
            first, again = _told_apart(self._scored(wanted, candidates, shared))
            return _best(first, again, limit)

    def _looked_up(self, wanted: _Wanted) -> tuple[Sequence[str], Sequence[KnownIntent], Callable[[], object]]:
        """Buckets by shared words and all intents, read while the question is embedded.

        What embedding raises, is raised when the last of the three is called.
        """
        texts = [wanted.question, wanted.masked]
        if not self._warm:
            # Models and drivers are loaded by one thread.
            self._warm = True
            return *self._read(wanted), lambda: self._embedder.embed(texts)
        with ThreadPoolExecutor(len(texts), "hebbql-embed") as crew:
            embedding = [crew.submit(self._embedder.embed, [text]) for text in texts]
            by_words, intents = self._read(wanted)
        return by_words, intents, lambda: [vector.result() for vector in embedding]

    def _read(self, wanted: _Wanted) -> tuple[Sequence[str], Sequence[KnownIntent]]:
        return self._episodes.search_buckets(wanted.words, _WORDS_LOOKED_AT), self._episodes.intents()

    def _by_meaning(
        self,
        wanted: _Wanted,
        intents: Sequence[KnownIntent],
        by_words: Sequence[str],
        limit: int,
        allowed: Callable[[Episode], bool],
    ) -> tuple[Recalled, ...]:
        """Search the bucket's own dataset, then those of the others that can still hold something better.

        Leaving out the rest changes nothing: not even the very question in them would come before what was found.
        """
        left = self._worth_opening(wanted, intents, by_words)
        best: dict[str, float] = {}
        for known in intents:
            best[known.bucket] = max(_at_most(wanted, known), best.get(known.bucket, 0.0))
        first: list[Recalled] = []
        again: list[Recalled] = []
        while left:
            now = left[:1] if not first and left[0] == wanted.bucket else left
            left = [bucket for bucket in left if bucket not in now]
            scores = {hit.id: hit.score for hit in self._store.recall_each(now, wanted.question, self._per_dataset)}
            # The store may still hold what the ledger has forgotten a moment ago.
            episodes = [episode for episode in self._episodes.by_ids(tuple(scores)) if allowed(episode)]
            candidates = [_Candidate(episode, scores[episode.id]) for episode in episodes]
            first, again = _told_apart([*first, *again, *self._scored(wanted, candidates, "")])
            if len(first) >= limit:
                left = [bucket for bucket in left if best[bucket] >= first[limit - 1].score]
        return _best(first, again, limit)

    def _by_words(self, wanted: _Wanted) -> list[_Candidate]:
        """Stand in for the store: shared words, best 1.0 and falling, then the rest of the bucket."""
        shared = self._episodes.search(wanted.words, _WORDS_LOOKED_AT)
        found = {episode.id: _Candidate(episode, 1 - rank / _WORDS_LOOKED_AT) for rank, episode in enumerate(shared)}
        for episode in self._episodes.episodes(wanted.bucket):
            found.setdefault(episode.id, _Candidate(episode, 0.0))
        return list(found.values())

    def _worth_opening(self, wanted: _Wanted, intents: Sequence[KnownIntent], by_words: Sequence[str]) -> list[str]:
        """Buckets to search, the most promising first; by meaning where neither intent nor words say anything."""
        word_rank: dict[str, int] = {}
        for rank, bucket in enumerate(by_words):
            word_rank.setdefault(bucket, rank)

        def promise(known: KnownIntent) -> float:
            words = 1 - word_rank.get(known.bucket, _WORDS_LOOKED_AT) / _WORDS_LOOKED_AT
            own = 3.0 if known.bucket == wanted.bucket else 0.0
            return own + (known.kind == wanted.kind) + _overlap(wanted.tables, known.tables) + words

        promises: dict[str, float] = {}
        for known in intents:
            promises[known.bucket] = max(promise(known), promises.get(known.bucket, 0.0))
        best = sorted(promises, key=lambda bucket: (-promises[bucket], bucket))[: self._most_datasets]
        told = [bucket for bucket in best if promises[bucket]]
        return (
            told
            if len(told) == len(best)
            else told + self._nearest(wanted, promises.keys() - told, len(best) - len(told))
        )

    def _nearest(self, wanted: _Wanted, buckets: Set[str], count: int) -> list[str]:
        """Buckets whose first episode is nearest in meaning to the question."""
        first = self._episodes.first_of(sorted(buckets))
        [mine] = self._embedder.embed([wanted.question])
        theirs = self._vectors.of(first, "question")
        likeness = {episode.bucket: float(vector @ mine) for episode, vector in zip(first, theirs, strict=True)}
        return sorted(likeness, key=lambda bucket: (-likeness[bucket], bucket))[:count]

    def _scored(self, wanted: _Wanted, candidates: Sequence[_Candidate], remark: str) -> list[Recalled]:
        masked = self._masked_likeness(wanted, [candidate.episode for candidate in candidates])
        return [
            Recalled(
                candidate.episode,
                _score(candidate.wording, likeness, wanted, candidate.episode),
                level := _level(wanted, candidate.episode),
                _why(level, candidate, remark),
            )
            for candidate, likeness in zip(candidates, masked, strict=True)
        ]

    def scored(
        self,
        episodes: Sequence[Episode],
        *,
        bucket: str,
        kind: str,
        tables: tuple[str, ...],
        question: str,
        masked: str,
    ) -> tuple[Recalled, ...]:
        """Weigh all of some episodes as `recall` weighs what it finds, best first; nothing is looked for or left out.

        Raises:
            EmbedderError: the embedding model cannot run.
        """
        known = _lower(*tables, *(table for one in self._episodes.intents() for table in one.tables))
        wanted = _Wanted(bucket, kind, tables, question, masked, known)
        [mine] = self._embedder.embed([question])
        theirs = self._vectors.of(episodes, "question")
        candidates = [
            _Candidate(episode, float(vector @ mine)) for episode, vector in zip(episodes, theirs, strict=True)
        ]
        return tuple(sorted(self._scored(wanted, candidates, ""), key=_rank))

    def _masked_likeness(self, wanted: _Wanted, episodes: Sequence[Episode]) -> list[float]:
        if not episodes:
            return []
        try:
            [mine] = self._embedder.embed([wanted.masked])
            theirs = self._vectors.of(episodes, "masked")
        except EmbedderError:
            return [float(episode.masked == wanted.masked) for episode in episodes]
        return [float(vector @ mine) for vector in theirs]


def _overlap(one: Iterable[str], other: Iterable[str]) -> float:
    """Share of tables that both have (Jaccard): 1.0 for the same, 0.0 for none or for nothing linked."""
    mine, theirs = set(one), set(other)
    return len(mine & theirs) / len(mine | theirs) if mine | theirs else 0.0


def _slots(masked: str) -> Counter[str]:
    return Counter(_SLOT.findall(masked))


def _alike(one: Counter[str], other: Counter[str]) -> float:
    """Share of slots that both have, each as often as it comes: 1.0 for the same, or where neither has any."""
    return (one & other).total() / (one | other).total() if one or other else 1.0


def _lower(*tables: str) -> frozenset[str]:
    return frozenset(table.casefold() for table in tables)


def sources(sql: str, known: frozenset[str]) -> frozenset[str]:
    """Those of the known tables, written in lower case, that a query in one spelling reads.

    What stands after FROM in `EXTRACT(YEAR FROM x)`, and a name that WITH gives, is no known table. A table that
    stands after a comma is not seen.

    >>> sql = 'WITH a AS (SELECT x FROM "Order Details" JOIN Orders ON TRUE) SELECT EXTRACT(YEAR FROM x) FROM a'
    >>> sorted(sources(sql, frozenset({"customers", "order details", "orders"})))
    ['order details', 'orders']
    """
    return known & _lower(*(re.sub(r'["`]', "", name) for name in _SOURCE.findall(sql)))


def _at_most(wanted: _Wanted, known: Intended) -> float:
    """The score that no episode of an intent exceeds for a question."""
    return _sum(1, 1, known.kind == wanted.kind, _overlap(wanted.tables, known.tables), 1, 1)


def _score(wording: float, masked: float, wanted: _Wanted, episode: Episode) -> float:
    return _sum(
        min(max(wording, 0.0), 1.0),
        min(max(masked, 0.0), 1.0),
        episode.kind == wanted.kind,
        _overlap(wanted.tables, episode.tables),
        _overlap(_lower(*wanted.tables), sources(episode.sql, wanted.known)),
        _alike(wanted.slots, _slots(episode.masked)),
    )


def _sum(wording: float, masked: float, kind: float, linked: float, read: float, slots: float) -> float:
    """Weigh what speaks for an episode into one number in [0, 1].

    That is how much alike are the questions and the masked questions, the kinds of answer, the tables that the
    questions are about, those of the question and those the query reads, and the literals, by kind and number.
    The weights are those of a conditional logit (McFadden, 1974) over the seed pack, fitted on its own questions,
    training and development, and rounded (`scripts/EXPERIMENTS.md`); a tenth more or less of each is within noise.
    """
    return 0.15 * wording + 0.1 * masked + 0.2 * kind + 0.15 * linked + 0.25 * read + 0.15 * slots


def _level(wanted: _Wanted, episode: Episode) -> Level:
    if episode.bucket == wanted.bucket:
        return "bucket"
    if episode.kind == wanted.kind:
        return "kind"
    return "tables" if wanted.tables and set(episode.tables) == set(wanted.tables) else "family"


def _why(level: Level, candidate: _Candidate, remark: str) -> str:
    episode = candidate.episode
    tables = ", ".join(episode.tables) or "no table"
    reason = {
        "bucket": "same bucket",
        "kind": f"same kind of question on other tables ({episode.kind} over {tables})",
        "tables": f"same tables, another kind of question ({episode.kind} over {tables})",
        "family": f"near in meaning ({episode.kind} over {tables})",
    }[level]
    return f"{reason}{remark}" if remark else f"{reason}; wording {candidate.wording:.2f}"


def _told_apart(found: Sequence[Recalled]) -> tuple[list[Recalled], list[Recalled]]:
    """The best of each masked question and shape, and the others; best first."""
    first: list[Recalled] = []
    again: list[Recalled] = []
    shown: set[tuple[str, str]] = set()
    for recalled in sorted(found, key=_rank):
        key = (recalled.episode.masked, recalled.episode.skeleton)
        (again if key in shown else first).append(recalled)
        shown.add(key)
    return first, again


def _best(first: Sequence[Recalled], again: Sequence[Recalled], limit: int) -> tuple[Recalled, ...]:
    """Take the best of what differs; the same question with other literals only when nothing else is left."""
    return tuple(sorted((*first, *again)[:limit], key=_rank))


def _rank(recalled: Recalled) -> tuple[float, str]:
    return -recalled.score, str(recalled.episode.id)


def fewer(found: Sequence[Recalled], limit: int) -> tuple[Recalled, ...]:
    """Of what a wider recall found, what a recall of `limit` episodes gives."""
    return _best(*_told_apart(found), limit)
