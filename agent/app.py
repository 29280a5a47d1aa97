"""The composition root: opens everything an answer needs, and closes it in reverse.

Only this file knows every concrete class. The doors see what stands here.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING
from uuid import UUID

from agent import ask as loop
from agent.approaching import Approaching, forced
from agent.attempt import Attempt, Declined, Replay, Understood, effort_named
from agent.brain_place import brain_folder, ledger_place, load_glossary, see_schema, waiting_for
from agent.database.guard import CheckedQuery, check
from agent.database.reading import Database, open_database
from agent.database.result import DatabaseError, QueryFailed, QueryRejected, Result
from agent.database.schema import Schema
from agent.doctor import Broken, Check, Finding, examine
from agent.drafting.weighing import WeightsError, sole_source
from agent.forgetting import Forgetting, select
from agent.grounding import Lexicon, ground
from agent.habits import Habits, habit_name
from agent.intent import bucket_of, mask, predict
from agent.journal import LedgerJournal, Unwritten
from agent.learning.arms import MEMORY, SCHEMA, Arm
from agent.learning.feedback import FeedbackError, Outcome, Teacher, Verdict, asked_alike
from agent.learning.questions import QuestionFileError, read_pairs
from agent.learning.runs import RunError, RunLog
from agent.learning.seed import SeedReport, Source, verified
from agent.learning.teaching import GlossaryError, TeachingError, read_teaching
from agent.models.choosing import ModelListing, choose, is_hosted, list_models, needs_pull
from agent.models.local import LocalModel, load_runtime
from agent.models.port import Model, ModelError, ModelUnavailableError, Prompt, Reply
from agent.prompt import is_large, stable_part
from agent.question import QuestionError, asks_to_write, cleaned, read_question
from agent.recalling import Recalling
from agent.settings import Settings, SettingsError, read_settings
from memory.brain import candidates
from memory.chain import Content
from memory.embedder import Embedder, MiniLM
from memory.episode import Episode
from memory.errors import BrainError, BrainFullError, BrainUnwritableError
from memory.lease import server_lease, writer_lease
from memory.ledger import EventKind, Ledger
from memory.outbox import drain, standing
from memory.recall import Recall, Recalled, indexed_text
from memory.semantic import SemanticMemory
from memory.store import EpisodeStore, StoreError
from memory.vectors import KeptVectors
from procedural.habit import Certainty
from procedural.store import SynapseStore
from procedural.synapse import Synapse

if TYPE_CHECKING:
    from agent.auditing.auditing import Auditing
    from agent.conversation import Conversation
    from agent.drafting.crafting import Crafting
    from agent.drafting.readings import Readings
    from agent.keeping.canary import Canaries
    from agent.keeping.checking import Checking
    from agent.keeping.gate import Gate
    from agent.keeping.versions import Versions
    from agent.learning.hard import HardReport
    from agent.learning.questions import Pair
    from agent.learning.runs import Run
    from agent.learning.seed import Refused
    from agent.learning.steps import Step
    from agent.learning.training import TrainingOptions
    from agent.models.catalogue import LocalFile
    from agent.models.resilience import Budget
    from agent.school import School
    from agent.totals import Totals

__all__ = [
    "FAILURES",
    "QUERY_PROBLEMS",
    "USAGE_ERRORS",
    "App",
    "DownloadProgress",
    "ModelListing",
    "Recalled",
    "check_question",
    "doctor",
    "models",
    "open_app",
    "pull_model",
    "read_settings",
    "sole_source",
]
"""What the doors see."""

QUERY_PROBLEMS = (QueryRejected, QueryFailed)
"""Why SQL that a person wrote is not run, in words that are for the person."""

USAGE_ERRORS = (QuestionError, SettingsError, TeachingError, FeedbackError, QuestionFileError)
FAILURES = (DatabaseError, BrainError, ModelError, GlossaryError, StoreError, RunError, WeightsError)

_MANY_CHANGES = 40
Say = Callable[[str], None]
DownloadProgress = Callable[[int, int, str], None]


def check_question(question: str, settings: Settings) -> None:
    """Tell early what would only be found after the brain was opened: no question, or no such model.

    Raises:
        QuestionError, SettingsError, ModelError: what is wrong and what to do.
    """
    read_question(question)
    forced(settings)
    _choose(settings).close()


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
    beside: App | None = None,
) -> Iterator[App]:
    """Open database and brain for one writing process; close them in reverse.

    `memory` off recalls nothing. `seeding` loads the shipped seed pack into a brain that never saw it, before the
    first recall. `say` is told what takes a while, `progress` how far a model is fetched. Nothing here imports Cognee
    or loads a model: that waits until it is wanted, and a habit wants neither. `beside` is an app with another brain
    over the same database, open for longer: its database, embedder and model serve this one too. Only one brain of a
    process has its episode store open; `let_go_of_store` makes room for the next.

    Raises:
        DatabaseError, BrainError, GlossaryError: what is missing, broken, locked or foreign.
    """
    with ExitStack() as opened:
        database = beside.database if beside is not None else _opened_database(settings, opened, say)
        folder = brain_folder(settings, database.schema)
        where = ledger_place(settings, folder)
        opened.enter_context(
            writer_lease(folder, wait=settings.lease_wait, waiting=lambda pid: say(waiting_for(folder, pid)))
        )
        if settings.ledger:
            opened.enter_context(
                server_lease(
                    settings.ledger, wait=settings.lease_wait, waiting=lambda pid: say(waiting_for(folder, pid))
                )
            )
        if left := candidates.clear(folder, server=settings.ledger):
            say(f"Cleared what a killed process had left of {', '.join(left)}.")
        ledger = Ledger.open(where, database=database.schema.name)
        opened.callback(ledger.close)
        synapses = SynapseStore()
        with ledger.transaction() as entry:
            synapses.create(entry.connection)
        ledger.abandon("The process ended before this attempt did.")
        semantic = SemanticMemory(ledger)
        see_schema(semantic, database.schema, folder)
        load_glossary(
            semantic, settings.data / "glossary" / f"{database.schema.name}.toml", database.schema, folder, say
        )
        yield App(
            settings=settings,
            database=database,
            folder=folder,
            ledger=ledger,
            semantic=semantic,
            synapses=synapses,
            embedder=MiniLM() if beside is None else beside.embedder,
            memory=memory,
            seeding=seeding,
            say=say,
            progress=progress,
            opened=opened,
            beside=beside,
        )


def _opened_database(settings: Settings, opened: ExitStack, say: Say) -> Database:
    database = open_database(
        settings.database, deadline=settings.sql_deadline, row_cap=settings.row_cap, byte_cap=settings.byte_cap
    )
    opened.callback(database.close)
    database.wake()
    for warning in database.warnings:
        say(warning)
    return database


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
    beside: App | None = field(default=None, repr=False)
    _warming: Thread | None = field(default=None, init=False, repr=False)
    _lexicon: Lexicon | None = field(default=None, init=False, repr=False)
    _stable: str | None = field(default=None, init=False, repr=False)
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
        if self.beside is not None:
            return self.beside.model
        model = _choose(self.settings, self.budget)
        self.opened.callback(model.close)
        return model

    @property
    def missing_model(self) -> LocalFile | None:
        """The file of a local model that has to be fetched first; None where there is nothing to fetch."""
        return needs_pull(self.model, folder=self.settings.models)

    def examined(self) -> tuple[Finding, ...]:
        """Whether guard, brain, lease, model and budget are fit for the next question. From any thread."""
        from agent.readiness import examined

        return examined(self, foreseen=(*USAGE_ERRORS, *FAILURES))

    @cached_property
    def budget(self) -> Budget | None:
        """What may be spent on hosted models; None without a limit."""
        return _budget(self.settings) if self.beside is None else self.beside.budget

    @property
    def store_folder(self) -> Path:
        return self.folder / "cognee"

    def load_native(self) -> None:
        """Load llama.cpp. Do so before anything reads Cognee's files: the other way around, it ends the process."""
        with suppress(ModelUnavailableError):
            load_runtime()

    @cached_property
    def store(self) -> EpisodeStore:
        """Where episodes are found by meaning. Cognee itself is imported when the store is first used."""
        from memory.cognee_store import CogneeStore

        self.load_native()
        store = CogneeStore(self.store_folder, embedder=self.embedder)
        self.opened.callback(store.close)
        return store

    def let_go_of_store(self) -> None:
        """Close the files of the episode store, so that another brain can open its own. The next recall opens them."""
        if "store" in self.__dict__:
            self.store.close()

    def freeze(self) -> None:
        """Let this brain be asked and take no change from now on, not even what was asked."""
        self.ledger.freeze()

    def choosing(self, *, memory: bool = True, **choices: object) -> App:
        """The same opened brain, store and model under other settings of a question, such as `think`."""
        settings = replace(self.settings, **choices)  # type: ignore[arg-type]
        if settings == self.settings and memory == self.memory:
            return self
        chosen = replace(self, settings=settings, memory=memory)
        for name in ("model", "budget", "store", "recall", "vectors"):
            chosen.__dict__[name] = getattr(self, name)
        chosen._lexicon, chosen._stable, chosen._warming = self.lexicon, self._stable, self._warming
        chosen._ready_to_recall = self._ready_to_recall
        return chosen

    def holds(self, episodes: Iterable[str]) -> bool:
        """Whether this brain knows every one of these episodes, by id, those forgotten since too."""
        return all(self.ledger.episode_state(UUID(id)) is not None for id in set(episodes))

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
        journal = Unwritten() if journal is None and self.ledger.frozen else journal
        if arm is None and journal is None and self.memory and self._has_canary and self.canaries.takes(question):
            yield from self.canaries.ask(question, model=model)
            return
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
            approach=partial(self.approaching.choose, arm=arm, other=other),
            prompt=partial(self.approaching.prompt, arm=arm, other=other),
            model=model or self.model,
            database=self,
            journal=journal or self.journal,
            craft=self.crafting.craft(partial(self._recalling.nearby, arm=arm, other=other), schema=arm.schema),
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

    def understand_asked(self, question: str) -> Understood:
        """What a question says as a person wrote it. Raises QuestionError."""
        return self.understand(read_question(question))

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

    def habit_of(self, episode: Episode) -> str:
        """The name of the habit that an episode leads to; "" where it leads to none or cannot be read."""
        with suppress(QuestionError):
            return self.habit_name(self.understand(episode.question), episode.sql)
        return ""

    @cached_property
    def _readings(self) -> Readings:
        from agent.drafting.readings import Readings

        return Readings(understand=self.understand, lexicon=lambda: self.lexicon)

    @cached_property
    def _habits(self) -> Habits:
        def synapse(bucket: str, name: str) -> Synapse | None:
            with self.ledger.connection() as connection:
                known = self.synapses.synapses(connection, bucket, kind="habit")
            return next((one for one in known if one.target == name), None)

        return Habits(
            remembered=self.ledger.masked,
            understand=self._readings,
            synapse=synapse,
            lexicon=lambda: self.lexicon,
            database=self,
            certainty=Certainty(
                fewest_successes=self.settings.habit_successes,
                least_salience=self.settings.habit_salience,
                fewest_literals=self.settings.habit_literals,
            ),
        )

    @cached_property
    def _recalling(self) -> Recalling:
        most = effort_named(self.settings.think).adapted if self.settings.levers.adapt else 0
        return Recalling(
            recall=lambda: self.recall,
            get_ready=self.get_ready_to_recall,
            holds=self._still_holds,
            ledger=self.ledger,
            synapses=self.synapses,
            shown=self.settings.recall_limit,
            most=most,
        )

    def recalled(
        self, understood: Understood, *, arm: Arm = MEMORY, other: Understood | None = None
    ) -> tuple[Recalled, ...]:
        """The memories that the model is shown for a question."""
        return self._recalling.for_model(understood, arm=arm, other=other)

    @cached_property
    def approaching(self) -> Approaching:
        """What chooses approaches and writes prompts."""
        return Approaching(
            settings=self.settings,
            ledger=self.ledger,
            synapses=self.synapses,
            lexicon=lambda: self.lexicon,
            understand=self._readings,
            stable=lambda: self.stable,
            takes_grammar=lambda: isinstance(self.model, LocalModel),
        )

    @cached_property
    def crafting(self) -> Crafting:
        """What code does about drafts beside the model."""
        from agent.drafting.crafting import Crafting

        return Crafting(
            levers=self.settings.levers,
            lexicon=lambda: self.lexicon,
            understand=self._readings,
            strengths=self.approaching.strengths,
        )

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

    def warm_up(self) -> None:
        """Load now what the first question would wait for; of models only a local one that is here."""
        self.get_model_ready(fetch=False)
        self.get_ready_to_recall()
        self.store.recall("warm-up", self.schema.name, 1)
        self.understand(self.schema.name)

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

    def read_terms_anew(self) -> None:
        """Let go of what was made of the glossary: its terms have changed."""
        self._lexicon = self._stable = None

    def teach(self, text: str) -> Outcome:
        """Add a term to the glossary. Raises TeachingError."""
        term = read_teaching(text, self.schema)
        new = self.semantic.teach(term)
        self.read_terms_anew()
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
        taken = teacher.take(attempt, given, sql)
        ended = self.canaries.consider() if self._has_canary else ""
        return replace(taken, message=f"{taken.message} {ended}") if ended else taken

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
        return select(self.ledger, episode=episode, bucket=bucket, batch=batch, forgotten=forgotten)

    def forget(self, episodes: tuple[Episode, ...], *, erase: bool = False) -> Outcome:
        """Take episodes out of ledger and store, then look for them in the ledger, the store and the files.

        Raises:
            StoreError: the store still holds one of them.
        """
        if erase and self._has_canary:
            self.canaries.drop()
        forgetting = Forgetting(
            ledger=self.ledger,
            synapses=self.synapses,
            dialect=self.schema.dialect,
            folder=self.folder,
            store=lambda: self.store,
            copies=lambda: self._school,
            bring_up_to_date=self.bring_up_to_date,
            habit=self.habit_of,
        )
        return forgetting.forget(episodes, erase=erase)

    def seed(self, pack: Path | None = None) -> SeedReport:
        """Load a pack. A wrong pair is refused by name, the others are remembered together.

        A pair that a second query confirms is gold; of one without, nothing but that it runs is known.

        Raises:
            QuestionFileError: the pack cannot be read.
        """
        path = pack or self.shipped_pack
        pairs = read_pairs(path)
        batch = f"seed:{path.stem}:{hashlib.sha256(path.read_bytes()).hexdigest()[:12]}"
        source = Source(f"seed:{path.stem}", "gold", batch, self.schema.fingerprint, self.schema.dialect)
        alone = replace(source, verifier="execution")
        episodes, refused = verified(
            pairs,
            run=self.checked_run,
            understand=self.understand,
            source=lambda pair: source if pair.others else alone,
        )
        report = {"pack": path.name, "pairs": len(pairs), "refused": [one.name for one in refused]}
        new = self._remember_batch(batch, report, episodes)
        wrong = {one.name for one in refused}
        unvouched = sum(not pair.others and pair.id not in wrong for pair in pairs)
        return SeedReport(path.name, batch, new, len(episodes) - new, tuple(refused), unvouched)

    def sow(self) -> SeedReport:
        """Remember pairs of question and SQL that code composes from the schema, each run first. See `learning.sowing`.

        What was sown before, or forgotten since, is not remembered again.
        """
        from agent.learning.sowing import sow, sown_batch

        batch = sown_batch(self.schema)
        episodes = sow(lexicon=self.lexicon, run=self.checked_run, understand=self.understand)
        report = {"schema": self.schema.fingerprint, "pairs": len(episodes), "refused": []}
        new = self._remember_batch(batch, report, episodes)
        return SeedReport(f"the schema of {self.schema.name}", batch, new, len(episodes) - new, ())

    def _remember_batch(self, batch: str, report: Content, episodes: Sequence[Episode]) -> int:
        """Remember episodes together, as one batch with a report; give how many of them are new."""
        with self.ledger.transaction() as entry:
            entry.append(EventKind.BATCH_OPENED, batch, report)
            new = sum(entry.remember(episode) for episode in episodes)
        self.bring_up_to_date()
        return new

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
    def run_log(self) -> RunLog:
        """The runs of training that this brain has seen."""
        return RunLog(self.ledger)

    @cached_property
    def versions(self) -> Versions:
        """Snapshots of the brain, what differs between them, and ways back."""
        from agent.keeping.versions import Versions

        return Versions(app=self)

    @cached_property
    def checking(self) -> Checking:
        """The checks of the brain."""
        from agent.keeping.checking import Checking

        return Checking(app=self)

    @cached_property
    def auditing(self) -> Auditing:
        """What of the memory contradicts the rest of it, and what is missing."""
        from agent.auditing.auditing import Auditing

        return Auditing(app=self)

    @property
    def _has_canary(self) -> bool:
        """Whether there ever was a canary; most brains never have one."""
        return any(self.ledger.events(kinds=(EventKind.CANARY_BEGAN,)))

    @cached_property
    def canaries(self) -> Canaries:
        """A candidate answers a share of the questions, until it is promoted or rolled back."""
        from agent.keeping.canary import Canaries
        from memory.reference_store import ReferenceStore

        return Canaries(app=self, in_memory=lambda embedder: ReferenceStore(embedder=embedder))

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
        """Load the accepted brain of this database, or else its seed pack, into one that never loaded anything.

        Where there is neither, episodes are sown from the schema.
        """
        if any(self.ledger.events(kinds=(EventKind.BATCH_OPENED, EventKind.BRAIN_CHANGED))):
            return
        if self.accepted_brain.is_file():
            self.versions.load_accepted()
            return
        if not self.shipped_pack.is_file():
            if self.settings.sow:
                self.say("No seed pack for this database: composing questions and queries from its schema, once …")
                self.say(f"{self.sow().remembered} episodes remembered.")
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
        except (StoreError, BrainFullError, BrainUnwritableError) as trouble:
            self.say(f"{trouble} The changes stay queued in the ledger.")

    @property
    def accepted_brain(self) -> Path:
        """Where the accepted brain of this database is, if it has one."""
        return self.settings.data / "brain" / f"{self.schema.name}.brain"

    @property
    def shipped_pack(self) -> Path:
        """Where the seed pack of this database is, if it has one."""
        return self.settings.data / "seeds" / f"{self.schema.name}.jsonl"

    def checked_run(self, sql: str) -> Result:
        """Check SQL, then run it. Raises QueryRejected, QueryFailed."""
        return self.run(self.check(sql))

    def mixed_totals(self, sql: str, result: Result) -> Totals | None:
        """The totals in the result of a query that mix units or currencies, parted; None where none does."""
        from agent.totals import mixed_totals

        return mixed_totals(self, sql, result)

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


def _verdict(word: str | None, sql: str | None) -> Verdict:
    if sql is not None:
        return "corrected"
    if word in ("good", "bad"):
        return "good" if word == "good" else "bad"
    raise FeedbackError("Say good, bad, or give the right SQL.")


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
