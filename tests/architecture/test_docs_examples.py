"""What the documentation shows can be typed: every example runs, and prints what the page shows."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "run_docs.py"
EXAMPLE = re.compile(r"^```(?:python|console)\n", re.MULTILINE)
IMPORT = re.compile(r"^(?:import|from) (\w+(?:\.\w+)?)", re.MULTILINE)
EXTRAS = {
    "torch": "torch",
    "gnomon.torch": "torch",
    "jax": "jax",
    "gnomon.jax": "jax",
    "flax": "flax",
    "sklearn": "sklearn",
    "gnomon.sklearn": "sklearn",
    "transformers": "transformers",
}
PAGES = [
    path.relative_to(ROOT).as_posix()
    for path in sorted((ROOT / "docs").rglob("*.md"))
    if EXAMPLE.search(path.read_text(encoding="utf-8"))
]


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def absent(text: str) -> list[str]:
    """Name the frameworks that a page imports and this installation lacks."""
    wanted = {EXTRAS[name] for name in IMPORT.findall(text) if name in EXTRAS}
    wanted |= {"pandas"} if "to_dataframe()" in text else set()
    return sorted(name for name in wanted if importlib.util.find_spec(name) is None)


@pytest.mark.parametrize("page", PAGES)
def test_every_example_of_a_page_runs_and_prints_what_the_page_shows(page: str) -> None:
    missing = absent((ROOT / page).read_text(encoding="utf-8"))
    if missing:
        pytest.skip(f"{page} needs {', '.join(missing)}, which is not installed")
    done = run(ROOT / page)
    assert done.returncode == 0, done.stdout + done.stderr


def test_there_are_examples_on_the_pages_that_should_have_them() -> None:
    """Without this, a change of layout could empty the test above."""
    folders = [Path(page).parent.name for page in PAGES]
    assert folders.count("tutorials") == 3
    assert folders.count("howto") >= 6
    assert folders.count("mathematics") >= 2


@pytest.fixture
def page(tmp_path: Path) -> Path:
    return tmp_path / "page.md"


def test_output_that_differs_is_shown_and_can_be_written(page: Path) -> None:
    """Two and two, claimed to be five; the page is mended only when that is asked for."""
    text = "a\n```python\nprint(2 + 2)\n```\n\n```text\n5\n```\nb\n"
    page.write_text(text, encoding="utf-8")
    done = run(page)
    assert done.returncode == 1
    assert "-5" in done.stdout
    assert "+4" in done.stdout
    assert page.read_text("utf-8") == text
    assert run("--write", page).returncode == 0
    assert page.read_text("utf-8") == text.replace("5\n", "4\n")
    assert run(page).returncode == 0


def test_an_ellipsis_stands_for_anything_and_names_live_through_the_page(page: Path) -> None:
    blocks = ["```python\nx = 3\n```", "```python\nprint('a', x, 'b')\n```\n```text\na ... b\n```"]
    page.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")
    assert run(page).returncode == 0


def test_a_command_that_fails_is_named_unless_its_exit_code_is_asked_for(page: Path) -> None:
    command = "```console\n$ gnomon survey absent.txt\n"
    page.write_text(f"{command}```\n", encoding="utf-8")
    done = run(page)
    assert done.returncode == 1
    assert "page.md: a command failed: gnomon survey absent.txt" in done.stdout
    page.write_text(f"{command}$ echo $?\n2\n```\n", encoding="utf-8")
    assert run(page).returncode == 0


def test_a_python_block_that_fails_is_named_with_its_error(page: Path) -> None:
    page.write_text("```python\n1 / 0\n```\n", encoding="utf-8")
    done = run(page)
    assert done.returncode == 1
    assert "page.md: an example failed: ZeroDivisionError: division by zero" in done.stdout


def test_a_block_marked_as_not_run_is_left_alone(page: Path) -> None:
    mark = "<!-- not run: needs a network -->\n"
    page.write_text(f"{mark}```python\n1 / 0\n```\n", encoding="utf-8")
    assert run(page).returncode == 0
