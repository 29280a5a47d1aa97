"""Steps: questions that were asked and judged, as runs are made of and reports are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

from agent.attempt import Attempt
from agent.learning.questions import Pair

if TYPE_CHECKING:
    from agent.learning.judging import Verdict

Part = Literal["training", "holdout"]


@dataclass(frozen=True, slots=True)
class Step:
    """One question, asked and judged.

    `part` says of which set it is, `epoch` when it was asked: 0 before training, else in or after that epoch. `arm`
    is the name of the way it was asked in. `error` is the kind of error of a wrong answer, `rule` the rule of the
    guard that its last draft broke. `lenient`: right but for extra columns. `approach` is empty where a habit answered
    or nothing was drafted. `calls` are replies of the model, of which `replayed` came from the completion cache; tokens
    are counted for those too, money is not. `cost_usd` is None where a price is unknown. `seconds` is wall time.
    """

    part: Part
    epoch: int
    arm: str
    question: str
    type: str
    difficulty: str
    language: str
    attempt: str
    bucket: str
    kind: str
    right: bool
    error: str
    rule: str
    reason: str
    lenient: bool
    status: str
    path: str
    approach: str
    recalled: int
    calls: int
    replayed: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost_usd: float | None
    seconds: float
    sql: str

    @property
    def is_habit(self) -> bool:
        return self.path == "habit"

    def content(self) -> dict[str, Any]:
        """The step as plain JSON."""
        return asdict(self)


def step_of(attempt: Attempt, pair: Pair, verdict: Verdict, *, part: Part, epoch: int, arm: str) -> Step:
    """Write down how a question fared."""
    usage, understood, last = attempt.usage, attempt.understood, attempt.last
    replies = [draft.reply for draft in attempt.drafts if draft.prompt is not None]
    return Step(
        part=part,
        epoch=epoch,
        arm=arm,
        question=pair.id,
        type=pair.type,
        difficulty=pair.difficulty,
        language=pair.language,
        attempt=attempt.id,
        bucket=understood.bucket if understood else "",
        kind=understood.intent.kind if understood else "",
        right=verdict.right,
        error=verdict.error,
        rule=last.rule if last and attempt.result is None else "",
        reason=verdict.reason,
        lenient=verdict.lenient,
        status=attempt.status or "failed",
        path=attempt.path,
        approach=attempt.approach,
        recalled=len(attempt.recalled),
        calls=len(replies),
        replayed=sum(reply.replayed for reply in replies),
        input_tokens=usage.input_tokens + usage.cache_write_tokens,
        cached_tokens=usage.cache_read_tokens,
        output_tokens=usage.output_tokens,
        cost_usd=usage.cost_usd,
        seconds=round(attempt.total_seconds, 3),
        sql=attempt.sql,
    )


def read_step(content: Mapping[str, Any]) -> Step:
    """Read a step back from what `content` gave; what a later version added is passed over."""
    return Step(**{field.name: content[field.name] for field in fields(Step)})
