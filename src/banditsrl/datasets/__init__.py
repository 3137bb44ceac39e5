"""Data files: where they come from, how they are verified, and how columns become numbers."""
