"""Real replies of the 0.5B to a small database with odd names, replayed and run.

How they were recorded: `PYTHONPATH=. python tests/agent/models/test_recorded_replies.py`, with the model pulled.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agent.models.port import Prompt, Turn
from agent.models.recorded import RecordedModel, RecordingModel

ROOT = Path(__file__).parents[3]
REPLIES = Path(__file__).with_name("replies_0.5b.jsonl")

SCHEMA = """CREATE TABLE "garden beds" (id INTEGER PRIMARY KEY, "order" INTEGER, soil TEXT);
CREATE TABLE plant (id INTEGER PRIMARY KEY, name TEXT, height_cm REAL, bed INTEGER REFERENCES "garden beds"(id));"""
ROWS = """INSERT INTO "garden beds" VALUES (1, 2, 'clay'), (2, 1, 'sand');
INSERT INTO plant VALUES (1, 'rose', 120, 1), (2, 'thyme', 15, 2), (3, 'sage', 60, 2);"""
STABLE = f"Answer with one SQLite SELECT statement and nothing else.\n\n{SCHEMA}"

QUESTIONS = {
    "How many plants are there?": [(3,)],
    "List the names of plants higher than 50 cm.": [("rose",), ("sage",)],
    "What is the average height of the plants?": [(65.0,)],
}


def prompt(question: str) -> Prompt:
    return Prompt(STABLE, (Turn("user", question),), 60)


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_the_small_model_wrote_is_replayed_and_runs(question: str) -> None:
    reply = RecordedModel(path=REPLIES).complete(prompt(question))
    assert reply.usage.input_tokens > 0 and reply.seconds > 0
    sql = reply.text.strip().removeprefix("```sql").removesuffix("```")
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(SCHEMA + ROWS)
        assert connection.execute(sql).fetchall() == QUESTIONS[question]


if __name__ == "__main__":
    from agent.models.choosing import choose

    REPLIES.unlink(missing_ok=True)
    real = RecordingModel(model=choose("0.5b", folder=ROOT / "runs" / "models"), path=REPLIES)
    for wanted in QUESTIONS:
        print(real.complete(prompt(wanted)).text)
    real.close()
