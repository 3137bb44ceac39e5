"""Files that may lie next to the project: the authors' instances and figures, and data sets."""

from pathlib import Path

SHARED = Path(__file__).resolve().parents[2] / "shared"
REFERENCE = SHARED / "reference"
DATA = SHARED / "data"
HAS_COVERTYPE = (DATA / "covtype.data.gz").exists()
