"""Writes what models know from other databases in the SQL of this one.

A query is read without giving functions any meaning (`agent/database/dialects.py`); where the database's own dialect
cannot read it, the dialects that a model is likely to have had in mind are tried (`reading`). Then each call and each
phrase that the database does not have is replaced by one that means the same there (`rules`), found by running both.
What means more than one thing, or nothing here, stays as it is and is left to the guard.

Imported late only: it brings sqlglot.
"""

from agent.drafting.translating.rewriting import translated

__all__ = ["translated"]
