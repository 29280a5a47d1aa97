"""What the environment decides, and which of it is refused."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from agent.settings import ROOT, Levers, Settings, SettingsError

ALL_LEVERS = tuple(field.name for field in fields(Levers))


def pulled(*names: str) -> Levers:
    """Only the levers of these names."""
    return Levers(**{name: name in names for name in ALL_LEVERS})


def test_an_empty_environment_gives_the_shipped_database_and_no_keys() -> None:
    settings = Settings.from_env({})
    assert settings == Settings()
    assert Path(settings.database) == ROOT / "data" / "northwind.sqlite"
    assert Path(settings.database).is_file()
    assert (settings.anthropic_key, settings.openai_key, settings.model, settings.brain) == (None, None, None, None)


def test_every_field_has_a_variable() -> None:
    texts = {"database", "brain", "model", "data", "runs", "anthropic_key", "anthropic_base_url"}
    texts |= {"openai_key", "openai_base_url", "approach"}
    given = {field.name: "7" for field in fields(Settings)} | {name: f"x-{name}" for name in texts}
    given |= {
        "ledger": "postgresql://x-ledger/brain",
        "facts": "all",
        "think": "deep",
        "habit_salience": "0.25",
        "unsure": "0.75",
        "runner_up": "0.3",
    }
    others = {"habits": ("off", False), "sow": ("off", False), "levers": ("dialect, names", pulled("dialect", "names"))}
    given |= {name: text for name, (text, _) in others.items()}
    settings = Settings.from_env({f"HEBBQL_{name.upper()}": value for name, value in given.items()})
    for name, value in given.items():
        read = getattr(settings, name)
        assert read != getattr(Settings(), name), f"{name} is what it would be without its variable"
        assert read == others[name][1] if name in others else str(read) in {value, f"{value}.0"}, name
    assert isinstance(settings.row_cap, int) and isinstance(settings.runs, Path)
    assert settings.models == Path("x-runs") / "models"


def test_variables_that_are_empty_or_blank_count_as_not_set() -> None:
    blank = {f"HEBBQL_{field.name.upper()}": "  " for field in fields(Settings)}
    assert Settings.from_env({**blank, "ANTHROPIC_API_KEY": " ", "OPENAI_API_KEY": ""}) == Settings()


def test_the_keys_of_providers_are_taken_and_ours_outrank_them() -> None:
    theirs = {"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "o", "ANTHROPIC_BASE_URL": "http://a", "OPENAI_BASE_URL": "u"}
    settings = Settings.from_env(theirs)
    assert (settings.anthropic_key, settings.openai_key) == ("a", "o")
    assert (settings.anthropic_base_url, settings.openai_base_url) == ("http://a", "u")
    ours = Settings.from_env({**theirs, "HEBBQL_OPENAI_KEY": "p", "HEBBQL_ANTHROPIC_KEY": "b"})
    assert (ours.openai_key, ours.anthropic_key) == ("p", "b")


def test_keys_are_not_shown() -> None:
    shown = repr(Settings.from_env({"ANTHROPIC_API_KEY": "secret-1", "OPENAI_API_KEY": "secret-2"}))
    assert "secret" not in shown


@pytest.mark.parametrize("value", ["0", "-1", "abc", "nan", "inf", "-inf", "1e400", "1,5", "10 s"])
@pytest.mark.parametrize("name", ["SQL_DEADLINE", "MAX_COST_USD", "ROW_CAP", "THREADS"])
def test_what_is_no_number_above_zero_is_named(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=rf"^HEBBQL_{name} must be a number above 0, not '{value}'"):
        Settings.from_env({f"HEBBQL_{name}": value})


@pytest.mark.parametrize("name", ["ROW_CAP", "BYTE_CAP", "THREADS", "CONTEXT_TOKENS", "RECALL_LIMIT"])
def test_half_a_thing_cannot_be_counted(name: str) -> None:
    with pytest.raises(SettingsError, match=rf"^HEBBQL_{name} must be a whole number above 0, not '0.5'"):
        Settings.from_env({f"HEBBQL_{name}": "0.5"})


def test_half_a_second_is_a_deadline() -> None:
    assert Settings.from_env({"HEBBQL_SQL_DEADLINE": "0.5"}).sql_deadline == 0.5


def test_an_unknown_level_of_facts_is_refused_with_those_there_are() -> None:
    assert Settings.from_env({"HEBBQL_FACTS": "Values"}).facts == "values"
    with pytest.raises(SettingsError, match=r"HEBBQL_FACTS must be one of .*terms, values, all, not 'some'"):
        Settings.from_env({"HEBBQL_FACTS": "some"})


def test_a_switch_is_on_or_off() -> None:
    assert (Settings.from_env({"HEBBQL_HABITS": "OFF"}).habits, Settings.from_env({"HEBBQL_HABITS": "on"}).habits) == (
        False,
        True,
    )
    with pytest.raises(SettingsError, match=r"^HEBBQL_HABITS must be on or off, not 'maybe'"):
        Settings.from_env({"HEBBQL_HABITS": "maybe"})


def test_no_salience_is_above_one() -> None:
    assert Settings.from_env({"HEBBQL_HABIT_SALIENCE": "1"}).habit_salience == 1
    with pytest.raises(SettingsError, match=r"^HEBBQL_HABIT_SALIENCE must be at most 1, not '1.5'"):
        Settings.from_env({"HEBBQL_HABIT_SALIENCE": "1.5"})


def test_an_effort_is_fast_normal_or_deep() -> None:
    assert Settings.from_env({"HEBBQL_THINK": " Fast "}).think == "fast"
    with pytest.raises(SettingsError, match=r"^HEBBQL_THINK and --think must be one of fast, normal, deep, not 'hard'"):
        Settings.from_env({"HEBBQL_THINK": "hard"})


@pytest.mark.parametrize(
    ("value", "takes"),
    [("1.5", "at most 1"), ("2", "at most 1"), ("0", "a number above 0"), ("half", "a number above 0")],
)
@pytest.mark.parametrize("name", ["unsure", "runner_up"])
def test_where_an_answer_is_unsure_and_a_runner_up_is_shown_is_a_chance(name: str, value: str, takes: str) -> None:
    variable = f"HEBBQL_{name.upper()}"
    assert getattr(Settings.from_env({variable: "1"}), name) == 1
    with pytest.raises(SettingsError, match=rf"^{variable} must be {takes}, not '{value}'"):
        Settings.from_env({variable: value})


def test_levers_are_named_with_commas_between() -> None:
    def read(text: str) -> Levers:
        return Settings.from_env({"HEBBQL_LEVERS": text}).levers

    assert read("Coverage,weigh") == pulled("coverage", "weigh")
    assert read("none") == pulled() and read("ALL") == pulled(*ALL_LEVERS)


@pytest.mark.parametrize("text", ["adapt, magic", "all, adapt", "none,names", ",", "on"])
def test_what_is_no_lever_is_refused_with_those_there_are(text: str) -> None:
    known = f"all, none, or some of {', '.join(ALL_LEVERS)} with commas between"
    with pytest.raises(SettingsError, match=rf"^HEBBQL_LEVERS takes {known}, not '{text}'"):
        Settings.from_env({"HEBBQL_LEVERS": text})
