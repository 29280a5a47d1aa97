"""Rules that hold a query against its question, each in its own place."""
