"""What of a question a query leaves out or makes up, in words that tell its writer what is missing."""

from __future__ import annotations

from agent.attempt import Doubt, Understood
from agent.database.result import QueryRejected, Result
from agent.linking import Lexicon


def doubts(understood: Understood, sql: str, result: Result | None = None, *, lexicon: Lexicon) -> tuple[Doubt, ...]:
    """Hold a query that passed the guard against its question. Pure, and never raises.

    Each doubt names its rule and says in a clause what is missing, in the words of the question and in SQL where that
    is known. What cannot be read gives no doubt; nor do rules that go by English words where the question is in another
    language. `empty` is a weak one: nothing came out, which may be right. `result` is what the query gave if it ran.
    """
    from agent.database.guard import parse_query
    from agent.drafting.covering.case import Case
    from agent.drafting.covering.rules import ANYWHERE, ENGLISH
    from agent.drafting.operands import Names

    try:
        tree = parse_query(sql, lexicon.schema.dialect)
        names = Names(tree, lexicon.schema, [(one.table, one.column) for one in lexicon.date_columns])
        case = Case(understood, tree, names, lexicon, result)
        rules = (*ANYWHERE, *ENGLISH) if understood.grounding.english else ANYWHERE
        return tuple(dict.fromkeys(Doubt(name, text) for name, rule in rules for text in rule(case)))
    except (QueryRejected, RecursionError):
        return ()
