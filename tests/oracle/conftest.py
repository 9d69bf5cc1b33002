"""Every example of every entry of the catalogue, for the oracle.

A test of one kind of output asks for `example` on those that offer it: `@pytest.mark.kind("bias")`.
"""

from __future__ import annotations

from typing import Any

import pytest

from gnomon.encodings.base import Encoding
from gnomon.encodings.registry import encoding
from support.examples import EXAMPLES


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test on every example, or on those that offer the kind of output that it names."""
    if "example" in metafunc.fixturenames:
        mark = metafunc.definition.get_closest_marker("kind")
        asked = set() if mark is None else set(mark.args)
        chosen = [case for case in EXAMPLES if asked <= {*built(*case.values[0]).kinds}]
        metafunc.parametrize("example", chosen, indirect=True)


def built(name: str, parameters: dict[str, Any]) -> Encoding:
    """One example, made anew."""
    return encoding(name, **parameters)


@pytest.fixture
def example(request: pytest.FixtureRequest) -> Encoding:
    """Every example in turn."""
    return built(*request.param)
