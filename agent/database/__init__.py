"""Schema text, guard, read-only execution, comparing results."""
