"""A labelled set of planted faults and of pairs that only look like some: made into a real brain, and scored."""

from __future__ import annotations

import sqlite3
import tomllib
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.database.skeleton import skeleton
from agent.learning.statistics import share
from agent.settings import Settings
from memory.audit.finding import Finding, Write
from memory.episode import Episode
from memory.ledger import EventKind
from memory.semantic import Term
from procedural.store import Bucket, changes_content
from procedural.synapse import Target

if TYPE_CHECKING:
    from agent.app import App

SILENT = "silent"
_DAY = 86_400
_BEGAN = 1_700_000_000


@dataclass(frozen=True, slots=True)
class Case:
    """One case: its name, what an audit must say, and the ids of its writes in their order.

    `about` are the ids that the finding has, and `beside` how many inconclusive findings may stand beside it.
    """

    name: str
    label: str
    rule: str
    keep: int | None
    ids: tuple[str, ...]
    lose: tuple[int, ...] | None
    about: tuple[str, ...]
    beside: int


@dataclass(frozen=True, slots=True)
class Scored:
    """What came of the cases. `wrong` names each that was not as labelled, and what was found instead.

    A fault is a contradiction or an absence. `unclear` cases must be called inconclusive, `controls` not be named.
    `alarms` are findings about controls, and more or other findings than a case has.
    """

    faults: int
    found: int
    unclear: int
    told_unclear: int
    controls: int
    alarms: int
    wrong: tuple[str, ...]

    @property
    def precision(self) -> float:
        return self.found / (self.found + self.alarms) if self.found + self.alarms else 0.0

    @property
    def recall(self) -> float:
        return self.found / self.faults if self.faults else 0.0

    @property
    def markdown(self) -> str:
        shares = ((self.found, self.faults), (self.told_unclear, self.unclear), (self.alarms, self.controls))
        found, unclear, alarmed = (share(*one).interval for one in shares)
        return (
            "| cases | number | as labelled | share |\n|---|---|---|---|\n"
            f"| faults, to be found | {self.faults} | {self.found} | {self.recall:.3f} "
            f"({found.low:.3f} to {found.high:.3f}) |\n"
            f"| inconclusive, to be called so | {self.unclear} | {self.told_unclear} | "
            f"{self.told_unclear / self.unclear if self.unclear else 0.0:.3f} "
            f"({unclear.low:.3f} to {unclear.high:.3f}) |\n"
            f"| controls, to stay silent about | {self.controls} | {self.controls - self.alarms} | "
            f"false alarms {self.alarms} ({alarmed.low:.3f} to {alarmed.high:.3f}) |\n"
        )


def read_labelled(path: Path) -> Mapping[str, Any]:
    """Read the set: `database`, an SQL script, and `case`s. Raises OSError, TOMLDecodeError."""
    return tomllib.loads(path.read_text("utf-8"))


def settings_in(folder: Path, labelled: Mapping[str, Any]) -> Settings:
    """Write the database that the cases are about into a folder, and give settings of a place with nothing else."""
    path = folder / "boats.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(labelled["database"])
    return Settings(
        database=str(path),
        data=folder,
        runs=folder / "runs",
        brain=str(folder / "brain"),
        sow=False,
        sql_deadline=1.0,
    )


def plant(app: App, labelled: Mapping[str, Any]) -> tuple[Case, ...]:
    """Write all cases into the brain of an opened app, in one history."""
    return tuple(_planted(app, case) for case in labelled["case"])


def _planted(app: App, case: Mapping[str, Any]) -> Case:
    ids: list[str] = []
    for number, told in enumerate(case.get("write", ())):
        episode = episode_of(app, told, f"case:{case['name']}:{number}")
        ids.append(str(episode.id))
        with app.ledger.transaction() as entry:
            entry.remember(episode, since=_BEGAN + told.get("day", 0) * _DAY)
    for told in case.get("term", ()):
        term = Term(
            tuple(told["names"]), told["meaning"], told.get("expression"), tuple(told["tables"]), told["origin"]
        )
        with app.ledger.transaction() as entry:
            app.semantic.write(entry, term)
        ids.append(f"position:{app.ledger.head()[0]}")
    for told in case.get("synapse", ()):
        ids.append(_synapse(app, told))
    lose = tuple(case["lose"]) if "lose" in case else None
    about = tuple(ids[place] for place in case.get("about", range(len(ids))))
    beside = int(case.get("beside", 0))
    return Case(case["name"], case["label"], case.get("rule", ""), case.get("keep"), tuple(ids), lose, about, beside)


def episode_of(app: App, told: Mapping[str, Any], batch: str) -> Episode:
    """The episode that a write of a case tells of: its question and SQL, and what else is not as usual."""
    understood = app.understand(told["question"])
    return Episode(
        bucket=understood.bucket,
        kind=understood.intent.kind,
        tables=understood.intent.tables,
        question=told["question"],
        masked=understood.masked,
        sql=told["sql"],
        skeleton=skeleton(told["sql"], app.schema.dialect),
        origin=told.get("origin", "seed:labelled"),
        verifier=told.get("verifier", "gold"),
        batch=told.get("batch", batch),
        schema_fingerprint=told.get("schema") or app.schema.fingerprint,
        result_fingerprint="",
    )


def _synapse(app: App, told: Mapping[str, Any]) -> str:
    kind, name = "episode", str(uuid.uuid5(uuid.NAMESPACE_OID, told["bucket"]))
    if told["to"] == "there":
        name = str(app.ledger.episodes()[0].id)
    elif told["to"] == "skeleton":
        kind, name = "skeleton", "SELECT _"
    bucket = Bucket(told["bucket"], "count", ("Boats",))
    with app.ledger.transaction() as entry:
        for reward, times in ((1.0, told["successes"]), (0.0, told["failures"])):
            for _ in range(times):
                target = Target(kind, name)  # type: ignore[arg-type]
                changes = app.synapses.fire(entry.connection, bucket, (target,), reward, entry.at)
                entry.append(EventKind.WEIGHTS_MOVED, "labelled", changes_content(changes))
    return f"{told['bucket']}/{kind}/{name}"


def score(cases: Sequence[Case], findings: Sequence[Finding]) -> Scored:
    """Hold findings against the labels. A fault is found where one finding of its kind has just its writes, no fewer.

    A case may say which of its writes a finding has (`about`), and that others of them are in further findings that are
    inconclusive (`beside`). Any finding about a control, of another kind, or with other writes is a false alarm. A
    case whose ladder decides by another rung, for another write, or against other writes than `lose`, is wrong.
    """
    right: Counter[str] = Counter()
    alarms = 0
    wrong: list[str] = []
    for case in cases:
        about = [one for one in findings if _ids(one) & set(case.ids)]
        if case.label == SILENT:
            alarms += bool(about)
            wrong += [f"{case.name}: {one.kind} ({one.reason})" for one in about]
            continue
        fitting = [one for one in about if one.kind == case.label and _ids(one) == set(case.about)]
        problem = "" if fitting else f"not found, but {[(one.kind, one.reason) for one in about]}"
        if fitting and case.rule:
            problem = _decided(case, fitting[0])
        right[case.label] += not problem
        allowed = case.beside if case.label != "inconclusive" else 0
        more = [one for one in about if one not in fitting]
        beside = [one for one in more if one.kind == "inconclusive" and _ids(one) <= set(case.ids)]
        over = [one for one in more if one not in beside] + beside[allowed:] + fitting[1:]
        alarms += bool(over)
        wrong += [f"{case.name}: {problem}"] if problem else []
        wrong += [f"{case.name}: also {one.kind} ({one.reason})" for one in over]
    labels = Counter(case.label for case in cases)
    unclear, controls = labels["inconclusive"], labels[SILENT]
    faults, told = len(cases) - unclear - controls, right["inconclusive"]
    return Scored(faults, right.total() - told, unclear, told, controls, alarms, tuple(wrong))


def _decided(case: Case, finding: Finding) -> str:
    """How a finding is decided otherwise than a case says, or `""`."""
    advice = finding.recommendation
    chosen = next((_id(write) for write in finding.writes if write.id == advice.recommended_id), "")
    wanted = case.ids[case.keep] if case.keep is not None else ""
    if (advice.rule, chosen) != (case.rule, wanted):
        return f"decided by {advice.rule} for {chosen}, not by {case.rule} for {wanted}"
    lost = {_id(write) for write in finding.losing}
    if case.lose is not None and lost != {case.ids[place] for place in case.lose}:
        return f"{len(lost)} writes lose, not those at {list(case.lose)}"
    return ""


def _ids(finding: Finding) -> set[str]:
    return {_id(write) for write in finding.writes}


def _id(write: Write) -> str:
    return write.batch if write.subject == "term" else write.id
