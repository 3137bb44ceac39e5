"""Rounds that somebody else decided, in every format: one description, readers and writers."""
