"""What an open brain needs to answer the next question, looked at in milliseconds and from any thread."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agent import checks
from agent.database.naming import quoted
from agent.database.result import QueryRejected
from agent.doctor import Broken, Check, Finding, examine
from memory.lease import holder, is_held
from memory.outbox import standing

if TYPE_CHECKING:
    from agent.app import App


def examined(app: App, *, foreseen: tuple[type[Exception], ...]) -> tuple[Finding, ...]:
    """Look at guard, brain, lease, model and budget of an opened app; nothing is run, asked or written."""
    return examine(
        (
            Check("guard", lambda: _guard(app)),
            Check("brain", lambda: _brain(app)),
            Check("lease", lambda: _lease(app)),
            Check("model", lambda: _model(app)),
            Check("budget", lambda: _budget(app)),
        ),
        foreseen=foreseen,
    )


def _guard(app: App) -> str:
    table = quoted(app.schema.tables[0].name, app.schema.dialect)
    for sql in checks.hostile_statements(table):
        try:
            app.check(sql)
        except QueryRejected:
            continue
        raise Broken("the guard let a hostile statement pass", "Do not use this build; report it.")
    app.check(f"SELECT COUNT(*) FROM {table}")
    return "hostile statements are refused, a harmless one is not"


def _brain(app: App) -> str:
    """The episode store is of the ledger's generation."""
    generation = app.ledger.generation
    stands = standing(app.ledger, app.store_folder, index=app.embedder.id)
    if stands.state not in ("current", "new"):
        raise Broken(f"the episode store is {stands.state.replace('_', ' ')}", "The next question rebuilds it.")
    return f"generation {generation}, the episode store is {stands.state}"


def _lease(app: App) -> str:
    pid = holder(app.folder)
    if not is_held(app.folder) or pid != os.getpid():
        raise Broken("this process does not hold the brain for writing", "Start it again: hebbql serve.")
    return f"held by process {pid}"


def _model(app: App) -> str:
    missing, has_key = app.missing_model, bool(app.settings.anthropic_key)
    return checks.check_model(app.model.name, missing=missing, has_key=has_key, verified=None)


def _budget(app: App) -> str:
    budget = app.budget
    if budget is None or budget.max_cost_usd is None:
        return "no limit is set"
    left = budget.max_cost_usd - budget.spent_usd
    if left <= 0:
        raise Broken(f"the {budget.max_cost_usd:g} USD are spent", "Start it again with more: HEBBQL_MAX_COST_USD.")
    return f"{left:.4f} of {budget.max_cost_usd:g} USD are left"
