"""Steps as tests make them: what a test does not say of one is the same for all."""

from __future__ import annotations

from typing import Any

from agent.learning.steps import Step


def made_step(question: str, *, right: bool = True, **known: Any) -> Step:
    """A step of training whose answer was right, or gave other values."""
    usual: dict[str, Any] = {
        "part": "training",
        "epoch": 1,
        "arm": "memory",
        "type": "",
        "difficulty": "",
        "language": "en",
        "attempt": "a",
        "bucket": "b",
        "kind": "count",
        "error": "" if right else "values",
        "rule": "",
        "reason": "",
        "lenient": right,
        "status": "answered",
        "path": "model",
        "approach": "direct",
        "recalled": 0,
        "calls": 1,
        "replayed": 0,
        "input_tokens": 1,
        "cached_tokens": 0,
        "output_tokens": 1,
        "cost_usd": 0.0,
        "seconds": 0.1,
        "sql": "SELECT 1",
    }
    return Step(question=question, right=right, **{**usual, **known})
