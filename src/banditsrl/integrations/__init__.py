"""Policies in experiments of other libraries, and their environments as problems."""
