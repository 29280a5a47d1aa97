"""Looks after a brain at a checkpoint and kills itself at a given write. Run as a script.

Each line on stdin is one life: `{"where", "prepare", "kill_at"}`. With `prepare` the brain is made, with a run that
was asked one epoch; else that run is read back and its checkpoint made. A fork of this process lives it; the answer is
one line: `{"status", "steps"}`.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
import traceback
from contextlib import closing
from pathlib import Path

from agent.attempt import Understood
from agent.database.reading import open_database
from agent.database.result import Result
from agent.grounding import Lexicon, ground
from agent.intent import bucket_of, mask, predict
from agent.learning.care import Care
from agent.learning.judging import Judge
from agent.learning.questions import Pair
from agent.learning.runs import Plan, QuestionSet, RunLog
from agent.learning.steps import Step
from memory.episode import Episode
from memory.ledger import EventKind, Ledger
from procedural.store import Bucket, SynapseStore, changes_content
from procedural.synapse import Target
from tests.agent.learning.made import made_step

BEACH = """
CREATE TABLE Walruses (WalrusID INTEGER PRIMARY KEY, Name TEXT NOT NULL, Tusks INTEGER NOT NULL);
INSERT INTO Walruses VALUES (1, 'Olga', 2), (2, 'Piet', 1), (3, 'Nanuk', 2), (4, 'Sverre', 0);
"""

PAIRS = tuple(
    Pair(f"q{n}", question, f"SELECT COUNT(*) FROM Walruses{where}", (), False, "", "", "en", n)
    for n, (question, where) in enumerate(
        (
            ("How many walruses are there?", ""),
            ("How many walruses have more than 1 tusk?", " WHERE Tusks > 1"),
            ("How many walruses are named Olga?", " WHERE Name = 'Olga'"),
            ("How many walruses have less than 1 tusk?", " WHERE Tusks < 1"),
        )
    )
)
LUCKY = "SELECT 3 FROM Walruses LIMIT 1"


class Beach:
    """A small real database, and what is read of it. It is closed before anything is forked."""

    def __init__(self, file: Path) -> None:
        self.file = file
        with closing(sqlite3.connect(file)) as connection:
            connection.executescript(BEACH)
        with closing(open_database(str(file))) as database:
            self.lexicon = Lexicon(database.schema, database.facts, ())
        first, *others = map(self.understand, (pair.question for pair in PAIRS))
        assert {other.bucket for other in others} == {first.bucket}, "all of them are of one type"
        self.bucket = Bucket(first.bucket, first.intent.kind, first.intent.tables)
        self.wrong = tuple(self.episode(pair.question) for pair in PAIRS[:2])

    def understand(self, question: str) -> Understood:
        grounding = ground(question, self.lexicon)
        intent = predict(question, grounding)
        return Understood(grounding, intent, bucket_of(intent), mask(question, grounding))

    def run(self, sql: str) -> Result:
        with closing(sqlite3.connect(self.file)) as connection:
            return Result(("n",), tuple(connection.execute(sql).fetchall()))

    def episode(self, question: str) -> Episode:
        return Episode(
            bucket=self.bucket.bucket,
            kind=self.bucket.kind,
            tables=self.bucket.tables,
            question=question,
            masked=self.understand(question).masked,
            sql=LUCKY,
            skeleton="SELECT ?",
            origin="seed:own",
            verifier="gold",
            batch="seed:own",
            schema_fingerprint="s",
            result_fingerprint="r",
        )


def step(pair: Pair, bucket: str) -> Step:
    return made_step(pair.id, right=False, attempt=f"a-{pair.id}", bucket=bucket, recalled=2, sql=LUCKY)


def prepare(ledger: Ledger, beach: Beach) -> None:
    """A run that was wrong all through its first epoch, with the same two episodes shown each time."""
    synapses, log = SynapseStore(), RunLog(ledger)
    log.begin("r1", Plan(QuestionSet("t.jsonl", "d", len(PAIRS)), None, "m", "shop", "s"))
    shown = [str(one.id) for one in beach.wrong]
    targets = [Target("approach", "direct"), *(Target("episode", id) for id in shown)]
    recalled = [{"episode": id} for id in shown]
    body = {"path": "model", "approach": "direct", "drafts": [{}], "recalled": recalled}
    with ledger.transaction() as entry:
        synapses.create(entry.connection)
        for one in beach.wrong:
            entry.remember(one)
        for pair in PAIRS:
            asked = step(pair, beach.bucket.bucket)
            entry.start_attempt(asked.attempt, {})
            entry.settle_attempt(asked.attempt, body)
            changes = synapses.fire(entry.connection, beach.bucket, targets, 0.0, entry.at)
            entry.append(EventKind.WEIGHTS_MOVED, beach.bucket.bucket, changes_content(changes))
            log.step(entry, "r1", asked)


def checkpoint(ledger: Ledger, beach: Beach) -> None:
    """Read the run back and look after the brain at the end of its first epoch."""
    log = RunLog(ledger)
    care = Care(
        ledger=ledger,
        synapses=SynapseStore(),
        log=log,
        pairs=PAIRS,
        run=beach.run,
        judge=Judge(run=beach.run, copies=()),
        understand=beach.understand,
        schema="s",
        dialect="sqlite",
    )
    care.checkpoint(log.read("r1"), 1, closes=True)


def live(where: Path, beach: Beach, *, new: bool, kill_at: int | None, tell: int) -> None:
    count = 0

    def between(name: str) -> None:
        nonlocal count
        count += 1
        os.write(tell, (json.dumps(name) + "\n").encode())
        if count == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    with closing(Ledger.open(where, database="shop", between=(lambda _step: None) if new else between)) as ledger:
        (prepare if new else checkpoint)(ledger, beach)


def serve(beach: Beach) -> None:
    for line in sys.stdin:
        wanted = json.loads(line)
        heard, tell = os.pipe()
        if (child := os.fork()) == 0:
            signal.alarm(120)  # one that hangs is ended by another signal than the one that is looked for
            try:
                live(Path(wanted["where"]), beach, new=wanted["prepare"], kill_at=wanted["kill_at"], tell=tell)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        os.close(tell)
        with open(heard) as steps:
            told = [json.loads(step) for step in steps]
        _, status = os.waitpid(child, 0)
        print(json.dumps({"status": status, "steps": told}), flush=True)


if __name__ == "__main__":
    serve(Beach(Path(sys.argv[1])))
