"""In a process that has nothing loaded yet, native libraries are loaded in the one order that they bear."""

from __future__ import annotations

from tests.agent.doors.conftest import Home


def test_forgetting_what_no_episode_holds_reads_cognees_files_first_and_ends_well(home: Home) -> None:
    """Only a term is dropped, so that nothing opens the episode store before the proof reads its files."""
    taken = home.run_anew("forget", "--matching", "rebate", "--yes", "--json")
    assert taken.code == 0, taken
    told = taken.json
    assert told["forgotten"] == [] and told["proof"][-1].endswith("nothing left"), told


def test_a_check_that_reads_cognees_files_first_ends_well(home: Home) -> None:
    (home.folder / "checks").mkdir()
    (home.folder / "checks" / "a.toml").write_text('[[check]]\nkind = "forbidden"\nname = "a"\ntext = "zebrafish"\n')
    ended = home.run_anew("brain", "test", "--checks", str(home.folder / "checks"), "--json")
    assert ended.code == 0 and ended.json["ok"], ended
