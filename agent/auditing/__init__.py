"""Auditing a brain over its database: what contradicts what, and what is missing. It reads and never writes."""
