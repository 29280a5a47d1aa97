"""Recording real replies and replaying them."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from agent.models.local import LocalModel
from agent.models.port import ModelError, ModelUnavailableError, Prompt, Reply, Turn, Usage
from agent.models.recorded import NotRecordedError, RecordedModel, RecordingModel, ScriptedModel, prompt_hash

PROMPT = Prompt("schema", (Turn("user", "How many? ä 表"),), 5)


def test_what_a_model_said_is_replayed_word_for_word(tiny_gguf: Path, tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    real = RecordingModel(model=LocalModel(path=tiny_gguf, name="tiny", threads=1, context_tokens=256), path=path)
    repair = Prompt("schema", (*PROMPT.turns, Turn("assistant", "SELECT"), Turn("user", "no")), 5)
    said = [real.complete(prompt) for prompt in (PROMPT, repair)]
    real.close()
    replayed = RecordedModel(path=path)
    assert [replayed.complete(prompt) for prompt in (PROMPT, repair)] == said
    assert (real.name, replayed.name) == ("tiny", f"recorded:{path}")
    assert said[0].stop == "length"


def test_every_field_of_a_reply_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    reply = Reply("", Usage(1, 2, 3, 4, None), 0.5, "length", "no such table")
    RecordingModel(model=ScriptedModel([reply], name="m"), path=path).complete(PROMPT)
    assert RecordedModel(path=path).complete(PROMPT) == reply


def test_the_last_recording_of_a_prompt_counts(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    recording = RecordingModel(model=ScriptedModel(["old", "new"], name="m"), path=path)
    recording.complete(PROMPT)
    recording.complete(PROMPT)
    assert RecordedModel(path=path).complete(PROMPT).text == "new"


@pytest.mark.parametrize(
    "other",
    [
        replace(PROMPT, stable="schema "),
        replace(PROMPT, max_tokens=6),
        replace(PROMPT, grammar='root ::= "x"'),
        replace(PROMPT, turns=(Turn("user", "How many?"),)),
        replace(PROMPT, turns=(*PROMPT.turns, Turn("assistant", ""), Turn("user", ""))),
    ],
)
def test_a_changed_prompt_is_not_answered_and_its_hash_is_named(other: Prompt, tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    RecordingModel(model=ScriptedModel(["x"], name="m"), path=path).complete(PROMPT)
    with pytest.raises(NotRecordedError, match=f"{prompt_hash('m', other)}.*record it again"):
        RecordedModel(path=path).complete(other)


def test_a_reply_of_another_model_is_not_replayed(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    RecordingModel(model=ScriptedModel(["x"], name="m"), path=path).complete(PROMPT)
    with pytest.raises(NotRecordedError):
        RecordedModel(path=path, model="n").complete(PROMPT)


def test_the_hash_is_the_same_in_every_process() -> None:
    code = (
        "from agent.models.port import Prompt, Turn; from agent.models.recorded import prompt_hash;"
        "print(prompt_hash('m', Prompt('schema', (Turn('user', 'How many? \\u00e4 \\u8868'),), 5)))"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parents[3], capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == prompt_hash("m", PROMPT) == "208c6e3846b960d7df163a1b9f988f25"


def test_text_of_two_turns_cannot_be_mistaken_for_one() -> None:
    one = Prompt("", (Turn("user", "a"), Turn("assistant", "b"), Turn("user", "c")))
    other = Prompt("", (Turn("user", 'a"],["assistant","b'), Turn("user", "c")))
    assert prompt_hash("m", one) != prompt_hash("m", other)


@pytest.mark.parametrize("content", ["", "\n\n", "not json\n", '{"hash": "x"}\n', "[]\n", None, b"\xff\xfe"])
def test_a_file_that_is_no_recording_is_refused(content: str | bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        path.write_text(content)
    with pytest.raises(ModelUnavailableError, match=r"replies\.jsonl"):
        RecordedModel(path=path)


def test_a_script_gives_its_replies_in_order_keeps_the_prompts_and_ends() -> None:
    model = ScriptedModel(["a", Reply("b", declined="c"), ModelError("down")])
    assert model.complete(PROMPT).text == "a"
    assert model.complete(PROMPT).declined == "c"
    with pytest.raises(ModelError, match="down"):
        model.complete(PROMPT)
    with pytest.raises(ModelError, match="3 replies and is over"):
        model.complete(PROMPT)
    assert model.prompts == [PROMPT] * 4
