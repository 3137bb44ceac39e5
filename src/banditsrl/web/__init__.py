"""The HTTP service of a loop, its description, its metrics and its dashboard."""
