"""The page of lags in a browser: drawn, quiet, without a network, and no wider than the screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gnomon
from gnomon.report.page.pages import lags_page


@pytest.fixture(scope="module")
def lag_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A period of 4 in a corpus, with bits of information by lag."""
    rng = np.random.default_rng(4)
    found = gnomon.dependence([np.roll([0, 1, 1, 2] * 30, rng.integers(4)) for _ in range(64)])
    lags = np.arange(1, 60)
    bits = {"lags": lags.tolist(), "values": (0.3 / lags).tolist(), "errors": [0.01] * 59}
    bits |= {"plugin": [0.5] * 59, "shuffled": [0.02] * 59, "across": [0.0] * 59}
    bits["p_values"] = (lags / 100).tolist()
    contents: dict[str, Any] = found.to_dict() | {"information": bits}
    contents |= {"file": "e.safetensors", "encoding": {"name": "jordan"}}
    path = tmp_path_factory.mktemp("lags") / "lags.html"
    path.write_bytes(lags_page(contents, found.text(), version="0"))
    return path


@pytest.mark.parametrize("width", [390, 1280])
def test_every_figure_of_lags_is_drawn_without_a_fault(opened, lag_page: Path, width: int) -> None:
    found = opened(lag_page, width=width, query="?all")
    states = found.drawn()
    assert set(states) == {"lags-kernel", "lags-information", "lags-modes"}
    assert set(states.values()) == {"drawn"}
    assert found.faults == []
    assert [url for url in found.requests if not url.startswith(("file:", "data:", "blob:"))] == []
    assert found.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
