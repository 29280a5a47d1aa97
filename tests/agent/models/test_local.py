"""The local model, on a real llama.cpp with a file of one small random layer."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent.attempt import Understood
from agent.database.schema import Column, Facts, ForeignKey, Schema, Table
from agent.drafting.grammar import grammar_for
from agent.grounding import Lexicon, ground
from agent.intent import bucket_of, predict
from agent.models import local
from agent.models.local import ContextTooLongError, LocalModel
from agent.models.port import ModelError, ModelUnavailableError, Prompt, Reply, Turn

STABLE = "CREATE TABLE towns (name TEXT, people INTEGER)\n" * 4


def prompt(question: str, *, stable: str = STABLE, max_tokens: int = 8) -> Prompt:
    return Prompt(stable, (Turn("user", question),), max_tokens)


@pytest.fixture
def model(tiny_gguf: Path, tmp_path: Path) -> Iterator[LocalModel]:
    made = LocalModel(path=tiny_gguf, prefix_folder=tmp_path / "prefixes", threads=1, context_tokens=1024)
    yield made
    made.close()


def listening_ports() -> set[str]:
    """The network sockets of this process that wait for connections."""
    own = {os.readlink(link) for link in Path("/proc/self/fd").iterdir() if link.is_symlink() and os.path.lexists(link)}
    rows = [
        line.split()
        for table in ("tcp", "tcp6")
        if (path := Path("/proc/self/net") / table).exists()
        for line in path.read_text().splitlines()[1:]
    ]
    return {row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in own}


def test_nothing_is_loaded_before_the_first_question(model: LocalModel) -> None:
    assert not model.loaded
    model.complete(prompt("How many?"))
    assert model.loaded


def test_a_reply_does_not_depend_on_the_questions_before_it(model: LocalModel) -> None:
    def told(reply: Reply) -> tuple[object, ...]:
        return reply.text, reply.stop, reply.usage

    first = model.complete(prompt("How many people live there?"))
    model.complete(prompt("How many people live in the other town, and why?"))
    again = model.complete(prompt("How many people live there?"))
    assert told(again) == told(first)
    assert first.usage.cost_usd == 0.0


def test_the_stable_part_is_computed_once_and_survives_the_process(tiny_gguf: Path, tmp_path: Path) -> None:
    def fresh() -> LocalModel:
        return LocalModel(path=tiny_gguf, prefix_folder=tmp_path, threads=1, context_tokens=1024)

    first, second = fresh(), fresh()
    first.prepare(STABLE)
    kept = {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in tmp_path.glob("*.prefix")}
    answer = first.complete(prompt("A question that must not be kept"))
    assert len(kept) == 1
    places = {path.stat().st_ino for path in kept}
    later = second.complete(prompt("A question that must not be kept"))
    assert (later.text, later.usage) == (answer.text, answer.usage)
    assert answer.usage.cache_read_tokens > answer.usage.input_tokens > 0, "the stable part is read from the cache"
    assert second.timing is not None and second.timing.prompt_tokens < len(STABLE) / 2
    # Only the stable part is on disk: asking changed nothing there, and the second model computed nothing anew.
    assert {path.stat().st_ino for path in kept} == places
    assert {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in tmp_path.iterdir()} == kept
    first.close()
    second.close()


def test_a_repair_goes_on_in_the_cache_of_the_draft(model: LocalModel) -> None:
    question = Turn("user", "How many people live in the town with the longest name of all towns?")
    draft = model.complete(Prompt(STABLE, (question,), 8))
    longer = (question, Turn("assistant", "SELECT 1"), Turn("user", "Wrong."))
    repaired = model.complete(Prompt(STABLE, longer, 8))
    assert repaired.usage.cache_read_tokens > draft.usage.cache_read_tokens + len(question.text) // 2


def test_a_reply_that_reaches_the_limit_is_marked_as_cut(model: LocalModel) -> None:
    reply = model.complete(prompt("Talk on and on", max_tokens=5))
    assert (reply.stop, reply.usage.output_tokens) == ("length", 5)


def test_a_reply_tells_how_sure_the_model_was_and_less_so_where_it_was_drawn_by_chance(model: LocalModel) -> None:
    asked = prompt("Anything", max_tokens=20)
    surest, drawn = (model.complete(replace(asked, temperature=heat)).likelihood for heat in (0.0, 2.0))
    assert surest is not None and drawn is not None and 0 < drawn < surest <= 1


def test_a_temperature_draws_another_reply_the_same_each_time(tiny_gguf: Path) -> None:
    model = LocalModel(path=tiny_gguf, threads=1, context_tokens=512)
    asked = prompt("Anything", max_tokens=20)
    plain, *drawn = (model.complete(one).text for one in (asked, *[replace(asked, temperature=0.9)] * 2))
    again = model.complete(asked).text
    model.close()
    assert plain == again and drawn[0] == drawn[1] != plain


def test_a_grammar_bounds_what_can_be_written(tiny_gguf: Path) -> None:
    model = LocalModel(path=tiny_gguf, threads=1, context_tokens=512, grammar='root ::= "SELECT 1"')
    reply = model.complete(prompt("Anything", max_tokens=30))
    model.close()
    assert (reply.text, reply.stop) == ("SELECT 1", "end")


def test_the_grammar_of_a_prompt_comes_before_that_of_the_model_and_binds_no_other_prompt(tiny_gguf: Path) -> None:
    model = LocalModel(path=tiny_gguf, threads=1, context_tokens=512, grammar='root ::= "SELECT 1"')
    bound = replace(prompt("Anything", max_tokens=30), grammar='root ::= "SELECT " ("Towns" | "People")')
    said = [model.complete(one).text for one in (bound, prompt("Anything", max_tokens=30))]
    model.close()
    assert said[0] in ("SELECT Towns", "SELECT People")
    assert said[1] == "SELECT 1"


@pytest.mark.parametrize("loose", [False, True])
@pytest.mark.parametrize(
    "question", ["Which three towns have the most people?", "How many towns are in 'Big \\ \"Bay\"'?"]
)
def test_the_grammar_of_a_question_is_read_by_llama_cpp(question: str, loose: bool, model: LocalModel) -> None:
    towns = Table("big towns", (Column("town id", "INTEGER", primary_key=True), Column('the "name"', "TEXT")))
    people = Table("People", (Column("lives in", "INTEGER"),), (ForeignKey(("lives in",), "big towns", ("town id",)),))
    lexicon = Lexicon(Schema("towns", "sqlite", (towns, people), "", ""), Facts(), ())
    grounding = ground(question, lexicon)
    intent = predict(question, grounding)
    grammar = grammar_for(
        Understood(grounding, intent, bucket_of(intent), ""),
        lexicon=lexicon,
        schema=lexicon.schema,
        shown=["WITH Part AS (SELECT 1 AS One) SELECT One FROM Part"],
        literals="linked",
        loose=loose,
        said=loose,
    )
    reply = model.complete(replace(prompt(question, max_tokens=60), grammar=grammar))
    assert reply.text.startswith(("SELECT ", "WITH "))


def test_a_grammar_that_cannot_be_read_is_a_failure_and_the_next_prompt_works(model: LocalModel) -> None:
    with pytest.raises(ModelError, match="refused"):
        model.complete(replace(prompt("Anything"), grammar="root ::= nowhere"))
    assert model.complete(prompt("Anything")).text


def test_a_prompt_beyond_the_window_is_refused_with_its_tokens_and_the_next_one_works(model: LocalModel) -> None:
    with pytest.raises(ContextTooLongError, match=r"\d{4} tokens .* 1024.*HEBBQL_CONTEXT_TOKENS"):
        model.complete(prompt("x" * 5_000))
    with pytest.raises(ContextTooLongError):
        model.complete(prompt("short", stable="x" * 5_000))
    assert model.complete(prompt("short")).text


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "is not there"),
        (b"", "not a GGUF"),
        (b"<html>Sign in to the hotel network</html>", "not a GGUF"),
        (b"GGUF" + b"\x03\0\0\0" * 64, "cut short"),
        ("half", "cut short"),
    ],
)
def test_a_broken_file_is_refused_with_the_fix_and_leaves_nothing_behind(
    content: bytes | str | None, says: str, tiny_gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    path = tmp_path / "model.gguf"
    if content == "half":
        content = tiny_gguf.read_bytes()[: tiny_gguf.stat().st_size // 2]
    if isinstance(content, bytes):
        path.write_bytes(content)
    model = LocalModel(path=path, pull_hint="hebbql models pull tiny")
    with pytest.raises(ModelUnavailableError, match=f"{says}.*hebbql models pull tiny"):
        model.complete(prompt("How many?"))
    assert list(scratch.iterdir()) == []


def test_no_network_port_is_opened_and_nothing_is_written_to_the_terminal(
    model: LocalModel, capfd: pytest.CaptureFixture[str]
) -> None:
    before = listening_ports()
    model.complete(prompt("How many?"))
    assert listening_ports() == before
    model.close()
    assert capfd.readouterr() == ("", "")


def test_the_socket_is_for_this_user_only_and_gone_after_close(
    tiny_gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    model = LocalModel(path=tiny_gguf, threads=1, context_tokens=256)
    model.prepare()
    (folder,) = tmp_path.iterdir()
    assert folder.stat().st_mode & 0o077 == 0
    model.close()
    assert list(tmp_path.iterdir()) == []


def test_a_long_temporary_folder_does_not_break_the_socket(
    tiny_gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("d" * 90)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    model = LocalModel(path=tiny_gguf, threads=1, context_tokens=256)
    assert model.complete(prompt("How many?", stable="short")).text
    model.close()


def test_a_damaged_or_unwritable_prefix_is_computed_again(model: LocalModel, tmp_path: Path) -> None:
    good = model.complete(prompt("How many?"))
    (kept,) = (tmp_path / "prefixes").glob("*.prefix")
    size = kept.stat().st_size
    kept.write_bytes(b"not a state")
    assert model.complete(prompt("How many?")).text == good.text
    assert kept.stat().st_size == size
    shutil.rmtree(tmp_path / "prefixes")
    assert model.complete(prompt("How many?")).text == good.text


def test_only_the_latest_stable_parts_are_kept_on_disk(model: LocalModel, tmp_path: Path) -> None:
    for number in range(local.KEPT_PREFIXES + 3):
        model.prepare(f"database number {number}")
    assert len(list((tmp_path / "prefixes").iterdir())) == local.KEPT_PREFIXES


def test_a_closed_model_loads_again_when_asked(model: LocalModel) -> None:
    first = model.complete(prompt("How many?"))
    model.close()
    assert not model.loaded
    assert model.complete(prompt("How many?")).text == first.text


def test_questions_from_two_threads_are_answered_one_after_the_other(model: LocalModel) -> None:
    alone = {question: model.complete(prompt(question)).text for question in ("one", "two")}
    together: dict[str, set[str]] = {"one": set(), "two": set()}

    def ask(question: str) -> None:
        for _ in range(5):
            together[question].add(model.complete(prompt(question)).text)

    threads = [threading.Thread(target=ask, args=(question,)) for question in alone]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == {question: {text} for question, text in alone.items()}


def test_a_call_that_takes_too_long_ends_with_the_fix_and_the_next_one_works(tiny_gguf: Path) -> None:
    model = LocalModel(path=tiny_gguf, threads=1, context_tokens=60_000, deadline=1.0)
    began = time.monotonic()
    with pytest.raises(ModelError, match="HEBBQL_MODEL_DEADLINE"):
        model.complete(prompt("Talk without end", max_tokens=50_000))
    assert time.monotonic() - began < 5
    assert model.complete(prompt("How many?")).text
    model.close()


@pytest.mark.parametrize("stable", ["", "Schöne Tabellen: 表, таблица", "<|im_end|>\n<|im_start|>user"])
def test_any_text_can_be_the_stable_part(model: LocalModel, stable: str) -> None:
    first = model.complete(prompt("Wie viele?", stable=stable))
    assert model.complete(prompt("Wie viele?", stable=stable)).text == first.text


def test_control_tokens_in_a_question_are_plain_text(model: LocalModel) -> None:
    token = "<|im_end|>"
    without, with_it = (model.complete(prompt(text)).usage.input_tokens for text in ("a", f"a{token}"))
    assert with_it - without >= len(token)  # one token would mean that it was taken for the end of the turn


@pytest.mark.parametrize("turns", [(), (Turn("user", "q"), Turn("assistant", "a"))])
def test_a_prompt_that_does_not_end_with_the_user_is_refused(model: LocalModel, turns: tuple[Turn, ...]) -> None:
    with pytest.raises(ModelError, match="user turn"):
        model.complete(Prompt(STABLE, turns))


def test_half_a_letter_is_refused_in_words(model: LocalModel) -> None:
    with pytest.raises(ModelError, match="lone surrogate"):
        model.complete(prompt("broken \ud800 letter"))
