"""`hebbql train`: runs of training as their user has them, from the first question to the report."""

from __future__ import annotations

import json
import shlex
import shutil
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest

from agent.doors.opening import ended_politely

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.agent.doors.conftest import Ended, Endpoint, Home

COUNT = "SELECT COUNT(*) FROM Customers WHERE Country = '{}'"
GOLDS = {
    "germany": ("How many customers are there in Germany?", COUNT.format("Germany")),
    "dear": ("How many products cost more than 50?", "SELECT COUNT(*) FROM Products WHERE UnitPrice > 50"),
    "late": ("How many orders have not been shipped yet?", "SELECT COUNT(*) FROM Orders WHERE ShippedDate IS NULL"),
}
HELD = {"spain": ("How many customers are there in Spain?", COUNT.format("Spain"))}


def write(path: Path, golds: dict[str, tuple[str, str]]) -> Path:
    lines = [json.dumps({"id": id, "question": asked, "sql": sql}) for id, (asked, sql) in golds.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def files(home: Home) -> tuple[str, ...]:
    """Options that name a small training set and a smaller holdout."""
    training, holdout = write(home.folder / "golds.jsonl", GOLDS), write(home.folder / "held.jsonl", HELD)
    return ("--train", str(training), "--holdout", str(holdout))


@pytest.fixture
def shipped(home: Home) -> Iterator[None]:
    """Small question sets in the place of the shipped ones."""
    folder = home.folder / "data" / "questions"
    folder.mkdir()
    write(folder / "training.jsonl", GOLDS)
    write(folder / "holdout.jsonl", HELD)
    (folder / "published.toml").write_text('training = ["late"]\nholdout = ["spain"]\n', "utf-8")
    yield
    shutil.rmtree(folder)


def knows(*names: str) -> Callable[[str, int], str]:
    """A model that knows the answers of those questions, and counts shippers for the others."""
    known = dict((GOLDS | HELD)[name] for name in names)

    def says(shown: str, _before: int) -> str:
        return next((sql for question, sql in known.items() if question in shown), "SELECT COUNT(*) FROM Shippers")

    return says


def lines(ended: Ended) -> list[Any]:
    """The objects of `--json`, one a line."""
    assert "Traceback" not in ended.err, ended.err
    return [json.loads(line) for line in ended.out.splitlines()]


def attempts(home: Home, run: str) -> list[tuple[str, int, str]]:
    """Which question was asked in which epoch of which part, as the files of a run tell."""
    written = (home.folder / "runs" / run / "attempts.jsonl").read_text("utf-8").splitlines()
    return [(one["part"], one["epoch"], one["question"]) for one in map(json.loads, written)]


EACH_ONCE = {*(("training", epoch, id) for epoch in (1, 2) for id in GOLDS), ("holdout", 2, "spain")}


def test_a_run_learns_tells_its_epochs_and_leaves_a_report(
    home: Home, endpoint: Endpoint, files: tuple[str, ...], whole: Callable[[Home], None]
) -> None:
    endpoint.says = knows("germany", "late", "spain")
    ended = home.run("train", *files, "--epochs", "2", "--checkpoint", "2", "--holdout-every", "2", "--json")
    assert ended.code == 0, ended.err
    *epochs, last = lines(ended)
    assert [(one["status"], one["epoch"], one["training"]["right"]) for one in epochs] == [
        ("epoch", 1, 2),
        ("epoch", 2, 2),
    ]
    assert epochs[0]["holdout"] is None and epochs[1]["holdout"]["right"] == 1
    assert last["status"] == "finished" and last["holdout_before"]["right"] == 1 and last["habits_wrong"] == 0
    assert last["resume"] is last["reason"] is None
    assert "spain says less as a holdout question: same masked question as germany" in ended.err
    told = [line for line in ended.err.splitlines() if "epoch" in line or "hebbql: holdout" in line]
    assert [line.split(":")[1].strip() for line in told] == [
        "holdout before training",
        "epoch 1 of 2",
        "epoch 1 of 2 done",
        "epoch 2 of 2",
        "epoch 2 of 2 done",
        "holdout after epoch 2",
    ]
    run = home.folder / "runs" / last["run"]
    assert {path.name for path in run.iterdir()} == {
        "config.json",
        "attempts.jsonl",
        "curve.svg",
        "report.json",
        "report.md",
    }
    assert sorted(attempts(home, last["run"])) == sorted(EACH_ONCE | {("holdout", 0, "spain")})
    assert last["finding"] in (run / "report.md").read_text("utf-8")
    assert str(home.folder) not in "".join(path.read_text("utf-8") for path in run.iterdir())
    recalled = home.ask("How many customers are there in Germany?", "--no-habit")["recalled"]
    assert recalled[0]["question"] == "How many customers are there in Germany?"
    whole(home)


def test_people_are_told_the_finding_the_epochs_and_where_the_report_is(
    home: Home, endpoint: Endpoint, files: tuple[str, ...]
) -> None:
    endpoint.says = knows(*GOLDS, *HELD)
    ended = home.run("train", *files[:2], "--epochs", "1")
    assert ended.code == 0 and ended.out.startswith("In 1 epoch openai:said answered 3 of 3 (100 %) training questions")
    assert "3/3" in ended.out and "report.md" in ended.out.splitlines()[-1]
    assert "epoch 1 of 1 done: 3 of 3 right (100 %)" in ended.err


@pytest.mark.parametrize(
    "ending", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM], ids=["killed", "interrupted", "ended"]
)
def test_a_run_that_was_stopped_is_finished_with_the_same_accounting(
    home: Home, endpoint: Endpoint, files: tuple[str, ...], whole: Callable[[Home], None], ending: signal.Signals
) -> None:
    endpoint.says = knows("germany", "spain")
    usual = endpoint.says

    def says(shown: str, before: int) -> str:
        if before == 4:
            endpoint.hold()
            endpoint.called.set()
        return str(usual(shown, before))

    endpoint.says = says
    options = (*files, "--epochs", "2", "--no-cache", "--no-seed")
    running = home.start("train", *options, "--json")
    while len(endpoint.requests) < 6:
        time.sleep(0.02)
    running.signal(ending)
    stopped = running.wait()
    endpoint.free.set()
    assert stopped.code == (-ending if ending == signal.SIGKILL else 130), stopped
    assert lines(stopped)[0]["epoch"] == 1, "an epoch is told when it is over"
    if ending != signal.SIGKILL:
        end = lines(stopped)[-1]
        assert end["status"] == "interrupted" and stopped.says("Interrupted", end["resume"])
        command = shlex.split(end["resume"])
        assert command[:3] == ["hebbql", "train", "--resume"]
        resumed = home.run(*command[1:], "--json")
    else:
        resumed = home.run("train", *options, "--resume", "--json")
    last = lines(resumed)[-1]
    assert resumed.code == 0 and last["status"] == "finished", resumed
    done = attempts(home, last["run"])
    assert sorted(done) == sorted(EACH_ONCE), "each question is there once for each epoch"
    assert last["pauses"] == (0 if ending == signal.SIGKILL else 1)
    again = home.run("train", *options, "--resume")
    assert again.code == 2 and again.says("No run is unfinished"), again
    whole(home)


def test_sigterm_ends_also_what_a_shell_runs_in_the_background_with_ctrl_c_ignored() -> None:
    usual, before = signal.signal(signal.SIGINT, signal.SIG_IGN), signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(KeyboardInterrupt), ended_politely():
            signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is before
    finally:
        signal.signal(signal.SIGINT, usual)


def test_what_no_waiting_mends_pauses_the_run_and_names_the_command_that_goes_on(
    home: Home, endpoint: Endpoint, files: tuple[str, ...]
) -> None:
    usual = knows("germany")

    def says(shown: str, before: int) -> str:
        endpoint.status = 401 if before == 1 else 200  # of this very call
        return usual(shown, before)

    endpoint.says = says
    ended = home.run("train", *files[:2], "--epochs", "1", "--no-pack", "--json")
    last = lines(ended)[-1]
    assert ended.code == 1 and last["status"] == "paused" and "HEBBQL_OPENAI_KEY" in last["reason"], ended
    assert f"--resume {last['run']}" in last["resume"] and last["resume"].endswith("--no-pack")
    assert ended.says("HEBBQL_OPENAI_KEY", last["resume"])
    report = (home.folder / "runs" / last["run"] / "report.md").read_text("utf-8")
    assert "So far" in report and f"--resume {last['run']}" in report
    endpoint.status = 200
    resumed = home.run(*shlex.split(last["resume"])[1:])
    assert resumed.code == 0 and "epoch 1 of 1 done: 1 of 3 right" in resumed.err, resumed


def test_a_limit_of_money_without_a_known_price_is_told(home: Home, endpoint: Endpoint, files: tuple[str, ...]) -> None:
    ended = home.run("train", *files[:2], "--max-cost", "0.5")
    assert ended.code == 1 and ended.says("price", "0.5") and not endpoint.requests, ended


def test_a_second_trainer_of_one_brain_is_refused_at_once(
    home: Home, endpoint: Endpoint, files: tuple[str, ...]
) -> None:
    endpoint.hold()
    first = home.start("train", *files, "--epochs", "1")
    assert endpoint.called.wait(60)
    second = home.run("train", *files, "--epochs", "1")
    assert second.code == 1 and second.says("Another hebbql", str(first.pid), "within 2 s"), second
    endpoint.free.set()
    assert first.wait().code == 0


def test_files_are_looked_at_before_anything_waits_for_a_brain_that_is_used(
    home: Home, endpoint: Endpoint, files: tuple[str, ...]
) -> None:
    endpoint.hold()
    first = home.start("train", *files, "--epochs", "1")
    assert endpoint.called.wait(60)
    nowhere = str(home.folder / "nowhere.jsonl")
    for command in (("seed", nowhere), ("seed", "--hard", "--train", nowhere), ("train", "--train", nowhere)):
        refused = home.run(*command)
        assert refused.code == 2 and refused.says("nowhere.jsonl"), refused
        assert "Another hebbql" not in refused.err, refused
    endpoint.free.set()
    assert first.wait().code == 0


def test_hours_that_are_over_pause_a_run_and_what_would_make_another_of_it_is_refused_by_name(
    home: Home, endpoint: Endpoint, files: tuple[str, ...]
) -> None:
    begun = ("train", *files, "--epochs", "2", "--max-hours", "0.0000001")
    paused = home.run(*begun)
    assert paused.code == 1 and paused.says("--max-hours", "hebbql train --resume"), paused
    assert "Nothing was asked yet" in paused.out
    changed = home.run("train", *files, "--resume", "--epochs", "3", "--no-forget", "--seed", "1")
    assert changed.code == 2 and changed.says("--epochs and --no-forget", "--resume"), changed
    other = write(home.folder / "other.jsonl", HELD)
    for options in (("--train", str(other), *files[2:]), files[:2], (*files, "--model", "openai:other")):
        refused = home.run("train", *options, "--resume")
        assert refused.code == 2 and refused.says("begun with another"), refused
    deeper = home.run("train", *files, "--resume", "--think", "deep")
    assert deeper.code == 2 and deeper.says("begun with --think normal", "Give the same again"), deeper
    unknown = home.run("train", *files, "--resume", "nightly", "--json")
    assert unknown.code == 2 and unknown.json["status"] == "usage" and "nightly" in unknown.json["message"]
    assert not endpoint.requests


def test_without_the_pack_a_new_brain_begins_empty(home: Home, endpoint: Endpoint, files: tuple[str, ...]) -> None:
    from memory.ledger import Ledger

    endpoint.says = knows("germany")
    brain = home.folder / "empty"
    ended = home.run("train", *files[:2], "--no-pack", "--no-seed", "--epochs", "1", "--brain", str(brain))
    assert ended.code == 0, ended
    with Ledger.open(brain / "brain.sqlite", database="northwind", create=False) as ledger:
        assert [episode.origin.partition(":")[0] for episode in ledger.episodes()] == ["train"]


def test_the_shipped_questions_are_the_default_and_the_published_ones_a_part_of_them(
    home: Home, endpoint: Endpoint, shipped: None
) -> None:
    endpoint.says = knows(*GOLDS, *HELD)
    paused = home.run("train", "--published", "--epochs", "1", "--max-hours", "0.0000001", "--think", "fast", "--json")
    assert paused.code == 1 and lines(paused)[-1]["resume"].endswith("--published"), paused
    everything = home.run("train", "--resume", "--epochs", "1")
    assert everything.code == 2 and everything.says("another training file"), everything
    again = lines(paused)[-1]["resume"]
    assert " --max-hours 1e-07 " in again and " --think fast " in again, "limit and effort go on as well"
    last = lines(home.run(*shlex.split(again.replace(" --max-hours 1e-07", ""))[1:], "--json"))[-1]
    assert attempts(home, last["run"]) == [("training", 1, "late"), ("holdout", 1, "spain")]


def test_another_database_is_trained_on_its_own_questions(
    home: Home, endpoint: Endpoint, make_sqlite: Callable[[Path, str], Path]
) -> None:
    towns = (
        "CREATE TABLE towns (name TEXT, inhabitants INT); INSERT INTO towns VALUES ('Ulm', 126000), ('Trier', 112000)"
    )
    shop = make_sqlite(home.folder / "towns.sqlite", towns)
    where = ("--db", str(shop), "--brain", str(home.folder / "towns"))
    for command in (("train",), ("evaluate",), ("seed", "--hard")):
        missing = home.run(*command, *where)
        assert missing.code == 2 and missing.says("FILE", "JSON lines"), missing
    golds = {"all": ("How many towns are there?", "SELECT COUNT(*) FROM towns")}
    path = write(home.folder / "my golds.jsonl", golds)
    endpoint.says = lambda _shown, _before: "SELECT COUNT(*) FROM towns"
    ended = home.run("train", "--train", str(path), *where, "--epochs", "4", "--json")
    assert ended.code == 0 and lines(ended)[-2]["training"]["right"] == 1, ended
    assert lines(ended)[-1]["habits"] == 1, "a question that was right three times needs no model"


def test_golds_that_do_not_hold_are_named_and_left_out(home: Home, endpoint: Endpoint, files: tuple[str, ...]) -> None:
    endpoint.says = knows("germany")
    wrong = {"broken": ("How many staff are there?", "SELECT COUNT(*) FROM Staff"), "germany": GOLDS["germany"]}
    ended = home.run("train", "--train", str(write(home.folder / "wrong.jsonl", wrong)), "--epochs", "1", "--json")
    assert ended.code == 0 and "broken is left out" in ended.err, ended
    assert [one["training"]["total"] for one in lines(ended)[:-1]] == [1]
    only = {"broken": wrong["broken"]}
    none = home.run("train", "--train", str(write(home.folder / "none.jsonl", only)), "--epochs", "1")
    assert none.code == 2 and none.says("No gold", "none.jsonl"), none


def test_hard_buckets_are_given_golds_once(home: Home, endpoint: Endpoint, files: tuple[str, ...]) -> None:
    endpoint.says = knows("germany")
    brain = ("--brain", str(home.folder / "empty"))
    begun = home.run("train", *files[:2], "--no-pack", "--no-seed", "--epochs", "1", *brain)
    assert begun.code == 0, begun
    hard = home.run("seed", "--hard", *files[:2], "--json", *brain)
    assert hard.code == 0 and hard.json["remembered"] == 2, hard
    given = {one["question"] for bucket in hard.json["buckets"] for one in bucket["remembered"]}
    assert given == {GOLDS["dear"][0], GOLDS["late"][0]}
    again = home.run("seed", "--hard", *files[:2], *brain)
    assert again.code == 0 and "No bucket is hard" in again.out, again


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--epochs", "0"), ("--epochs",)),
        (("--epochs", "ten"), ("--epochs",)),
        (("--seed", "x"), ("--seed",)),
        (("--checkpoint", "0"), ("--checkpoint",)),
        (("--per-bucket", "-1"), ("--per-bucket",)),
        (("--holdout-every", "-1"), ("--holdout-every",)),
        (("--workers", "0"), ("--workers",)),
        (("--max-cost", "0"), ("--max-cost", "above 0")),
        (("--max-cost", "nan"), ("--max-cost", "above 0")),
        (("--max-hours", "-2"), ("--max-hours", "above 0")),
        (("--max-hours", "inf"), ("--max-hours", "above 0")),
        (("--train", "nowhere.jsonl"), ("nowhere.jsonl",)),
        (("--holdout", "nowhere.jsonl"), ("nowhere.jsonl",)),
        (("--published", "--train", "golds.jsonl"), ("--published",)),
        (("nightly",), ("--resume nightly",)),
        (("--approach", "vote"), ("--approach",)),
        (("--model", "gpt"), ("gpt",)),
    ],
    ids=" ".join,
)
def test_what_an_option_does_not_take_is_usage(
    home: Home, files: tuple[str, ...], options: tuple[str, ...], words: tuple[str, ...]
) -> None:
    named = {"--train", "--published"} & set(options)
    ended = home.run("train", *(() if named else files[:2]), *options)
    assert ended.code in (1, 2) and "Traceback" not in ended.err + ended.out, ended
    assert ended.code == 2 or "--model" in options, ended
    assert all(word in ended.err for word in words), ended


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--hard", "pack.jsonl"), ("--hard", "--train FILE")),
        (("--train", "golds.jsonl"), ("--hard", "hebbql seed FILE")),
        (("--hard", "--per-bucket", "0"), ("--per-bucket",)),
        (("--hard", "--train", "nowhere.jsonl"), ("nowhere.jsonl",)),
    ],
    ids=" ".join,
)
def test_what_seed_does_not_take_is_usage(home: Home, options: tuple[str, ...], words: tuple[str, ...]) -> None:
    ended = home.run("seed", *options)
    assert ended.code == 2 and "Traceback" not in ended.err + ended.out, ended
    assert all(word in ended.err for word in words), ended


def test_a_broken_line_is_named_by_number(home: Home, files: tuple[str, ...]) -> None:
    path = home.folder / "broken.jsonl"
    path.write_text('{"id": "a", "question": "How many?", "sql": "SELECT 1"}\n{"id": "b"}\n', "utf-8")
    for options in (("--train", str(path)), (*files[:2], "--holdout", str(path))):
        ended = home.run("train", *options)
        assert ended.code == 2 and ended.says("broken.jsonl", "line 2", "question"), ended
