"""One writer per brain, also when the holder is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory.errors import BrainLockedError, BrainMissingError, BrainUnwritableError
from memory.lease import server_lease, writer_lease

HOLD = """
import sys, time
from pathlib import Path
from memory.lease import writer_lease
with writer_lease(Path(sys.argv[1]), wait=0):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def hold(folder: Path, seconds: float) -> subprocess.Popen[str]:
    holder = subprocess.Popen([sys.executable, "-c", HOLD, folder, str(seconds)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout and holder.stdout.readline() == "held\n"
    return holder


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    process = hold(tmp_path / "brain", 60)
    yield process
    process.kill()
    process.communicate()


def test_the_lease_is_free_again_after_the_block(tmp_path: Path) -> None:
    for _ in range(2):
        with writer_lease(tmp_path / "new" / "brain", wait=0):
            assert (tmp_path / "new" / "brain" / "writer.lock").read_text().split()[0] == str(os.getpid())


def test_a_second_writer_is_told_who_holds_it_and_gives_up_in_time(
    tmp_path: Path, holder: subprocess.Popen[str]
) -> None:
    told: list[int | None] = []
    began = time.monotonic()
    with (
        pytest.raises(BrainLockedError, match=rf"process {holder.pid}\).* within 0 s"),
        writer_lease(tmp_path / "brain", wait=0.3, waiting=told.append),
    ):
        pass
    assert told == [holder.pid] and 0.3 <= time.monotonic() - began < 5


def test_a_second_writer_goes_on_when_the_first_is_done(tmp_path: Path) -> None:
    first = hold(tmp_path, 0.5)
    told: list[int | None] = []
    with writer_lease(tmp_path, wait=30, waiting=told.append):
        assert told == [first.pid]
    first.communicate()


def test_a_killed_holder_holds_nothing(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with writer_lease(tmp_path / "brain", wait=0, waiting=lambda _: pytest.fail("nobody holds it")):
        pass


def test_the_lease_is_free_after_an_error_in_the_block(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), writer_lease(tmp_path, wait=0):
        raise RuntimeError
    with writer_lease(tmp_path, wait=0):
        pass


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "note").write_text("a file")
    with pytest.raises(BrainUnwritableError, match=r"note.*--brain"), writer_lease(tmp_path / "note" / "b", wait=0):
        pass


def test_a_ledger_on_a_server_has_one_writer_and_is_free_when_that_is_killed(postgres_database: str) -> None:
    told: list[int | None] = []
    other = f"{postgres_database}&options=-csearch_path%3Dpg_catalog"
    with server_lease(postgres_database, wait=0):
        with (
            pytest.raises(BrainLockedError, match=r"within 0 s\..*HEBBQL_LEDGER"),
            server_lease(postgres_database, wait=0.3, waiting=told.append),
        ):
            pass
        with server_lease(other, wait=0):
            assert told == [None], "another schema is another brain"
    took = "from memory.lease import server_lease as held\nimport sys, time\nwith held(sys.argv[1], wait=0):\n"
    command = [sys.executable, "-c", took + "    print('held', flush=True); time.sleep(60)", postgres_database]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout and holder.stdout.readline() == "held\n"
        with pytest.raises(BrainLockedError), server_lease(postgres_database, wait=0):
            pass
        holder.kill()
    with server_lease(postgres_database, wait=10):
        pass


def test_a_server_that_is_not_there_is_said(postgres_database: str) -> None:
    gone = postgres_database.replace("/test_", "/none_")
    with pytest.raises(BrainMissingError, match="HEBBQL_LEDGER"), server_lease(gone, wait=0):
        pass
