"""Run transformers' own tests of rotary frequencies against ours, and print which pass.

    python scripts/transformers_rope_tests.py transformers/tests/utils/test_modeling_rope_utils.py

The file comes from a checkout of transformers; nothing of it is kept here. Its functions from a
config to frequencies are replaced by `gnomon.from_config`, computed with PyTorch in float32; a call
that reached ours is counted for each test, so that a test that touches no formula is seen. Needs
transformers, torch and `parameterized`. With `--theirs` nothing is replaced, which shows what the
file does by itself on the installed release.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import unittest
from collections import Counter
from pathlib import Path
from typing import Any

CALLS: Counter[str] = Counter()
"""How often each rope type was asked of our function."""


def ours(kind: str) -> Any:
    """Return a function of transformers' signature that answers by our formula."""

    def frequencies(
        config: Any,
        device: Any = None,
        seq_len: Any = None,
        layer_type: str | None = None,
        **_: Any,
    ) -> tuple[Any, float]:
        import array_api_compat.torch as array_torch
        import torch

        from gnomon.encodings.rotary.config.build import from_config

        CALLS[kind] += 1
        config.standardize_rope_params()
        length = int(seq_len) if seq_len is not None and int(seq_len) > 0 else None
        encoding: Any = from_config(config.to_dict(), layer_type=layer_type, length=length)
        found = encoding.frequencies_in(xp=array_torch, dtype=torch.float32)[:, 0]
        return found.to(device), encoding.attention_factor

    return frequencies


def replace_functions() -> None:
    """Put our function in the place of each of transformers'."""
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
    from transformers.models.gemma3.modeling_gemma3 import Gemma3RotaryEmbedding
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    for kind in list(ROPE_INIT_FUNCTIONS):
        ROPE_INIT_FUNCTIONS[kind] = ours(kind)
    for module in (LlamaRotaryEmbedding, Gemma3RotaryEmbedding):
        module.compute_default_rope_parameters = staticmethod(ours("default"))


def loaded(path: Path) -> unittest.TestSuite:
    """Return the tests in a file."""
    spec = importlib.util.spec_from_file_location("peer_tests", path)
    if spec is None or spec.loader is None:
        sys.exit(f"{path} is no Python file; pass test_modeling_rope_utils.py of transformers.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return unittest.defaultTestLoader.loadTestsFromModule(module)


def run_one(test: unittest.TestCase) -> tuple[str, int]:
    """Return what became of one test, and how often it called our function."""
    CALLS.clear()
    result = unittest.TestResult()
    test.run(result)
    bad = result.failures + result.errors
    if bad:
        return f"FAILS: {bad[0][1].strip().splitlines()[-1]}", CALLS.total()
    return "skipped" if result.skipped else "passes", CALLS.total()


def each(suite: unittest.TestSuite) -> list[unittest.TestCase]:
    """Return the single tests of a suite."""
    tests: list[unittest.TestCase] = []
    for item in suite:
        tests += each(item) if isinstance(item, unittest.TestSuite) else [item]
    return tests


def main() -> int:
    """Print one line for each test; leave with 1 if one fails."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--theirs", action="store_true", help="replace nothing")
    options = parser.parse_args()
    import transformers

    transformers.logging.set_verbosity_error()
    if not options.theirs:
        replace_functions()
    lines = [(test.id().rpartition(".")[2], *run_one(test)) for test in each(loaded(options.file))]
    print(f"transformers {transformers.__version__}")
    for name, outcome, calls in lines:
        print(f"{outcome}\t{calls}\t{name}")
    return int(any(outcome.startswith("FAILS") for _, outcome, _ in lines))


if __name__ == "__main__":
    sys.exit(main())
