"""The brain as code has it: snapshots in canonical text, their differences, checks, and ways back."""
