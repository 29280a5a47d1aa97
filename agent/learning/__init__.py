"""Seeding, question sets, measuring."""
