"""Sowing: what a database that nobody prepared begins with, composed by code from its schema and a few of its rows."""

from agent.learning.sowing.sowing import MOST_PAIRS, sow, sown_batch

__all__ = ["MOST_PAIRS", "sow", "sown_batch"]
