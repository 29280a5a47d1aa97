"""Proving that something cannot be recalled: every way by which a brain could give it away is looked at by itself.

No look goes through what forgetting edits, the state of episodes and the queue of changes, but for the recall itself,
which is to be caught giving away what it should not. A check without `erased` looks at what can come back: what the
ledger holds active, its lessons and terms; what habits, the index of words and the kept vectors are made of; Cognee's
vectors and graph; what is recalled for the question and for its paraphrases, and the prompt that would be sent;
and the replies of the completion cache. With `erased` also at what cannot: the whole ledger, all snapshots, versions
of Cognee's vectors that search does not read, and the bytes of all files of the brain, its runs and its replies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from agent.attempt import Attempt, Understood
from agent.drafting.approaches import APPROACHES
from agent.grounding import Lexicon, ground
from agent.intent import bucket_of, mask, predict
from agent.models.port import Prompt
from agent.prompt import is_large, stable_part
from agent.question import QuestionError, read_question
from agent.school import School
from memory.brain.checks import Checked, Evidence, Forbidden, concluded
from memory.brain.forbidding import Held, Needle, first, found_in, leaves
from memory.brain.forbidding_stores import (
    Remembering,
    Stored,
    active_episodes,
    history,
    in_files,
    kept_vectors,
    lessons,
    masked_questions,
    remembering,
    replies,
    stored,
    terms,
    words,
)
from memory.brain.holding import Used
from memory.brain.paraphrasing import FEWEST, paraphrases
from memory.brain.reading import read, snapshots

if TYPE_CHECKING:
    from agent.app import App
    from memory.recall import Recalled

_MOST_ASKED = 4
"""Questions that are asked for one check, each with all its paraphrases."""

_MOST_RECALLED = 20


@dataclass(kw_only=True)
class Proof:
    """Looks for what checks forbid. What the stores hold is read once, when a check first wants it."""

    app: App
    used: Used

    def of(self, check: Forbidden) -> Checked:
        """Look everywhere for what one check forbids. A column that the schema does not have is red."""
        if check.column is not None and not self._is_column(check.column):
            told = f"the database has no {check.column}, so nothing would ever be found"
            return concluded(check, {}, [Evidence("schema", check.column, told)], red=told)
        needle = Needle.of(check, self.used)
        known = self.known
        holding = frozenset(id for id, texts in known.texts.items() if any(map(needle.in_text, texts)))
        looked: dict[str, int] = {}
        evidence: list[Evidence] = []
        for place, held, orphans in (*self._kept(check), *self._asked(check, holding)):
            # What is looked at by its id alone, without a text of its own, is told by what its episode holds.
            count, found = found_in(place, held, needle, known=holding, orphans=orphans)
            looked[place] = looked.get(place, 0) + count
            evidence += found
        if check.erased:
            looked["files"], found = self._files(needle)
            evidence += found
        green = f"looked at {sum(looked.values()):,} things in {len(looked)} places"
        return concluded(check, looked, evidence, green=green)

    def _is_column(self, name: str) -> bool:
        table, _, column = name.rpartition(".")
        wanted = table.rpartition(".")[2].casefold(), column.casefold()
        tables = self.app.schema.tables
        return any((one.name.casefold(), each.name.casefold()) == wanted for one in tables for each in one.columns)

    @cached_property
    def known(self) -> Remembering:
        return remembering(self.app.ledger)

    @cached_property
    def points(self) -> tuple[Stored, ...]:
        self.app.load_native()
        return stored(self.app.store_folder)

    @cached_property
    def plain(self) -> Lexicon:
        """What a question links to without the glossary: what the database alone says."""
        return Lexicon(self.app.schema, self.app.database.facts, ())

    @cached_property
    def synonyms(self) -> tuple[tuple[str, ...], ...]:
        return tuple(term.names for term in self.app.semantic.glossary() if len(term.names) > 1)

    def _kept(self, check: Forbidden) -> Iterator[tuple[str, Iterable[Held], bool]]:
        """What is kept, place by place, and whether what nobody can tell is evidence there."""
        ledger, known = self.app.ledger, self.known
        yield "ledger", active_episodes(ledger, known), False
        yield "lessons", lessons(ledger), False
        yield "glossary", terms(ledger), False
        yield "habits", masked_questions(ledger), True
        yield "words", words(ledger, check.what), False
        yield "kept vectors", kept_vectors(ledger, known), True
        for place in ("vectors", "graph"):
            yield place, self._points(place), True
        yield "completion cache", self._replies(), False
        if check.erased:
            yield "old vectors", self._points("old vectors"), True
            yield "history", history(ledger), False
            yield "snapshots", self._snapshots(), False

    def _points(self, place: str) -> Iterator[Held]:
        return (one.held(self.known) for one in self.points if one.place == place)

    def _replies(self) -> Iterator[Held]:
        for file in self._reply_files:
            yield from replies(file)

    @property
    def _reply_files(self) -> list[Path]:
        """The completion cache, and what was put aside of it."""
        return [path for path in sorted(self.app.settings.runs.glob("replies.sqlite*")) if _is_database(path)]

    def _snapshots(self) -> Iterator[Held]:
        """What every snapshot that was taken gives now, and the brain as it is."""
        ledger, weights = self.app.ledger, self.app.versions.weights
        for name, until in (("live", None), *((one.name, one.position) for one in snapshots(ledger))):
            told = read(ledger, weights, until=until)
            for record in told.records.values():
                if record.kind != "schema":
                    yield Held(f"{name}, {record.kind} {record.key[1]}"[:120], tuple(leaves(record.body)))

    def _asked(self, check: Forbidden, holding: frozenset[str]) -> Iterator[tuple[str, Iterable[Held], bool]]:
        """What is recalled, and what would be sent, for each question and each of its paraphrases."""
        known = self.known
        order = sorted(holding, key=lambda id: (id not in known.active, id))
        named = check.what if check.column is None else " of ".join(reversed(check.what.rsplit(".", 1)))
        wanted = first(_MOST_ASKED, (*check.questions, named, *(known.questions.get(id, "") for id in order)))
        for question in filter(None, wanted):
            others = paraphrases(question, self.synonyms)
            assert len(others) >= FEWEST, "every question has paraphrases"
            yield "paraphrases", (Held(one, ()) for one in others), False
            for text in (question, *others):
                try:
                    understood = self.app.understand(read_question(text))
                except QuestionError:
                    if text in check.questions:
                        raise
                    continue
                yield "recall", self._recalled(understood), False
                yield "prompt", self._sent(understood), False

    def _files(self, needle: Needle) -> tuple[int, list[Evidence]]:
        """The bytes of every file of the brain, its runs, evaluations, improvements, and the completion cache."""
        runs = self.app.settings.runs
        improvements = sorted(path.parent for path in runs.glob("*/improve.json"))
        kept = sorted(runs.glob("replies.sqlite*"))
        places = (self.app.folder, *School(app=self.app).folders, *improvements, *kept)
        count, evidence = 0, []
        for name, data in in_files(places):
            count += 1
            if needle.in_bytes(data):
                evidence.append(Evidence("files", name, "its bytes hold it"))
        return count, evidence

    def _recalled(self, understood: Understood) -> Iterator[Held]:
        for recalled in self._found(understood):
            yield _held(recalled)
        replay = self.app.habit(understood)
        if replay is not None:
            yield _held(replay.recalled)

    def _found(self, understood: Understood) -> tuple[Recalled, ...]:
        return self.app.recall.recall(
            bucket=understood.bucket,
            kind=understood.intent.kind,
            tables=understood.intent.tables,
            question=understood.grounding.question,
            masked=understood.masked,
            limit=_MOST_RECALLED,
        )

    def _sent(self, understood: Understood) -> Iterator[Held]:
        """What each approach would show a model besides what the database and the question say by themselves."""
        app, question = self.app, understood.grounding.question
        attempt = Attempt(id="", question=question, model="", understood=understood, recalled=app.recalled(understood))
        material = app.approaching.material(understood)
        if not is_large(app.schema):
            stable = stable_part(app.schema, app.database.facts, app.semantic.glossary())
            material = replace(material, stable=stable)
        grounding = ground(question, self.plain)
        intent = predict(question, grounding)
        alone = Understood(grounding, intent, bucket_of(intent), mask(question, grounding))
        bare = Attempt(id="", question=question, model="", understood=alone)
        nothing = replace(material, stable=stable_part(app.schema, app.database.facts), shape="", lessons=())
        for approach in APPROACHES:
            if approach.fits(attempt, material):
                sent = approach.prompt(attempt.taking(approach.chosen("", material)), material)
                own = approach.prompt(bare.taking(approach.chosen("", nothing)), nothing)
                yield Held(f"{approach.name}: {question}", tuple(_more(sent, own)))


def _more(sent: Prompt, own: Prompt) -> Iterator[str]:
    """The parts of a prompt, without the lines that another has as well; each line counts as often as it stands.

    Of what every prompt begins with each line is a part: they say nothing together.
    """
    left = Counter(line for part in (own.stable, *(turn.text for turn in own.turns)) for line in part.splitlines())

    def new(part: str) -> Iterator[str]:
        for line in part.splitlines():
            if left[line] > 0:
                left[line] -= 1
            else:
                yield line

    yield from new(sent.stable)
    # The question itself stands last: an example that asks the same is not to pass for it.
    for turn in reversed(sent.turns):
        if told := "\n".join(new(turn.text)):
            yield told


def _held(recalled: Recalled) -> Held:
    episode = recalled.episode
    return Held(str(episode.id), (episode.question, episode.masked, episode.sql), episode=str(episode.id))


def _is_database(path: Path) -> bool:
    return not path.name.endswith(("-wal", "-shm", ".lock"))
