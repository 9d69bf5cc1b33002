"""What a corpus does with the lag: periods and half-lives, and the encoding that has them.

Documents are read as a survey reads them, whole, and never joined: a lag stays inside of one. The
kernel, its nulls and its modes are those of `gnomon.groups.lags` and `gnomon.groups.dependence`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.corpus.counting import CountOptions, open_corpus, tokenizer_for
from gnomon.corpus.tokens import open_tokens
from gnomon.encodings.base import Encoding
from gnomon.encodings.fitted.group import encoding_of
from gnomon.errors import CorpusError
from gnomon.groups.dependence import Dependence, Mode
from gnomon.groups.dependence import dependence as modes_of
from gnomon.groups.lags import LagKernel, lag_kernel
from gnomon.results import Result

MOST = 20_000_000
"""Tokens that are read at most: they are held in memory, and lags are counted in all of them."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LagStructure(Result):
    """The dependence of a corpus on the lag."""

    source: str
    documents: int
    tokens: int
    kernel: LagKernel
    found: Dependence

    def encoding(self, dimension: int) -> Encoding:
        """Return the relative encoding of heads of a dimension that has what was found."""
        return encoding_of(self.found, dimension=dimension)

    def text(self) -> str:
        """Return what was found in lines of text."""
        head = f"{self.source}: {self.documents:,} documents, {self.tokens:,} tokens"
        if not self.found.modes:
            return f"{head}\nnothing depends on the lag, up to {self.found.lags}, beyond the noise"
        lines = [_said(mode) for mode in self.found.modes if mode.harmonic == 1]
        more = len(self.found.modes) - len(lines)
        return "\n".join([head, *lines, *([f"and {more} harmonics of these"] if more else [])])


def dependence(corpus: Any, *, lags: int = 128, **options: Any) -> LagStructure:
    """Return periods and half-lives of a corpus; `options` are those of `gnomon.count`.

    >>> rng = np.random.default_rng(0)
    >>> bars = [np.roll([0, 1, 1] * 30, rng.integers(3)) for _ in range(64)]
    >>> [round(period, 2) for period in dependence(bars, lags=32).found.periods]
    [3.0]
    """
    counting = CountOptions(**options)
    source = open_corpus(corpus, counting)
    documents = list(_documents(source, counting))
    kernel = lag_kernel(documents, lags=lags, folds=counting.folds, seed=counting.seed)
    return LagStructure(
        source=str(source.name),
        documents=len(documents),
        tokens=sum(map(len, documents)),
        kernel=kernel,
        found=modes_of(kernel),
    )


def _documents(source: Any, options: CountOptions) -> Iterator[NDArray[np.int32]]:
    """Yield the token numbers of every document, cut at the length where one is asked for."""
    stream = open_tokens(
        source,
        tokenizer_for(source, options),
        group=options.group,
        vocabulary=options.vocabulary,
        use_cache=options.cache,
    )
    read = 0
    for batch in stream.batches():
        for first, last in zip(batch.offsets[:-1], batch.offsets[1:], strict=True):
            document = batch.values[first:last][: options.length]
            read += len(document)
            if read > MOST:
                raise CorpusError(
                    f"{source.name} has more than {MOST:,} tokens, which lags are counted in at "
                    "once; pass a smaller length, or fewer documents."
                )
            yield document


def _said(mode: Mode) -> str:
    """Return one mode in words."""
    parts = []
    if np.isfinite(mode.period):
        parts.append(f"a period of {mode.period:.4g}{_between(mode.period_interval)} tokens")
    if np.isfinite(mode.half_life):
        parts.append(f"a half-life of {mode.half_life:.4g}{_between(mode.half_life_interval)}")
    return f"{' with '.join(parts)}, amplitude {mode.amplitude:.2g}"


def _between(interval: tuple[float, float] | None) -> str:
    return "" if interval is None else f" [{interval[0]:.4g}, {interval[1]:.4g}]"
