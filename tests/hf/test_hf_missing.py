"""Without transformers, without PyTorch, or with an old release the room says what to install."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("transformers", minversion="5.0")
PROBE = """
import re, sys, types
library, version, sentence = sys.argv[1:]
import transformers  # before anything is taken away
if version:
    transformers.__version__ = version
else:
    sys.modules[library] = None
from gnomon.errors import MissingExtraError
try:
    import gnomon.hf
except MissingExtraError as error:
    sys.exit(0 if re.search(sentence, str(error)) else f"said: {error}")
sys.exit("nothing was said")
"""


@pytest.mark.parametrize(
    ("library", "version", "sentence"),
    [
        ("transformers", "", r"gnomon\.hf needs transformers, .* `pip install gnomon\[hf,torch\]`"),
        ("torch", "", r"gnomon\.torch needs PyTorch, .* `pip install gnomon\[torch\]`"),
        ("transformers", "4.57.1", r"needs transformers 5 or later, and 4\.57\.1 is installed"),
    ],
)
def test_what_is_missing_is_named_with_its_remedy(library, version, sentence):
    command = [sys.executable, "-c", PROBE, library, version, sentence]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
