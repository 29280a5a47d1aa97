"""From a name to a model, without loading or calling anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent.models.choosing import choose, list_models, needs_pull
from agent.models.claude import DEFAULT_MODEL, ClaudeModel
from agent.models.local import LocalModel
from agent.models.openai_compatible import OpenAIModel
from agent.models.port import ModelUnavailableError, Prompt, Turn
from agent.models.recorded import RecordedModel, RecordingModel, ScriptedModel


@pytest.mark.parametrize(
    ("name", "key", "kind", "chosen"),
    [
        (None, None, LocalModel, "qwen2.5-coder-1.5b"),
        ("", None, LocalModel, "qwen2.5-coder-1.5b"),
        (None, "sk", ClaudeModel, DEFAULT_MODEL),
        ("0.5b", "sk", LocalModel, "qwen2.5-coder-0.5b"),
        ("1.5B", None, LocalModel, "qwen2.5-coder-1.5b"),
        ("qwen2.5-coder-1.5b", None, LocalModel, "qwen2.5-coder-1.5b"),
        ("claude", None, ClaudeModel, DEFAULT_MODEL),
        ("claude-haiku-5-5", "sk", ClaudeModel, "claude-haiku-5-5"),
        ("openai:gpt-x", None, OpenAIModel, "openai:gpt-x"),
        ("/some/where/own.gguf", None, LocalModel, "/some/where/own.gguf"),
    ],
)
def test_the_option_comes_first_then_a_key_then_the_local_model(
    name: str | None, key: str | None, kind: type, chosen: str, tmp_path: Path
) -> None:
    model = choose(name, folder=tmp_path, anthropic_key=key)
    assert isinstance(model, kind)
    assert model.name == chosen
    model.close()


def test_the_default_local_model_can_be_set(tmp_path: Path) -> None:
    assert choose(folder=tmp_path, default_local="1.5b").name == "qwen2.5-coder-1.5b"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("qwen2.5-coder-0.5", "Did you mean 'qwen2.5-coder-0.5b'"),
        ("cluade", "Did you mean 'claude'"),
        ("zzz", "Choose"),
    ],
)
def test_an_unknown_name_lists_the_choices_and_the_nearest(name: str, hint: str, tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailableError, match=hint) as raised:
        choose(name, folder=tmp_path)
    for choice in ("0.5b", "qwen2.5-coder-1.5b", "claude", ".gguf", "openai:NAME", "recorded:FILE"):
        assert choice in str(raised.value)


@pytest.mark.parametrize("name", ["openai:", "recorded:"])
def test_a_prefix_alone_is_no_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailableError, match="no model"):
        choose(name, folder=tmp_path)


def test_a_missing_local_file_is_noticed_and_the_question_says_how_to_get_it(tmp_path: Path) -> None:
    model = choose("1.5b", folder=tmp_path)
    wanted = needs_pull(model, folder=tmp_path)
    assert wanted is not None and wanted.alias == "1.5b"
    with pytest.raises(ModelUnavailableError, match=r"hebbql models pull 1\.5b"):
        model.complete(Prompt("s", (Turn("user", "q"),)))
    (tmp_path / wanted.file).write_bytes(b"something")
    assert needs_pull(model, folder=tmp_path) == wanted, "a file whose hash was never checked is not used"
    assert needs_pull(choose("claude", folder=tmp_path), folder=tmp_path) is None
    assert needs_pull(choose("/own.gguf", folder=tmp_path), folder=tmp_path) is None


def test_a_file_of_ones_own_answers(tiny_gguf: Path, tmp_path: Path) -> None:
    model = choose(str(tiny_gguf), folder=tmp_path, threads=1, context_tokens=256)
    assert model.complete(Prompt("s", (Turn("user", "q"),), 4)).usage.output_tokens > 0
    model.close()


def test_a_recording_is_replayed_by_its_path(tmp_path: Path) -> None:
    prompt = Prompt("s", (Turn("user", "q"),))
    path = tmp_path / "r.jsonl"
    RecordingModel(model=ScriptedModel(["SELECT 1"]), path=path).complete(prompt)
    model = choose(f"recorded:{path}", folder=tmp_path)
    assert isinstance(model, RecordedModel)
    assert model.complete(prompt).text == "SELECT 1"


def test_settings_reach_the_hosted_models(provider: Any, answer: Any, tmp_path: Path) -> None:
    provider.answers = [answer(401, {"error": {"message": "no"}})]
    for name in ("claude", "openai:x"):
        model = choose(
            name,
            folder=tmp_path,
            anthropic_key="sk",
            anthropic_base_url=provider.url,
            openai_key="sk",
            openai_base_url=provider.url,
        )
        with pytest.raises(ModelUnavailableError, match="refused the key"):
            model.complete(Prompt("s", (Turn("user", "q"),)))
        model.close()
    assert len(provider.requests) == 2


def test_the_listing_says_what_is_ready(parted: Any, tmp_path: Path) -> None:
    lines = {line.name: line for line in list_models(folder=tmp_path)}
    small = lines["qwen2.5-coder-0.5b"]
    assert (small.kind, small.alias, small.present, small.verified) == ("local", "0.5b", False, False)
    assert small.size == 491_400_064
    assert (lines[DEFAULT_MODEL].kind, lines[DEFAULT_MODEL].present) == ("hosted", False)
    keyed = {line.name: line for line in list_models(folder=tmp_path, anthropic_key="sk", openai_base_url="http://x")}
    assert keyed[DEFAULT_MODEL].present and keyed["openai:NAME"].present
