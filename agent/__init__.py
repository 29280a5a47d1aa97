"""Doing it: ground, recall, draft, check, run, repair, answer, learn."""
