"""Experiments as data: figures, run specifications, plans, and the store of finished runs."""
