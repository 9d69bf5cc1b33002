"""Where a result comes from: versions, threads, linear algebra, command and seed."""

from __future__ import annotations

import platform
import shlex
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

import gnomon
from gnomon.numeric.parallel import threads

_LIBRARIES = ("numpy", "scipy", "numba", "pyarrow", "tokenizers")


def provenance(seed: int, *, command: str | None = None) -> dict[str, Any]:
    """Return what is needed to repeat a result."""
    return {
        "gnomon": gnomon.__version__,
        "seed": seed,
        "versions": {"python": platform.python_version()} | _versions(),
        "platform": f"{platform.system()} {platform.machine()}",
        "threads": threads(),
        "blas": _blas(),
        "command": command if command is not None else _command(),
    }


def _versions() -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for library in _LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            found[library] = None
    return found


def _blas() -> str | None:
    config: Any = np.show_config(mode="dicts")
    blas = (config or {}).get("Build Dependencies", {}).get("blas", {})
    return f"{blas.get('name')} {blas.get('version')}" if blas.get("name") else None


def _command() -> str | None:
    """Return the command line as typed, where the command was `gnomon`."""
    program = Path(sys.argv[0]) if sys.argv else Path()
    ours = program.name.startswith("gnomon") or program.parts[-2:] == ("gnomon", "__main__.py")
    return shlex.join(["gnomon", *sys.argv[1:]]) if ours else None
