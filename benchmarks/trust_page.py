"""How are the results shown? For now, not yet."""

from pathlib import Path


def write_page(folder: Path, label: str, *, rounds: int) -> None:
    """Write the page."""
