"""Checks of a brain, as a folder of TOML files says them: each names what must hold, and is green or red.

All that lies in the folder is such a file, named `*.toml`; anything else there is a fault.

    [[check]]
    kind = "must_know"
    name = "countries"
    question = "How many customers are there in Germany?"
    rows = [[11]]

Keys of every check: `kind`, `name` (small letters, digits and `-`, one of its name in the folder) and `why`.

must_know      `question`, and what it must give: `rows`, or `sql` to run for them. `ordered` where their order counts.
               NULL is said with `sql` only, as TOML has none.
forbidden      one of `text` (words, whatever their case and spaces), `value` (a whole value), `column`
               (`Table.Column`, as queries use it) and `sql` (a fragment, whatever its case, quotes and spaces).
               `questions` are asked for it besides those that are made up. `erased = true` wants its bytes gone too.
structure      one of `never_joined` (two tables or more that no episode uses together), `never_selected` (columns
               `Table.Column` that no episode uses), and `answered` (a kind of question: every bucket of that kind has
               an episode; `buckets` is how many there must be at least).
freshness      `current_schema = true` (no episode of an older schema), `days` (none remembered longer ago), or both.
coverage       `share` of the buckets that have at least `episodes` verified ones; `of` takes the buckets of one kind of
               question, `verifiers` counts only what these vouched for, `buckets` is how many there must be at least:
               a brain that was built from a file knows no other buckets than the file has episodes of.
contradiction  nothing more: no two episodes answer the same question with queries that give different results.

A key that no kind has, a check without an expectation, a file that cannot be read, one without a check, and a folder
without a file are faults, and as red as a check that fails.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, TypeAdapter, ValidationError, model_validator


def _cell(value: object) -> object:
    if not isinstance(value, str | int | float | bool):
        raise ValueError("a value is a text, a number, true or false; give dates as the texts that the database gives")
    return value


Kind = Literal["must_know", "forbidden", "structure", "freshness", "coverage", "contradiction"]
Cell = Annotated[str | int | float | bool, PlainValidator(_cell)]
Words = Annotated[str, Field(min_length=1, max_length=2_000, pattern=r"\S")]
Name = Annotated[str, Field(max_length=100, pattern=r"^[a-z0-9]+(?:-[a-z0-9]+)*$")]
ColumnName = Annotated[str, Field(pattern=r"^[^.]+(?:\.[^.]+)?\.[^.]+$")]

SUFFIX = ".toml"
"""How the name of a file of checks ends."""

_LARGEST = 1_000_000
"""Bytes of a file above which it holds no checks that a person wrote."""

_OLDEST = 3_650
"""Days above which nothing would ever be found too old."""

_MOST_LINES = 5
"""Pieces of evidence that are kept of one place."""


class _Check(BaseModel):
    """What all checks have."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    name: Name
    why: str = ""


class MustKnow(_Check):
    """The brain answers a question by itself, without a model, and gives these rows."""

    kind: Literal["must_know"]
    question: Words
    rows: list[list[Cell]] | None = None
    sql: Words | None = None
    ordered: bool = False

    @model_validator(mode="after")
    def _expects(self) -> MustKnow:
        if (self.rows is None) == (self.sql is None):
            raise ValueError("say what it must give with one of rows and sql")
        if self.rows is not None and (not self.rows or not all(self.rows)):
            raise ValueError("rows is empty, so any answer or none would do; give at least one row with a value")
        if self.rows is not None and len({len(row) for row in self.rows}) > 1:
            raise ValueError("the rows have different numbers of values")
        if any(cell != cell for row in self.rows or () for cell in row):
            raise ValueError("nan equals nothing, so no answer would do; say NULL with sql")
        return self


class Forbidden(_Check):
    """Something cannot be recalled, by any way that is known."""

    kind: Literal["forbidden"]
    text: Words | None = None
    value: Words | None = None
    column: ColumnName | None = None
    sql: Words | None = None
    questions: list[Words] = []
    erased: bool = False

    @model_validator(mode="after")
    def _expects(self) -> Forbidden:
        told = [self.text, self.value, self.column, self.sql]
        if sum(one is not None for one in told) != 1:
            raise ValueError("say what is forbidden with one of text, value, column and sql")
        if not any(character.isalnum() for character in self.what):
            raise ValueError("what is forbidden needs a letter or a digit")
        return self

    @property
    def what(self) -> str:
        """What is forbidden, as it is written."""
        return self.text or self.value or self.column or self.sql or ""


class Structure(_Check):
    """Episodes are made, or not made, in some way."""

    kind: Literal["structure"]
    never_joined: list[Words] | None = None
    never_selected: list[ColumnName] | None = None
    answered: Words | None = None
    buckets: Annotated[int, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _expects(self) -> Structure:
        told = [self.never_joined, self.never_selected, self.answered]
        if sum(one is not None for one in told) != 1:
            raise ValueError("say what must hold with one of never_joined, never_selected and answered")
        if self.never_joined is not None and len({one.casefold() for one in self.never_joined}) < 2:
            raise ValueError("never_joined needs at least two tables")
        if self.buckets is not None and self.answered is None:
            raise ValueError("buckets goes with answered; what else a check says counts none")
        if self.never_selected is not None and not self.never_selected:
            raise ValueError("never_selected is empty; name at least one column")
        return self


class Freshness(_Check):
    """No episode is too old."""

    kind: Literal["freshness"]
    current_schema: bool = False
    days: Annotated[int, Field(ge=1, le=_OLDEST)] | None = None

    @model_validator(mode="after")
    def _expects(self) -> Freshness:
        if not self.current_schema and self.days is None:
            raise ValueError("say how fresh: current_schema = true, days, or both")
        return self


class Coverage(_Check):
    """Enough buckets have enough verified episodes."""

    kind: Literal["coverage"]
    share: Annotated[float, Field(gt=0, le=1)]
    episodes: Annotated[int, Field(ge=1)] = 1
    of: Words | None = None
    verifiers: Annotated[list[Words], Field(min_length=1)] | None = None
    buckets: Annotated[int, Field(ge=1)] = 1


class Contradiction(_Check):
    """No two episodes contradict each other."""

    kind: Literal["contradiction"]


Check = Annotated[MustKnow | Forbidden | Structure | Freshness | Coverage | Contradiction, Field(discriminator="kind")]
_CHECK: TypeAdapter[Any] = TypeAdapter(Check)


@dataclass(frozen=True, slots=True)
class Fault:
    """Why something that should be a check is none: the file, the check or key in it, and what is wrong."""

    file: str
    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Loaded:
    """The checks of a folder, each with its file, and what is wrong with the folder. It is red where anything is."""

    checks: tuple[tuple[str, MustKnow | Forbidden | Structure | Freshness | Coverage | Contradiction], ...]
    faults: tuple[Fault, ...]

    def named(self, name: str) -> MustKnow | Forbidden | Structure | Freshness | Coverage | Contradiction | None:
        """The check of that name, if there is one."""
        return next((check for _, check in self.checks if check.name == name), None)


@dataclass(frozen=True, slots=True)
class Evidence:
    """One thing that makes a check red: where it was found, the id of what it was found in, and a line of it."""

    place: str
    id: str
    line: str


@dataclass(frozen=True, slots=True)
class Checked:
    """What came of one check. `looked` counts what was looked at, by place. `seconds` is wall time."""

    name: str
    kind: str
    file: str
    ok: bool
    reason: str = ""
    looked: Mapping[str, int] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
    seconds: float = 0.0


def concluded(
    check: _Check, looked: Mapping[str, int], evidence: list[Evidence], *, green: str = "", red: str = ""
) -> Checked:
    """Green where something was looked at and no evidence was found. Nothing looked at is red.

    At most five pieces of evidence are kept of each place; the reason counts all of them.
    """
    kind: str = getattr(check, "kind", "")
    if evidence:
        by_place: dict[str, list[Evidence]] = {}
        for one in dict.fromkeys(evidence):
            by_place.setdefault(one.place, []).append(one)
        reason = red or "found in " + ", ".join(f"{place} ({len(found)})" for place, found in by_place.items())
        kept = tuple(one for found in by_place.values() for one in found[:_MOST_LINES])
        return Checked(check.name, kind, "", False, reason, dict(looked), kept)
    if not sum(looked.values()):
        return Checked(check.name, kind, "", False, red or "nothing was there to be looked at, so nothing is shown")
    return Checked(check.name, kind, "", True, green, dict(looked))


def faulty(fault: Fault) -> Checked:
    """A fault as a red result."""
    evidence = Evidence(fault.file, fault.key, fault.text)
    name = f"{fault.file}: {fault.key}" if fault.key else fault.file
    return Checked(name, "fault", fault.file, False, fault.text, {}, (evidence,))


def read_checks(folder: Path) -> Loaded:
    """Read every `*.toml` of a folder, in the order of their names. Never raises: what is wrong is a fault.

    So is whatever else lies there: a check that nobody loads would pass for one that is green.
    """
    try:
        there = sorted(folder.iterdir()) if folder.is_dir() else []
    except OSError as trouble:
        return Loaded((), (Fault(str(folder), "", f"{folder} cannot be read, so no check is loaded: {trouble}"),))
    files = [path for path in there if path.name.endswith(SUFFIX)]
    checks: list[tuple[str, Any]] = []
    faults = [Fault(_shown(path), "", _why_none(path)) for path in there if path not in files]
    taken: dict[str, str] = {}
    if not files:
        lacking = "holds no *.toml file" if folder.is_dir() else "is no folder"
        faults.append(Fault(str(folder), "", f"{folder} {lacking}, so no check is loaded"))
    for file in files:
        for read in _read_file(file):
            if isinstance(read, Fault):
                faults.append(read)
            elif read.name in taken:
                faults.append(Fault(_shown(file), read.name, f"{taken[read.name]} has a check of this name already"))
            else:
                taken[read.name] = _shown(file)
                checks.append((_shown(file), read))
    return Loaded(tuple(checks), tuple(faults))


def _why_none(path: Path) -> str:
    """Why what lies in the folder is not read as checks."""
    if path.is_dir():
        return f"folders in the folder are not read; put its checks beside it, in a file named *{SUFFIX}"
    return f"only files named *{SUFFIX}, in small letters, are read as checks; name it so, or take it out"


def _shown(path: Path) -> str:
    """The name of a file as text that every terminal takes."""
    return path.name.encode("utf-8", "backslashreplace").decode()


def _read_file(file: Path) -> Iterator[Any]:
    shown = _shown(file)
    try:
        if not file.is_file():
            raise OSError("it is no file")
        if file.stat().st_size > _LARGEST:
            raise OSError(f"it has more than {_LARGEST:,} bytes")
        told = tomllib.loads(file.read_text("utf-8-sig"))
    except RecursionError:
        yield Fault(shown, "", "it cannot be read: its values are nested too deeply")
        return
    except (OSError, ValueError) as trouble:
        yield Fault(shown, "", f"it cannot be read: {trouble}")
        return
    for key in sorted(told.keys() - {"check"}):
        yield Fault(shown, key, "there is no such key; a file holds [[check]] only")
    listed = told.get("check")
    if not isinstance(listed, list) or not listed:
        yield Fault(shown, "check", "there is no [[check]] in it")
        return
    for number, body in enumerate(listed, start=1):
        name = body.get("name") if isinstance(body, dict) else None
        where = name if isinstance(name, str) and name else f"check {number}"
        try:
            yield _CHECK.validate_python(body)
        except ValidationError as trouble:
            yield from (_fault(shown, where, dict(one)) for one in trouble.errors(include_url=False))


def _fault(file: str, where: str, error: dict[str, Any]) -> Fault:
    kinds = frozenset(Kind.__args__)  # type: ignore[attr-defined]
    place = [str(part) for part in error["loc"] if part not in kinds]
    unknown = error["type"] == "extra_forbidden"
    text = "there is no such key" if unknown else str(error["msg"]).removeprefix("Value error, ")
    if error["type"] in ("union_tag_invalid", "union_tag_not_found"):
        text = f"kind must be one of {', '.join(sorted(kinds))}"
        place = ["kind"]
    return Fault(file, ".".join([where, *place]), text)
