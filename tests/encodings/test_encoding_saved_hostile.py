"""Files that somebody has tampered with: whatever they say, the answer is a sentence."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load, save

from gnomon.encodings.files import TEXTS, digest_of, encoding_bytes, read_encoding
from gnomon.encodings.registry import ENTRIES, encoding
from gnomon.errors import EncodingError

ODD: list[Any] = [
    *(None, -1, 0, 1.5, "x", True, 1e300, 10**30, [], [1], [None], {}),
    {"scaling": {}},
    {"scaling": {"name": "linear", "factor": "x"}},
    {"tensor": "nope"},
    {"entry": "nope", "parameters": {}},
]
"""What no parameter expects, or only few do."""
FEW = {"rope", "jordan", "randomised"}
EXAMPLES = [
    pytest.param(name, marks=() if name in FEW else pytest.mark.wide)
    for name, entry in ENTRIES.items()
    if entry.examples
]


def sentence_or_none(path: Path) -> str | None:
    """Return what is said of a file that is refused; anything but a sentence fails the test."""
    try:
        read_encoding(path)
    except EncodingError as error:
        return str(error)
    return None


@pytest.mark.parametrize("name", EXAMPLES)
def test_no_value_of_a_parameter_gets_more_than_a_sentence(name: str, tmp_path: Path) -> None:
    stored = encoding_bytes(encoding(name, **ENTRIES[name].examples[0]))
    length = 8 + int.from_bytes(stored[:8], "little")
    about, tensors = json.loads(stored[8:length])["__metadata__"], load(stored)
    said, file = json.loads(about["definition"]), tmp_path / "e.safetensors"
    refused = 0
    for parameter in said["parameters"]:
        for odd in ODD:
            changed = copy.deepcopy(said)
            changed["parameters"][parameter] = odd
            texts = about | {"definition": json.dumps(changed)}
            texts["digest"] = digest_of(tensors, *(texts[part] for part in TEXTS))
            file.write_bytes(save(tensors, metadata=texts))
            sentence = sentence_or_none(file)
            if sentence is not None:
                refused += 1
                assert sentence.endswith(".")
                assert "\n" not in sentence
    assert refused >= len(ODD) - 2


def test_no_changed_byte_goes_unseen(tmp_path: Path) -> None:
    """Every byte of a small file in turn: it is refused, or it was padding."""
    own, file = encoding_bytes(encoding("nope")), tmp_path / "e.safetensors"
    unseen = []
    for place in range(len(own)):
        changed = bytearray(own)
        changed[place] ^= 1
        file.write_bytes(changed)
        if sentence_or_none(file) is None:
            unseen.append(own[place : place + 1])
    assert set(unseen) <= {b" "}
