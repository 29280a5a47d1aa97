"""Between the questions of a run bad episodes are forgotten and hard buckets seeded, by rules that can be told."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent import ask as loop
from agent.app import App, decline, open_app
from agent.attempt import Attempt
from agent.database.fingerprint import fingerprint
from agent.database.result import QueryFailed, Result
from agent.drafting.approaches import approach_named
from agent.journal import LedgerJournal
from agent.learning.care import Care, keeps_failing, newest
from agent.learning.hard import FORGOTTEN_BEFORE
from agent.learning.judging import Judge
from agent.learning.questions import Pair
from agent.learning.runs import Checkpoint, Forgotten, Plan, QuestionSet, Run, RunLog, Seeded
from agent.learning.steps import Part, Step
from agent.learning.training import Learner, TrainingOptions, train
from agent.models.port import Prompt, Reply
from agent.settings import Levers, Settings
from memory.episode import Episode
from memory.ledger import EventKind
from memory.lessons import Lessons
from memory.outbox import drain
from memory.recall import indexed_text
from procedural.store import Bucket, changes_content
from procedural.synapse import Synapse, Target
from tests.agent.learning.made import made_step
from tests.agent.made import episode_of

if TYPE_CHECKING:
    from tests.agent.conftest import Bakery


def pair(id: str, question: str, sql: str, *others: str) -> Pair:
    return Pair(id, question, sql, others, False, "", "", "en", 1)


ALL = pair("all", "How many breads are there?", "SELECT COUNT(*) FROM Breads")
DEAR = pair("dear", "How many breads cost more than 1?", "SELECT COUNT(*) FROM Breads WHERE Price > 1")
CHEAP = pair("cheap", "How many breads cost less than 4?", "SELECT COUNT(*) FROM Breads WHERE Price < 4")
WHEAT = pair("wheat", "How many breads are made of wheat flour?", "SELECT COUNT(*) FROM Breads WHERE Flour = 'wheat'")
BAKERS = pair("bakers", "How many bakers are there?", "SELECT COUNT(*) FROM Bakers")
BREADS = (ALL, DEAR, CHEAP, WHEAT)

LUCKY = "SELECT 3 FROM Breads LIMIT 1"
"""The number of breads and of bakers, as long as nothing is baked anew."""


# The rule of failing, on runs that are made up


def step(
    epoch: int, right: bool, *, bucket: str = "b", question: str = "q", attempt: str = "", part: Part = "training"
) -> Step:
    return made_step(
        question,
        right=right,
        part=part,
        epoch=epoch,
        attempt=attempt,
        bucket=bucket,
        recalled=1,
        sql=LUCKY,
    )


PLAN = Plan(QuestionSet("t.jsonl", "d", 4), None, "copying", "bakery", "s", epochs=3, checkpoint=4)


def run_of(*steps: Step, checkpoints: tuple[Checkpoint, ...] = ()) -> Run:
    return Run("r1", PLAN, 0.0, steps, checkpoints)


RIGHT, WRONG = True, False
CHANGED = (Forgotten("e", "b", "q", LUCKY, "it misled"),)


@pytest.mark.parametrize(
    ("answers", "fails"),
    [
        ([], False),
        ([(1, WRONG), (1, WRONG)], False),
        ([(1, WRONG), (1, WRONG), (1, WRONG)], True),
        ([(1, WRONG), (2, WRONG), (3, WRONG)], True),
        ([(1, WRONG), (2, WRONG), (3, RIGHT)], False),
        ([(1, RIGHT), (1, WRONG), (1, WRONG), (1, WRONG), (1, WRONG)], False),
        ([(1, RIGHT), *[(1, WRONG)] * 5], True),
        ([(1, RIGHT)] * 9 + [(2, WRONG)] * 3 + [(3, WRONG)] * 3, True),
        ([(1, WRONG)] * 9 + [(2, RIGHT), (2, WRONG), (3, RIGHT)], False),
    ],
)
def test_a_bucket_keeps_failing_by_the_rule_of_pruning_over_its_newest_answers(
    answers: Sequence[tuple[int, bool]], fails: bool
) -> None:
    run = run_of(*(step(epoch, right) for epoch, right in answers))
    assert keeps_failing(run, "b", ()) is fails
    assert not keeps_failing(run, "another", ())


def test_answers_of_holdout_and_of_other_buckets_say_nothing_about_a_bucket() -> None:
    others = [step(1, WRONG, bucket="c"), step(1, WRONG, part="holdout"), step(1, WRONG, part="holdout")]
    run = run_of(*others, step(1, WRONG))
    assert newest(run, "b") == (step(1, WRONG),) and not keeps_failing(run, "b", ())


def test_after_a_change_a_bucket_has_a_fresh_start() -> None:
    steps = [step(1, WRONG)] * 3 + [step(1, WRONG, bucket="c")] * 3
    changed = run_of(*steps, checkpoints=(Checkpoint(1, 6, True, CHANGED),))
    assert not keeps_failing(changed, "b", ()) and keeps_failing(changed, "c", ())
    later = replace(changed, steps=(*changed.steps, *[step(2, WRONG)] * 2))
    assert len(newest(later, "b")) == 2 and not keeps_failing(later, "b", ())
    assert keeps_failing(replace(later, steps=(*later.steps, step(2, WRONG))), "b", ())
    within = replace(changed, checkpoints=(Checkpoint(1, 3, False, CHANGED),), steps=(*steps[:3],) * 2)
    assert len(newest(within, "b")) == 3 and keeps_failing(within, "b", ())
    seeded = replace(changed, checkpoints=(Checkpoint(1, 6, True, seeded=(Seeded("e", "b", "q", "it failed"),)),))
    assert not keeps_failing(seeded, "b", ())
    nothing = replace(changed, checkpoints=(Checkpoint(1, 6, True),))
    assert keeps_failing(nothing, "b", ())


def test_a_bucket_that_failed_before_the_run_fails_at_its_first_wrong_answer() -> None:
    spent = [Synapse("b", "approach", "direct", 0.5, 0, 3, 0.0)]
    assert not keeps_failing(run_of(), "b", spent)
    assert keeps_failing(run_of(step(1, WRONG)), "b", spent)
    assert not keeps_failing(run_of(step(1, WRONG)), "b", [*spent, Synapse("b", "approach", "plan", 1.0, 1, 0, 0.0)])
    assert not keeps_failing(run_of(step(1, WRONG), step(1, RIGHT)), "b", spent)
    changed = (Checkpoint(1, 1, False, CHANGED),)
    assert not keeps_failing(run_of(step(1, WRONG), step(1, WRONG), checkpoints=changed), "b", spent)


# A night at the bakery


@dataclass
class Copying:
    """A model that copies a query as long as an example shows it, and else answers right."""

    copied: str
    pairs: Sequence[Pair]
    name: str = "copying"

    def complete(self, prompt: Prompt) -> Reply:
        if any(self.copied in turn.text for turn in prompt.turns if turn.role == "assistant"):
            return Reply(self.copied)
        [right] = [pair.sql for pair in self.pairs if pair.question == prompt.turns[-1].text.splitlines()[0]]
        return Reply(right)

    def close(self) -> None:
        """Nothing to close."""


def episode(bakery: Bakery, question: str, sql: str, **known: Any) -> Episode:
    usual: dict[str, Any] = {
        "origin": "seed:own",
        "verifier": "gold",
        "batch": "seed:own",
        "schema_fingerprint": bakery.database.schema.fingerprint,
        "result_fingerprint": fingerprint(bakery.run(bakery.check(sql)), ordered=False),
    }
    return episode_of(bakery.understand(question), sql, **{**usual, **known})


@dataclass(kw_only=True)
class Night:
    """Training as in the application, but for habits, the choice of an approach, and what recall leaves out."""

    bakery: Bakery
    judge: Judge
    pairs: tuple[Pair, ...]
    vouched: tuple[Pair, ...] = ()
    plan: Plan = PLAN
    id: str = "r1"
    ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def __post_init__(self) -> None:
        self.log = RunLog(self.bakery.ledger)
        self.run = self.log.begin(self.id, self.plan)

    @property
    def care(self) -> Care:
        return Care(
            ledger=self.bakery.ledger,
            synapses=self.bakery.synapses,
            log=self.log,
            pairs=self.pairs,
            run=self.judge.run,
            judge=self.judge,
            understand=self.bakery.understand,
            schema=self.bakery.database.schema.fingerprint,
            dialect="sqlite",
            vouched=self.vouched,
        )

    def train(self, copied: str) -> Run:
        model, direct = Copying(copied, self.pairs), approach_named("direct")
        assert direct is not None

        def ask(chosen: Sequence[Pair], epoch: int, _part: Part) -> Iterator[Step]:
            for pair in chosen:
                drain(self.bakery.ledger, self.bakery.store, text=indexed_text)
                learner = self._learner(pair, epoch)
                for _ in loop.ask(
                    Attempt(id=f"a{next(self.ids)}", question=pair.question, model=model.name),
                    understand=self.bakery.understand,
                    decline=decline,
                    habit=lambda _understood: None,
                    recall=self.bakery.recalled,
                    approach=lambda attempt: direct.chosen("asked for", self._material(attempt)),
                    prompt=lambda attempt: direct.prompt(attempt, self._material(attempt)),
                    model=model,
                    database=self.bakery,
                    journal=learner,
                ):
                    pass
                yield learner.judged[-1]

        *_, self.run = train(self.run, pairs=self.pairs, holdout=(), ask=ask, care=self.care, log=self.log)
        drain(self.bakery.ledger, self.bakery.store, text=indexed_text)
        return self.run

    def _material(self, attempt: Attempt) -> Any:
        assert attempt.understood is not None
        return self.bakery.material(attempt.understood)

    def _learner(self, pair: Pair, epoch: int) -> Learner:
        def judged(pair: Pair, attempt: Attempt) -> Any:
            return self.judge.judge(pair, attempt.sql, attempt.result)

        schema = self.bakery.database.schema.fingerprint
        journal = LedgerJournal(self.bakery.ledger, schema=schema, dialect="sqlite")
        return Learner(
            journal=journal,
            synapses=self.bakery.synapses,
            log=self.log,
            judge=judged,
            run=self.run.id,
            epoch=epoch,
            pair=pair,
        )

    def answered(
        self,
        question: Pair,
        *,
        shown: Iterable[Episode],
        right: bool = False,
        epoch: int = 1,
        bent: float | None = None,
    ) -> None:
        """A question was asked, with some episodes shown, or bent so far to answer it, and judged."""
        understood, id = self.bakery.understand(question.question), f"{self.id} a{next(self.ids)}"
        bucket = Bucket(understood.bucket, understood.intent.kind, understood.intent.tables)
        recalled = [{"episode": str(one.id)} for one in shown]
        body = {"path": "model", "approach": "direct", "drafts": [{}], "recalled": recalled, "question": id}
        if bent is not None:
            given = [
                {"episode": one["episode"], "origin": "adapted", "agrees": True, "strain": bent} for one in recalled
            ]
            body = {**body, "path": "adapted", "drafts": given}
        targets = [Target("approach", "direct"), *(Target("episode", one["episode"]) for one in recalled)]
        done = step(epoch, right, bucket=bucket.bucket, question=question.id, attempt=id)
        with self.bakery.ledger.transaction() as entry:
            entry.start_attempt(id, {"question": id})
            entry.settle_attempt(id, body)
            changes = self.bakery.synapses.fire(entry.connection, bucket, targets, float(right), entry.at)
            entry.append(EventKind.WEIGHTS_MOVED, bucket.bucket, changes_content(changes))
            self.log.step(entry, self.run.id, done)
        self.run = self.run.grown(step=done)

    def check(self, epoch: int = 1, *, closes: bool = False) -> Checkpoint:
        self.run = self.care.checkpoint(self.run, epoch, closes=closes)
        assert self.log.read(self.run.id).checkpoints == self.run.checkpoints
        return self.run.checkpoints[-1]

    def state(self, episode: Episode) -> str | None:
        return self.bakery.ledger.episode_state(episode.id)


@pytest.fixture
def night(bakery: Bakery, judge: Judge) -> Callable[..., Night]:
    def make(*pairs: Pair, vouched: tuple[Pair, ...] = (), id: str = "r1", **changed: Any) -> Night:
        plan = replace(PLAN, **changed)
        return Night(bakery=bakery, judge=judge, pairs=pairs or BREADS, vouched=vouched, plan=plan, id=id)

    return make


def rights(run: Run, epoch: int) -> int:
    return sum(one.right for one in run.of(epoch))


def test_a_bucket_that_a_lucky_pair_led_astray_heals_by_itself(night: Callable[..., Night], bakery: Bakery) -> None:
    lucky, good = episode(bakery, "How many breads do we sell?", LUCKY), episode(bakery, ALL.question, ALL.sql)
    bakery.remember([lucky, good])
    assert (
        lucky.bucket == good.bucket and bakery.run(bakery.check(LUCKY)).rows == bakery.run(bakery.check(ALL.sql)).rows
    )
    run = night().train(LUCKY)
    assert rights(run, 1) == 0, "it is copied"
    assert [gone.episode for one in run.checkpoints for gone in one.forgotten] == [str(lucky.id)]
    assert (rights(run, 2), rights(run, 3)) == (4, 4)
    assert bakery.ledger.episode_state(lucky.id) == "forgotten"
    assert bakery.store.members(lucky.bucket) == {one.id for one in bakery.ledger.episodes(lucky.bucket)} >= {good.id}
    bakery.prove()


def test_without_forgetting_it_stays_failing(night: Callable[..., Night], bakery: Bakery) -> None:
    lucky = episode(bakery, "How many breads do we sell?", LUCKY)
    bakery.remember([lucky, episode(bakery, ALL.question, ALL.sql)])
    run = night(forgetting=False, seeding=False).train(LUCKY)
    assert [rights(run, epoch) for epoch in (1, 2, 3)] == [0, 0, 0]
    assert [one.forgotten for one in run.checkpoints] == [()] * 3 and bakery.ledger.episode_state(lucky.id) == "active"


@pytest.mark.parametrize(("bent", "state"), [(0.0, "forgotten"), (0.5, "active")])
def test_an_episode_that_was_bent_for_wrong_answers_is_not_forgotten_for_them(
    night: Callable[..., Night], bakery: Bakery, bent: float, state: str
) -> None:
    unknown = episode(bakery, "How many breads do we sell?", LUCKY)
    bakery.remember([unknown])
    going = night()
    for _ in range(3):
        going.answered(ALL, shown=[unknown], bent=bent)
    going.check()
    assert going.state(unknown) == state


@pytest.fixture
def app(bakery_file: Path, tmp_path: Path) -> Iterator[App]:
    """The application on the bakery, with the real episode store and a model that copies."""
    settings = Settings(
        database=str(bakery_file),
        brain=str(tmp_path / "own"),
        data=tmp_path,
        runs=tmp_path / "runs",
        approach="direct",
        levers=Levers.read("none"),  # the model alone answers
    )
    with open_app(settings, seeding=False) as opened:
        opened.model = Copying(LUCKY, BREADS)
        yield opened


@pytest.mark.parametrize("forgetting", [True, False])
def test_a_run_of_the_application_heals_what_was_praised_before_and_only_by_forgetting(
    app: App, bakery: Bakery, tmp_path: Path, forgetting: bool
) -> None:
    file = tmp_path / "training.jsonl"
    lines = [{"id": one.id, "question": one.question, "sql": one.sql} for one in BREADS]
    file.write_text("\n".join(map(json.dumps, lines)))
    lucky, good = episode(bakery, ALL.question, LUCKY), episode(bakery, DEAR.question, DEAR.sql)
    bucket = Bucket(lucky.bucket, lucky.kind, lucky.tables)
    with app.ledger.transaction() as entry:
        entry.remember(lucky)
        entry.remember(good)
        for _ in range(6):
            praised = app.synapses.fire(entry.connection, bucket, [Target("episode", str(lucky.id))], 1.0, entry.at)
            entry.append(EventKind.WEIGHTS_MOVED, bucket.bucket, changes_content(praised))
    options = TrainingOptions(training=file, epochs=2, checkpoint=2, forgetting=forgetting, seeding=False)
    begun = app.begin_run(options)
    *_, run = app.train(begun, options)
    assert run.finished and (rights(run, 1), rights(run, 2)) == ((2, 4) if forgetting else (0, 0))
    named = [gone.episode for one in run.checkpoints for gone in one.forgotten]
    assert named == ([str(lucky.id)] if forgetting else [])
    app.bring_up_to_date()
    held = app.store.members(lucky.bucket)
    assert good.id in held and (lucky.id in held) is not forgetting
    assert held == {one.id for one in app.ledger.episodes(lucky.bucket)}


@pytest.mark.parametrize(
    "sql", [LUCKY, "SELECT MAX(BreadID) FROM Breads", "SELECT COUNT(*) FROM (SELECT * FROM Breads LIMIT 3) AS b"]
)
def test_a_wrong_answer_to_a_training_question_is_forgotten_at_once_and_leaves_a_lesson(
    night: Callable[..., Night], bakery: Bakery, sql: str
) -> None:
    lucky = episode(bakery, ALL.question.lower(), sql)
    bakery.remember([lucky])
    going = night()
    for _ in range(5):
        going.answered(ALL, shown=[lucky], right=True)
    assert going.check().forgotten == ()
    going.answered(DEAR, shown=[lucky])
    [gone] = going.check().forgotten
    assert (gone.episode, gone.bucket, gone.sql) == (str(lucky.id), lucky.bucket, sql)
    assert gone.why == (
        "its own answer is wrong: Right on this data only: after rows changed, it gave a wrong value. "
        "It was shown in 1 wrong answer, first in epoch 1, in 5 right."
    )
    [event] = bakery.ledger.events(kinds=(EventKind.EPISODE_FORGOTTEN,))
    assert event.content == {"reason": f"in training r1: {gone.why}"}
    [lesson] = Lessons(bakery.ledger).of(lucky.bucket)
    assert (lesson.wrong_sql, lesson.fix_sql, lesson.origin) == (sql, ALL.sql, "train:r1")
    assert lesson.problem.startswith("Its pair was forgotten: Right on this data only")
    bakery.prove()


def test_a_right_answer_to_a_training_question_stays_whatever_came_of_it(
    night: Callable[..., Night], bakery: Bakery
) -> None:
    good = episode(bakery, ALL.question, ALL.sql)
    bakery.remember([good])
    going = night()
    for epoch in (1, 2, 3):
        going.answered(DEAR, shown=[good], epoch=epoch)
        going.answered(CHEAP, shown=[good], epoch=epoch)
    assert going.check(3).forgotten == () and going.state(good) == "active"


def test_an_episode_is_not_judged_while_the_database_is_out_of_reach_or_the_gold_says_nothing(
    night: Callable[..., Night], bakery: Bakery, judge: Judge
) -> None:
    lucky = episode(bakery, ALL.question, LUCKY)
    bakery.remember([lucky])
    going = night(replace(ALL, sql="SELECT COUNT(*) FROM Loaves"))
    going.answered(ALL, shown=[lucky])
    assert going.check().forgotten == (), "there is nothing to judge it by"

    def locked(_sql: str) -> Result:
        raise QueryFailed("The database is locked.", kind="locked")

    later = Night(bakery=bakery, judge=Judge(run=locked, copies=judge.copies), pairs=BREADS, id="r2")
    later.answered(ALL, shown=[lucky])
    assert later.check().forgotten == (), "it could not be run"
    later.judge = judge
    assert [gone.episode for gone in later.check().forgotten] == [str(lucky.id)]


def test_an_episode_is_right_if_any_training_question_of_its_wording_says_so(
    night: Callable[..., Night], bakery: Bakery
) -> None:
    good = episode(bakery, ALL.question, ALL.sql)
    bakery.remember([good])
    other = pair("other", ALL.question.upper(), "SELECT COUNT(*) + 1 FROM Breads")
    for number, pairs in enumerate(((ALL, other), (other, ALL))):
        going = night(*pairs, id=f"r{number}")
        going.answered(ALL, shown=[good])
        assert going.check().forgotten == ()


def test_an_answer_that_no_training_question_asks_for_goes_by_its_own_record(
    night: Callable[..., Night], bakery: Bakery
) -> None:
    never, helped, spent, aside = (
        episode(bakery, f"How many breads do {who} bake?", ALL.sql) for who in ("we", "you", "they", "others")
    )
    bakery.remember([never, helped, spent, aside])
    going = night()
    going.answered(ALL, shown=[helped], right=True)
    for epoch in (2, 3, 4):
        going.answered(DEAR, shown=[never, helped, spent], epoch=epoch)
    assert [gone.episode for gone in going.check(4).forgotten] == [str(never.id), str(spent.id)]
    assert going.state(helped) == going.state(aside) == "active"
    with bakery.ledger.connection() as connection:
        led_to = {one.target for one in bakery.synapses.synapses(connection, kind="episode")}
    assert str(helped.id) in led_to and led_to.isdisjoint({str(never.id), str(spent.id)}), "the ways go with them"
    assert going.run.checkpoints[-1].forgotten[0].why == (
        "shown in 3 wrong answers, first in epoch 2, never in a right one; "
        "3 of the last 3 answers in its bucket were wrong."
    )
    assert Lessons(bakery.ledger).of(never.bucket) == (), "that it is wrong, nobody knows"


def test_what_wrong_answers_followed_goes_alone(night: Callable[..., Night], bakery: Bakery) -> None:
    followed, other = (
        episode(bakery, f"How many breads do {who} bake?", sql) for who, sql in (("we", LUCKY), ("you", ALL.sql))
    )
    bakery.remember([other, followed])
    going = night()
    for _ in range(3):
        going.answered(DEAR, shown=[other, followed])
    assert [gone.episode for gone in going.check().forgotten] == [str(followed.id)]
    for _ in range(2):
        going.answered(DEAR, shown=[other], epoch=2)
        assert going.check(2).forgotten == (), "the bucket has a fresh start"
    going.answered(DEAR, shown=[other], epoch=2)
    assert [gone.episode for gone in going.check(2).forgotten] == [str(other.id)]


def test_where_one_is_known_to_be_wrong_the_others_stay(night: Callable[..., Night], bakery: Bakery) -> None:
    wrong, other = episode(bakery, ALL.question, LUCKY), episode(bakery, "How many breads do we bake?", LUCKY)
    bakery.remember([wrong, other])
    going = night()
    for _ in range(4):
        going.answered(DEAR, shown=[wrong, other])
    assert [gone.episode for gone in going.check().forgotten] == [str(wrong.id)]


def test_an_episode_is_judged_by_a_vouched_pair_as_well_and_that_is_not_seeded(
    night: Callable[..., Night], bakery: Bakery
) -> None:
    own = pair("own", "how many breads do you bake", ALL.sql)
    good, lucky = episode(bakery, own.question + "?", ALL.sql), episode(bakery, own.question + "!", LUCKY)
    bakery.remember([good, lucky])
    going = night(ALL, vouched=(own,))
    for _ in range(4):
        going.answered(ALL, shown=[good, lucky])
    checked = going.check(closes=True)
    [gone] = checked.forgotten
    assert gone.episode == str(lucky.id) and gone.why.startswith("its own answer is wrong")
    assert going.state(good) == "active"
    assert [one.question for one in checked.seeded] == [ALL.question]


def test_an_answer_that_helped_goes_once_it_failed_too_often(night: Callable[..., Night], bakery: Bakery) -> None:
    helped = episode(bakery, "How many breads do we bake?", ALL.sql)
    bakery.remember([helped])
    going = night()
    going.answered(ALL, shown=[helped], right=True)
    for _ in range(4):
        going.answered(DEAR, shown=[helped], epoch=2)
    assert going.check(2).forgotten == ()
    going.answered(DEAR, shown=[helped], epoch=3)
    [gone] = going.check(3).forgotten
    assert gone.why.startswith("shown in 5 wrong answers, first in epoch 2, in 1 right; ")


def test_the_earliest_suspects_go_first(night: Callable[..., Night], bakery: Bakery) -> None:
    first, second, third = (
        episode(bakery, f"How many breads do {who} bake?", ALL.sql) for who in ("we", "you", "they")
    )
    bakery.remember([first, second, third])
    going = night()
    going.answered(DEAR, shown=[third])
    going.answered(DEAR, shown=[second, first])
    going.answered(DEAR, shown=[first, second, third])
    assert [gone.episode for gone in going.check().forgotten] == [str(one.id) for one in (third, first, second)]


def test_a_bucket_that_does_not_keep_failing_loses_nothing(night: Callable[..., Night], bakery: Bakery) -> None:
    shown = episode(bakery, "How many breads do we bake?", ALL.sql)
    bakery.remember([shown])
    going = night()
    going.answered(DEAR, shown=[shown])
    going.answered(CHEAP, shown=[shown])
    assert going.check().forgotten == () and going.state(shown) == "active"


def test_an_episode_of_another_bucket_is_not_forgotten_for_what_it_did_here(
    night: Callable[..., Night], bakery: Bakery
) -> None:
    elsewhere = episode(bakery, BAKERS.question, LUCKY)
    bakery.remember([elsewhere])
    going = night(*BREADS, BAKERS)
    for _ in range(6):
        going.answered(DEAR, shown=[elsewhere])
    assert going.check().forgotten == () and going.state(elsewhere) == "active"
    going.answered(BAKERS, shown=[elsewhere])
    assert [gone.episode for gone in going.check().forgotten] == [str(elsewhere.id)], "here it was judged"


def test_what_was_pruned_is_not_learned_again_in_any_spelling(night: Callable[..., Night], bakery: Bakery) -> None:
    good = episode(bakery, ALL.question, ALL.sql)
    bakery.remember([good])
    with bakery.ledger.transaction() as entry:
        entry.forget(good.id, "it misled")
        again = episode(bakery, "HOW many breads  are there", "select count( * ) from Breads -- all")
        assert entry.remember(again) is False and entry.remember(good) is False
    other = replace(ALL, sql="SELECT  Count(*)\nFROM Breads;")
    going = night(other)
    going.answered(other, shown=[])
    checked = going.check(closes=True)
    assert checked.seeded == () and checked.refused == (f"all: {FORGOTTEN_BEFORE}",)
    going.train(LUCKY)
    assert rights(going.run, 2) == 1, "the answer is right"
    assert bakery.ledger.episodes() == (), "and still not remembered"


# Seeding in a run


def test_a_bucket_that_stayed_at_zero_is_seeded_when_the_epoch_closes(
    night: Callable[..., Night], bakery: Bakery
) -> None:
    going = night(*BREADS, BAKERS)
    for one in BREADS:
        going.answered(one, shown=[])
    going.answered(BAKERS, shown=[], right=True)
    assert going.check().seeded == ()
    checked = going.check(closes=True)
    assert [(one.question, one.why) for one in checked.seeded] == [
        (one.question, "none of its bucket's questions was right in epoch 1") for one in (ALL, DEAR)
    ]
    assert [str(one.id) for one in bakery.ledger.episodes()] == [one.episode for one in checked.seeded]
    for given in bakery.ledger.episodes(batch="train:r1:epoch-1"):
        assert (given.origin, given.verifier) == ("train:r1", "gold")
    for one in BREADS:
        going.answered(one, shown=[], epoch=2)
    assert [one.question for one in going.check(2, closes=True).seeded] == [CHEAP.question, WHEAT.question]
    for one in BREADS:
        going.answered(one, shown=[], epoch=3)
    assert going.check(3, closes=True) == Checkpoint(3, 4, True)
    bakery.prove()


def test_a_stubborn_question_gets_its_own_gold_where_its_bucket_does_well(
    night: Callable[..., Night], bakery: Bakery
) -> None:
    going = night()
    for epoch in (1, 2, 3):
        for one in BREADS:
            going.answered(one, shown=[], right=one is not WHEAT, epoch=epoch)
        checked = going.check(epoch, closes=True)
    assert [(one.question, one.why) for one in checked.seeded] == [(WHEAT.question, "it was wrong 3 times in a row")]
    assert sum(len(one.seeded) for one in going.run.checkpoints) == 1


def test_a_gold_that_does_not_hold_is_refused_and_named(night: Callable[..., Night], bakery: Bakery) -> None:
    lucky = replace(ALL, others=(LUCKY,))
    going = night(lucky, DEAR)
    going.answered(lucky, shown=[])
    going.answered(DEAR, shown=[])
    checked = going.check(closes=True)
    assert [one.question for one in checked.seeded] == [DEAR.question]
    [refused] = checked.refused
    assert refused.startswith("all: Right on this data only")
    going.answered(lucky, shown=[], epoch=2)
    going.answered(DEAR, shown=[], epoch=2)
    assert going.check(2, closes=True).refused == (), "it is named once"


def test_what_the_plan_turns_off_is_not_done(night: Callable[..., Night], bakery: Bakery) -> None:
    lucky = episode(bakery, ALL.question, LUCKY)
    bakery.remember([lucky])
    going = night(seeding=False, forgetting=False)
    for one in BREADS:
        going.answered(one, shown=[lucky])
    assert going.check(closes=True) == Checkpoint(1, 4, True)
    assert bakery.ledger.episodes() == (lucky,)
