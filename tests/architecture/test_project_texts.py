"""The texts around the code agree with the code, with each other, and with the files there are."""

from __future__ import annotations

import lzma
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
CONFIGURATION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT = CONFIGURATION["project"]
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
TEXTS = ("*.md", "*.cff", "*.toml", "*.txt", "Makefile", "LICENSE", ".gitignore")
FOLDERS = (".ci", ".github", "benchmarks", "docs", "scripts", "src", "tests")
# Written so that the pattern does not find itself.
PRIVATE = re.compile(r"/wor[k]/|/tm[p]/w|\.\./share[d]|/roo[t]/|/hom[e]/\w")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def project_files() -> list[Path]:
    """Every text file of the project, without what building and running leave behind."""
    top = [path for pattern in TEXTS for path in ROOT.glob(pattern)]
    below = [
        path
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]
    return sorted({*top, *below})


def markdown_files() -> list[Path]:
    return [path for path in project_files() if path.suffix == ".md"]


def pins() -> dict[str, str]:
    lines = [line.partition("#")[0].strip() for line in text("constraints.txt").splitlines()]
    pairs = [line.split("==") for line in lines if line]
    return {canonicalize_name(name): version for name, version in pairs}


def requirements() -> list[Requirement]:
    extras = PROJECT["optional-dependencies"].values()
    written = [*PROJECT["dependencies"], *(entry for extra in extras for entry in extra)]
    found = [Requirement(entry) for entry in written]
    return [requirement for requirement in found if requirement.name != PROJECT["name"]]


def test_the_readme_is_short_enough_to_be_read() -> None:
    assert len(text("README.md").splitlines()) < 120


def test_the_vision_is_three_lines() -> None:
    lines = [line for line in text("VISION.md").splitlines() if line.strip()]
    assert len([line for line in lines if not line.startswith("#")]) == 3


@pytest.mark.parametrize("dependency", PROJECT["dependencies"])
def test_each_core_dependency_has_its_reason_on_record(dependency: str) -> None:
    name = Requirement(dependency).name
    records = [path.name for path in DECISIONS if path.stem.partition("-")[2] == name]
    assert len(records) == 1, f"docs/decisions/NNN-{name}.md is wanted, once; found {records}"


def test_no_record_argues_for_a_dependency_that_is_gone() -> None:
    """The title of a dependency's record says so; the two lists are the same."""
    core = {Requirement(entry).name for entry in PROJECT["dependencies"]}
    argued = {
        path.stem.partition("-")[2]
        for path in DECISIONS
        if "\nKind: dependency" in path.read_text(encoding="utf-8")
    }
    assert argued == core


def test_decision_records_are_numbered_without_gaps_and_fit_one_page() -> None:
    numbers = [int(path.name[:3]) for path in DECISIONS]
    assert numbers == list(range(1, len(DECISIONS) + 1))
    assert max(len(path.read_text("utf-8").splitlines()) for path in DECISIONS) <= 60


def test_the_index_of_the_documents_names_every_record() -> None:
    index = text("docs/decisions.md")
    assert [path.name for path in DECISIONS if f"decisions/{path.name}" not in index] == []


def test_the_version_is_the_same_everywhere() -> None:
    version = PROJECT["version"]
    assert f"## {version}" in text("CHANGELOG.md")
    assert re.search(rf"^version: {re.escape(version)}$", text("CITATION.cff"), re.MULTILINE)


def test_every_relative_link_of_the_texts_leads_to_a_file() -> None:
    broken = []
    for path in markdown_files():
        for target in LINK.findall(path.read_text(encoding="utf-8")):
            place = unquote(target.partition("#")[0])
            if place and "://" not in place and not place.startswith("mailto:"):
                found = (path.parent / place).exists()
                broken += [] if found else [f"{path.relative_to(ROOT)} -> {target}"]
    assert not broken, "\n".join(broken)


def test_no_text_names_a_place_on_a_private_machine() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in project_files()
        if path.suffix not in {".png", ".npz", ".npy", ".safetensors", ".parquet"}
        for number, line in enumerate(_words(path).splitlines(), start=1)
        if PRIVATE.search(line)
    ]
    assert not found, "\n".join(found)


def _words(path: Path) -> str:
    """Return the text of a file, or of an archive of texts."""
    if path.suffix != ".xz":
        return path.read_text(encoding="utf-8")
    return lzma.decompress(path.read_bytes()).decode("utf-8", "replace")  # with heads of files


def test_the_search_for_private_places_can_find_one() -> None:
    assert PRIVATE.search(PurePosixPath("/", "work", "main").as_posix())
    assert PRIVATE.search(PurePosixPath("..", "shared", "data").as_posix())
    assert not PRIVATE.search("a framework/package of shared data")


def test_every_dependency_is_pinned_within_its_range() -> None:
    """What was tested is what pyproject.toml allows."""
    pinned = pins()
    for requirement in requirements():
        name = canonicalize_name(requirement.name)
        assert name in pinned, f"{name} has no pin in constraints.txt"
        assert requirement.specifier.contains(pinned[name]), (
            f"{requirement} excludes {pinned[name]}"
        )


def test_no_dependency_has_an_upper_bound() -> None:
    """A library must live with its neighbours: pins belong in constraints.txt."""
    bounded = [
        str(requirement)
        for requirement in requirements()
        if any(bound.operator != ">=" for bound in requirement.specifier)
    ]
    assert bounded == []


def test_the_public_ci_runs_every_python_we_claim_on_three_systems() -> None:
    workflow = text(".github/workflows/ci.yml")
    claimed = [
        entry.rpartition(" ")[2]
        for entry in PROJECT["classifiers"]
        if re.search(r"Python :: 3\.\d+$", entry)
    ]
    assert claimed
    assert [version for version in claimed if f'"{version}"' not in workflow] == []
    assert all(f"{system}-latest" in workflow for system in ("ubuntu", "macos", "windows"))


def test_the_public_ci_and_the_makefile_run_the_same_gates() -> None:
    gates = ("ruff check", "ruff format --check", "-m mypy", "lint-imports", "-m pytest")
    for name in ("Makefile", ".github/workflows/ci.yml"):
        assert [gate for gate in gates if gate not in text(name)] == []


@pytest.mark.skipif(os.name == "nt", reason="Windows has no executable bit")
def test_the_ci_script_is_executable() -> None:
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_test_runs_every_gate_and_leaves_out_only_the_wide_tests() -> None:
    def steps(target: str) -> str:
        command = ["make", "--dry-run", "--always-make", target]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    test = steps("test")
    for gate in ("ruff check", "ruff format --check", "-m mypy", "lint-imports", "-m pytest"):
        assert gate in test
    assert '-m "not wide"' in test
    assert '-m ""' in steps("test-all")
    assert "gnomon survey --out demo" in steps("demo")
