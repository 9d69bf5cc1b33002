"""`--dry-run`: what a survey would cost, from a sample of the corpus and the sizes of its arrays.

Tokens and time of counting are extrapolated from the first documents by bytes; memory is added up
from the arrays a survey holds at its peak. Both are estimates, good to a factor of about two.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.corpus import (
    DEFAULT_LENGTH,
    CountOptions,
    FromCache,
    IdBatch,
    open_corpus,
    open_tokens,
    tokenizer_for,
)
from gnomon.distances import DRAWS
from gnomon.errors import InputError
from gnomon.pipeline.options import SurveyOptions
from gnomon.results import Result

SAMPLE_SECONDS = 1.0
_BASE_BYTES = 300 * 2**20
"""Interpreter, libraries, tokenizer and compiled kernels."""
_GEOMETRY_RATE = 2e10
"""Floating-point operations a second, on the low side of two ordinary cores."""
_DEBIASING_SECONDS = 1e-4
"""For each pair of positions: estimates of corpus and shuffled corpus, tests of signal."""
_CLASSES = 18
"""Octaves of counts in a corpus of a few million tokens."""
_TEST_DRAWS = 59


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimate(Result):
    """What a survey would cost."""

    source: str
    cached: bool
    ids: bool
    """Whether the corpus holds token ids, which need no tokenizer."""
    sampled_rows: int
    rows: int | None
    tokens: int | None
    length: int
    counting_seconds: float | None
    geometry_seconds: float
    memory_bytes: int
    note: str


def estimate(corpus: Any, counting: CountOptions, options: SurveyOptions) -> Estimate:
    """Read a second's worth of the corpus and extrapolate."""
    if isinstance(corpus, str) and corpus == "-":
        raise InputError("standard input can be read only once; --dry-run needs a file.")
    source = open_corpus(corpus, counting)
    stream = open_tokens(
        source,
        tokenizer_for(source, counting),
        group=None,  # grouping by containment would read everything
        vocabulary=counting.vocabulary,
        use_cache=counting.cache,
    )
    sample, seconds = _sample(stream)
    read = sample[-1].bytes_read if sample else 0
    whole = source.size / read if source.size and read else None
    rows = sum(batch.rows for batch in sample)
    lengths = np.concatenate([np.diff(batch.offsets) for batch in sample])
    length = counting.length or min(DEFAULT_LENGTH, int(lengths.max(initial=1)))
    length = int(np.prod(source.axes)) if source.axes else length
    counted = float(np.minimum(lengths, length).sum()) * (whole or 1.0)
    vocabulary = stream.size or max(int(batch.values.max(initial=0)) for batch in sample) + 1
    return Estimate(
        source=source.name,
        cached=isinstance(stream, FromCache),
        ids=source.kind == "ids",
        sampled_rows=rows,
        rows=None if whole is None else round(rows * whole),
        tokens=None if whole is None else round(counted),
        length=length,
        counting_seconds=None if whole is None else seconds * whole,
        geometry_seconds=1.0
        + length**2 * (vocabulary + 40 * length) / _GEOMETRY_RATE
        + length**2 * _DEBIASING_SECONDS,
        memory_bytes=_memory(length, vocabulary, counted, counting, options),
        note="extrapolated from a sample; good to a factor of about two",
    )


def _sample(stream: Any) -> tuple[list[IdBatch], float]:
    begun = time.perf_counter()
    batches = []
    for batch in stream.batches():
        batches.append(batch)
        if time.perf_counter() - begun > SAMPLE_SECONDS:
            break
    return batches, time.perf_counter() - begun


def _memory(
    length: int, vocabulary: int, tokens: float, counting: CountOptions, options: SurveyOptions
) -> int:
    """Add up: counts of corpus and shuffles, dense blocks, and square matrices.

    Debiasing holds a few matrices for every fold and frequency class in double precision, and two
    for every draw of signs in single precision.
    """
    entries = min(tokens, float(counting.folds) * length * vocabulary)
    counts = (2 + options.shuffles) * min(12.0 * entries, float(counting.memory))
    doubles = 5 * counting.folds + 2 * _CLASSES + 8
    squares = (8.0 * doubles + 4.0 * 2 * (DRAWS + _TEST_DRAWS)) * length**2
    blocks = 4 * 96 * 2**20
    vectors = 8.0 * length * options.dimension * 3
    return int(_BASE_BYTES + counts + squares + blocks + vectors)


def estimate_text(found: Estimate) -> str:
    """Return the estimate in words."""
    size = "an unknown number of" if found.tokens is None else f"about {found.tokens:,}"
    seconds = "unknown" if found.counting_seconds is None else f"{found.counting_seconds:.0f} s"
    where = "from the token cache" if found.cached else "ids" if found.ids else "tokenising"
    return (
        f"{found.source}: {size} tokens at n = {found.length} positions\n"
        f"counting ({where}): {seconds}; geometry: {found.geometry_seconds:.1f} s; "
        f"memory: {found.memory_bytes / 2**20:,.0f} MB\n{found.note}"
    )
