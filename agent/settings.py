"""Everything that the environment decides, read once."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

ROOT = Path(__file__).resolve().parent.parent
"""The checkout: `data/` and `runs/` lie in it."""


FactLevel = Literal["none", "terms", "values", "all"]
Think = Literal["fast", "normal", "deep"]


@dataclass(frozen=True, slots=True)
class Levers:
    """What code does about drafts beside the model; each can be switched off, to see what it is worth.

    `adapt`: recalled episodes are made to fit the question without a model. `dialect`: functions of other databases
    are translated. `names`: names that do not exist are put right where only one can be meant. `coverage`: what a query
    leaves out of the question is told its writer. `weigh`: the most likely draft is the answer, with its confidence.
    `grammar`: a local model can only write names that exist.
    """

    adapt: bool = True
    dialect: bool = True
    names: bool = True
    coverage: bool = True
    weigh: bool = True
    grammar: bool = False

    @classmethod
    def read(cls, text: str) -> Levers:
        """The levers that a text names with commas between; `all` and `none` are names too.

        >>> Levers.read("none") == Levers.read("adapt, dialect"), Levers.read("adapt").adapt
        (False, True)

        Raises:
            SettingsError: it names none, or one that there is not, or `all` beside others.
        """
        known, wanted = set(cls.__slots__), {name.strip() for name in text.lower().split(",")} - {""}
        if wanted in ({"all"}, {"none"}):
            return cls(**dict.fromkeys(known, wanted == {"all"}))
        if not wanted or wanted - known:
            some = ", ".join(cls.__slots__)
            raise SettingsError(f"HEBBQL_LEVERS takes all, none, or some of {some} with commas between, not {text!r}.")
        return cls(**{name: name in wanted for name in known})


class SettingsError(Exception):
    """A variable cannot be read. The message names it and what it takes."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Where things are and how far they may go. Every field has a variable `HEBBQL_…`, see `from_env`.

    `brain` is a folder; the ledger is a file in it, or in the PostgreSQL database of the URL `ledger`, which holds
    nothing else. `sql_deadline`, `model_deadline` and `lease_wait` are seconds; `max_cost_usd` is the most one process
    may spend on hosted models; `context_tokens` the window of a local model; `recall_limit` the most episodes shown to
    it, and `facts` what of the links of a question is (see `agent.prompt.fact_lines`). `approach` is taken
    for every question instead of the one that does best in its bucket. A habit is used from `habit_successes`
    verified answers on, with new literals once `habit_literals` different ones were right in their place, as long as
    its salience (in [0, 1]) is at least `habit_salience`; with `habits` off, never. `think` is how much is done for one
    answer (see `agent.attempt.EFFORTS`); an answer whose confidence is below `unsure` says so, and shows the likeliest
    other result where its chance is at least `runner_up`. With `sow`, a database without a seed pack begins
    with episodes composed from its schema. `levers` are what code does about drafts.
    """

    database: str = str(ROOT / "data" / "northwind.sqlite")
    brain: str | None = None
    ledger: str | None = field(default=None, repr=False)
    model: str | None = None
    data: Path = ROOT / "data"
    runs: Path = ROOT / "runs"
    anthropic_key: str | None = field(default=None, repr=False)
    anthropic_base_url: str | None = None
    openai_key: str | None = field(default=None, repr=False)
    openai_base_url: str | None = None
    sql_deadline: float = 10.0
    row_cap: int = 1_000
    byte_cap: int = 1_000_000
    model_deadline: float = 120.0
    lease_wait: float = 120.0
    max_cost_usd: float | None = None
    threads: int | None = None
    context_tokens: int = 8_192
    recall_limit: int = 5
    facts: FactLevel = "terms"
    approach: str | None = None
    habits: bool = True
    habit_successes: int = 3
    habit_literals: int = 2
    habit_salience: float = 0.5
    think: Think = "normal"
    unsure: float = 0.5
    runner_up: float = 0.1
    sow: bool = True
    levers: Levers = Levers()

    @property
    def models(self) -> Path:
        """The folder of local models."""
        return self.runs / "models"

    @classmethod
    def from_env(cls, environ: Mapping[str, str] = os.environ) -> Settings:
        """Read the variables that are set and not empty.

        Raises:
            SettingsError: one is no number above zero, no whole one where things are counted, no level, no switch or
                no lever.
        """
        default = cls()
        words = {name: environ.get(f"HEBBQL_{name.upper()}", "").strip() for name in cls.__slots__}

        def number(name: str) -> float | None:
            if not words[name]:
                return None
            try:
                value = float(words[name])
            except ValueError:
                value = -1.0
            if not 0 < value < float("inf"):
                raise SettingsError(f"HEBBQL_{name.upper()} must be a number above 0, not {words[name]!r}.")
            return value

        def whole(name: str) -> int | None:
            value = number(name)
            if value is not None and not value.is_integer():
                raise SettingsError(f"HEBBQL_{name.upper()} must be a whole number above 0, not {words[name]!r}.")
            return None if value is None else int(value)

        def share(name: str) -> float:
            value: float = number(name) or getattr(default, name)
            if value > 1:
                raise SettingsError(f"HEBBQL_{name.upper()} must be at most 1, not {words[name]!r}.")
            return value

        def one_of(name: str, kind: object, *, option: str = "") -> Any:
            known, word = get_args(kind), words[name].lower() or getattr(default, name)
            if word not in known:
                told = f"HEBBQL_{name.upper()}{option} must be one of {', '.join(known)}"
                raise SettingsError(f"{told}, not {words[name]!r}.")
            return word

        def switch(name: str, usual: bool) -> bool:
            word = words[name].lower()
            if word not in ("", "on", "off"):
                raise SettingsError(f"HEBBQL_{name.upper()} must be on or off, not {words[name]!r}.")
            return usual if not word else word == "on"

        if re.match(r"[a-z][a-z+]*:/", words["brain"]):
            raise SettingsError(
                "HEBBQL_BRAIN and --brain take a folder, not a URL. For a ledger in PostgreSQL set HEBBQL_LEDGER."
            )
        if words["ledger"] and not re.match(r"postgresql(\+psycopg)?://", words["ledger"]):
            raise SettingsError(
                "HEBBQL_LEDGER takes the URL of a PostgreSQL database, such as postgresql://me@localhost/brain. "
                "Without it the ledger is a file in the folder of the brain."
            )

        return cls(
            database=words["database"] or default.database,
            brain=words["brain"] or None,
            ledger=words["ledger"] or None,
            model=words["model"] or None,
            data=Path(words["data"]) if words["data"] else default.data,
            runs=Path(words["runs"]) if words["runs"] else default.runs,
            anthropic_key=words["anthropic_key"] or environ.get("ANTHROPIC_API_KEY", "").strip() or None,
            anthropic_base_url=words["anthropic_base_url"] or environ.get("ANTHROPIC_BASE_URL", "").strip() or None,
            openai_key=words["openai_key"] or environ.get("OPENAI_API_KEY", "").strip() or None,
            openai_base_url=words["openai_base_url"] or environ.get("OPENAI_BASE_URL", "").strip() or None,
            sql_deadline=number("sql_deadline") or default.sql_deadline,
            row_cap=whole("row_cap") or default.row_cap,
            byte_cap=whole("byte_cap") or default.byte_cap,
            model_deadline=number("model_deadline") or default.model_deadline,
            lease_wait=number("lease_wait") or default.lease_wait,
            max_cost_usd=number("max_cost_usd"),
            threads=whole("threads"),
            context_tokens=whole("context_tokens") or default.context_tokens,
            recall_limit=whole("recall_limit") or default.recall_limit,
            facts=one_of("facts", FactLevel),
            approach=words["approach"] or None,
            habits=switch("habits", default.habits),
            habit_successes=whole("habit_successes") or default.habit_successes,
            habit_literals=whole("habit_literals") or default.habit_literals,
            habit_salience=share("habit_salience"),
            think=one_of("think", Think, option=" and --think"),
            unsure=share("unsure"),
            runner_up=share("runner_up"),
            sow=switch("sow", default.sow),
            levers=Levers.read(words["levers"]) if words["levers"] else default.levers,
        )


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
