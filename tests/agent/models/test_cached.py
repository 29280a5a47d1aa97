"""Kept replies: real files, real SQLite, several threads and processes."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.models.cached import CachedModel, Replies, ReplyFileError, request_hash
from agent.models.claude import ClaudeModel
from agent.models.local import LocalModel
from agent.models.openai_compatible import OpenAIModel
from agent.models.patient import PatientModel
from agent.models.port import Model, ModelUnavailableError, Prompt, Reply, Turn, Usage
from agent.models.prices import load_prices
from agent.models.recorded import RecordedModel, ScriptedModel
from agent.models.unreliable import UnreliableModel

PROMPT = Prompt("Answer with SQL.", (Turn("user", "How many towns?"),), 300)
DEAR = Reply("SELECT 1", Usage(50, 7, 30, 2, 0.25), seconds=3.5)


class Counting:
    """Gives one reply for ever, and counts."""

    def __init__(self, reply: Reply = DEAR, *, name: str = "counting", origin: str = "") -> None:
        self.reply, self.name, self.calls = reply, name, 0
        self._origin = origin

    def origin(self) -> str:
        return self._origin

    def complete(self, _prompt: Prompt) -> Reply:
        self.calls += 1
        return self.reply

    def close(self) -> None:
        """Nothing to close."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "replies.sqlite"


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def cached(path: Path, said: list[str]) -> Iterator[Callable[..., CachedModel]]:
    made: list[CachedModel] = []

    def build(inner: Model, **more: Any) -> CachedModel:
        made.append(CachedModel(inner, path=path, say=said.append, **more))
        return made[-1]

    yield build
    for model in made:
        model.close()


@pytest.fixture
def replies(path: Path, said: list[str]) -> Iterator[Replies]:
    kept = Replies(path, say=said.append)
    yield kept
    kept.close()


def contents(folder: Path) -> bytes:
    """All bytes of all files of a folder."""
    return b"".join(file.read_bytes() for file in sorted(folder.iterdir()))


# --- what is given again -----------------------------------------------------------------------------------------


def test_the_second_time_a_reply_comes_from_the_file_and_costs_nothing(cached: Any) -> None:
    inner = Counting()
    first, second = cached(inner).complete(PROMPT), cached(inner).complete(PROMPT)
    assert inner.calls == 1
    assert first == DEAR
    assert second == Reply("SELECT 1", Usage(50, 7, 30, 2, 0.0), seconds=3.5, replayed=True)


def test_a_reply_of_unknown_price_costs_nothing_either(cached: Any) -> None:
    model = cached(Counting(Reply("SELECT 1", Usage(cost_usd=None))))
    assert [model.complete(PROMPT).usage.cost_usd for _ in range(3)] == [None, 0.0, 0.0]


@pytest.mark.parametrize(
    "reply",
    [
        Reply("", declined="No table has weather."),
        Reply("SELECT a, b, c FR", stop="length"),
        Reply(""),
        Reply("SELECT '도시', 'é \U0001f600' -- \ud83d half a letter"),
        Reply("", declined=""),
        Reply("SELECT 1", likelihood=0.871234),
    ],
)
def test_every_kind_of_reply_comes_back_as_it_was(cached: Any, reply: Reply) -> None:
    inner = Counting(reply)
    model = cached(inner)
    model.complete(PROMPT)
    again = model.complete(PROMPT)
    assert (inner.calls, again.replayed) == (1, True)
    assert (again.text, again.stop, again.declined) == (reply.text, reply.stop, reply.declined)
    assert again.likelihood == reply.likelihood


def test_a_failure_is_not_kept(cached: Any) -> None:
    model = cached(ScriptedModel([ModelUnavailableError("nobody"), "SELECT 1", "SELECT 2"]))
    with pytest.raises(ModelUnavailableError):
        model.complete(PROMPT)
    assert [model.complete(PROMPT).text for _ in range(2)] == ["SELECT 1"] * 2


@pytest.mark.parametrize(
    "other",
    [
        Prompt("Answer with SQL!", PROMPT.turns, 300),
        Prompt(PROMPT.stable, (Turn("user", "How many town?"),), 300),
        Prompt(PROMPT.stable, (*PROMPT.turns, Turn("assistant", "SELECT"), Turn("user", "again")), 300),
        Prompt(PROMPT.stable, PROMPT.turns, 301),
    ],
)
def test_a_request_that_differs_anywhere_is_asked_anew(cached: Any, other: Prompt) -> None:
    inner = Counting()
    model = cached(inner)
    model.complete(PROMPT)
    assert not model.complete(other).replayed
    assert inner.calls == 2


def test_models_do_not_share_replies(cached: Any) -> None:
    for model in (Counting(), Counting(name="another"), Counting(origin="http://elsewhere")):
        assert not cached(model).complete(PROMPT).replayed
        assert cached(model).complete(PROMPT).replayed


def test_the_hash_of_a_request_is_the_same_on_every_machine() -> None:
    assert request_hash(Counting(origin="x"), PROMPT) == "dc57c10fad0cc9e032df985614cdabc7"


def test_a_grammar_is_part_of_a_request_and_a_request_without_one_keeps_the_hash_it_always_had() -> None:
    def hash_of(grammar: str) -> str:
        return request_hash(Counting(origin="x"), replace(PROMPT, grammar=grammar))

    assert hash_of("") == "dc57c10fad0cc9e032df985614cdabc7"
    assert len({hash_of(""), hash_of('root ::= "SELECT 1"'), hash_of('root ::= "SELECT 2"')}) == 3


def test_a_temperature_is_part_of_a_request_and_one_of_0_keeps_the_hash_it_always_had() -> None:
    def hash_of(temperature: float) -> str:
        return request_hash(Counting(origin="x"), replace(PROMPT, temperature=temperature))

    assert hash_of(0.0) == "dc57c10fad0cc9e032df985614cdabc7"
    assert len({hash_of(0.0), hash_of(0.5), hash_of(0.7)}) == 3


# --- who pays for it ---------------------------------------------------------------------------------------------

AGAIN = Reply("SELECT 1", Usage(50, 7, 30, 2, 0.0), seconds=3.5, replayed=True)


def test_what_a_cut_off_attempt_was_given_is_counted_by_the_one_that_takes_its_place(cached: Any) -> None:
    inner, charged = Counting(), list[float]()
    assert cached(inner).asked_by("run 1 q7").complete(PROMPT) == DEAR  # and then the process was killed
    for _ in range(2):  # as was the next
        resumed = cached(inner, charge=charged.append)
        assert resumed.asked_by("run 1 q7").complete(PROMPT) == DEAR
        assert resumed.asked_by("run 1 q7").complete(PROMPT) == AGAIN, "it is counted once"
    assert inner.calls == 1
    assert charged == [0.25, 0.25]


def test_another_asker_counts_nothing(cached: Any) -> None:
    inner, charged = Counting(), list[float]()
    first = cached(inner)
    assert first.asked_by("run 1 q7").complete(PROMPT) == DEAR
    assert first.asked_by("run 1 q8").complete(PROMPT) == AGAIN
    resumed = cached(inner, charge=charged.append)
    assert resumed.asked_by("run 2 q7").complete(PROMPT) == AGAIN
    assert resumed.complete(PROMPT) == AGAIN
    assert charged == []
    assert resumed.asked_by("run 1 q7").complete(PROMPT) == DEAR


def test_one_who_does_not_say_who_asks_never_counts_twice(cached: Any) -> None:
    inner = Counting()
    assert [cached(inner).complete(PROMPT) for _ in range(3)] == [DEAR, AGAIN, AGAIN]


def test_who_asked_is_not_told_by_the_file(cached: Any, path: Path) -> None:
    cached(Counting()).asked_by("TOPSECRET question").complete(PROMPT)
    assert b"TOPSECRET" not in contents(path.parent)


# --- what a reply depends on -------------------------------------------------------------------------------------


def test_another_file_under_the_same_path_is_another_model(tmp_path: Path, tiny_gguf: Path) -> None:
    path = tmp_path / "m.gguf"
    shutil.copy(tiny_gguf, path)
    before = request_hash(LocalModel(path=path), PROMPT)
    assert request_hash(LocalModel(path=path), PROMPT) == before
    model = LocalModel(path=path)
    assert request_hash(model, PROMPT) == before
    state = path.stat()
    content = bytearray(path.read_bytes())
    content[-100] ^= 1
    path.write_bytes(content)  # one bit, the same size
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert request_hash(LocalModel(path=path), PROMPT) != before
    os.utime(path)
    assert request_hash(model, PROMPT) != before


def test_the_same_file_elsewhere_is_the_same_model(tmp_path: Path, tiny_gguf: Path) -> None:
    shutil.copy(tiny_gguf, tmp_path / "copy.gguf")
    here, there = (LocalModel(path=path, name="m") for path in (tiny_gguf, tmp_path / "copy.gguf"))
    assert request_hash(here, PROMPT) == request_hash(there, PROMPT)


def test_a_grammar_and_a_window_are_part_of_a_local_model(tiny_gguf: Path) -> None:
    models = [
        LocalModel(path=tiny_gguf, **more) for more in ({}, {"grammar": 'root ::= "SELECT"'}, {"context_tokens": 512})
    ]
    assert len({request_hash(model, PROMPT) for model in models}) == 3


def test_a_file_that_is_not_there_is_said_and_nothing_kept(cached: Any, tmp_path: Path, path: Path) -> None:
    with pytest.raises(ModelUnavailableError, match="is not there"):
        cached(LocalModel(path=tmp_path / "none.gguf")).complete(PROMPT)
    assert not path.exists()


@pytest.mark.parametrize("kind", [OpenAIModel, ClaudeModel])
def test_the_address_is_part_of_a_hosted_model_and_the_key_is_not(kind: Any) -> None:
    def hash_of(key: str, url: str) -> str:
        return request_hash(kind(model="m", key=key, base_url=url, prices=load_prices()), PROMPT)

    assert hash_of("k1", "http://a/v1") == hash_of("k2", "http://a/v1") != hash_of("k1", "http://b/v1")


def test_a_recording_that_changed_is_another_model(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    line = '{{"hash":"h","model":"m","text":"{}","usage":{{}},"seconds":0,"stop":"end","declined":null}}\n'
    hashes = []
    for text in ("SELECT 1", "SELECT 2"):
        file.write_text(line.format(text))
        hashes.append(request_hash(RecordedModel(path=file), PROMPT))
    assert hashes[0] != hashes[1]


def test_wrapping_a_model_does_not_make_it_another(path: Path) -> None:
    inner = Counting(origin="x")
    wrapped = PatientModel(UnreliableModel(inner, share=0.0, seed=1), patience=1.0, say=lambda _told: None)
    assert request_hash(wrapped, PROMPT) == request_hash(inner, PROMPT)
    assert request_hash(CachedModel(inner, path=path), PROMPT) == request_hash(inner, PROMPT)


# --- what is in the file -----------------------------------------------------------------------------------------


def test_no_text_of_a_prompt_is_kept(cached: Any, path: Path) -> None:
    model = cached(Counting())
    model.complete(Prompt("TOPSECRET schema", (Turn("user", "TOPSECRET question"),)))
    assert b"SELECT 1" in contents(path.parent)
    assert b"TOPSECRET" not in contents(path.parent)


def test_nothing_is_made_before_the_first_question(cached: Any, path: Path) -> None:
    cached(Counting())
    assert not path.parent.exists()


def test_dropped_replies_are_gone_from_every_file(replies: Replies, path: Path) -> None:
    kept = Replies(path)
    for number in range(200):
        replies.put(f"a{number}", Reply(f"SELECT secret_column\nFROM T WHERE n = {number};"))
        replies.put(f"b{number}", Reply(f"SELECT other FROM t WHERE n = {number}"))
        assert kept.get(f"a{number}")
    assert replies.drop(["select SECRET_COLUMN from t where n = 7"]) == 11  # 7, and 70 to 79
    assert kept.get("a7") is None and kept.get("a8") and kept.get("b7")
    assert replies.drop(["SELECT secret_column"]) == 189
    assert b"secret_column" not in contents(path.parent)
    assert kept.get("b7")
    kept.close()


def test_what_was_written_another_way_is_dropped_by_its_spelling(replies: Replies) -> None:
    replies.put("a", Reply("SELECT T.x FROM towns AS T"))
    replies.put("b", Reply("SELECT y FROM towns"))
    assert replies.drop(["SELECT x FROM towns"], spelled=lambda text: text.replace("T.", "").replace(" AS T", "")) == 1
    assert replies.get("a") is None and replies.get("b")


def test_the_words_of_a_declined_reply_are_dropped_too(replies: Replies) -> None:
    replies.put("a", Reply("", declined="There is no weather in Seoul."))
    assert replies.drop(["no weather in Seoul"]) == 1


@pytest.mark.parametrize("texts", [[], [""], [" ;"]])
def test_dropping_nothing_drops_nothing(replies: Replies, texts: list[str]) -> None:
    replies.put("a", DEAR)
    assert replies.drop(texts) == 0
    assert replies.get("a")


def test_dropping_from_no_file_makes_none(replies: Replies, path: Path) -> None:
    assert replies.drop(["SELECT"]) == 0
    assert not path.parent.exists()


def test_what_cannot_be_dropped_is_said(replies: Replies, path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"SELECT secret FROM t" * 100)
    with pytest.raises(ReplyFileError, match="Delete the file"):
        replies.drop(["SELECT secret FROM t"])


def test_a_file_put_aside_that_holds_an_erased_text_is_named(replies: Replies, path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"junk " + rb'{"text":"SELECT secret\nFROM t"}' * 100)
    replies.put("a", DEAR)
    with pytest.raises(ReplyFileError, match="aside-1"):
        replies.drop(["select secret from t"])
    assert replies.drop(["select another from t"]) == 0


def test_a_drop_during_a_read_of_another_process_is_not_called_done(replies: Replies, path: Path) -> None:
    replies.put("a", Reply("SELECT secret"))
    reading = sqlite3.connect(path, isolation_level=None)
    reading.execute("BEGIN")
    reading.execute("SELECT count(*) FROM replies").fetchone()
    replies._connection.execute("PRAGMA busy_timeout = 50")  # type: ignore[union-attr]
    with pytest.raises(ReplyFileError, match="another process"):
        replies.drop(["SELECT secret"])
    reading.execute("COMMIT")
    assert replies.drop(["SELECT secret"]) == 0  # the reply was gone, and now its bytes are
    assert b"secret" not in contents(path.parent)
    reading.close()


def test_the_replies_used_longest_ago_go_first(path: Path) -> None:
    now = [0.0]
    replies = Replies(path, most_bytes=100_000, clock=lambda: now[0])
    for number in range(300):
        now[0] += 100
        replies.put(str(number), Reply("x" * 1_000))
        assert replies.get("0"), number  # in use all the time
    present = [number for number in range(1, 300) if replies.get(str(number))]
    assert present == list(range(present[0], 300))
    assert 30 < len(present) < 110
    replies.close()
    assert path.stat().st_size < 200_000


# --- what can be wrong with it -----------------------------------------------------------------------------------


def foreign(path: Path) -> None:
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE addresses (name)")
        other.execute("INSERT INTO addresses VALUES ('Ada')")
    other.close()


def newer(path: Path) -> None:
    Replies(path).put("a", DEAR)
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA user_version = 99")
    other.close()


BROKEN: dict[str, Callable[[Path], object]] = {
    "text": lambda path: path.write_text("no database at all " * 300),
    "foreign": foreign,
    "newer": newer,
    "cut": lambda path: path.write_bytes(b"SQLite format 3\0" + b"\0" * 50),
}


@pytest.mark.parametrize("wrong", sorted(BROKEN))
def test_a_file_that_is_not_ours_is_put_aside_and_said(cached: Any, path: Path, said: list[str], wrong: str) -> None:
    path.parent.mkdir()
    BROKEN[wrong](path)
    before = path.read_bytes()
    inner = Counting()
    model = cached(inner)
    assert [model.complete(PROMPT).replayed for _ in range(3)] == [False, True, True]
    (told,) = said
    assert "put aside as replies.sqlite.aside-1" in told
    assert path.with_name("replies.sqlite.aside-1").read_bytes() == before


def test_a_second_file_put_aside_does_not_overwrite_the_first(path: Path) -> None:
    path.parent.mkdir()
    for number in (1, 2):
        path.write_text(f"junk {number}")
        replies = Replies(path)
        replies.put("a", DEAR)
        replies.close()
        assert path.with_name(f"{path.name}.aside-{number}").read_text() == f"junk {number}"


def test_an_empty_file_is_begun(cached: Any, path: Path, said: list[str]) -> None:
    path.parent.mkdir()
    path.touch()
    model = cached(Counting())
    assert [model.complete(PROMPT).replayed for _ in range(2)] == [False, True]
    assert said == []


def test_damage_that_is_found_later_is_put_aside(path: Path, said: list[str]) -> None:
    replies = Replies(path)
    for number in range(500):
        replies.put(str(number), Reply("SELECT 1 " * 50))
    replies.close()
    content = bytearray(path.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    path.write_bytes(content)
    inner = Counting()
    model = CachedModel(inner, path=path, say=said.append)
    assert [model.complete(PROMPT).replayed for _ in range(2)] == [False, True]
    assert len(said) == 1
    model.close()


@pytest.mark.parametrize(
    "stored", [b"", b"{}", b'{"text":1,"usage":{},"seconds":0,"stop":"end","declined":null}', None]
)
def test_a_row_that_is_no_reply_is_asked_anew(cached: Any, path: Path, stored: bytes | None) -> None:
    inner = Counting()
    model = cached(inner)
    model.complete(PROMPT)
    with sqlite3.connect(path) as other:
        other.execute("UPDATE replies SET reply = ?", (b"[]" if stored is None else stored,))
    other.close()
    assert [model.complete(PROMPT).replayed for _ in range(2)] == [False, True]


def test_without_a_place_to_write_everything_goes_on_and_it_is_said_once(
    path: Path, said: list[str], tmp_path: Path
) -> None:
    (tmp_path / "runs").write_text("a file where the folder should be")
    inner = Counting()
    model = CachedModel(inner, path=path, say=said.append)
    assert [model.complete(PROMPT) for _ in range(3)] == [DEAR] * 3
    (told,) = said
    assert "are not kept" in told and str(path) in told


def test_a_folder_in_its_place_is_left_there(path: Path, said: list[str]) -> None:
    path.mkdir(parents=True)
    (path / "precious").touch()
    model = CachedModel(Counting(), path=path, say=said.append)
    assert [model.complete(PROMPT) for _ in range(2)] == [DEAR] * 2
    assert (len(said), (path / "precious").exists()) == (1, True)


def test_a_full_disk_keeps_what_is_there_and_is_said_once(path: Path, said: list[str]) -> None:
    replies = Replies(path, say=said.append)
    replies.put("a", DEAR)
    assert replies._connection is not None
    (pages,) = replies._connection.execute("PRAGMA page_count").fetchone()
    replies._connection.execute(f"PRAGMA max_page_count = {pages}")  # SQLite then says what it says of a full disk
    for number in range(100):
        replies.put(str(number), Reply("x" * 10_000))
    assert replies.get("a")
    (told,) = said
    assert "full" in told
    replies.close()


LIMITED = """
import resource, signal, sys
from pathlib import Path
from agent.models.cached import Replies
from agent.models.port import Reply
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
replies = Replies(Path(sys.argv[1]), say=print)
for number in range(50):
    replies.put(str(number), Reply("x" * 10_000))
print(sum(replies.get(str(number)) is not None for number in range(50)) > 1)
replies.close()
"""


def test_a_limit_on_the_size_of_files_does_not_end_the_process(path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, check=True)
    told, kept = done.stdout.splitlines()
    assert "are not kept" in told
    assert kept == "True"
    whole = Replies(path)
    whole.put("after", DEAR)
    assert whole.get("after") and whole.get("0")
    whole.close()


def test_a_write_lock_of_another_process_is_not_waited_for_in_vain(path: Path, said: list[str]) -> None:
    replies = Replies(path, say=said.append)
    replies.put("a", DEAR)
    assert replies._connection is not None
    replies._connection.execute("PRAGMA busy_timeout = 50")
    writing = sqlite3.connect(path, isolation_level=None)
    writing.execute("BEGIN IMMEDIATE")
    replies.put("b", DEAR)
    assert replies.get("a") and replies.get("b") is None
    writing.execute("COMMIT")
    replies.put("b", DEAR)
    assert replies.get("b") and said == []
    writing.close()
    replies.close()


# --- at once -----------------------------------------------------------------------------------------------------


def test_threads_share_a_cache(cached: Any) -> None:
    inner = Counting()
    model = cached(inner)
    wrong: list[object] = []

    def ask() -> None:
        try:
            for number in range(50):
                assert model.complete(Prompt("s", (Turn("user", str(number)),))).text == "SELECT 1"
        except BaseException as problem:
            wrong.append(problem)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert 50 <= inner.calls <= 200
    assert all(model.complete(Prompt("s", (Turn("user", str(number)),))).replayed for number in range(50))


WRITER = """
import sys
from pathlib import Path
from agent.models.cached import Replies
from agent.models.port import Reply
replies = Replies(Path(sys.argv[1]), say=print)
for number in range(100):
    replies.put(f"{sys.argv[2]}-{number}", Reply(f"SELECT {number}"))
    assert replies.get(f"{sys.argv[2]}-{number}").reply.text == f"SELECT {number}"
replies.close()
"""


@pytest.mark.parametrize("junk", [False, True])
def test_processes_share_a_cache_and_begin_it_together(path: Path, junk: bool) -> None:
    if junk:
        path.parent.mkdir()
        path.write_text("no database at all " * 300)
    running = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(one)], stdout=subprocess.PIPE, text=True)
        for one in range(3)
    ]
    told = "".join(process.communicate()[0] for process in running)
    assert [process.returncode for process in running] == [0, 0, 0]
    assert told.count("put aside") == junk
    replies = Replies(path)
    assert all(replies.get(f"{one}-{number}") for one in range(3) for number in range(100))
    replies.close()


KILLED = """
import os, signal, sys
from pathlib import Path
from agent.models.cached import Replies
from agent.models.port import Reply
replies = Replies(Path(sys.argv[1]))
for number in range(20):
    replies.put(str(number), Reply(f"SELECT {number}"))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_process_leaves_its_replies(path: Path, said: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert done.returncode == -9
    replies = Replies(path, say=said.append)
    assert all(replies.get(str(number)) for number in range(20))
    assert said == []
    replies.close()
