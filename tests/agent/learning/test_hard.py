"""Hard buckets get a few of their training golds: those that hold, of different shapes, and none that was forgotten."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from agent.learning.hard import (
    FORGOTTEN_BEFORE,
    HardReport,
    ever_wrong,
    hard_buckets,
    in_turn,
    seed_hard,
    stayed_at_zero,
    stubborn,
)
from agent.learning.judging import Judge
from agent.learning.questions import Pair
from agent.learning.runs import Plan, QuestionSet, Run
from agent.learning.seed import Refused, Source
from agent.learning.steps import Step
from memory.ledger import BucketCount, EventKind
from memory.outbox import drain
from memory.recall import indexed_text
from procedural.store import Bucket, changes_content
from procedural.synapse import Synapse, Target
from tests.agent.learning.made import made_step

if TYPE_CHECKING:
    from tests.agent.conftest import Bakery


def pair(id: str, question: str, sql: str, *others: str) -> Pair:
    return Pair(id, question, sql, others, False, "", "", "en", 1)


ALL = pair("all", "How many breads are there?", "SELECT COUNT(*) FROM Breads", "SELECT COUNT(BreadID) FROM Breads")
DEAR = pair("dear", "How many breads cost more than 1?", "SELECT COUNT(*) FROM Breads WHERE Price > 1")
DEARER = pair("dearer", "How many breads cost more than 4?", "SELECT COUNT(*) FROM Breads WHERE Price > 4")
WHEAT = pair("wheat", "How many breads are made of wheat flour?", "SELECT COUNT(*) FROM Breads WHERE Flour = 'wheat'")
BAKERS = pair("bakers", "How many bakers are there?", "SELECT COUNT(*) FROM Bakers")
PAIRS = (DEAR, DEARER, ALL, WHEAT, BAKERS)


def fail(bakery: Bakery, question: str) -> str:
    """Something was tried for a question and failed. Gives the bucket."""
    understood = bakery.understand(question)
    bucket = Bucket(understood.bucket, understood.intent.kind, understood.intent.tables)
    with bakery.ledger.transaction() as entry:
        changes = bakery.synapses.fire(entry.connection, bucket, [Target("approach", "direct")], 0.0, entry.at)
        entry.append(EventKind.WEIGHTS_MOVED, bucket.bucket, changes_content(changes))
    return understood.bucket


def seed(bakery: Bakery, judge: Judge, *pairs: Pair, per_bucket: int = 2, failed: tuple[str, ...] = ()) -> HardReport:
    return seed_hard(
        pairs or PAIRS,
        ledger=bakery.ledger,
        synapses=bakery.synapses,
        run=judge.run,
        confirm=judge.confirm,
        understand=bakery.understand,
        source=Source("seed:hard", "gold", "seed:hard:f00", bakery.database.schema.fingerprint, "sqlite"),
        per_bucket=per_bucket,
        failed=failed,
    )


def questions(bakery: Bakery) -> list[str]:
    return [episode.question for episode in bakery.ledger.episodes()]


def test_a_hard_bucket_gets_golds_of_different_shapes_and_others_get_none(bakery: Bakery, judge: Judge) -> None:
    breads = fail(bakery, ALL.question)
    report = seed(bakery, judge)
    assert [one.bucket for one in report.buckets] == [breads] and report.remembered == 2
    [given] = report.buckets
    assert (given.kind, given.tables, given.refused) == ("count", ("Breads",), ())
    assert [one.question for one in given.remembered] == questions(bakery) == [DEAR.question, ALL.question]
    for episode in bakery.ledger.episodes(batch="seed:hard:f00"):
        assert (episode.origin, episode.verifier, episode.bucket) == ("seed:hard", "gold", breads)
    assert [str(episode.id) for episode in bakery.ledger.episodes()] == [one.episode for one in given.remembered]
    [opened] = bakery.ledger.events(kinds=(EventKind.BATCH_OPENED,))
    assert opened.subject == report.batch
    drain(bakery.ledger, bakery.store, text=indexed_text)
    assert bakery.store.members(breads) == {episode.id for episode in bakery.ledger.episodes()}
    bakery.prove()


def test_a_bucket_with_an_episode_is_not_hard(bakery: Bakery, judge: Judge) -> None:
    fail(bakery, ALL.question)
    assert seed(bakery, judge).remembered == 2
    before = bakery.ledger.head()
    assert seed(bakery, judge).buckets == () and bakery.ledger.head() == before


def test_questions_that_are_known_to_fail_come_first(bakery: Bakery, judge: Judge) -> None:
    fail(bakery, ALL.question)
    seed(bakery, judge, per_bucket=1, failed=("wheat",))
    assert questions(bakery) == [WHEAT.question]


def test_what_does_not_hold_is_refused_and_the_next_gold_takes_its_place(bakery: Bakery, judge: Judge) -> None:
    fail(bakery, ALL.question)
    broken = pair("broken", DEAR.question, "SELECT COUNT(*) FROM Loaves")
    lucky = pair("lucky", DEARER.question, DEARER.sql, "SELECT 1 FROM Breads LIMIT 1")
    nothing = pair("nothing", "How many breads cost more than 99?", "SELECT NULL FROM Breads WHERE Price > 99")
    report = seed(bakery, judge, broken, lucky, nothing, WHEAT, per_bucket=2)
    assert questions(bakery) == [WHEAT.question]
    refused = {one.name: one.reason for one in report.buckets[0].refused}
    assert set(refused) == {"broken", "lucky", "nothing"}
    assert "does not run" in refused["broken"] and "Loaves" in refused["broken"]
    assert "Right on this data only" in refused["lucky"] and "empty" in refused["nothing"]


def test_a_pair_that_was_forgotten_is_refused_in_any_spelling(bakery: Bakery, judge: Judge) -> None:
    fail(bakery, ALL.question)
    seed(bakery, judge, ALL)
    with bakery.ledger.transaction() as entry:
        entry.forget(bakery.ledger.episodes()[0].id, "it misled")
    again = replace(ALL, sql="select  Count( * )\n  from Breads -- all of them", others=())
    report = seed(bakery, judge, again)
    assert report.buckets[0].refused == (Refused("all", FORGOTTEN_BEFORE),)
    assert report.remembered == 0 and questions(bakery) == []


def test_two_lines_of_one_pair_count_once(bakery: Bakery, judge: Judge) -> None:
    fail(bakery, ALL.question)
    report = seed(bakery, judge, ALL, replace(ALL, id="again"), DEAR)
    assert report.remembered == 2 and questions(bakery) == [ALL.question, DEAR.question]


def test_a_hard_bucket_without_a_gold_is_named(bakery: Bakery, judge: Judge) -> None:
    bucket = fail(bakery, "List all bakers")
    before = bakery.ledger.head()
    [given] = seed(bakery, judge).buckets
    assert given.remembered == () and given.refused == (Refused(bucket, "no training question is of this type"),)
    assert bakery.ledger.head() == before


def test_a_line_that_is_no_question_seeds_nothing(bakery: Bakery, judge: Judge) -> None:
    fail(bakery, ALL.question)
    assert seed(bakery, judge, pair("none", "?!", ALL.sql), ALL).remembered == 1


def test_buckets_that_never_failed_or_hold_an_episode_are_not_hard() -> None:
    synapses = [
        Synapse("a", "approach", "direct", 0.8, 0, 1, 0.0),
        Synapse("b", "approach", "direct", 1.0, 1, 0, 0.0),
        Synapse("c", "episode", "e", 0.8, 4, 1, 0.0),
        Synapse("d", "skeleton", "s", 0.8, 0, 2, 0.0),
    ]
    counts = [BucketCount("a", "count", (), 0, 2), BucketCount("c", "count", (), 1, 0)]
    assert hard_buckets(synapses, counts) == ("a", "d")


def step(epoch: int, question: str, bucket: str, right: bool, part: str = "training") -> Step:
    return made_step(question, right=right, part=part, epoch=epoch, attempt=f"{epoch}-{question}", bucket=bucket)


def run_of(*steps: Step, digest: str = "d") -> Run:
    return Run("r1", Plan(QuestionSet("t.jsonl", digest, 4), None, "m", "bakery", "s"), 0.0, steps)


def test_a_bucket_stayed_at_zero_when_no_question_of_it_was_right_in_that_epoch() -> None:
    run = run_of(
        step(1, "q1", "a", True),
        step(1, "q2", "b", False),
        step(2, "q1", "a", False),
        step(2, "q3", "a", False),
        step(2, "q2", "b", False),
        step(2, "q4", "b", True),
        step(2, "h1", "c", False, part="holdout"),
    )
    assert stayed_at_zero(run, 1) == ("b",) and stayed_at_zero(run, 2) == ("a",) and stayed_at_zero(run, 3) == ()


def test_a_question_is_stubborn_when_its_last_answers_were_all_wrong() -> None:
    run = run_of(
        *(step(epoch, "never", "a", False) for epoch in (1, 2, 3)),
        *(step(epoch, "once", "a", epoch == 1) for epoch in (1, 2, 3, 4)),
        *(step(epoch, "now", "a", epoch == 4) for epoch in (1, 2, 3, 4)),
        *(step(epoch, "twice", "a", False) for epoch in (3, 4)),
        *(step(epoch, "held", "a", False, part="holdout") for epoch in (1, 2, 3, 4)),
    )
    assert stubborn(run, 2) == ()
    assert stubborn(run, 3) == ("never", "now") and stubborn(run, 4) == ("never", "once")
    assert stubborn(run, 4, times=2) == ("never", "once", "twice")


def test_golds_take_turns_by_shape_and_keep_their_order_within_one() -> None:
    shapes = {"1": "a", "2": "a", "3": "b", "4": "a", "5": "c"}
    pairs = [pair(id, "q", "") for id in shapes]
    assert [one.id for one in in_turn(pairs, lambda one: shapes[one.id])] == ["1", "3", "5", "2", "4"]


def test_a_question_ever_wrong_was_right_in_no_run_over_the_same_file() -> None:
    runs = (
        run_of(step(1, "q1", "a", False), step(1, "q2", "a", False), step(1, "h", "a", False, part="holdout")),
        run_of(step(1, "q2", "a", True)),
        run_of(step(1, "q3", "a", False), digest="another file"),
    )
    assert ever_wrong(runs, "d") == {"q1"}
