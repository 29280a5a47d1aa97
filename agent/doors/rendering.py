"""What the command line shows: Rich for people, one JSON object for programs.

Everything that came from a database, a model or a memory is shown as plain text: control characters are made
visible, so that no cell can move the cursor or set a colour.
"""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.doors import sureness

if TYPE_CHECKING:
    from rich.console import Console

    from agent.app import App, DownloadProgress, ModelListing, Recalled
    from agent.attempt import Attempt, Draft
    from agent.auditing.auditing import Finding
    from agent.doctor import Finding as Ailment
    from agent.learning.evaluating import Evaluation
    from agent.learning.feedback import Outcome
    from agent.learning.hard import HardReport
    from agent.learning.report import RunSummary
    from agent.learning.seed import SeedReport
    from agent.learning.statistics import Difference

SHOWN_ROWS = 50
SHOWN_UNSURE_ROWS = 5
SHOWN_OTHER_ROWS = 5


def plain(text: object) -> str:
    """Show any cell as one line of harmless text.

    >>> plain("a\\x1b[31mb\\nc")
    'a\\\\x1b[31mb c'
    >>> plain(None), plain(2.0), plain(b"\\x00\\xff")
    ('NULL', '2.0', "x'00ff'")
    """
    if text is None:
        return "NULL"
    if isinstance(text, bytes):
        return f"x'{text[:32].hex()}'" + ("…" if len(text) > 32 else "")
    shown = []
    for char in str(text):
        if char in "\t\n\r":
            shown.append(" ")
        elif unicodedata.category(char) in ("Cc", "Cf", "Cs"):
            shown.append(char.encode("unicode_escape").decode("ascii"))
        else:
            shown.append(char)
    return "".join(shown)


def number(cell: object) -> str:
    """Show a cell; floats lose the noise past the ninth significant digit, or past the twelfth from a million on.

    >>> number(0.1 + 0.2), number(1265793.0395), number(12345678901.7), number(3)
    ('0.3', '1265793.0395', '12345678901.7', '3')
    """
    if not isinstance(cell, float) or not isfinite(cell):
        return plain(cell)
    shown = f"{cell:.12g}" if abs(cell) >= 1e6 else f"{cell:.9g}"
    return f"{cell:,.2f}".replace(",", "") if "e+" in shown and abs(cell) < 1e15 else shown


@dataclass(frozen=True, slots=True)
class Showing:
    """How answers are shown. `unsure` and `runner_up` are the thresholds of the settings, `dialect` that of the SQL.

    `options` are those that the next command needs to find the same brain; `every` shows all rows; `in_chat` names
    what is to be typed in a chat. `findings` are those of an audit that episodes behind the answer are part of.
    """

    unsure: float
    runner_up: float
    dialect: str = "sqlite"
    options: str = ""
    every: bool = False
    in_chat: bool = False
    findings: tuple[Finding, ...] = ()

    @classmethod
    def of(
        cls,
        app: App,
        *,
        options: str = "",
        every: bool = False,
        in_chat: bool = False,
        findings: tuple[Finding, ...] = (),
    ) -> Showing:
        """As the settings of an app say."""
        settings = app.settings
        return cls(settings.unsure, settings.runner_up, app.schema.dialect, options, every, in_chat, findings)


def answer(attempt: Attempt, showing: Showing, *, as_json: bool, console: Console | None = None) -> None:
    """Print an answer: the rows, the SQL, the memories behind it, how sure it is, and what it cost.

    One that is unsure says so first, shows a few rows, and the runner-up where that has a chance worth telling.
    It goes to stdout, or to another `console`.
    """
    if as_json:
        _print_json(answer_json(attempt, showing))
        return
    console, draft = console or _console(), attempt.answer
    caution = sureness.caution(attempt, showing.unsure, showing.runner_up)
    if caution:
        _line(console, f"{caution}\n")
    _print_rows(console, attempt, showing, SHOWN_UNSURE_ROWS if caution else SHOWN_ROWS)
    if attempt.message:
        mend = f"hebbql feedback {attempt.id}"
        message = plain(attempt.message).replace(mend, f"{mend}{plain(showing.options)}")
        _line(console, f"{attempt.status}: {message}")
    if attempt.sql:
        console.print("\nSQL", style="bold")
        _print_sql(console, attempt.sql)
    if draft and (notes := sureness.notes(draft, attempt, dialect=showing.dialect)):
        _line(console, f"Changed by code: {'; '.join(map(plain, notes))}")
    if draft and draft.doubts:
        console.print("Doubts", style="bold")
        for doubt in draft.doubts:
            _line(console, f"  {sureness.sentence(plain(doubt.text))}")
    if alone := sureness.sole_memory(attempt):
        forget = f"hebbql forget {sureness.short(alone.episode.id)}{plain(showing.options)}"
        _line(console, plain(sureness.resting(attempt, alone)) + ("" if showing.in_chat else f" Wrong? {forget}"))
    if other := sureness.worth_telling(attempt, showing.unsure, showing.runner_up):
        _print_runner_up(console, attempt, other, showing)
    if attempt.recalled:
        console.print("Memories", style="bold")
        for memory in attempt.recalled:
            about = f"{sureness.short(memory.episode.id)}  {plain(memory.episode.question)}  ({plain(memory.why)})"
            _line(console, f"  {memory.score:.2f}  {about}")
    if showing.findings:
        console.print("Contradicted", style="bold")
        for finding in showing.findings:
            for line in sureness.contradicted(finding, attempt):
                _line(console, f"  {plain(line)}")
    _line(console, _footer(attempt, showing, alone=alone is not None), style="dim")


def answered(told: Mapping[str, Any], *, as_json: bool) -> None:
    """Print an answer that a server rendered for this terminal, or its object."""
    if as_json:
        _print_json(told)
    else:
        print(told["text"], end="", flush=True)


def answer_text(attempt: Attempt, showing: Showing, *, columns: int, colors: str | None) -> str:
    """What `answer` prints, for a terminal of so many columns elsewhere; `colors` is Rich's name of its colours."""
    from io import StringIO

    from rich.console import Console

    page = StringIO()
    kind: Any = colors
    console = Console(file=page, width=columns, color_system=kind, force_terminal=colors is not None, soft_wrap=False)
    answer(attempt, showing, as_json=False, console=console)
    return page.getvalue()


def rows(attempt: Attempt) -> None:
    """Print every row of an answer."""
    _print_rows(_console(), attempt, Showing(0.0, 0.0, every=True), 0)


def _print_rows(console: Console, attempt: Attempt, showing: Showing, most: int) -> None:
    result = attempt.result
    if result is None:
        return
    shown = result.rows if showing.every else result.rows[:most]
    console.print(_table(result.columns, shown))
    hidden = len(result.rows) - len(shown)
    if hidden > 0:
        console.print(f"… and {hidden:,} more rows (all of them with {'/all' if showing.in_chat else '--all'})")
    elif not result.rows:
        console.print("No rows: the query ran and found nothing.")


def _print_runner_up(console: Console, attempt: Attempt, other: Draft, showing: Showing) -> None:
    """Show the most likely query with another result: what differs, its first rows, and how to take it instead."""
    from rich.padding import Padding

    assert attempt.answer and other.result, "a runner-up has another result than the answer"
    how = f"a chance of {sureness.chance(other.confidence)}, " if other.confidence is not None else ""
    console.print("Runner-up", style="bold")
    _line(console, f"  {plain(how + sureness.source(other, attempt))}")
    for difference in sureness.differences(attempt.answer, other):
        _line(console, f"  {plain(difference)}")
    for doubt in other.doubts:
        _line(console, f"  Doubt: {sureness.sentence(plain(doubt.text))}")
    _print_sql(console, other.sql)
    console.print(Padding(_table(other.result.columns, other.result.rows[:SHOWN_OTHER_ROWS]), (0, 2)))
    hidden = len(other.result.rows) - SHOWN_OTHER_ROWS
    if hidden > 0:
        console.print(f"  … and {hidden:,} more rows")
    whole = plain(other.sql) == other.sql
    if showing.in_chat:
        take = f"/sql {other.sql if whole else 'SELECT …'}"
    else:
        sql = sureness.in_quotes(other.sql) if whole else '"SELECT …"'
        take = f"hebbql feedback {attempt.id}{plain(showing.options)} --sql {sql}"
    _line(console, f"  Is this the right one? {take}", soft_wrap=True)


def answer_json(attempt: Attempt, showing: Showing) -> dict[str, Any]:
    """Give the one object that `ask --json` prints. Bytes are hex text; infinite numbers are text."""
    understood, result, usage = attempt.understood, attempt.result, attempt.usage
    alone = sureness.sole_memory(attempt)
    return {
        "id": attempt.id,
        "question": attempt.question,
        "status": attempt.status,
        "sql": attempt.sql or None,
        "columns": list(result.columns) if result else [],
        "rows": [[json_cell(cell) for cell in row] for row in result.rows] if result else [],
        "row_count": len(result.rows) if result else 0,
        "truncated": bool(result and result.truncated),
        "confidence": sureness.shown_confidence(attempt.confidence),
        "unsure": sureness.is_unsure(attempt.confidence, showing.unsure),
        "rests_on": str(alone.episode.id) if alone else None,
        "intent": {"kind": understood.intent.kind, "tables": list(understood.intent.tables)} if understood else None,
        "bucket": understood.bucket if understood else None,
        "path": attempt.path,
        "canary": attempt.canary or None,
        "model": attempt.model,
        "habit": attempt.habit or None,
        "approach": attempt.approach or None,
        "approach_why": attempt.why or None,
        "recalled": [memory_json(memory) for memory in attempt.recalled],
        "findings": [finding.told() for finding in showing.findings],
        "candidates": [candidate_json(attempt, draft, showing) for draft in attempt.drafts],
        "attempts": [
            {"sql": draft.sql or draft.reply.text, "problem": draft.problem or None}
            for draft in attempt.drafts
            if draft.origin != "adapted"
        ],
        "seconds": {
            "total": round(attempt.total_seconds, 3),
            "recall": round(attempt.recall_seconds, 3),
            "model": round(sum(draft.reply.seconds for draft in attempt.drafts), 3),
            "database": round(sum(draft.result.seconds for draft in attempt.drafts if draft.result), 3),
        },
        "usage": {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cache_read_tokens": usage.cache_read_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
            "cost_usd": usage.cost_usd,
        },
        "message": attempt.message or None,
    }


def memory_json(memory: Recalled) -> dict[str, Any]:
    """A recalled episode, and what speaks for it."""
    episode = memory.episode
    return {
        "episode": str(episode.id),
        "question": episode.question,
        "sql": episode.sql,
        "bucket": episode.bucket,
        "origin": episode.origin,
        "verifier": episode.verifier,
        "score": round(memory.score, 4),
        "why": memory.why,
    }


def candidate_json(attempt: Attempt, draft: Draft, showing: Showing) -> dict[str, Any]:
    """A draft as one of several, with where it comes from and what came of it."""
    from agent.attempt import agree

    return {
        "sql": draft.sql or None,
        "origin": draft.origin,
        "episode": draft.episode or None,
        "confidence": sureness.shown_confidence(draft.confidence),
        "doubts": [{"rule": doubt.rule, "text": doubt.text} for doubt in draft.doubts],
        "notes": list(sureness.notes(draft, attempt, dialect=showing.dialect)),
        "rows": len(draft.result.rows) if draft.result else None,
        "problem": draft.problem or None,
        "agrees": bool(attempt.answer and agree(draft, attempt.answer)),
    }


@contextmanager
def progress(as_json: bool, *, adapting: bool) -> Iterator[Callable[[Attempt], None]]:
    """Say on a terminal's stderr what the loop is at; silent where nobody watches.

    `adapting`: what is recalled is adapted too.
    """
    console = _console(stderr=True)
    if as_json or not console.is_terminal:
        yield lambda attempt: None
        return
    from rich.text import Text

    with console.status("Understanding the question …") as status:

        def show(attempt: Attempt) -> None:
            written, model = attempt.written, plain(attempt.model)
            if not attempt.approach:
                status.update(f"{'Adapting' if adapting else 'Recalling'} what worked before …")
            elif attempt.wants_draft and not written:
                status.update(Text(f"{model} is writing SQL ({attempt.approach}: {plain(attempt.why)}) …"))
            elif attempt.wants_draft and attempt.votes > 1:
                status.update(Text(f"{model} is writing SQL again, to compare the results …"))
            elif attempt.wants_draft:
                status.update(Text(f"Mending draft {len(written)}: {plain(written[-1].complaint)[:80]} …"))

        yield show


@contextmanager
def download() -> Iterator[DownloadProgress]:
    """A progress bar on stderr for fetching a model; a line every tenth where stderr is no terminal."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    console = _console(stderr=True)
    if not console.is_terminal:
        yield tenths()
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("Model", total=None)

        def show(done: int, total: int, what: str) -> None:
            bar.update(task, completed=done, total=total or None, description=what)

        yield show


def say() -> Callable[[str], None]:
    """Print what is being done, on stderr."""
    return lambda text: print(f"hebbql: {plain(text)}", file=sys.stderr, flush=True)


def stopped(message: str, status: str, *, as_json: bool) -> None:
    """Say on stderr, in one line, why a command ended early; as an object on stdout too for programs."""
    if as_json:
        _print_json({"status": status, "message": message})
    print(f"hebbql: {plain(message)}", file=sys.stderr, flush=True)


def outcome(done: Outcome, *, as_json: bool) -> None:
    """Print what a change to the memory came to."""
    outcome_told(asdict(done), as_json=as_json)


def outcome_told(done: Mapping[str, Any], *, as_json: bool) -> None:
    """Print what a change to the memory came to, as a server told it."""
    if as_json:
        _print_json(done)
    else:
        print(plain(done["message"]))


def welcome(database: str, *, as_json: bool) -> None:
    """Say what is asked and how to end, where somebody watches."""
    if not as_json:
        print(f"Asking {plain(database)}. /help says what can be done, /quit or Ctrl-D ends.")


def said(line: str) -> None:
    """Show what was said in a chat that is piped in."""
    print(plain(line), flush=True)


def whole(question: str, *, as_json: bool) -> None:
    """Show what a follow-up was made into, before it is answered."""
    if not as_json:
        print(f"\u2192 {plain(question)}", flush=True)


def turn(said: dict[str, Any], attempt: Attempt, showing: Showing) -> None:
    """Print one answer of a chat as an object in one line."""
    _print_json({**said, **answer_json(attempt, showing)})


def told(about: dict[str, Any], as_json: bool) -> None:
    """Print what a line of a chat came to when it was no answer."""
    if as_json:
        _print_json(about)
    else:
        print("\n".join(map(plain, str(about["message"]).split("\n"))), flush=True)


def seeded(report: SeedReport, *, as_json: bool) -> None:
    """Print how a seed pack fared; the refused ones by name."""
    if as_json:
        _print_json(asdict(report))
        return
    print(
        f"{report.pack}: {report.remembered} remembered, {report.known} known already, {len(report.refused)} refused."
    )
    if report.remembered:
        print(f"  batch {plain(report.batch)}")
    if report.unvouched:
        print(f"  {_many(report.unvouched, 'pair')} without check_sql: taken at their word")
    for refused in report.refused:
        print(f"  {plain(refused.name)}: {plain(refused.reason)}")


def seeded_hard(report: HardReport, *, as_json: bool) -> None:
    """Print what each hard bucket was given, and what was refused."""
    if as_json:
        _print_json(asdict(report) | {"remembered": report.remembered})
        return
    if not report.buckets:
        print("No bucket is hard: each that failed has an episode.")
        return
    print(f"{_many(len(report.buckets), 'hard bucket')}, {_many(report.remembered, 'gold')} remembered.")
    for one in report.buckets:
        print(f"  {plain(one.kind)} over {plain(', '.join(one.tables) or 'no table')} ({plain(one.bucket)})")
        for seeded in one.remembered:
            print(f"    remembered: {plain(seeded.question)}")
        for refused in one.refused:
            print(f"    refused: {plain(refused.name)}: {plain(refused.reason)}")


def trained(found: RunSummary, folder: Path) -> None:
    """Print what a run of training came to, epoch by epoch."""
    print(plain(found.finding))
    rows = [
        (
            f"{one.epoch}" if one.closed else f"{one.epoch}, begun",
            f"{one.training.right}/{one.training.total}",
            f"{one.holdout.right}/{one.holdout.total}" if one.holdout else "",
            one.habits,
            one.habits_wrong,
            one.forgotten,
            one.seeded,
            round(one.spent.seconds / 60, 1),
        )
        for one in found.epochs
    ]
    names = ("epoch", "right", "holdout", "by habit", "wrong habits", "forgot", "seeded", "minutes")
    if rows:
        _console().print(_table(names, rows))
    print(f"Report: {plain(folder / 'report.md')}")


def evaluated(found: Evaluation, finding: str, left_out: int, files: Sequence[Path]) -> None:
    """Print how each arm fared, and how far each is from the arm that they are compared with."""
    print(plain(finding).replace("`", ""))
    if left_out:
        print(f"{_many(left_out, 'question')} left out, named above: the SQL does not hold.")
    rows = []
    for one in found.arms:
        against, share, spent = found.comparison(one.arm, "schema"), one.share, one.spent
        rows.append(
            (
                one.arm,
                f"{share.right}/{share.total}",
                f"{100 * (share.value or 0):.0f} ({100 * share.interval.low:.0f} to {100 * share.interval.high:.0f})",
                _gain(against.difference) if against else "",
                one.habits.right,
                "" if spent.seconds_median is None else f"{spent.seconds_median:.1f}",
                "unknown" if spent.cost_usd is None else f"${spent.cost_usd:.2f}",
            )
        )
    _console().print(_table(("arm", "right", "% (95 %)", "more than schema", "habit", "s", "cost"), rows))
    print("Files: " + ", ".join(plain(path) for path in files))


def _gain(found: Difference) -> str:
    """A difference in hundredths, with its interval."""
    points = (100 * value for value in (found.value or 0.0, found.interval.low, found.interval.high))
    return "{:+.0f} ({:+.0f} to {:+.0f})".format(*points)


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def models(known: Sequence[ModelListing], *, as_json: bool) -> None:
    """Print the models and whether each can be used."""
    if as_json:
        _print_json([asdict(model) for model in known])
        return
    rows = [(model.alias or model.name, model.kind, _size(model.size), _state(model), model.about) for model in known]
    _console().print(_table(("model", "kind", "size", "state", "about"), rows))


def pulled(name: str, path: Path, *, as_json: bool) -> None:
    if as_json:
        _print_json({"model": name, "path": str(path), "verified": True})
    else:
        print(f"{name} is here and its SHA-256 is right: {path}")


def findings(found: Sequence[Ailment], *, as_json: bool) -> None:
    """Print each check, and the fix under those that failed."""
    if as_json:
        _print_json({"ok": all(finding.ok for finding in found), "checks": [asdict(finding) for finding in found]})
        return
    for finding in found:
        print(f"{'ok    ' if finding.ok else 'BROKEN'}  {finding.name}: {plain(finding.detail)}")
        if not finding.ok and finding.fix:
            print(f"        {plain(finding.fix)}")


def _console(*, stderr: bool = False) -> Console:
    from rich.console import Console

    return Console(stderr=stderr, soft_wrap=False)


def _table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    for index, column in enumerate(columns):
        numeric = bool(rows) and all(isinstance(row[index], int | float | None) for row in rows)
        table.add_column(Text(plain(column)), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(number(cell)) for cell in row))
    return table


def _line(console: Console, text: str, *, style: str = "", soft_wrap: bool = False) -> None:
    """Print text as it is: what looks like markup in it is none, and no word is set off by its kind."""
    from rich.text import Text

    console.print(Text(text), style=style or None, highlight=False, soft_wrap=soft_wrap)


def _print_sql(console: Console, sql: str) -> None:
    from rich.padding import Padding
    from rich.syntax import Syntax

    console.print(Padding(Syntax(_pretty(sql), "sql", background_color="default", word_wrap=True), (0, 2)))


def _pretty(sql: str) -> str:
    return "".join(char if char in "\n\t" else plain(char) for char in sql)


def _footer(attempt: Attempt, showing: Showing, *, alone: bool) -> str:
    """Where the answer came from, how sure it is and what it cost; then how to judge it."""
    draft, written = attempt.answer, attempt.written
    adapted = [one for one in attempt.drafts if one.origin == "adapted"]
    asked = bool(written) or attempt.path == "model"
    cost = attempt.usage.cost_usd
    parts = [
        plain(attempt.model) if asked else "",
        f"path: {attempt.path}",
        f"answered by {plain(attempt.canary)}" if attempt.canary else "",
        sureness.told(attempt.confidence, showing.unsure, alone=alone),
        f"{attempt.approach} ({plain(attempt.why)})" if asked and attempt.approach else "",
        f"{len(adapted)} adapted" if adapted else "",
        f"{len(written)} drafts" if len(written) > 1 else "",
        _tokens(attempt),
        f"{attempt.total_seconds:.1f} s",
        f"${cost:.4f}" if cost else "",
        f"id {attempt.id}",
    ]
    told = "\n" + " · ".join(filter(None, parts))
    if draft and attempt.path == "adapted":
        told = f"\n{plain(sureness.source(draft, attempt))}{told}"
    if attempt.status == "answered":
        good = f"hebbql feedback {attempt.id} good{plain(showing.options)}"
        told += "\nRight? /good or /bad" if showing.in_chat else f"\nRight? {good}"
    return told


def _tokens(attempt: Attempt) -> str:
    """What the model read and wrote, with what of it a cache held."""
    usage = attempt.usage
    read = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    if not read:
        return ""
    cached = f" ({usage.cache_read_tokens:,} from cache)" if usage.cache_read_tokens else ""
    return f"{read:,}{cached} + {usage.output_tokens:,} tokens"


def json_cell(cell: object) -> object:
    """A cell as JSON has it: bytes are hex text, infinite numbers are text."""
    if isinstance(cell, bytes):
        return cell.hex()
    if isinstance(cell, float) and (cell != cell or cell in (float("inf"), float("-inf"))):
        return str(cell)
    return cell


def _print_json(value: object) -> None:
    """Print in the letters of the terminal; what it does not know is escaped as JSON has it, lone surrogates too."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, default=str)
    print(text, flush=True)


def _state(model: ModelListing) -> str:
    if model.kind == "hosted":
        return "ready" if model.present else "no key is set"
    if model.present:
        return "here, verified" if model.verified else "here, not verified"
    return f"hebbql models pull {model.alias}"


def _size(size_bytes: int | None) -> str:
    return "" if size_bytes is None else f"{size_bytes / 1e6:,.0f} MB"


def tenths() -> DownloadProgress:
    """Say on stderr each tenth of a download."""
    told = -1

    def show(done: int, total: int, what: str) -> None:
        nonlocal told
        tenth = 10 * done // total if total else 0
        if tenth > told:
            told = tenth
            print(f"hebbql: {what}: {10 * tenth} % of {total / 1e6:,.0f} MB", file=sys.stderr, flush=True)

    return show
