"""Every example of every entry of the catalogue, for the oracle."""

from __future__ import annotations

import pytest

from gnomon.encodings.base import Encoding
from gnomon.encodings.registry import ENTRIES, encoding

EXAMPLES = [
    pytest.param((name, parameters), id=f"{name}-{count}")
    for name, entry in ENTRIES.items()
    for count, parameters in enumerate(entry.examples)
]


@pytest.fixture(params=EXAMPLES)
def example(request: pytest.FixtureRequest) -> Encoding:
    """Every example in turn."""
    name, parameters = request.param
    return encoding(name, **parameters)
