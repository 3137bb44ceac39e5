"""Do the notebooks of the documentation run from top to bottom, and are their outputs stored?"""

import importlib
import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from documents import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
NEEDED = ("nbclient", "nbformat", "ipykernel")

needs_jupyter = pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in NEEDED),
    reason="no kernel: pip install 'banditsrl[test]' to execute notebooks",
)


def name_notebook(path: Path) -> str:
    return path.stem


@needs_jupyter
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=name_notebook)
def test_a_notebook_runs_in_an_empty_folder(path: Path, tmp_path: Path) -> None:
    nbclient: Any = importlib.import_module("nbclient")
    nbformat: Any = importlib.import_module("nbformat")
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    where = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=600, resources=where).execute()
    drawn = [output for output in list_outputs(notebook) if "image/png" in output.get("data", {})]
    assert drawn, "it draws nothing"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name_notebook)
def test_a_stored_notebook_has_a_description_and_its_outputs(path: Path) -> None:
    notebook = json.loads(path.read_text())
    assert len(notebook["metadata"]["description"]) > 40
    outputs = list_outputs(notebook)
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert not any(output["output_type"] == "error" for output in outputs)
    assert str(Path.home()) not in path.read_text()


def list_outputs(notebook: Any) -> list[Any]:
    return [output for cell in notebook["cells"] for output in cell.get("outputs", [])]


def test_there_are_notebooks() -> None:
    assert {path.stem for path in NOTEBOOKS} >= {"first-certificate", "log-to-loop"}
