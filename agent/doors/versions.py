"""What is in a brain, its snapshots, their differences and its batches: for people and for programs."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from agent.doors.rendering import plain

if TYPE_CHECKING:
    from rich.console import Console

    from agent.keeping.versions import Batch, Built, Edit, Entry, Episode, Found, Look, Plan, Reverted, Status, Taken

_SIGNS = {"added": "+", "removed": "-", "changed": "~"}
_COLOURS = {"+": "green", "-": "red", "~": "yellow"}
_SHOWN = 40
_MOST_NAMED = 5
_WHAT = {
    "created": "brain of",
    "upgraded": "upgraded",
    "schema": "saw the schema",
    "batch": "batch",
    "lessons": "lessons of",
    "taught": "terms of",
    "dropped": "dropped,",
    "forgot": "forgot,",
    "erased": "erased,",
    "barred": "barred",
    "run": "run",
    "changed": "whole brain:",
    "snapshot": "snapshot",
    "canary": "canary",
}


def taken(snapshot: Taken, *, as_json: bool) -> None:
    """Print a snapshot that was taken."""
    if as_json:
        _print_json(asdict(snapshot))
        return
    typer.echo(f"{plain(snapshot.name)}: {snapshot.hash[:12]} at position {snapshot.position}")


def status(found: Status, *, as_json: bool) -> None:
    """Print what is in a brain, who wrote it, and how far it is from the last snapshot."""
    if as_json:
        _print_json(asdict(found))
        return
    console = _console()
    gone = ", ".join(f"{count} {state}" for state, count in found.gone.items() if count)
    by = "; ".join(_listed(counts) for counts in (found.by_origin, found.by_verifier) if counts)
    rows = [
        ("brain", f"{found.database}, {found.hash[:12]} at position {found.position} (head {found.head[:12]})"),
        ("in", found.folder),
        *([("ledger", found.ledger)] if "://" in found.ledger else []),
        ("episodes", f"{found.episodes} in {found.buckets} buckets and {found.batches} batches" + _more(by)),
        ("gone", gone or "none"),
        ("terms", str(found.terms)),
        ("lessons", str(found.lessons)),
        ("synapses", str(found.synapses)),
        ("schema", f"version {found.schema_versions}, {found.schema[:12]}"),
        ("snapshot", _last(found)),
        ("Cognee", f"{found.store}, generation {found.generation}, {found.outbox} changes waiting"),
    ]
    for name, told in rows:
        _line(console, f"{name:<10}{plain(told)}")
    if not found.episodes and not any(found.gone.values()):
        _line(console, "Nothing is remembered yet: the first question loads what is accepted, as does: brain build.")


def _last(found: Status) -> str:
    if found.last is None:
        return "none yet; take one with: hebbql brain snapshot"
    moved = _counted(found.since)
    return f"{found.last.name} {found.last.hash[:12]} of {_time(found.last.at)}; since then {moved or 'no change'}"


def log(entries: Sequence[Entry], *, as_json: bool) -> None:
    """Print the history, newest first."""
    if as_json:
        for entry in entries:
            typer.echo(json.dumps({**asdict(entry), "counts": dict(entry.counts)}, ensure_ascii=False))
        return
    console = _console()
    for entry in entries:
        counts = ", ".join(
            f"{count} {what.replace('s ', ' ', 1) if count == 1 else what}" for what, count in entry.counts.items()
        )
        left = f"{entry.left} of them known now" if entry.left is not None else ""
        by = ", ".join(entry.by)
        told = "; ".join(part for part in (by, counts, left) if part)
        subject = entry.subject or "of what was erased"
        line = f"{_time(entry.at)}  {entry.position:>6}  {_WHAT[entry.what]} {subject}{_more(told)}"
        _line(console, plain(line))
    if not entries:
        _line(console, "Nothing of that was written.")


def taken_ones(found: Sequence[Taken], *, as_json: bool) -> None:
    """Print the snapshots, newest first."""
    if as_json:
        for one in found:
            _print_json(asdict(one))
        return
    console = _console()
    for one in found:
        _line(console, plain(f"{_time(one.at)}  {one.position:>6}  {one.name}  {one.hash[:12]}{_more(one.why)}"))
    if not found:
        _line(console, "No snapshot was taken. Take one with: hebbql brain snapshot.")


def difference(
    edits: Sequence[Edit], shown: Sequence[Edit], *, old: str, new: str, hashes: tuple[str, str], as_json: bool
) -> None:
    """Print what leads from one snapshot to another. For programs all of it, else those that are `shown`."""
    from agent.keeping.versions import counted

    if as_json:
        told = [edit.to_json() for edit in edits]
        _print_json({"from": hashes[0], "to": hashes[1], "counts": counted(edits), "edits": told})
        return
    console = _console()
    if not edits:
        _line(console, plain(f"{old} and {new} know the same."))
        return
    _line(console, plain(f"{old} {hashes[0][:12]} → {new} {hashes[1][:12]}: {_counted(counted(edits))}"), style="bold")
    _edits(console, shown)
    if small := len(edits) - len(shown):
        _line(console, f"… and {small} weights that moved less than is worth telling (all of them with --all)")


def _edits(console: Console, edits: Sequence[Edit], *, most: int | None = None) -> None:
    from agent.keeping.versions import in_words

    for edit in edits[:most]:
        told = plain(in_words(edit))
        _line(console, told, style=_COLOURS[told[0]])
    if most is not None and len(edits) > most:
        _line(console, f"… and {len(edits) - most} more")


def planned(plan: Plan) -> None:
    """Say what building would do before it is done, to stderr."""
    from agent.keeping.versions import counted

    console = _console(stderr=True)
    _line(console, plain(f"{plan.file} would change: {_counted(counted(plan.edits)) or 'nothing'}"))
    _edits(console, plan.edits, most=_SHOWN)


def built(done: Built, *, as_json: bool) -> None:
    """Print what building came to; the refused by name."""
    from agent.keeping.versions import counted

    plan, counts = done.plan, counted(done.written.edits)
    if as_json:
        _print_json(
            {
                "file": plan.file,
                "hash": done.hash,
                "same": done.same,
                "counts": counts,
                "refused": [asdict(one) for one in plan.refused],
                "other_results": list(plan.other_results),
                "erased": list(done.written.erased),
                "barred": list(done.written.barred),
            }
        )
        return
    console = _console()
    _line(console, plain(f"Built from {plan.file}: {done.hash[:12]}; {_counted(counts) or 'nothing changed'}"))
    for one in plan.refused:
        _line(console, plain(f"  refused: {one.name}: {one.reason}"), style="red")
    for name in plan.other_results:
        _line(console, plain(f"  gives another result than when it was verified: {name}"), style="yellow")
    if done.written.erased:
        _line(console, f"  {len(done.written.erased)} episodes or terms of the file were erased here and stay away.")
    if done.written.barred:
        _line(
            console,
            f"  {len(done.written.barred)} episodes or terms are gone in the file and are kept from coming back.",
        )
    if not done.same and not plan.refused:
        _line(console, "  What is known now is not all that the file says: see hebbql brain diff live FILE.")


def exported(path: Path, hash: str, told: str, *, as_json: bool) -> None:
    """Say where a brain was written to, and what of it."""
    if as_json:
        _print_json({"file": str(path), "hash": hash, "told": told})
    else:
        _line(_console(), plain(f"{path}: {hash[:12]}, {told}"))


def whole_text(text: str) -> None:
    """Print a brain in canonical text, byte for byte, whatever letters the terminal knows."""
    import sys

    sys.stdout.flush()
    if hasattr(sys.stdout, "buffer"):
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
    else:
        sys.stdout.write(text)


def bisecting(told: str, batches: int, most: int, *, as_json: bool) -> None:
    """Say what is looked for, and in how many looks at most."""
    if not as_json:
        _line(_console(), plain(f"Looking for {told} in {batches} batches, in at most {most} recalls"))


def look(one: Look, names: Sequence[str], *, as_json: bool) -> None:
    """Print one probe of a bisection as it is taken."""
    probe = one.probe
    if as_json:
        found = str(one.found.id) if one.found else None
        _print_json({**asdict(probe), "episodes": one.episodes, "rank": one.rank, "found": found})
        return
    if probe.leaving_out is not None:
        over = "all but the one found"
    elif probe.number == 1:
        over = f"all {probe.batches} batches"
    else:
        over = f"the first {probe.batches}, to {names[probe.batches - 1]}"
    what = f"red, recalled as number {one.rank} of {one.episodes}" if probe.red else f"green, {one.episodes} recalled"
    left = f"; {probe.left} left" if probe.leaving_out is None and probe.left > 1 else ""
    console = _console()
    _line(console, plain(f"  {probe.number:>2}. {over}: {what}{left}"), style="red" if probe.red else "green")


def culprit(
    batch: Batch,
    found: Found,
    holding: Sequence[tuple[Batch, Sequence[Episode]]],
    options: str,
    *,
    as_json: bool,
) -> None:
    """Print the batch that a bisection ended at, and what to do next.

    `holding` is every batch that holds what is looked for, with those of its episodes that do.
    """
    matching = next((matching for one, matching in holding if one.name == batch.name), ())
    others = [(one, matching) for one, matching in holding if one.name != batch.name]
    if as_json:
        _print_json(
            {
                "batch": batch.name,
                "position": batch.position,
                "at": batch.at,
                "origins": batch.origins,
                "episodes": [str(one.id) for one in batch.episodes],
                "matching": [str(one.id) for one in matching],
                "alone": found.alone,
                "others": [
                    {"batch": one.name, "episodes": len(one.episodes), "matching": [str(each.id) for each in those]}
                    for one, those in others
                ],
            }
        )
        return
    console, many = _console(), len(batch.episodes)
    what = f"{_many(many, 'episode')} of {', '.join(batch.origins)}, {_time(batch.at)}"
    _line(console, plain(f"First red with batch {batch.name}: {what}"), style="bold")
    for episode in matching[:_MOST_NAMED]:
        _line(console, plain(f"  {episode.question} → {episode.sql}"))
    _take_out(console, batch, matching, options)
    if others:
        _line(console, f"Held by {_many(len(others), 'other batch', 'other batches')} as well:")
    for one, those in others:
        _line(console, plain(f"  batch {one.name}"), style="bold")
        _take_out(console, one, those, options)


def _take_out(console: Console, batch: Batch, matching: Sequence[Episode], options: str) -> None:
    """Say how to take out what a batch holds: the batch, or only those of its episodes that match."""
    many = len(batch.episodes)
    if len(matching) in (0, many):
        _line(console, plain(f"Take it out with: hebbql brain revert {shlex.quote(batch.name)}{options}"))
        return
    told = f"{len(matching)} of its {many} episodes {'holds' if len(matching) == 1 else 'hold'} it"
    _line(console, f"Only {told}: reverting the batch would take out {many - len(matching)} that do not.")
    _line(console, f"Take just {'this one' if len(matching) == 1 else 'these'} out with:")
    for episode in matching[:_MOST_NAMED]:
        _line(console, plain(f"  hebbql forget {episode.id}{options}"))
    if len(matching) > _MOST_NAMED:
        _line(console, f"  … and {len(matching) - _MOST_NAMED} more; --json names them all")


def _many(count: int, one: str, more: str = "") -> str:
    """A count and its word.

    >>> _many(1, "episode"), _many(2, "other batch", "other batches")
    ('1 episode', '2 other batches')
    """
    return f"{count} {one if count == 1 else more or f'{one}s'}"


def reverting(batch: str, edits: Sequence[Edit]) -> None:
    """Say what taking a batch out would take out, to stderr."""
    from agent.keeping.versions import counted

    console = _console(stderr=True)
    _line(console, plain(f"Batch {batch} leaves with: {_counted(counted(edits))}"))
    _edits(console, edits, most=_SHOWN)


def reverted(done: Reverted, *, as_json: bool) -> None:
    """Print what was taken out."""
    from agent.keeping.versions import counted

    counts = counted(done.written.edits)
    if as_json:
        edits = [edit.to_json() for edit in done.written.edits]
        told = {"batch": done.batch, "hash": done.hash, "counts": counts, "edits": edits, "proof": list(done.proof)}
        _print_json(told)
        return
    console = _console()
    _line(console, plain(f"Batch {done.batch} is out: {_counted(counts)}; the brain is {done.hash[:12]} now."))
    for line in done.proof:
        _line(console, plain(f"  {line}"))


def _counted(counts: Mapping[Any, Mapping[Any, int]]) -> str:
    """Counts of edits in a few words.

    >>> _counted({"episode": {"added": 2, "removed": 0, "changed": 1}})
    'episodes +2 ~1'
    """
    told = []
    for kind, actions in counts.items():
        signs = " ".join(f"{_SIGNS[action]}{count}" for action, count in actions.items() if count)
        told.append(f"{kind if kind == 'schema' else f'{kind}s'} {signs}")
    return ", ".join(told)


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def _more(told: str) -> str:
    return f": {told}" if told else ""


def _time(at: float) -> str:
    """Minutes, in UTC.

    >>> _time(0.0)
    '1970-01-01 00:00'
    """
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(at))


def _console(*, stderr: bool = False) -> Console:
    from rich.console import Console

    return Console(stderr=stderr, soft_wrap=True)


def _line(console: Console, text: str, *, style: str = "") -> None:
    from rich.text import Text

    console.print(Text(text), style=style or None, highlight=False)


def _print_json(value: object) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, default=_plain_json))


def _plain_json(value: object) -> object:
    if isinstance(value, Iterable):
        return list(value)
    return str(value)
