"""The arithmetic of rankings: what holds for every ranking, and figures worked out by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.ranking import fused, ndcg_at, permutation, quality, recall_at, reciprocal_rank, reranked

IDS = st.integers(0, 30)
RANKINGS = st.lists(IDS, unique=True, max_size=20)
RELEVANT = st.frozensets(IDS, min_size=1, max_size=8)


@given(RANKINGS, RELEVANT)
def test_every_measure_is_a_share(ranking: list[int], relevant: frozenset[int]) -> None:
    found = quality(ranking, relevant)
    for value in (found.recall_3, found.recall_5, found.reciprocal_rank, found.ndcg_5):
        assert 0 <= value <= 1 + 1e-12
    assert found.recall_3 <= found.recall_5


@given(RANKINGS, RELEVANT)
def test_what_comes_after_the_first_k_changes_nothing(ranking: list[int], relevant: frozenset[int]) -> None:
    assert recall_at(3, ranking, relevant) == recall_at(3, ranking[:3], relevant)
    assert ndcg_at(5, ranking, relevant) == ndcg_at(5, ranking[:5], relevant)


@given(RANKINGS, RELEVANT, st.integers(0, 19))
def test_moving_a_relevant_one_up_never_makes_a_ranking_worse(
    ranking: list[int], relevant: frozenset[int], place: int
) -> None:
    if place + 1 >= len(ranking) or ranking[place] in relevant or ranking[place + 1] not in relevant:
        return
    better = [*ranking]
    better[place], better[place + 1] = better[place + 1], better[place]
    for k in (3, 5):
        assert recall_at(k, better, relevant) >= recall_at(k, ranking, relevant)
        assert ndcg_at(k, better, relevant) >= ndcg_at(k, ranking, relevant) - 1e-12
    assert reciprocal_rank(better, relevant) >= reciprocal_rank(ranking, relevant)


@given(RELEVANT, RANKINGS)
def test_all_that_is_relevant_first_is_as_good_as_can_be(relevant: frozenset[int], rest: list[int]) -> None:
    ranking = [*relevant, *(one for one in rest if one not in relevant)]
    assert reciprocal_rank(ranking, relevant) == 1
    assert math.isclose(ndcg_at(5, ranking, relevant), 1)
    assert recall_at(len(relevant), ranking, relevant) == 1


def test_measures_are_as_worked_out_by_hand() -> None:
    ranking, relevant = ["x", "a", "y", "b", "z", "c"], {"a", "b", "c"}
    assert recall_at(3, ranking, relevant) == 1 / 3
    assert recall_at(5, ranking, relevant) == 2 / 3
    assert reciprocal_rank(ranking, relevant) == 1 / 2
    ideal = 1 + 1 / math.log2(3) + 1 / 2
    assert math.isclose(ndcg_at(5, ranking, relevant), (1 / math.log2(3) + 1 / math.log2(5)) / ideal)
    assert quality(["x"], {"a"}).reciprocal_rank == 0


@pytest.mark.parametrize("measure", [lambda: recall_at(3, ["a"], set()), lambda: quality(["a"], set())])
def test_a_question_without_anything_relevant_is_turned_down(measure: object) -> None:
    with pytest.raises(ValueError, match="leave the question out"):
        measure()  # type: ignore[operator]


@given(st.lists(RANKINGS, max_size=4))
def test_a_fusion_holds_each_id_of_its_rankings_once(rankings: list[list[int]]) -> None:
    found = fused(rankings)
    assert len(found) == len(set(found))
    assert set(found) == {one for ranking in rankings for one in ranking}


@given(RANKINGS, st.integers(1, 3))
def test_a_ranking_fused_with_itself_stays_as_it_is(ranking: list[int], times: int) -> None:
    assert list(fused([ranking] * times)) == ranking


@given(st.lists(IDS, unique=True, min_size=2, max_size=20), RANKINGS)
def test_what_is_first_in_every_ranking_is_first_in_the_fusion(one: list[int], other: list[int]) -> None:
    first = one[0]
    assert fused([one, [first, *(id for id in other if id != first)]])[0] == first


def test_a_fusion_adds_up_what_is_near_the_top_of_several() -> None:
    # b: 1/62 + 1/61; a: 1/61 + 1/64; c: 1/63 + 1/62
    assert fused([["a", "b", "c"], ["b", "c", "d", "a"]]) == ("b", "a", "c", "d")
    # With a small constant one first place outweighs two middling ones.
    assert fused([["a", "x", "b"], ["c", "y", "b"]], k=0) == ("a", "c", "b", "x", "y")
    assert fused([["a", "x", "b"], ["c", "y", "b"]])[0] == "b"


@given(RANKINGS, st.integers(0, 25), st.randoms(use_true_random=False))
def test_reranking_moves_only_the_first_and_loses_none(ranking: list[int], most: int, random: object) -> None:
    found = reranked(ranking, lambda ids: random.sample(ids, len(ids)), most=most)  # type: ignore[attr-defined]
    assert set(found[:most]) == set(ranking[:most])
    assert list(found[most:]) == ranking[most:]


@pytest.mark.parametrize("order", [["b"], ["a", "b", "c", "d"], ["a", "a", "b"], ["a", "b", "x"], []])
def test_an_order_that_is_no_permutation_changes_nothing(order: list[str]) -> None:
    assert reranked(["a", "b", "c", "d"], lambda _ids: order, most=3) == ("a", "b", "c", "d")


@given(st.permutations(range(1, 21)))
def test_a_reply_that_is_an_order_is_read(numbers: list[int]) -> None:
    for between in (", ", " ", " > ", "\n"):
        assert permutation(between.join(map(str, numbers)), len(numbers)) == tuple(numbers)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "3, 1",
        "1, 2, 3, 4",
        "1, 1, 2",
        "0, 1, 2",
        "1, 2, 3.",
        "The order is 1, 2, 3",
        "[1, 2, 3]",
        "1, 2, -3",
        "1 2 ³",
    ],
)
def test_a_reply_that_is_anything_else_is_not_read_in_part(reply: str) -> None:
    assert permutation(reply, 3) is None
