"""Do objects show themselves in a notebook, without magic words? A real kernel runs the cells."""

import os
from pathlib import Path
from typing import Any

import pytest

CELLS = (
    "import banditsrl",
    "comparison = banditsrl.compare('vardim-realizable', ['uniform', 'greedy'], horizon=50)",
    "comparison.plot()",
    "comparison['uniform']",
    "banditsrl.diagnose(banditsrl.make_problem('vardim-realizable'), 0)",
    "banditsrl.PROBLEMS",
)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Return what each cell shows, by type of content."""
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    cells = [nbformat.v4.new_code_cell(cell) for cell in CELLS]
    notebook = nbformat.v4.new_notebook(cells=cells)
    folder = tmp_path_factory.mktemp("notebook")
    source = str(Path(__file__).parents[2] / "src")
    paths = os.pathsep.join([source, *filter(None, [os.environ.get("PYTHONPATH")])])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", paths)
        patch.setenv("IPYTHONDIR", str(folder))
        client = nbclient.NotebookClient(
            notebook, timeout=300, resources={"metadata": {"path": str(folder)}}
        )
        client.execute()
    return [
        {kind: value for output in cell.outputs for kind, value in output.get("data", {}).items()}
        for cell in notebook.cells
    ]


def test_a_picture_appears(shown: list[dict[str, Any]]) -> None:
    assert shown[2]["image/png"].startswith("iVBOR")


def test_a_result_appears_as_a_table_and_a_small_plot(shown: list[dict[str, Any]]) -> None:
    page = shown[3]["text/html"]
    assert "<table>" in page
    assert "<polyline" in page


def test_a_diagnosis_appears_with_its_verdict(shown: list[dict[str, Any]]) -> None:
    assert "Realizable and HLS: regret can be constant." in shown[4]["text/html"]


def test_a_registry_prints_its_names(shown: list[dict[str, Any]]) -> None:
    assert "vardim-realizable" in shown[5]["text/plain"]
