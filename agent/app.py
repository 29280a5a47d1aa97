"""The composition root: opens everything an answer needs, and closes it in reverse.

Only this file knows every concrete class. The doors see what stands here.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING
from uuid import UUID

from agent import ask as loop
from agent.attempt import Attempt, Chosen, Declined, Replay, Understood, effort_named
from agent.database.guard import CheckedQuery, check
from agent.database.reading import Database, open_database
from agent.database.result import DatabaseError, QueryRejected, Result
from agent.database.schema import Schema
from agent.database.skeleton import skeleton
from agent.doctor import Broken, Check, Finding, examine
from agent.drafting.approaches import APPROACHES, PLAINEST, Approach, Material, approach_named
from agent.drafting.weighing import WeightsError
from agent.grounding import Lexicon, ground
from agent.habits import Habits, habit_name
from agent.intent import bucket_of, mask, predict
from agent.journal import LedgerJournal
from agent.learning.arms import MEMORY, SCHEMA, Arm
from agent.learning.feedback import FeedbackError, Outcome, Teacher, Verdict, asked_alike
from agent.learning.mistakes import one_spelling
from agent.learning.questions import QuestionFileError, read_pairs
from agent.learning.runs import RunError
from agent.learning.seed import SeedReport, Source, verified
from agent.learning.teaching import GlossaryError, TeachingError, read_glossary, read_teaching
from agent.models.choosing import ModelListing, choose, is_hosted, list_models, needs_pull
from agent.models.local import LocalModel, load_runtime
from agent.models.port import Model, ModelError, ModelUnavailableError, Prompt, Reply
from agent.prompt import bare_part, is_large, narrowed_part, stable_part
from agent.question import QuestionError, asks_to_write, cleaned, read_question
from agent.settings import Settings, SettingsError
from memory.embedder import Embedder, MiniLM
from memory.episode import Episode
from memory.errors import BrainError, BrainForeignError
from memory.lease import writer_lease
from memory.ledger import EventKind, Ledger
from memory.lessons import Lessons
from memory.outbox import drain, standing
from memory.recall import Recall, Recalled, indexed_text
from memory.semantic import SemanticMemory
from memory.store import EpisodeStore, StoreError
from memory.vectors import KeptVectors
from procedural.choosing import ranked, score
from procedural.forgetting import episodes_to_forget
from procedural.habit import Certainty
from procedural.store import Bucket, SynapseStore
from procedural.synapse import UNTRIED, Synapse

if TYPE_CHECKING:
    from agent.conversation import Conversation
    from agent.drafting.crafting import Crafting
    from agent.keeping.gate import Gate
    from agent.keeping.versions import Versions
    from agent.learning.hard import HardReport
    from agent.learning.questions import Pair
    from agent.learning.runs import Run
    from agent.learning.seed import Refused
    from agent.learning.steps import Step
    from agent.learning.training import TrainingOptions
    from agent.models.resilience import Budget
    from agent.school import School

__all__ = [
    "FAILURES",
    "USAGE_ERRORS",
    "App",
    "DownloadProgress",
    "ModelListing",
    "check_question",
    "doctor",
    "models",
    "open_app",
    "pull_model",
    "read_settings",
]
"""What the doors see."""

USAGE_ERRORS = (QuestionError, SettingsError, TeachingError, FeedbackError, QuestionFileError)
FAILURES = (DatabaseError, BrainError, ModelError, GlossaryError, StoreError, RunError, WeightsError)

_MANY_CHANGES = 40
_DID_NOT_RUN = "It does not run on this database."
_SHORTEST_ID = 4
_CLAUSES = (
    rb"WHERE|AND|OR|AS|JOIN|INNER|LEFT|RIGHT|FULL|CROSS|ON|GROUP|HAVING|ORDER|LIMIT|OFFSET|UNION|INTERSECT|EXCEPT"
)

Say = Callable[[str], None]
DownloadProgress = Callable[[int, int, str], None]


def read_settings(
    environ: Mapping[str, str],
    *,
    database: str | None = None,
    brain: Path | None = None,
    model: str | None = None,
    approach: str | None = None,
    habits: bool | None = None,
    think: str | None = None,
) -> Settings:
    """Read the environment; what the caller names outranks it. Raises SettingsError."""
    switch = None if habits is None else "on" if habits else "off"
    given = {
        "HEBBQL_DATABASE": database,
        "HEBBQL_BRAIN": brain,
        "HEBBQL_MODEL": model,
        "HEBBQL_APPROACH": approach,
        "HEBBQL_HABITS": switch,
        "HEBBQL_THINK": think,
    }
    return Settings.from_env({**environ, **{name: str(value) for name, value in given.items() if value}})


def check_question(question: str, settings: Settings) -> None:
    """Tell early what would only be found after the brain was opened: no question, or no such model.

    Raises:
        QuestionError, SettingsError, ModelError: what is wrong and what to do.
    """
    read_question(question)
    _forced(settings)
    _choose(settings).close()


def brain_folder(settings: Settings, schema: Schema) -> Path:
    """Where the brain of a database lies: as told, else by its name; two files of one name do not share one."""
    if settings.brain:
        return Path(settings.brain)
    name = re.sub(r"[^\w.-]+", "_", schema.name) or "database"
    place = _place(settings.database)
    shipped = Path(place).is_relative_to(settings.data.resolve())
    mark = "" if shipped else "-" + hashlib.sha256(place.encode()).hexdigest()[:8]
    return settings.runs / "brain" / f"{name}{mark}"


def _quiet(*_told: object) -> None:
    """Tell nobody."""


@contextmanager
def open_app(
    settings: Settings,
    *,
    memory: bool = True,
    seeding: bool = True,
    say: Say = _quiet,
    progress: DownloadProgress = _quiet,
) -> Iterator[App]:
    """Open database and brain for one writing process; close them in reverse.

    `memory` off recalls nothing. `seeding` loads the shipped seed pack into a brain that never saw it, before the
    first recall. `say` is told what takes a while, `progress` how far a model is fetched. Nothing here imports Cognee
    or loads a model: that waits until it is wanted, and a habit wants neither.

    Raises:
        DatabaseError, BrainError, GlossaryError: what is missing, broken, locked or foreign.
    """
    with ExitStack() as opened:
        database = open_database(
            settings.database, deadline=settings.sql_deadline, row_cap=settings.row_cap, byte_cap=settings.byte_cap
        )
        opened.callback(database.close)
        database.wake()
        for warning in database.warnings:
            say(warning)
        folder = brain_folder(settings, database.schema)
        opened.enter_context(
            writer_lease(folder, wait=settings.lease_wait, waiting=lambda pid: say(_waiting_for(folder, pid)))
        )
        ledger = Ledger.open(folder / "brain.sqlite", database=database.schema.name)
        opened.callback(ledger.close)
        synapses = SynapseStore()
        with ledger.transaction() as entry:
            synapses.create(entry.connection)
        ledger.abandon("The process ended before this attempt did.")
        semantic = SemanticMemory(ledger)
        _see_schema(semantic, database.schema, folder)
        _load_glossary(
            semantic, settings.data / "glossary" / f"{database.schema.name}.toml", database.schema, folder, say
        )
        yield App(
            settings=settings,
            database=database,
            folder=folder,
            ledger=ledger,
            semantic=semantic,
            synapses=synapses,
            embedder=MiniLM(),
            memory=memory,
            seeding=seeding,
            say=say,
            progress=progress,
            opened=opened,
        )


@dataclass(kw_only=True)
class App:
    """Everything opened. Made by `open_app`, valid inside its block only. For `memory` and `seeding` see there."""

    settings: Settings
    database: Database
    folder: Path
    ledger: Ledger
    semantic: SemanticMemory
    synapses: SynapseStore
    embedder: Embedder
    memory: bool
    seeding: bool
    say: Say
    progress: DownloadProgress
    opened: ExitStack = field(repr=False)
    _warming: Thread | None = field(default=None, init=False, repr=False)
    _lexicon: Lexicon | None = field(default=None, init=False, repr=False)
    _stable: str | None = field(default=None, init=False, repr=False)
    _material: tuple[Understood, Material] | None = field(default=None, init=False, repr=False)
    _ready_to_recall: bool = field(default=False, init=False, repr=False)

    @property
    def schema(self) -> Schema:
        return self.database.schema

    @property
    def lexicon(self) -> Lexicon:
        """All that a question can link to; indexed anew when rows have changed or a term was taught."""
        facts = self.database.facts
        if self._lexicon is None or self._lexicon.facts is not facts:
            self._lexicon = Lexicon(self.schema, facts, self.semantic.glossary())
        return self._lexicon

    @cached_property
    def model(self) -> Model:
        """The model that drafts. Chosen here, fetched and loaded when the first draft is wanted."""
        model = _choose(self.settings, self.budget)
        self.opened.callback(model.close)
        return model

    @cached_property
    def budget(self) -> Budget | None:
        """What may be spent on hosted models; None without a limit."""
        return _budget(self.settings)

    @property
    def store_folder(self) -> Path:
        return self.folder / "cognee"

    @cached_property
    def store(self) -> EpisodeStore:
        """Where episodes are found by meaning. Cognee itself is imported when the store is first used."""
        from memory.cognee_store import CogneeStore

        with suppress(ModelUnavailableError):
            load_runtime()
        store = CogneeStore(self.store_folder, embedder=self.embedder)
        self.opened.callback(store.close)
        return store

    @cached_property
    def recall(self) -> Recall:
        return Recall(
            episodes=self.ledger, store=self.store, embedder=self.embedder, vectors=self.vectors, notice=self.say
        )

    @cached_property
    def vectors(self) -> KeptVectors:
        return KeptVectors(ledger=self.ledger, embedder=self.embedder)

    @property
    def stable(self) -> str:
        """What every prompt begins with; for a hosted model, whose cache keeps it, with the whole glossary.

        A small local one is shown only the words that a question links to: all of them gained nothing (EXPERIMENTS).
        """
        if self._stable is None:
            glossary = self.semantic.glossary() if is_hosted(self.model) else ()
            self._stable = stable_part(self.schema, self.database.facts, glossary)
        return self._stable

    def ask(
        self,
        question: str,
        *,
        arm: Arm | None = None,
        another: str = "",
        model: Model | None = None,
        journal: loop.Journal | None = None,
    ) -> Iterator[Attempt]:
        """Answer a question; yields the growing attempt. A model is fetched and loaded only if a draft is wanted.

        `arm` is for comparisons: what of the memory is used, usually all; `another` is then the question whose memories
        are used instead. `model` and `journal` take the place of the usual ones.

        Raises:
            QuestionError: it is no question.
            ModelError: there is no such model, or it cannot be fetched.
        """
        arm = arm or (MEMORY if self.memory else SCHEMA)
        other = self.understand(another) if arm.episodes == "another" else None
        attempt = Attempt(
            id=secrets.token_hex(5),
            question=read_question(question),
            model=self.model.name,
            effort=effort_named(self.settings.think),
        )
        for grown in loop.ask(
            attempt,
            understand=self.understand,
            decline=partial(self.decline, arm=arm),
            habit=self.habit if arm.replays else lambda _understood: None,
            recall=partial(self.recalled, arm=arm, other=other),
            approach=partial(self.approach, arm=arm, other=other),
            prompt=partial(self.prompt, arm=arm, other=other),
            model=model or self.model,
            database=self,
            journal=journal or self.journal,
            craft=self.crafting.craft(partial(self.nearby, arm=arm, other=other), schema=arm.schema),
        ):
            if grown.wants_draft:
                # What was adapted is an answer also where the model cannot be had.
                with suppress(*((ModelError,) if grown.result is not None else ())):
                    self.get_model_ready(fetch=bool(grown.approach))
            yield grown

    @cached_property
    def journal(self) -> LedgerJournal:
        return LedgerJournal(
            self.ledger, schema=self.schema.fingerprint, dialect=self.schema.dialect, habit=self.habit_name
        )

    def chat(self) -> Conversation:
        """A chat in which nothing was said yet. What no rule makes whole, the model is asked to."""
        from agent.conversation import Conversation

        def complete(prompt: Prompt) -> Reply:
            self.say("No rule makes that a whole question; asking the model …")
            self.get_model_ready()
            return self.model.complete(prompt)

        return Conversation(understand=self.understand, complete=complete)

    def give_up(self) -> None:
        """Close the attempt that an interrupt left open."""
        self.ledger.abandon("Interrupted.")

    def understand(self, question: str) -> Understood:
        grounding = ground(question, self.lexicon)
        intent = predict(question, grounding)
        return Understood(grounding, intent, bucket_of(intent), mask(question, grounding))

    def decline(self, understood: Understood, *, arm: Arm = MEMORY) -> Declined | None:
        """Why a question gets no draft. One that links to nothing is asked if its very words are remembered."""
        declined = decline(understood)
        if declined is None or declined.status != "abstained" or arm.episodes != "own":
            return declined
        asked = asked_alike(understood.grounding.question)
        known = any(asked_alike(episode.question) == asked for episode in self.ledger.masked(understood.masked))
        return None if known else declined

    def habit(self, understood: Understood) -> Replay | None:
        """The answer of what is so well learned that no model is asked, or None. A forced approach asks the model."""
        if not self.settings.habits or self.settings.approach:
            return None
        return self._habits.replay(understood)

    def habit_name(self, understood: Understood, sql: str) -> str:
        """Which habit it strengthens when this query is verified for this question, or `""`."""
        return habit_name(understood, sql, lexicon=self.lexicon)

    @cached_property
    def _habits(self) -> Habits:
        def synapse(bucket: str, name: str) -> Synapse | None:
            with self.ledger.connection() as connection:
                known = self.synapses.synapses(connection, bucket, kind="habit")
            return next((one for one in known if one.target == name), None)

        return Habits(
            remembered=self.ledger.masked,
            understand=self.understand,
            synapse=synapse,
            lexicon=lambda: self.lexicon,
            database=self,
            certainty=Certainty(
                fewest_successes=self.settings.habit_successes,
                least_salience=self.settings.habit_salience,
                fewest_literals=self.settings.habit_literals,
            ),
        )

    def recalled(
        self,
        understood: Understood,
        *,
        arm: Arm = MEMORY,
        other: Understood | None = None,
        limit: int | None = None,
    ) -> tuple[Recalled, ...]:
        """The memories for a question; in a comparison those for an `other` one, the same for all, or none.

        At most `limit`, else as many as the model is shown.
        """
        limit = limit or self.settings.recall_limit
        if arm.episodes == "none":
            return ()
        self.get_ready_to_recall()
        if arm.episodes == "favourites":
            return self._favourites(limit)
        understood = other or understood
        with self.ledger.connection() as connection:
            misleading = frozenset(episodes_to_forget(self.synapses.synapses(connection, understood.bucket)))
        return self.recall.recall(
            bucket=understood.bucket,
            kind=understood.intent.kind,
            tables=understood.intent.tables,
            question=understood.grounding.question,
            masked=understood.masked,
            limit=limit,
            allowed=lambda episode: not (arm.sifted and str(episode.id) in misleading) and self._still_holds(episode),
        )

    def nearby(self, attempt: Attempt, *, arm: Arm = MEMORY, other: Understood | None = None) -> tuple[Recalled, ...]:
        """The memories that are adapted to a question: more than the model is shown, by the same rules."""
        assert attempt.understood is not None, "an attempt is understood before anything is recalled for it"
        return self.recalled(attempt.understood, arm=arm, other=other, limit=attempt.effort.adapted)

    @cached_property
    def crafting(self) -> Crafting:
        """What code does about drafts beside the model."""
        from agent.drafting.crafting import Crafting

        return Crafting(
            levers=self.settings.levers,
            lexicon=lambda: self.lexicon,
            understand=self.understand,
            strengths=self._strengths,
        )

    def _strengths(self, bucket: str) -> Callable[[str], float]:
        """How much better the shape of a query did in a bucket than one never tried, in [-1, 1]; read once."""
        with self.ledger.connection() as connection:
            known = self.synapses.synapses(connection, bucket, kind="skeleton")
        shapes, at = {one.target: one for one in known}, time.time()

        def strength(sql: str) -> float:
            found = shapes.get(skeleton(sql, self.schema.dialect)) if shapes else None
            return score(found, at) - UNTRIED if found else 0.0

        return strength

    def _favourites(self, limit: int) -> tuple[Recalled, ...]:
        """The episodes that did best over all buckets, as if there were but one."""
        with self.ledger.connection() as connection:
            pooled = self.synapses.pooled(connection, "episode")
        known = {str(episode.id): episode for episode in self.ledger.episodes()}
        best = ranked(known, time.time(), here=pooled, same_kind={}, same_tables={})[:limit]
        why = "a favourite of all buckets"
        return tuple(Recalled(known[choice.candidate], 1.0, "family", why) for choice in best)

    def get_ready_to_recall(self) -> None:
        """Bring the episode store up to date, and seed a fresh brain before the first recall.

        It imports Cognee, which takes seconds, the first time. After that it looks for what was queued since.
        """
        if self._ready_to_recall and not self.ledger.outbox(1):
            return
        if self.seeding and not self._ready_to_recall:
            self.seed_once()
        self._ready_to_recall = True
        self.bring_up_to_date()

    def approach(self, attempt: Attempt, *, arm: Arm = MEMORY, other: Understood | None = None) -> Chosen:
        """The approach that procedural memory ranks first for the bucket, among those that have what they need."""
        assert attempt.understood is not None, "an attempt is understood before it is approached"
        material = self.material(attempt.understood, arm, other)
        if not arm.schema:
            return PLAINEST.chosen("the plainest", material)
        if forced := _forced(self.settings):
            return forced.chosen("asked for", material)
        names = [approach.name for approach in APPROACHES if approach.fits(attempt, material)]
        if not arm.procedural:
            names = names[:1]
        with self.ledger.connection() as connection:
            if arm.episodes == "favourites":
                pooled = self.synapses.pooled(connection, "approach")
                best, *_ = ranked(names, time.time(), here=pooled, same_kind={}, same_tables={})
            else:
                bucket, at = _bucket(other or attempt.understood), time.time()
                best, *_ = self.synapses.best_next(connection, bucket, names, at, trying=arm.trying)
        taken = approach_named(best.candidate)
        assert taken is not None, "only known approaches are candidates"
        return taken.chosen(best.why, material)

    def prompt(self, attempt: Attempt, *, arm: Arm = MEMORY, other: Understood | None = None) -> Prompt:
        """What the model is shown next, by the approach of the attempt."""
        approach, understood = approach_named(attempt.approach), attempt.understood
        assert understood is not None and approach is not None, "an attempt is approached before it is drafted"
        if not arm.schema:
            # What the guard says of a query names what the schema has.
            attempt = attempt.grown(drafts=tuple(replace(draft, problem=_DID_NOT_RUN) for draft in attempt.drafts))
        material = self.material(understood, arm, other)
        if self.settings.levers.grammar and isinstance(self.model, LocalModel) and arm.schema:
            from agent.drafting.loose import is_due, loosened

            if is_due(attempt):
                fresh = approach.prompt(attempt.grown(drafts=()), material)
                if (loose := loosened(attempt, fresh, lexicon=self.lexicon)).grammar:
                    return loose
        return approach.prompt(attempt, material)

    def material(self, understood: Understood, arm: Arm = MEMORY, other: Understood | None = None) -> Material:
        """What prompts are written from, read once for all drafts of a question."""
        if self._material is None or self._material[0] is not understood:
            self._material = (understood, self._read_material(understood, arm, other))
        return self._material[1]

    def _read_material(self, understood: Understood, arm: Arm, other: Understood | None) -> Material:
        """A large schema is narrowed to what the question links to."""
        large, shape, known = is_large(self.schema), "", other or understood
        bucketed = arm.procedural and arm.episodes != "favourites"
        lessons = Lessons(self.ledger).of(known.bucket, masked=known.masked) if bucketed else ()
        if bucketed:
            with self.ledger.connection() as connection:
                shape = self.synapses.strongest(connection, known.bucket, "skeleton", time.time())
        if not arm.schema:
            stable = bare_part(self.schema)
        else:
            stable = narrowed_part(self.schema, self.database.facts, understood) if large else self.stable
        return Material(
            stable=stable,
            dialect=self.schema.dialect,
            facts=self.settings.facts if arm.schema else "none",
            understand=self.understand,
            shape=shape,
            lessons=lessons,
        )

    def get_model_ready(self, *, fetch: bool = True) -> None:
        """Fetch a local model that is not here yet, and load it while memories are recalled and adapted.

        Without `fetch` one that is not here is left for later. What goes wrong in loading is said by the first draft.
        """
        model = self.model
        if not isinstance(model, LocalModel) or self._warming is not None:
            return
        if entry := needs_pull(model, folder=self.settings.models):
            if not fetch:
                return
            self.say(f"Fetching and verifying the local model {entry.name} ({entry.size / 1e6:,.0f} MB), once …")
            from agent.models.pulling import pull

            pull(entry, folder=self.settings.models, progress=self.progress)
        stable = None if is_large(self.schema) else self.stable

        def prepare() -> None:
            with suppress(ModelError):
                model.prepare(stable)

        self._warming = Thread(target=prepare, name="warm-up", daemon=True)
        self._warming.start()
        self.opened.callback(self._warming.join)

    def open_copy(self, path: Path) -> Database:
        """Open another file with the limits of this database."""
        return open_database(
            str(path),
            deadline=self.settings.sql_deadline,
            row_cap=self.settings.row_cap,
            byte_cap=self.settings.byte_cap,
        )

    def check(self, sql: str) -> CheckedQuery:
        return check(sql, self.schema)

    def run(self, query: CheckedQuery) -> Result:
        return self.database.run(query.sql)

    def teach(self, text: str) -> Outcome:
        """Add a term to the glossary. Raises TeachingError."""
        term = read_teaching(text, self.schema)
        new = self.semantic.teach(term)
        self._lexicon = self._stable = None
        what = term.expression or term.meaning
        return Outcome(f"{'Taught' if new else 'Known already'}: {', '.join(term.names)} → {what}")

    def feedback(self, attempt: str, *, verdict: str | None = None, sql: str | None = None) -> Outcome:
        """Take a person's word on an answer. What it changes in the episode store waits for the next recall.

        Raises FeedbackError, QueryRejected, QueryFailed.
        """
        given, attempt = _verdict(verdict, sql), cleaned(attempt)
        teacher = Teacher(
            ledger=self.ledger,
            synapses=self.synapses,
            run=self.checked_run,
            schema=self.schema.fingerprint,
            dialect=self.schema.dialect,
            habit=lambda body, right: self.habit_name(self.understand(body["question"]), right),
        )
        return teacher.take(attempt, given, sql)

    def select(
        self,
        *,
        episode: str | None = None,
        bucket: str | None = None,
        batch: str | None = None,
        forgotten: bool = False,
    ) -> tuple[Episode, ...]:
        """Find episodes by the start of an id, by bucket or by batch; also those `forgotten` but not erased.

        Raises:
            FeedbackError: none is there, or the id fits several.
        """
        self.get_ready_to_recall()
        found = self.ledger.episodes(bucket, batch=batch)
        if forgotten:
            ever = {event.subject: None for event in self.ledger.events(kinds=(EventKind.EPISODE_REMEMBERED,))}
            kept = filter(None, map(self.ledger.episode, map(UUID, ever)))
            found = tuple(one for one in kept if bucket in (None, one.bucket) and batch in (None, one.batch))
        if episode is not None and len(episode) < _SHORTEST_ID:
            raise FeedbackError(f"Give at least {_SHORTEST_ID} characters of the episode's id.")
        if episode is not None:
            found = tuple(one for one in found if str(one.id).startswith(episode.lower()))
            if len(found) > 1:
                raise FeedbackError(f"{len(found)} episodes begin with {episode}; give more of the id.")
        if not found:
            raise FeedbackError("No such episode is remembered. `hebbql ask` shows the ids of those it recalls.")
        return found

    def forget(self, episodes: tuple[Episode, ...], *, erase: bool = False) -> Outcome:
        """Take episodes out of ledger and store, then look for them in the ledger, the store and the files.

        Raises:
            StoreError: the store still holds one of them.
        """
        spelling = partial(one_spelling, dialect=self.schema.dialect)
        with self.ledger.transaction() as entry:
            for episode in episodes:
                if erase:
                    entry.erase(episode.id, "asked for", spelling=spelling)
                else:
                    entry.forget(episode.id, "asked for")
        self.bring_up_to_date()
        gone = {episode.id for episode in episodes}
        left = {id for bucket in sorted({one.bucket for one in episodes}) for id in self.store.members(bucket)} & gone
        if left:
            raise StoreError(
                f"{len(left)} of {len(gone)} episodes are still in the episode store. "
                "Run `hebbql doctor`, then forget again."
            )
        done = "erased" if erase else "forgotten"
        states = sorted({self.ledger.episode_state(id) or "unknown" for id in gone})
        proof = [f"ledger: {', '.join(states)}", f"vectors and graph, read without the registry: {len(left)} left"]
        if erase:
            told = [text for episode in episodes for text in (episode.sql, episode.question)]
            dropped, written = self._school.erase(told)
            files = f"files of {written} runs and evaluations written anew"
            proof.append(f"completion cache: {dropped} replies dropped; {files}")
            for what, texts in (
                ("the questions' words", [episode.question for episode in episodes]),
                ("their SQL", [episode.sql for episode in episodes]),
            ):
                held = [
                    f"{folder.name}/{name}"
                    for folder in (self.folder, *self._school.folders)
                    for name in files_holding(folder, texts)
                ]
                proof.append(f"files searched for {what}: {len(held)} hold them {', '.join(held)}".rstrip())
        message = f"{len(gone)} episode(s) {done}; {len(left)} left in the store."
        return Outcome(message, (), tuple(map(str, sorted(gone))), tuple(proof))

    def seed(self, pack: Path | None = None) -> SeedReport:
        """Load a pack. A wrong pair is refused by name, the others are remembered together.

        Raises:
            QuestionFileError: the pack cannot be read.
        """
        path = pack or self.shipped_pack
        pairs = read_pairs(path)
        batch = f"seed:{path.stem}:{hashlib.sha256(path.read_bytes()).hexdigest()[:12]}"
        source = Source(f"seed:{path.stem}", "gold", batch, self.schema.fingerprint, self.schema.dialect)
        episodes, refused = verified(pairs, run=self.checked_run, understand=self.understand, source=source)
        with self.ledger.transaction() as entry:
            report = {"pack": path.name, "pairs": len(pairs), "refused": [one.name for one in refused]}
            entry.append(EventKind.BATCH_OPENED, batch, report)
            new = sum(entry.remember(episode) for episode in episodes)
        self.bring_up_to_date()
        return SeedReport(path.name, batch, new, len(episodes) - new, tuple(refused))

    def begin_run(self, options: TrainingOptions) -> Run:
        """Plan a run of training and write it down. Raises RunError, QuestionFileError."""
        return self._school.begin(options)

    def resume_run(self, id: str | None, options: TrainingOptions) -> Run:
        """Read a run back as far as it came; without an id the newest that is not finished. Raises RunError."""
        return self._school.resume(id, options)

    def train(
        self, run: Run, options: TrainingOptions, *, through: Callable[[Model], Model] = lambda model: model
    ) -> Generator[Run]:
        """Go on with a run; yields it whenever it has grown, at last finished or with a pause that says why.

        Close it to pause the run. Its files are written at every checkpoint and at the end. `through` stands between
        the run and its model, for experiments.

        Raises:
            ModelError: the model cannot be had at all.
        """
        return self._school.train(run, options, through=through)

    def evaluate(self, pairs: Sequence[Pair], arms: Sequence[Arm], *, cache: bool = True) -> Iterator[Step]:
        """Ask the same questions in each arm and judge the answers. Nothing is learned of them.

        Nothing is written to the brain, but a fresh one gets its seed pack before the first arm that recalls.

        Raises:
            EvaluationError: the model or the database is out of reach.
        """
        return self._school.evaluate(pairs, arms, cache=cache)

    def confirmed(self, pairs: Sequence[Pair]) -> tuple[tuple[Pair, ...], tuple[Refused, ...]]:
        """Part questions whose golds hold, on the database and its copies, from those that do not, with the reason."""
        return self._school.confirmed(pairs)

    def seed_hard(self, training: Path, *, per_bucket: int = 2) -> HardReport:
        """Give each bucket with failures and no episode a few golds of a training file. Raises QuestionFileError."""
        return self._school.seed_hard(training, per_bucket=per_bucket)

    @cached_property
    def versions(self) -> Versions:
        """Snapshots of the brain, what differs between them, and ways back."""
        from agent.keeping.versions import Versions

        return Versions(app=self)

    @cached_property
    def gate(self) -> Gate:
        """A better brain is built beside this one, and takes its place only when it is green."""
        from agent.keeping.gate import Gate

        return Gate(app=self)

    @cached_property
    def _school(self) -> School:
        from agent.school import School

        school = School(app=self)
        self.opened.callback(school.close)
        return school

    def seed_once(self) -> None:
        """Load the shipped pack of this database into a brain that never opened a batch."""
        if not self.shipped_pack.is_file() or any(self.ledger.events(kinds=(EventKind.BATCH_OPENED,))):
            return
        self.say(f"Loading the seed pack {self.shipped_pack.name}: each pair is run and checked …")
        report = self.seed()
        self.say(f"{report.remembered} episodes remembered, {len(report.refused)} refused.")
        for one in report.refused:
            self.say(f"  {one.name}: {one.reason}")

    def bring_up_to_date(self) -> None:
        """Bring the episode store to what the ledger says. When it cannot be, the changes stay queued."""
        folder = self.store_folder
        try:
            if len(self.ledger.outbox(_MANY_CHANGES)) == _MANY_CHANGES:
                self.say("Writing the episodes into Cognee, once; this takes about half a minute …")
            stands = standing(self.ledger, folder, index=self.embedder.id).state
            if self.ledger.outbox(1) or stands not in ("current", "new"):
                done = drain(self.ledger, self.store, text=indexed_text, folder=folder, index=self.embedder.id)
                self.vectors.fill()
                if done.rebuilt:
                    self.say(f"The episode store is built anew from the ledger: {done.rebuilt}")
        except StoreError as trouble:
            self.say(f"{trouble} The changes stay queued in the ledger.")

    @property
    def shipped_pack(self) -> Path:
        """Where the seed pack of this database is, if it has one."""
        return self.settings.data / "seeds" / f"{self.schema.name}.jsonl"

    def checked_run(self, sql: str) -> Result:
        """Check SQL, then run it. Raises QueryRejected, QueryFailed."""
        return self.run(self.check(sql))

    def _still_holds(self, episode: Episode) -> bool:
        """An episode of an older schema is recalled only if its SQL still passes the guard."""
        if episode.schema_fingerprint == self.schema.fingerprint:
            return True
        try:
            self.check(episode.sql)
        except QueryRejected:
            return False
        return True


def models(settings: Settings) -> tuple[ModelListing, ...]:
    """What `--model` takes, and what of it is ready."""
    return list_models(
        folder=settings.models,
        anthropic_key=settings.anthropic_key,
        openai_key=settings.openai_key,
        openai_base_url=settings.openai_base_url,
    )


def pull_model(settings: Settings, name: str, *, progress: DownloadProgress = _quiet) -> Path:
    """Fetch a local model by name, verified. Raises ModelUnavailableError."""
    from agent.models.catalogue import find_entry, load_catalogue
    from agent.models.pulling import pull

    entries = load_catalogue()
    entry = find_entry(name, entries)
    if entry is None:
        known = ", ".join(one.alias for one in entries)
        raise ModelUnavailableError(f"There is no local model {name!r} to fetch. Choose one of: {known}.")
    return pull(entry, folder=settings.models, progress=progress)


def _budget(settings: Settings) -> Budget | None:
    from agent.models.resilience import Budget

    return Budget(settings.max_cost_usd) if settings.max_cost_usd is not None else None


def _choose(settings: Settings, budget: Budget | None = None) -> Model:
    return choose(
        settings.model,
        folder=settings.models,
        anthropic_key=settings.anthropic_key,
        anthropic_base_url=settings.anthropic_base_url,
        openai_key=settings.openai_key,
        openai_base_url=settings.openai_base_url,
        threads=settings.threads,
        context_tokens=settings.context_tokens,
        deadline=settings.model_deadline,
        budget=budget,
    )


def decline(understood: Understood) -> Declined | None:
    """Turn down what asks for a change, and what the database holds nothing of."""
    question = understood.grounding.question
    if verb := asks_to_write(question):
        return Declined(
            "refused", f"{verb!r} would change the database, and HebbQL only reads. Ask what you want to know instead."
        )
    if reason := understood.grounding.missing:
        return Declined("abstained", reason)
    return None


def _forced(settings: Settings) -> Approach | None:
    """The approach that the settings take for every question. Raises SettingsError where there is none of the name."""
    if settings.approach is None:
        return None
    found = approach_named(settings.approach)
    if found is None:
        known = ", ".join(approach.name for approach in APPROACHES)
        raise SettingsError(f"There is no approach {settings.approach!r}. Choose one of: {known}.")
    return found


def _bucket(understood: Understood) -> Bucket:
    return Bucket(understood.bucket, understood.intent.kind, understood.intent.grain or understood.intent.tables)


def _verdict(word: str | None, sql: str | None) -> Verdict:
    if sql is not None:
        return "corrected"
    if word in ("good", "bad"):
        return "good" if word == "good" else "bad"
    raise FeedbackError("Say good, bad, or give the right SQL.")


def files_holding(folder: Path, texts: Sequence[str]) -> list[str]:
    """Name the files below a folder that hold one of the texts, plainly or as JSON, in any case of its letters A-Z.

    A query does not count where its next clause follows: that is another query.
    """
    ways = {way for text in texts for way in (text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])}
    wanted = b"|".join(re.escape(way.encode("utf-8", "replace")) for way in sorted(ways, key=len, reverse=True))
    found = re.compile(rb"(?:%s)(?! (?-i:%s)\b)" % (wanted, _CLAUSES), re.IGNORECASE)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [str(path.relative_to(folder)) for path in files if texts and found.search(path.read_bytes())]


def _see_schema(semantic: SemanticMemory, schema: Schema, folder: Path) -> None:
    """Note the schema; refuse a database that shares no table with the one this brain is about."""
    seen = semantic.versions()
    if seen and seen[-1].fingerprint != schema.fingerprint:
        known = seen[-1].text.casefold()
        if not any(re.search(rf"(?<!\w){re.escape(table.name.casefold())}(?!\w)", known) for table in schema.tables):
            raise BrainForeignError(
                f"The brain in {folder} is about another database: none of its tables is there. "
                "Name another place with --brain."
            )
    semantic.see(schema.name, schema.text, schema.fingerprint)


def _load_glossary(semantic: SemanticMemory, path: Path, schema: Schema, folder: Path, say: Say) -> None:
    """Teach what the glossary file says, unless this brain was taught this very file about this very schema.

    Reading it takes a tenth of a second. The mark covers the history of all terms, so that it holds for no other
    ledger. A file that is not right as a whole gets none: its faults are said at every start.
    """
    if not path.is_file():
        return
    mark, faults = folder / "glossary.mark", []

    def digest() -> str:
        parts = (path.read_bytes(), schema.fingerprint.encode(), repr(semantic.history()).encode())
        return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()

    def warn(fault: str) -> None:
        faults.append(fault)
        say(fault)

    with suppress(OSError):
        if mark.read_text(encoding="ascii", errors="replace") == digest():
            return
    semantic.load(read_glossary(path, schema, warn=warn))
    if not faults:
        with suppress(OSError):
            mark.write_text(digest(), encoding="ascii")


def _waiting_for(folder: Path, pid: int | None) -> str:
    return f"Waiting for another hebbql{f' (process {pid})' if pid else ''} that uses {folder} …"


def _place(database: str) -> str:
    """Give one spelling of where a database is: the whole path of a file, or the URL without its password."""
    from sqlalchemy.engine import make_url

    if "://" not in database:
        return str(Path(database).expanduser().resolve())
    url = make_url(database)
    if url.get_backend_name() == "sqlite" and url.database:
        return str(Path(url.database.removeprefix("file:")).resolve())
    return url.set(password=None).render_as_string()


def doctor(settings: Settings, *, say: Say = _quiet) -> tuple[Finding, ...]:
    """Check database, guard, brain, episode store, embedder, model and disk.

    Opens the brain as a question does, so it settles what a crash left; it loads no seed pack.
    """
    from agent import checks

    with ExitStack() as opened:
        tried: list[App | None] = []

        def app() -> App:
            if not tried:
                tried.append(None)
                tried[0] = opened.enter_context(open_app(settings, seeding=False, say=say))
            if tried[0] is None:
                raise Broken("not looked at: the brain could not be opened", "Mend what is said above first.")
            return tried[0]

        def database() -> str:
            with closing(open_database(settings.database, deadline=settings.sql_deadline)) as found:
                return checks.check_database(found.schema, found.run)

        def episodes() -> str:
            app().bring_up_to_date()
            return checks.check_episodes(app().store_folder, app().ledger, app().store)

        def model() -> str:
            with closing(_choose(settings)) as chosen:
                missing = needs_pull(chosen, folder=settings.models)
            local = {one.name: one.verified for one in models(settings) if one.kind == "local"}
            key = bool(settings.anthropic_key)
            return checks.check_model(chosen.name, missing=missing, has_key=key, verified=local.get(chosen.name))

        wanted = (
            Check("python", checks.check_python),
            Check("disk", lambda: checks.check_disk(settings.runs)),
            Check("database", database),
            Check("brain", lambda: checks.check_brain(app().folder, app().ledger, app().synapses)),
            Check("guard", lambda: checks.check_guard(app().schema, app().checked_run)),
            Check("weights", checks.check_weights),
            Check("embedder", lambda: checks.check_embedder(MiniLM())),
            Check("episodes", episodes),
            Check("model", model),
        )
        return examine(wanted, foreseen=(*USAGE_ERRORS, *FAILURES))
