"""The wheel, built, installed in an empty environment and run away from the source tree.

What a user gets from `pip install gnomon` is the wheel and not this folder: a file forgotten in
the build, or a dependency that only developers have, shows here and nowhere else.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command with nothing of ours in its environment; return its standard output."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "GNOMON"))}
    environment["PYTHONUTF8"] = "1"
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built with the installed hatchling: no second download."""
    folder = tmp_path_factory.mktemp("dist")
    build = ("-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT)
    run(sys.executable, *build, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def commands(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of commands of an environment that holds the wheel and its dependencies only."""
    folder = tmp_path_factory.mktemp("empty")
    venv.create(folder)
    commands = folder / ("Scripts" if os.name == "nt" else "bin")
    pip = (sys.executable, "-m", "pip", "--python", commands / "python", "install", "--quiet")
    run(*pip, "--constraint", ROOT / "constraints.txt", wheel, cwd=folder)
    return commands


def test_the_wheel_carries_every_file_of_the_package(wheel: Path) -> None:
    """The types marker and the JSON Schema are data: a build forgets data first."""
    packed = set(zipfile.ZipFile(wheel).namelist())
    source = ROOT / "src"
    files = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert files - packed == set()
    assert "gnomon/py.typed" in packed
    assert [name for name in packed if "schema" in name and name.endswith(".json")]


def test_the_wheel_carries_the_licence_and_nothing_of_the_tests(wheel: Path) -> None:
    packed = zipfile.ZipFile(wheel).namelist()
    assert any(name.endswith("licenses/LICENSE") for name in packed)
    assert {name.partition("/")[0] for name in packed} == {"gnomon", f"gnomon-{VERSION}.dist-info"}


def test_the_imported_package_is_the_one_of_the_wheel(commands: Path, tmp_path: Path) -> None:
    """Isolated mode: neither the current folder nor PYTHONPATH may lend a hand."""
    statement = "import gnomon; print(gnomon.__file__)"
    found = Path(run(commands / "python", "-I", "-c", statement, cwd=tmp_path).strip())
    assert found.resolve().is_relative_to(commands.parent.resolve())
    assert "site-packages" in found.parts


def test_its_dependencies_fit_together_and_no_framework_came_along(
    commands: Path, tmp_path: Path
) -> None:
    pip = (sys.executable, "-m", "pip", "--python", commands / "python")
    run(*pip, "check", cwd=tmp_path)
    listed = json.loads(run(*pip, "list", "--format", "json", cwd=tmp_path))
    names = {entry["name"].lower() for entry in listed}
    assert "gnomon" in names
    assert not names & {"torch", "jax", "tensorflow", "datasets", "pandas", "scikit-learn"}


def test_the_installed_command_knows_its_version(commands: Path, tmp_path: Path) -> None:
    assert VERSION in run(commands / "gnomon", "--version", cwd=tmp_path)


def test_the_installed_command_does_the_main_job(commands: Path, tmp_path: Path) -> None:
    """A built-in corpus needs no download, so this runs on a machine with no data at all."""
    survey = (commands / "gnomon", "survey", "three-regimes", "--length", "16")
    run(*survey, "--out", tmp_path / "out", cwd=tmp_path)
    surveys = sorted((tmp_path / "out").rglob("survey.json"))
    assert surveys
    for path in surveys:
        assert json.loads(path.read_text("utf-8"))["provenance"]["gnomon"] == VERSION
