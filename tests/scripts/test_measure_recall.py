"""What is recalled today is as good as it was: over the whole labelled set, with the real embedder and no model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from agent.app import App
from agent.models.recorded import ScriptedModel
from memory.embedder import MiniLM
from memory.ranking import MOST_RERANKED
from scripts.measure_recall import Finding, Measured, averaged, labelled, measure, opened, shape, shipped_questions


@pytest.fixture(scope="module")
def app() -> Iterator[App]:
    with opened() as one:
        yield one


@pytest.fixture(scope="module")
def embedder() -> MiniLM:
    return MiniLM()


@pytest.fixture(scope="module")
def measured(app: App, embedder: MiniLM) -> Measured:
    return measure(app, labelled(app, shipped_questions()), embedder, arms=("dense", "shipped"))


def test_the_labelled_set_is_as_large_as_promised(measured: Measured) -> None:
    assert len(measured.questions) >= 200
    assert len({one.pair.sql for one in measured.chosen(set="retrieval")}) >= 70
    assert {one.language for one in measured.questions} == {"de", "en", "es", "ko"}


@pytest.mark.parametrize("measure", ["recall_3", "recall_5"])
@pytest.mark.parametrize("only", [{}, *({"language": language} for language in ("de", "en", "es", "ko"))], ids=str)
def test_what_is_shipped_finds_no_less_than_the_embedding_alone(
    measured: Measured, measure: str, only: dict[str, str]
) -> None:
    assert measured.mean("shipped", measure, less="dense", **only).value >= 0


def test_what_is_shipped_for_another_question_is_of_no_use(measured: Measured) -> None:
    assert measured.mean("shipped", "recall_5", less="shuffled").value >= 0.5


def test_relevant_is_what_has_the_skeleton_and_the_tables_of_the_gold(app: App) -> None:
    some = labelled(app, shipped_questions()[:12]).questions[0]
    episodes = {str(episode.id): episode for episode in app.ledger.episodes()}
    wanted = shape(app, some.pair.sql)
    assert {id for id, episode in episodes.items() if shape(app, episode.sql) == wanted} == some.relevant


@pytest.mark.parametrize(
    ("reply", "kept"),
    [
        (", ".join(map(str, range(MOST_RERANKED, 0, -1))), False),
        ("1, 2, 3", True),
        ("Sure: " + ", ".join(map(str, range(MOST_RERANKED, 0, -1))), True),
    ],
)
def test_a_model_puts_the_first_candidates_in_order_or_changes_nothing(
    app: App, embedder: MiniLM, reply: str, kept: bool
) -> None:
    finding = Finding(app, embedder)
    asked = app.understand("Which products are made in Osaka?")
    before = finding.fused(asked)
    after = finding.in_the_order_of(ScriptedModel([reply]), asked)
    first = before[:MOST_RERANKED] if kept else before[:MOST_RERANKED][::-1]
    assert after == (*first, *before[MOST_RERANKED:])


def test_one_question_in_four_languages_counts_as_one() -> None:
    alone = averaged(["a", "b", "c", "d"], [1.0, 0.0, 1.0, 0.0])
    four_times = averaged(
        [gold for gold in "abcd" for _ in range(4)], [value for value in (1.0, 0.0, 1.0, 0.0) for _ in range(4)]
    )
    assert alone == four_times
    assert alone.value == 0.5 and 0 <= alone.low < 0.5 < alone.high <= 1
    more = averaged([str(number) for number in range(64)], [1.0, 0.0] * 32)
    assert more.high - more.low < alone.high - alone.low


def test_a_question_with_nothing_relevant_is_left_out_and_counted(app: App) -> None:
    some = shipped_questions()[:6]
    odd = replace(some[0], sql="SELECT CompanyName FROM Shippers UNION ALL SELECT City FROM Suppliers LIMIT 3")
    assert labelled(app, [*some, odd]).without == labelled(app, some).without + 1
