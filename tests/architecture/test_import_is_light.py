"""`import gnomon` is instant because it loads NumPy at most, and nothing else from outside.

Each probe runs in a fresh interpreter and prints the packages it found, so a failure names them.
"""

from __future__ import annotations

import json
import subprocess
import sys

ALLOWED = {"gnomon", "numpy"}
HEAVY = {
    "array_api_compat",
    "datasets",
    "fsspec",
    "huggingface_hub",
    "jax",
    "numba",
    "pandas",
    "plotly",
    "pyarrow",
    "safetensors",
    "scipy",
    "sklearn",
    "tensorflow",
    "tokenizers",
    "torch",
}
PROBE = "import json, sys; print(json.dumps(sorted({m.partition('.')[0] for m in sys.modules})))"


def packages_after(statement: str) -> set[str]:
    """Packages in a fresh interpreter after `statement`, without those a bare interpreter has."""
    return _loaded(statement) - _loaded("pass") - set(sys.stdlib_module_names)


def _loaded(statement: str) -> set[str]:
    command = [sys.executable, "-c", f"{statement}\n{PROBE}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_importing_gnomon_loads_numpy_at_most() -> None:
    found = packages_after("import gnomon")
    assert found <= ALLOWED, f"import gnomon also loads {sorted(found - ALLOWED)}"
    assert not found & HEAVY


def test_the_probe_sees_a_heavy_import() -> None:
    """Without this, an empty finding could mean a blind probe."""
    found = packages_after("import gnomon, pyarrow, scipy.sparse")
    assert {"pyarrow", "scipy"} <= found - ALLOWED
    assert {"pyarrow", "scipy"} <= found & HEAVY


def test_listing_the_public_names_loads_no_more_than_importing() -> None:
    """Completion in a notebook calls `dir`: it must not pull in what the names will need."""
    found = packages_after("import gnomon; dir(gnomon); list(getattr(gnomon, '__all__', []))")
    assert found <= ALLOWED, f"dir(gnomon) also loads {sorted(found - ALLOWED)}"


def test_the_command_line_starts_without_heavy_libraries() -> None:
    """`gnomon --help` and shell completion wait for typer only."""
    found = packages_after("import gnomon.cli.app")
    assert "typer" in found
    assert not found & HEAVY, f"the command line loads {sorted(found & HEAVY)} before any verb"
