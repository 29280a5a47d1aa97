"""Keeping a brain as code is kept: versions, checks, the gate, and ways back, composed over an opened app."""
