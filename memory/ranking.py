"""How good a ranking is, and rankings put together: the arithmetic that recall is measured with.

A ranking is a sequence of ids without repeats, best first. `relevant` is the set of ids that help; it is never empty,
as of a question that nothing can help with no ranking is better than another.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar

K = 60
"""The constant of reciprocal rank fusion that its authors found good on all of their collections."""

MOST_RERANKED = 20
"""Candidates that are put into another order, at most."""

_Id = TypeVar("_Id", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Quality:
    """What one ranking is worth for one question: each number is from 0 to 1."""

    recall_3: float
    recall_5: float
    reciprocal_rank: float
    ndcg_5: float


def quality(ranking: Sequence[_Id], relevant: Collection[_Id]) -> Quality:
    """All measures of one ranking.

    >>> quality(["b", "a", "c"], {"a"}).reciprocal_rank
    0.5
    """
    return Quality(
        recall_at(3, ranking, relevant),
        recall_at(5, ranking, relevant),
        reciprocal_rank(ranking, relevant),
        ndcg_at(5, ranking, relevant),
    )


def recall_at(k: int, ranking: Sequence[_Id], relevant: Collection[_Id]) -> float:
    """The share of the relevant that is among the first k: |relevant in the first k| / |relevant|.

    Source: Manning, Raghavan and Schütze (2008), Introduction to Information Retrieval, section 8.4.

    >>> recall_at(3, ["a", "x", "b", "c"], {"a", "b", "c", "d"})
    0.5

    Raises:
        ValueError: nothing is relevant.
    """
    _some(relevant)
    return sum(one in relevant for one in ranking[:k]) / len(relevant)


def reciprocal_rank(ranking: Sequence[_Id], relevant: Collection[_Id]) -> float:
    """1 / r for the place r, from 1, of the first relevant one; 0 where there is none. Its mean is the MRR.

    Source: Voorhees (1999), The TREC-8 Question Answering Track Report.

    >>> reciprocal_rank(["x", "y", "a", "b"], {"a", "b"})
    0.3333333333333333

    Raises:
        ValueError: nothing is relevant.
    """
    _some(relevant)
    return next((1 / place for place, one in enumerate(ranking, start=1) if one in relevant), 0.0)


def ndcg_at(k: int, ranking: Sequence[_Id], relevant: Collection[_Id]) -> float:
    """Normalised discounted cumulative gain: the sum of 1 / log2(r + 1) over the places r of relevant ones up to k,
    divided by the largest sum there could be.

    Source: Järvelin and Kekäläinen (2002), ACM Transactions on Information Systems 20:422, with gains of 0 and 1.

    >>> ndcg_at(5, ["a", "x"], {"a"}), round(ndcg_at(5, ["x", "a"], {"a"}), 3)
    (1.0, 0.631)

    Raises:
        ValueError: nothing is relevant.
    """
    _some(relevant)
    gained = sum(1 / math.log2(place + 1) for place, one in enumerate(ranking[:k], start=1) if one in relevant)
    return gained / sum(1 / math.log2(place + 1) for place in range(1, min(k, len(relevant)) + 1))


def fused(rankings: Sequence[Sequence[_Id]], *, k: int = K) -> tuple[_Id, ...]:
    """Several rankings as one: by the sum of 1 / (k + r) over the places r, from 1, that each gives an id.

    What a ranking leaves out gains nothing from it. Of two with the same sum, the one that is met first, place by
    place, comes first. Source: Cormack, Clarke and Büttcher (2009), Reciprocal Rank Fusion, SIGIR 2009.

    >>> fused([["a", "b", "c"], ["c", "b"]])
    ('c', 'b', 'a')
    """
    score: dict[_Id, float] = {}
    for place in range(max(map(len, rankings), default=0)):
        for ranking in rankings:
            if place < len(ranking):
                score[ranking[place]] = score.get(ranking[place], 0.0) + 1 / (k + place + 1)
    return tuple(sorted(score, key=lambda one: -score[one]))


def reranked(
    ranking: Sequence[_Id], order: Callable[[Sequence[_Id]], Sequence[_Id]], *, most: int = MOST_RERANKED
) -> tuple[_Id, ...]:
    """The first `most` of a ranking as `order` puts them, then the rest as it was.

    All or nothing: where `order` does not give exactly the ids it got, each once, the ranking stays as it is.

    >>> reranked(["a", "b", "c"], lambda ids: sorted(ids, reverse=True), most=2)
    ('b', 'a', 'c')
    >>> reranked(["a", "b", "c"], lambda ids: ["b", "b"], most=2)
    ('a', 'b', 'c')
    """
    first = tuple(ranking[:most])
    put = tuple(order(first))
    kept = len(put) == len(first) and set(put) == set(first)
    return (*(put if kept else first), *ranking[most:])


def permutation(reply: str, count: int) -> tuple[int, ...] | None:
    """Read an order of the numbers 1 to `count` from a model's reply: all of them, each once, nothing beside them.

    The numbers stand apart by commas, spaces or `>`. Anything else gives None.

    >>> permutation("3, 1, 2", 3), permutation("3 > 1", 3), permutation("Best: 3, 1, 2", 3)
    ((3, 1, 2), None, None)
    """
    if not re.fullmatch(r"\s*\d{1,4}(?:[\s,>]+\d{1,4})*\s*", reply, flags=re.ASCII):
        return None
    numbers = tuple(int(number) for number in re.findall(r"\d+", reply, flags=re.ASCII))
    return numbers if sorted(numbers) == list(range(1, count + 1)) else None


def _some(relevant: Collection[_Id]) -> None:
    if not relevant:
        raise ValueError("Nothing is relevant: leave the question out, and say how many were.")
