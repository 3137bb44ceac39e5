"""Which room is this? Where a loop is kept: its tables, the two databases, and what is written."""
