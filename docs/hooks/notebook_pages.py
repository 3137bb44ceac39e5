"""How do notebooks become pages? At build time, as Markdown with their stored outputs.

The notebooks of docs/notebooks are stored with the outputs of their last execution, and the tests
execute them again. A page consists of the cells, their text outputs and their plots; it ends with a
link to the notebook itself.
"""

import base64
import json
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Add a page for every notebook, and a file for each of its plots."""
    for path in sorted((Path(config["docs_dir"]) / "notebooks").glob("*.ipynb")):
        notebook = json.loads(path.read_text())
        text, plots = convert_notebook(notebook, path.stem)
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=text))
        for name, picture in plots.items():
            files.append(File.generated(config, f"notebooks/{name}", content=picture))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let links to notebooks lead to their pages; the notebooks' own pages offer the files."""
    if page.file.src_uri.startswith("notebooks/"):
        return markdown
    return re.sub(r"\((notebooks/[\w-]+)\.ipynb\)", r"(\1.md)", markdown)


def convert_notebook(notebook: dict[str, Any], stem: str) -> tuple[str, dict[str, bytes]]:
    """Return a notebook as Markdown, and its plots by file name."""
    parts = [f"---\ndescription: {notebook['metadata']['description']}\n---\n"]
    plots: dict[str, bytes] = {}
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", []):
            parts.append(_show_output(output, stem, plots))
    parts.append(f"[Download this notebook]({stem}.ipynb)")
    return "\n\n".join(parts) + "\n", plots


def _show_output(output: dict[str, Any], stem: str, plots: dict[str, bytes]) -> str:
    """Return an output as Markdown: a plot if there is one, otherwise its text."""
    data = output.get("data", {})
    if "image/png" in data:
        name = f"{stem}-{len(plots) + 1}.png"
        plots[name] = base64.b64decode(data["image/png"])
        return f"![Plot of the cell above]({name})"
    text = "".join(output.get("text", data.get("text/plain", "")))
    return f"```text\n{text.rstrip()}\n```" if text.strip() else ""
