"""One list for all laws: every example of every entry of the catalogue.

A law asks for `subject`; it then runs on every example, and on those of encodings added later.
A law that speaks of some encodings only says of which: `@pytest.mark.subjects(where=...)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnomon.encodings.base import Encoding
from gnomon.encodings.registry import ENTRIES, encoding
from gnomon.errors import EncodingError
from support.examples import EXAMPLES, on_axes, width_of


@dataclass(frozen=True)
class Subject:
    """One encoding, and contents and positions that it can take."""

    name: str
    parameters: dict[str, Any]
    encoding: Encoding

    @property
    def level(self) -> str:
        """L0 ... L7, without words."""
        return self.encoding.card.level.partition(" ")[0]

    @property
    def heads(self) -> int:
        """How many heads it tells apart, or 1."""
        return self.encoding.head_count or 1

    @property
    def width(self) -> int:
        """Coordinates of a query."""
        return width_of(self.encoding)

    @property
    def whole(self) -> bool:
        """Whether it takes whole positions only."""
        return not accepts(self.encoding, 0.5)

    @property
    def reach(self) -> int:
        """Positions 0 ... reach - 1 may be asked for; 4096 stands for no end."""
        return next(n for n in (4096, 512, 64, 32, 16, 12, 8) if accepts(self.encoding, n - 1))

    def places(self, rng: np.random.Generator, *shape: int, most: int | None = None) -> Any:
        """Random whole positions of a shape, with axes where there are several."""
        last = self.reach if most is None else min(most, self.reach)
        axes = () if self.encoding.axes == 1 else (self.encoding.axes,)
        return rng.integers(0, last, size=(*shape, *axes))

    def line(self, *shape: int, start: int = 0) -> Any:
        """Positions start, start + 1, ... along the last axis, the same on every axis of theirs."""
        steps = np.broadcast_to(start + np.arange(shape[-1]), shape).copy()
        return on_axes(steps, self.encoding.axes)

    def content(self, rng: np.random.Generator, *shape: int) -> tuple[Any, Any]:
        """Queries and keys of shape (..., heads, n, width); `shape` ends with n."""
        size = (*shape[:-1], self.heads, shape[-1], self.width)
        q, k = rng.normal(size=(2, *size))
        return q, k


def accepts(made: Encoding, position: float) -> bool:
    """Whether an encoding has something at a position."""
    at = on_axes(np.asarray([position]), made.axes)
    q = np.ones(((made.head_count or 1), 1, width_of(made)))
    try:
        made.scores(q, q, at)
    except EncodingError:
        return False
    return True


EVERY = ("test_laws_of_scores", "test_laws_of_distances", "test_laws_of_files")
"""Laws that every example keeps in the default run; of the others, further examples are wide."""


@pytest.hookimpl(tryfirst=True)  # before marks are looked at
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the further examples of an entry as wide, where a law is not about logits themselves."""
    for item in items:
        example = getattr(item, "callspec", None)
        given = None if example is None else example.params.get("subject")
        if given is None or item.path.parent != Path(__file__).parent or item.path.stem in EVERY:
            continue
        name, parameters = given
        if parameters is not ENTRIES[name].examples[0]:
            item.add_marker(pytest.mark.wide)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a law on the examples that it speaks of; one that speaks of none is a mistake."""
    marks = metafunc.definition.iter_markers("parametrize")
    if "subject" not in metafunc.fixturenames or any(m.args[0] == "subject" for m in marks):
        return
    mark = metafunc.definition.get_closest_marker("subjects")
    asked = {} if mark is None else mark.kwargs
    among, where = asked.get("among", EXAMPLES), asked.get("where")
    chosen = [case for case in among if where is None or where(built(*case.values[0]))]
    if not chosen:
        pytest.fail(f"{metafunc.definition.name} speaks of no example of the catalogue")
    metafunc.parametrize("subject", chosen, indirect=True)


def built(name: str, parameters: dict[str, Any]) -> Subject:
    """One example, made anew."""
    return Subject(name=name, parameters=parameters, encoding=encoding(name, **parameters))


@pytest.fixture
def subject(request: pytest.FixtureRequest) -> Subject:
    """Every example in turn."""
    return built(*request.param)
