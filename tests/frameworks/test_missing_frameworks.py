"""Without a framework its room says in one sentence what to install."""

from __future__ import annotations

import subprocess
import sys

import pytest

ROOMS = [
    ("torch", "gnomon.torch", "gnomon.torch needs PyTorch, .* `pip install gnomon\\[torch\\]`"),
    ("jax", "gnomon.jax", "gnomon.jax needs JAX, .* `pip install gnomon\\[jax\\]`"),
    ("flax", "gnomon.jax.nnx", "gnomon.jax.nnx needs Flax, .* `pip install gnomon\\[flax\\]`"),
    ("sklearn", "gnomon.sklearn", "needs scikit-learn, .* `pip install gnomon\\[sklearn\\]`"),
]
PROBE = """
import sys, re, importlib
library, room, sentence = sys.argv[1:]
sys.modules[library] = None  # as if it were not installed
from gnomon.errors import MissingExtraError
try:
    importlib.import_module(room)
except MissingExtraError as error:
    sys.exit(0 if re.search(sentence, str(error)) else f"said: {error}")
sys.exit("nothing was said")
"""


@pytest.mark.parametrize(("library", "room", "sentence"), ROOMS, ids=[r[1] for r in ROOMS])
def test_a_missing_library_is_named_with_its_extra(library: str, room: str, sentence: str) -> None:
    command = [sys.executable, "-c", PROBE, library, room, sentence]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
