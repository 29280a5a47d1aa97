"""The first batch that made something recallable is found at every position, in few looks, each a whole recall."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, log2

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.brain.batches import Batch, Prefix, RememberedVectors
from memory.brain.bisecting import BisectionError, Found, Probe, bisect, most_probes
from memory.embedder import MiniLM
from memory.episode import Episode, Part
from memory.recall import Recalled
from tests.memory.brain.conftest import episode_about


def looked(batches: Sequence[object], red: set[int]) -> tuple[list[Probe], Found]:
    """All looks of a bisection over numbered batches, of which some make it red, and what was found."""
    numbered = list(enumerate(batches))
    looks = bisect(numbered, is_red=lambda some: any(place in red for place, _ in some))
    probes: list[Probe] = []
    while True:
        try:
            probes.append(next(looks))
        except StopIteration as end:
            return probes, end.value


@pytest.mark.parametrize("count", [1, 2, 3, 8, 9, 64, 1_024])
def test_the_batch_is_found_at_every_position_in_the_promised_number_of_looks(count: int) -> None:
    for place in range(count):
        probes, found = looked(range(count), {place})
        assert found == Found(place, alone=True)
        assert len(probes) <= most_probes(count) <= ceil(log2(count)) + 2
        assert [probe.number for probe in probes] == list(range(1, len(probes) + 1))


@pytest.mark.parametrize("count", [1, 2, 64])
def test_each_look_that_is_told_was_taken(count: int) -> None:
    taken: list[int] = []

    def is_red(some: Sequence[int]) -> bool:
        taken.append(len(some))
        return 0 in some

    assert [probe.batches for probe in bisect(range(count), is_red=is_red)] == taken


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 80), st.sets(st.integers(0, 79), min_size=1, max_size=5))
def test_of_several_the_first_is_found_and_the_others_are_told_of(count: int, red: set[int]) -> None:
    red = {place for place in red if place < count} or {0}
    probes, found = looked(range(count), red)
    assert found == Found(min(red), alone=len(red) == 1)
    assert len(probes) <= most_probes(count)


@pytest.mark.parametrize("count", [0, 1, 64])
def test_what_is_green_now_is_refused_after_one_look(count: int) -> None:
    with pytest.raises(BisectionError, match="makes this check red"):
        looked(range(count), set())


def about(number: int, what: str, *, bucket: str = "harbour") -> Batch:
    name = f"batch:{number}"
    episode = episode_about(what, bucket=bucket, batch=name, sql=f"SELECT COUNT(*) FROM boats LIMIT {number}")
    return Batch(name, number, float(number), (episode,))


@pytest.fixture(scope="module")
def embedder() -> MiniLM:
    return MiniLM()


class Embedded:
    """Vectors of episodes, made whenever they are asked for; counts how many were."""

    def __init__(self, embedder: MiniLM) -> None:
        self.made = 0
        self._embedder = embedder

    def of(self, episodes: Sequence[Episode], part: Part) -> list[object]:
        self.made += len(episodes)
        return list(self._embedder.embed([getattr(one, part) for one in episodes]))


@pytest.fixture
def vectors(embedder: MiniLM) -> Iterator[RememberedVectors]:
    yield RememberedVectors(Embedded(embedder))  # type: ignore[arg-type]


def recalled(some: Sequence[Batch], embedder: MiniLM, vectors: RememberedVectors) -> tuple[Recalled, ...]:
    """What a question about boats recalls of some batches."""
    prefix = Prefix(some, embedder=embedder, vectors=vectors)
    return prefix.recall(
        bucket="harbour",
        kind="count",
        tables=("boats",),
        question="How many ships are there?",
        masked="how many ships are there",
    )


NAMES = ("yachts", "ferries", "tugs", "barges", "rafts", "canoes", "liners", "dinghies")


@pytest.mark.parametrize("count", [8, 64])
def test_a_recall_over_the_first_batches_finds_the_poisoned_one_at_every_position(
    count: int, embedder: MiniLM, vectors: RememberedVectors
) -> None:
    """The poison is the worst match of all, and in a bucket of its own: a recall of the best few would not give it."""
    for place in range(count):
        batches = [about(number, f"{NAMES[number % 8]} of pier {number // 8}") for number in range(count)]
        batches[place] = about(place, "zebras in the zoo of Antwerp", bucket="zoo")
        ranks: list[int] = []

        def is_red(some: Sequence[Batch], ranks: list[int] = ranks) -> bool:
            found = [one.episode.question for one in recalled(some, embedder, vectors)]
            assert len(found) == sum(len(batch.episodes) for batch in some)
            ranks += [rank for rank, question in enumerate(found, start=1) if "zebras" in question]
            return any("zebras" in question for question in found)

        looks, found = bisect(batches, is_red=is_red), None
        while found is None:
            try:
                next(looks)
            except StopIteration as end:
                found = end.value
        assert found == Found(place, alone=True)
        assert ranks[0] > 3, "among all of them it is far from the best, and still found"


@pytest.mark.parametrize("place", [0, 511, 512, 1_022, 1_023])
def test_so_it_is_among_a_thousand_batches(place: int, embedder: MiniLM, vectors: RememberedVectors) -> None:
    batches = [about(number, f"{NAMES[number % 8]} of pier {number // 8 % 8}") for number in range(1_024)]
    batches[place] = about(place, "zebras in the zoo of Antwerp", bucket="zoo")

    def is_red(some: Sequence[Batch]) -> bool:
        return any("zebras" in one.episode.question for one in recalled(some, embedder, vectors))

    looks, probes, found = bisect(batches, is_red=is_red), 0, None
    while found is None:
        try:
            next(looks)
            probes += 1
        except StopIteration as end:
            found = end.value
    assert found == Found(place, alone=True) and probes <= 12


def test_what_few_batches_recall_more_batches_recall_too(embedder: MiniLM, vectors: RememberedVectors) -> None:
    """Also what another episode with the same masked question and shape would push aside, and many in one bucket."""
    same = episode_about("yachts", batch="late", sql="SELECT COUNT(*) FROM boats WHERE kind = 'yachts' OR FALSE")
    batches = [about(number, f"{NAMES[number % 8]} of pier {number}", bucket=f"b{number % 9}") for number in range(60)]
    batches.append(Batch("late", 60, 60.0, (same, episode_about("yachts", batch="late"))))
    before: set[str] = set()
    for count in range(len(batches) + 1):
        now = {str(one.episode.id) for one in recalled(batches[:count], embedder, vectors)}
        assert before <= now and len(now) == sum(len(batch.episodes) for batch in batches[:count])
        before = now


def test_each_vector_is_made_once_for_all_looks(embedder: MiniLM) -> None:
    made = Embedded(embedder)
    vectors = RememberedVectors(made)  # type: ignore[arg-type]
    batches = [about(number, f"{NAMES[number % 8]} of pier {number // 8}") for number in range(16)]
    for count in (16, 8, 12, 10):
        recalled(batches[:count], embedder, vectors)
    assert made.made == 2 * 16
