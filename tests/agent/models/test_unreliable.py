"""The network that fails on purpose."""

from __future__ import annotations

from agent.models.port import ModelUnavailableError, Prompt, Turn, origin_of
from agent.models.recorded import ScriptedModel
from agent.models.unreliable import UnreliableModel

PROMPT = Prompt("s", (Turn("user", "q"),))


class Time:
    def __init__(self) -> None:
        self.now = 0.0

    def clock(self) -> float:
        return self.now


def failed(model: UnreliableModel, calls: int) -> list[int]:
    """The numbers of those calls that failed."""
    numbers = []
    for number in range(1, calls + 1):
        try:
            model.complete(PROMPT)
        except ModelUnavailableError:
            numbers.append(number)
    return numbers


def unreliable(share: float = 0.0, seed: int = 1, **more: object) -> tuple[UnreliableModel, ScriptedModel]:
    inner = ScriptedModel(["SELECT 1"] * 1_000)
    return UnreliableModel(inner, share=share, seed=seed, **more), inner  # type: ignore[arg-type]


def test_about_the_share_of_calls_fails_and_never_reaches_the_model() -> None:
    model, inner = unreliable(0.1)
    lost = failed(model, 1_000)
    assert 70 <= len(lost) <= 130
    assert len(inner.prompts) == 1_000 - len(lost)


def test_the_seed_alone_decides_which_calls_fail() -> None:
    first, again, other = (failed(unreliable(0.2, seed)[0], 200) for seed in (4, 4, 5))
    assert first == again != other


def test_nothing_fails_without_a_share_and_without_outages() -> None:
    assert failed(unreliable()[0], 100) == []


def test_an_outage_begins_with_its_call_and_ends_by_the_clock() -> None:
    time = Time()
    model, _ = unreliable(outages=[(3, 60.0)], clock=time.clock)
    assert failed(model, 4) == [3, 4]
    time.now = 59.9
    assert failed(model, 2) == [1, 2]
    time.now = 60.0
    assert failed(model, 50) == []


def test_a_second_outage_follows_the_first() -> None:
    time = Time()
    model, _ = unreliable(outages=[(4, 10.0), (1, 5.0)], clock=time.clock)
    assert failed(model, 2) == [1, 2]
    time.now = 6.0
    assert failed(model, 3) == [2, 3]  # the calls three and four were asked for by then
    time.now = 16.0
    assert failed(model, 3) == []


def test_it_passes_for_the_model_it_holds() -> None:
    model, inner = unreliable()
    assert (model.name, origin_of(model)) == (inner.name, "")
