"""Which room is this? A policy in an application: it acts, learns and starts from a log."""
