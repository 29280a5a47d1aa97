"""Where the ledger of a brain is: a file in its folder, or a PostgreSQL database that holds nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agent.brain_place import brain_folder, ledger_place
from agent.database.schema import Schema
from agent.settings import Settings, SettingsError
from memory.errors import BrainForeignError

SHOP = Schema("shop", "sqlite", (), "", "f")
URL = "postgresql://clerk:secret@localhost/brain"


def test_the_ledger_is_a_file_in_the_folder_or_where_the_environment_says(tmp_path: Path) -> None:
    assert ledger_place(Settings(), tmp_path) == tmp_path / "brain.sqlite"
    told = Settings.from_env({"HEBBQL_LEDGER": URL})
    assert ledger_place(told, tmp_path) == URL and "secret" not in repr(told)


@pytest.mark.parametrize("url", ["sqlite:///brain.sqlite", "mysql://localhost/brain", "brain.sqlite", "postgres://x/y"])
def test_what_is_no_url_of_postgresql_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match="HEBBQL_LEDGER takes the URL of a PostgreSQL database"):
        Settings.from_env({"HEBBQL_LEDGER": url})


def test_a_url_where_a_folder_is_wanted_is_refused_without_showing_its_password() -> None:
    with pytest.raises(SettingsError, match="set HEBBQL_LEDGER") as refused:
        Settings.from_env({"HEBBQL_BRAIN": URL})
    assert "secret" not in str(refused.value)


def test_a_folder_that_has_a_ledger_of_its_own_is_not_mixed_with_another(tmp_path: Path) -> None:
    (tmp_path / "brain.sqlite").touch()
    with pytest.raises(BrainForeignError, match="has a ledger of its own"):
        ledger_place(Settings(ledger=URL), tmp_path)


def test_the_database_that_is_asked_does_not_hold_the_ledger(tmp_path: Path) -> None:
    asked = Settings(database="postgresql+psycopg://reader@localhost/brain", ledger=URL)
    with pytest.raises(BrainForeignError, match="questions are asked of"):
        ledger_place(asked, tmp_path)
    assert ledger_place(replace(asked, database="postgresql://reader@localhost/shop"), tmp_path) == URL


def test_brains_with_other_ledgers_have_other_folders_whatever_the_password(tmp_path: Path) -> None:
    here = Settings(runs=tmp_path, data=tmp_path, database=str(tmp_path / "shop.sqlite"))
    there = [replace(here, ledger=url) for url in (URL, URL.replace("secret", "other"), URL + "2")]
    folders = [brain_folder(settings, SHOP) for settings in (here, *there)]
    assert folders[1] == folders[2] and len(set(folders)) == 3
