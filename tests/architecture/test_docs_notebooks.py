"""The three notebooks run from the first cell to the last, with the interpreter of the tests."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of the kernel's own libraries
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
]


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A kernel that is the interpreter of the tests, whatever else is installed."""
    folder = tmp_path / "jupyter" / "kernels" / "here"
    folder.mkdir(parents=True)
    started = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    lines = ", ".join(f'"{word}"' for word in map(_escaped, started))
    (folder / "kernel.json").write_text(
        f'{{"argv": [{lines}], "display_name": "here", "language": "python"}}', encoding="utf-8"
    )
    source = [str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(source))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    return "here"


def _escaped(word: str) -> str:
    return word.replace("\\", "\\\\")


@pytest.mark.wide  # their code is that of the tutorials, which run with every page
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_its_first_cell_to_its_last(
    path: Path, kernel: str, tmp_path: Path
) -> None:
    text = path.read_text(encoding="utf-8")
    for library in ("nbclient", "nbformat", "ipykernel", "torch", "jax"):
        needed = library.startswith(("nb", "ipy")) or f"import {library}" in text
        if needed and importlib.util.find_spec(library) is None:
            pytest.skip(f"{path.name} needs {library}, which is not installed")
    import nbformat
    from nbclient import NotebookClient

    folder = tmp_path / "desk"
    folder.mkdir()
    notebook = nbformat.reads(text, as_version=4)
    client = NotebookClient(
        notebook, timeout=1200, kernel_name=kernel, resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(code) > 4
    assert all(cell.execution_count for cell in code)


def test_there_is_a_notebook_for_each_user() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["engineer", "modeller", "researcher"]
