"""The rules that make follow-ups whole, one file for each thing that a follow-up may change."""
