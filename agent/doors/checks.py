"""The command `test` of a brain, and its results for people, for programs, and for a build server as JUnit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.doors.opening import FAILED, GATE_RED, USAGE, Brain, Database, Json, opened, stop

if TYPE_CHECKING:
    from agent.app import App
    from agent.keeping.checking import Checked, Evidence

_MOST_SHOWN = 12


def add_to(commands: typer.Typer) -> None:
    """Add the command to those of the brain."""
    commands.command()(test)


def test(
    checks: Annotated[
        Path | None,
        typer.Option(
            "--checks",
            metavar="DIR",
            help="Folder of *.toml files; the shipped ones for Northwind.",
            show_default=False,
        ),
    ] = None,
    only: Annotated[str, typer.Option("--only", metavar="NAME", help="Run the check of this name alone.")] = "",
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Also write the results as JUnit XML.")
    ] = None,
    db: Database = None,
    brain: Brain = None,
    as_json: Json = False,
) -> None:
    """Run the checks: what the brain must know, what it must not give away, and how it is made. No model is asked.

    No check, an empty expectation and a file that cannot be read are red as well.

    Exit code: 0 all green, 1 any is red, 2 usage.
    """
    if junit is not None and not junit.absolute().parent.is_dir():
        stop(f"There is no folder {junit.absolute().parent} to write {junit.name} into.", USAGE, as_json=as_json)
    with opened(db, brain, None, as_json=as_json) as app:
        results = app.checking.test(checks, only=only)
        database = app.schema.name
    if junit is not None:
        try:
            write_junit(results, junit, database=database)
        except OSError as error:
            stop(f"{junit} cannot be written: {error.strerror or error}.", FAILED, as_json=as_json)
    show(results, as_json=as_json)
    raise typer.Exit(0 if results and all(one.ok for one in results) else GATE_RED)


def forget_matching(app: App, text: str, *, erase: bool, yes: bool, as_json: bool) -> None:
    """Show what holds the text, ask, take it out, and prove it. Exits with 1 where something is left."""
    from agent.doors import rendering

    found = app.checking.matching.find(text, erase=erase)
    if not yes:
        if as_json:
            stop(f"This would {_verb(erase)} {len(found)} things; say --yes as well.", USAGE, as_json=True)
        for line in found.lines():
            typer.echo(rendering.plain(line), err=True)
        typer.confirm(f"{_verb(erase).capitalize()} these {len(found)}?", abort=True, err=True)
    taken = app.checking.matching.forget(found, erase=erase)
    rendering.outcome(taken.outcome, as_json=as_json)
    if not as_json:
        for line in taken.outcome.proof:
            typer.echo(f"  {rendering.plain(line)}")
    if not taken.proof.ok:
        raise typer.Exit(GATE_RED)


def _verb(erase: bool) -> str:
    return "erase" if erase else "forget"


def show(results: Sequence[Checked], *, as_json: bool) -> None:
    """Print the results: one line for each check, and under a red one what was found."""
    green = sum(one.ok for one in results)
    if as_json:
        told = {"ok": bool(results) and green == len(results), "green": green, "red": len(results) - green}
        typer.echo(json.dumps({**told, "checks": [_told(one) for one in results]}, ensure_ascii=False))
        return
    from agent.doors.rendering import plain

    width = max((len(one.name) for one in results), default=0)
    for one in results:
        looked = ", ".join(f"{place} {count:,}" for place, count in one.looked.items())
        state = "green" if one.ok else "RED  "
        name = plain(one.name)
        typer.echo(f"{state} {name:<{width}}  {one.kind}, {one.seconds:.1f} s{f'; {looked}' if looked else ''}")
        if one.reason and not one.ok:
            typer.echo(f"      {plain(one.reason)}")
        for found in _shown(one):
            if found.line == one.reason:
                continue  # a fault is its own evidence
            typer.echo(f"      {found.place}: {plain(' · '.join(part for part in (found.id, found.line) if part))}")
    typer.echo(f"{green} of {len(results)} checks are green.")


def _shown(one: Checked) -> Sequence[Evidence]:
    """Of a red check, what was found: of several places the first of each."""
    if one.ok:
        return ()
    by_place = {found.place: found for found in reversed(one.evidence)}
    return [*by_place.values()][::-1] if len(by_place) > 1 else one.evidence[:_MOST_SHOWN]


def write_junit(results: Sequence[Checked], path: Path, *, database: str) -> None:
    """Write the results as JUnit XML: one test case a check, its kind as the class. Raises OSError."""
    from junitparser import Failure, JUnitXml, TestCase, TestSuite

    suite = TestSuite(f"brain of {database}")
    for one in results:
        case = TestCase(name=_xml(one.name), classname=f"brain.{one.kind}", time=round(one.seconds, 3))
        if not one.ok:
            failure = Failure(_xml(one.reason), "red")
            failure.text = _xml("\n".join(f"{found.place}: {found.id}: {found.line}" for found in one.evidence))
            case.result = [failure]
        elif one.reason:
            case.system_out = _xml(one.reason)
        suite.add_testcase(case)
    written = JUnitXml("hebbql brain test")
    written.add_testsuite(suite)
    written.update_statistics()  # type: ignore[no-untyped-call]
    written.write(str(path), pretty=True)


def _told(one: Checked) -> dict[str, object]:
    return {**asdict(one), "looked": dict(one.looked)}


def _xml(text: str) -> str:
    """Text without the signs that XML cannot hold."""

    def fits(sign: str) -> bool:
        return sign in "\t\n" or (sign >= " " and not "\ud800" <= sign <= "\udfff" and sign not in "\ufffe\uffff")

    return "".join(sign if fits(sign) else "\ufffd" for sign in text)
