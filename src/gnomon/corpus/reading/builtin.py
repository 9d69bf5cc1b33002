"""Corpora that need no download: their names, what they are, and how they are made.

- `three-regimes`: the synthetic corpus of the source document (initial, medial, terminal law).
- `python-stdlib`: functions and classes of the standard library that runs this program.
- `digits`: 8 x 8 images of digits with 17 grey levels, a grid corpus.
"""

from __future__ import annotations

import sys
import sysconfig
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gnomon.corpus.reading.arrays import array_batches
from gnomon.corpus.reading.batching import id_batch
from gnomon.corpus.reading.digits import DIGITS, drawn_digits, real_digits
from gnomon.corpus.reading.memory import MemoryIds
from gnomon.corpus.reading.modules import ModulesSource
from gnomon.errors import CorpusError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gnomon.corpus.documents import IdBatch, Source

_ROWS_AT_ONCE = 4096


@dataclass(frozen=True)
class BuiltIn:
    """A corpus that ships with Gnomon: `make(seed)` opens it."""

    description: str
    make: Callable[[int], Source]


def three_regimes(
    rows: int = 2000,
    length: int = 32,
    vocabulary: int = 200,
    concentration: float = 0.2,
    seed: int = 0,
) -> MemoryIds:
    """Return documents whose token law changes at n/3 and 2n/3.

    Three laws are drawn from a symmetric Dirichlet with the given concentration; the token at
    position i is drawn from law floor(3 i / n), independently. The population geometry therefore
    has rank 2, whatever its sample shows.
    """
    for name, value in (("rows", rows), ("length", length), ("vocabulary", vocabulary)):
        if value < 1:
            raise InputError(f"{name} is {value}; three_regimes needs at least 1.")
    if not concentration > 0:
        raise InputError(f"concentration is {concentration}; it must be positive.")
    laws = _stream(seed, 0).dirichlet(np.full(vocabulary, concentration), size=3)
    regimes = 3 * np.arange(length) // length

    def pieces() -> Iterator[IdBatch]:
        for start in range(0, rows, _ROWS_AT_ONCE):
            count = min(_ROWS_AT_ONCE, rows - start)
            batch = _drawn(laws, regimes, count, _stream(seed, 1 + start // _ROWS_AT_ONCE))
            yield replace(batch, bytes_read=4 * length * (start + count))

    return MemoryIds("three-regimes", pieces, vocabulary_size=vocabulary, size=4 * rows * length)


def _stream(seed: int, part: int) -> np.random.Generator:
    """Return the random stream of one part, so that no part depends on how others were drawn."""
    return np.random.default_rng([seed, part])


def _drawn(laws: np.ndarray, regimes: np.ndarray, rows: int, rng: np.random.Generator) -> IdBatch:
    values = np.empty((rows, len(regimes)), np.int32)
    for regime, law in enumerate(laws):
        where = regimes == regime
        values[:, where] = rng.choice(len(law), size=(rows, int(where.sum())), p=law)
    offsets = np.arange(rows + 1, dtype=np.int64) * len(regimes)
    return id_batch(values.reshape(-1), offsets)


def python_stdlib() -> ModulesSource:
    """Return the standard library of this Python as documents: its top-level functions and classes.

    A document is one top-level function or class, since a survey needs thousands of documents and
    the library has only hundreds of files; what is independent is the file, so each document's
    group is its file. Tests, tables of codecs, vendored packages and
    files above 100 kB are left out, so that reading takes a second or two.
    """
    folder = Path(sysconfig.get_paths()["stdlib"])
    version = f"{sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro}"
    if not (folder / "abc.py").is_file():
        raise CorpusError(
            f"the standard library of this Python has no source files in {folder}; choose another "
            "built-in corpus or pass your own."
        )
    return ModulesSource(f"python-stdlib ({version})", folder)


def digits(seed: int = 0) -> MemoryIds:
    """Return images of digits as a grid of 8 x 8 grey levels 0..16, real ones where possible."""
    images = real_digits()
    name = "digits (scikit-learn)"
    if images is None:
        images, name = drawn_digits(DIGITS, _stream(seed, 0)), "digits (drawn)"
    return MemoryIds(
        name,
        lambda: array_batches(images, name, size=images.nbytes),
        axes=(8, 8),
        vocabulary_size=17,
        size=images.nbytes,
    )


BUILTIN: dict[str, BuiltIn] = {
    "three-regimes": BuiltIn(
        "2,000 documents of 32 tokens; the law of tokens changes at one and two thirds",
        lambda seed: three_regimes(seed=seed),
    ),
    "python-stdlib": BuiltIn(
        "functions and classes of the standard library of this Python, grouped by file",
        lambda _: python_stdlib(),
    ),
    "digits": BuiltIn(
        "images of digits, 8 x 8 with 17 grey levels: a corpus with two position axes",
        digits,
    ),
}
