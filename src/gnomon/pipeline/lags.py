"""What a corpus does with the lag: how far it depends, how that falls, and the encoding of it.

Documents are read as a survey reads them, whole, and never joined: a lag stays inside of one.

* `information`: mutual information by lag, which detects and dates dependence
  (`gnomon.lags.information`), and the law of its tail (`gnomon.lags.tails`);
* `kernel`: the signed excess of equal tokens (`gnomon.lags.kernel`), and the periods and half-lives
  in it (`gnomon.lags.modes`). Sharp periods are searched for at `WIDER` times as many lags;
* `positions`: periods in the law of positions (`gnomon.lags.modes`), of documents that
  begin in phase. They are no dependence, and are kept apart from it.

Errors come from groups of documents, as in a survey: `--group` names them, and documents that are
equal are one, unless independent tokens would make about as many equal.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.corpus import HEADS as COMPARED
from gnomon.corpus import (
    IN_PLACE,
    LONGEST,
    ROWS,
    CountOptions,
    open_corpus,
    open_tokens,
    tokenizer_for,
)
from gnomon.encodings import Encoding
from gnomon.errors import CorpusError, EncodingError
from gnomon.lags import (
    FEWEST,
    DecayLaw,
    Dependence,
    Integers,
    LagInformation,
    LagKernel,
    TokenLine,
    fit_decay_law,
    join_documents,
    lag_information,
    lag_kernel,
    lag_range,
    position_kernel,
    position_periods,
    split_folds,
)
from gnomon.lags import dependence as modes_of
from gnomon.options import make_options, takes_options
from gnomon.pipeline.lag_groups import fit_group, fit_slopes, slopes_of
from gnomon.results import Result

MOST = 20_000_000
"""Tokens that are read at most: they are held in memory, and lags are counted in all of them."""
WIDER = 8
"""Sharp periods are searched for at so many times the lags, where documents are long enough."""
SHARE = 0.125
"""Of the pairs at lag 1: what has fewer is not looked at."""
FINER = 4
"""Folds of the kernel for one of the information: its noise at all lags comes from them."""
HEADS = 8
"""Heads that slopes are given for, where no number is asked for."""
CHANCE = 0.5
"""Equal pairs by chance for each document too many, from which equal documents are no copies."""
Documents = list[NDArray[np.int32]]


@dataclass(frozen=True, kw_only=True, eq=False)
class LayerFit(Result):
    """How near the kernel of an encoding's group comes to the one that was measured."""

    explained: float
    """Share of what varies with the lag that a multiple of its kernel and a constant explain."""
    scale: float
    """That multiple; 0 where the two go opposite ways."""
    largest_error: float
    largest_at: int
    """The lag of the largest error."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LagStructure(Result):
    """The dependence of a corpus on the lag."""

    source: str
    documents: int
    tokens: int
    kernel: LagKernel
    """The signed kernel, at the lags that were asked for."""
    information: LagInformation
    found: Dependence
    positions: Dependence
    """Periods of the law of positions: documents begin in phase. That is no dependence."""
    law: DecayLaw
    slopes: tuple[float, ...]
    """Of biases for `HEADS` heads, the steepest first; empty where nothing falls with the lag."""
    notes: tuple[str, ...] = ()
    """What a user should know of the documents: which were taken for copies."""

    def encoding(
        self,
        dimension: int | None = None,
        *,
        heads: int | None = None,
        family: str = "group",
        positions: bool = True,
    ) -> Encoding:
        """Return a relative encoding that has what was found.

        "group" turns and decays heads of a dimension: all alike, or with bands of half-lives for so
        many heads. It has the periods of the law of positions, too, unless `positions` is False:
        where all documents begin in phase, tokens a period apart are at the same place in it.
        "alibi" has biases with a slope per head, and no dimension.
        """
        if family == "group":
            modes = self.both if positions else self.found
            return fit_group(modes, dimension=_given(dimension), heads=heads)
        if family != "alibi":
            raise EncodingError(f"family is {family!r}; choose 'group' or 'alibi'.")
        if dimension is not None:
            raise EncodingError(
                f"dimension is {dimension} and biases of family 'alibi' have none; leave it out."
            )
        many = HEADS if heads is None else heads
        return fit_slopes(self.found, self.law, reach=self.information.reach, heads=many)

    def layer_fit(self, encoding: Encoding) -> LayerFit:
        """Return how near the kernel of an encoding is to the measured one, over its lags.

        The kernel of a group is the mean over its pairs of e^(-a tau) cos(b tau), which is what
        equal queries and keys make of it; that of the corpus has the law of positions in it where
        periods come from there.
        """
        lags = self.kernel.lags.astype(np.float64)
        turns = np.ravel(np.asarray(encoding.frequencies)[..., 0])  # type: ignore[attr-defined]
        falls = np.ravel(-np.asarray(encoding.rates))  # type: ignore[attr-defined]
        waves = np.exp(-lags[:, None] * falls) * np.cos(lags[:, None] * turns)
        made, wanted = waves.mean(axis=1), np.array(self.kernel.values)
        if self.positions.modes:
            wanted = wanted + self.kernel.across
        made, wanted = made - made.mean(), wanted - wanted.mean()
        scale = max(float(made @ wanted) / max(float(made @ made), 1e-300), 0.0)
        left = wanted - scale * made
        worst = int(np.argmax(np.abs(left)))
        return LayerFit(
            explained=1.0 - float(left @ left) / max(float(wanted @ wanted), 1e-300),
            scale=scale,
            largest_error=float(np.abs(left[worst])),
            largest_at=int(self.kernel.lags[worst]),
        )

    @property
    def both(self) -> Dependence:
        """Return the modes of dependence and those of the law of positions together."""
        modes = sorted((*self.found.modes, *self.positions.modes), key=lambda one: -one.amplitude)
        rank = self.found.rank + self.positions.rank
        return replace(self.found, modes=tuple(modes), rank=rank)

    def slopes_for(self, heads: int) -> tuple[float, ...]:
        """Return slopes for so many heads, the steepest first; none where nothing falls."""
        return slopes_of(self.found, self.law, reach=self.information.reach, heads=heads)

    def text(self, *, heads: int | None = None) -> str:
        """Return what was found in lines of text, with slopes for so many heads."""
        head = f"{self.source}: {self.documents:,} documents, {self.tokens:,} tokens"
        slopes = self.slopes if heads is None else self.slopes_for(heads)
        report = importlib.import_module("gnomon.report")  # above: only when it is asked for
        return "\n".join([head, *report.lag_lines(self, slopes)])


def _counted_well(line: TokenLine, steps: Integers) -> Integers:
    """Return the lags with a share of the pairs at lag 1: beyond, few long documents speak."""
    pairs = np.array([np.maximum(line.lengths - step, 0).sum() for step in steps])
    kept = int((pairs >= SHARE * pairs[0]).sum())
    return steps[: max(kept, FEWEST)]


def _folds(groups: int, asked: int) -> int:
    """Return how many folds: each has two groups, or what positions do is not taken off."""
    return min(asked, groups // 2) if groups >= asked else asked


def lasting_period(found: Dependence) -> float:
    """Return the longest period that lasts over all lags, 1 where there is none."""
    lasting = [family[0] for family in found.families if family[0].half_life > found.lags]
    periods = [first.fundamental for first in lasting if np.isfinite(first.period)]
    return max([1.0, *periods])


def _given(dimension: int | None) -> int:
    if dimension is None:
        raise EncodingError("dimension is missing; pass the dimension of a head, an even number.")
    return dimension


@takes_options(CountOptions)
def dependence(corpus: Any, *, lags: int = 128, **options: Any) -> LagStructure:
    """Return how a corpus depends on the lag.

    Lags that have less than an eighth of the pairs at lag 1 are left out.

    >>> rng = np.random.default_rng(0)
    >>> bars = [np.roll([0, 1, 1] * 30, rng.integers(3)) for _ in range(64)]
    >>> [round(period, 2) for period in dependence(bars, lags=32).found.periods]
    [3.0]
    """
    return dependence_with(corpus, *make_options("dependence", options, CountOptions), lags=lags)


def dependence_with(corpus: Any, counting: CountOptions, *, lags: int = 128) -> LagStructure:
    """Return how a corpus depends on the lag, with options that were made before."""
    source = open_corpus(corpus, counting)
    documents, groups = _documents(source, counting)
    groups, notes = _independent(documents, groups, counting)
    notes += _nearly_alike(documents, groups)
    many = len(np.unique(groups))
    folds = _folds(many, counting.folds)
    line = join_documents(documents, folds=folds, seed=counting.seed, groups=groups)
    steps = _counted_well(line, lag_range(line, lags))
    wide = lag_kernel(split_folds(line, min(FINER, many // folds)), lags=WIDER * len(steps))
    information = lag_information(line, lags=len(steps), seed=counting.seed)
    found = modes_of(wide, lags=len(steps), known=information.reach > 0)
    near = wide.first(len(steps))
    law = fit_decay_law(information, period=lasting_period(found), kernel=near)
    return LagStructure(
        source=str(source.name),
        documents=len(line.fold),
        tokens=len(line.tokens),
        kernel=near,
        information=information,
        found=found,
        positions=position_periods(position_kernel(line, np.asarray(wide.lags))),
        law=law,
        slopes=slopes_of(found, law, reach=information.reach, heads=HEADS),
        notes=notes,
    )


def _documents(source: Any, options: CountOptions) -> tuple[Documents, NDArray[np.uint64]]:
    """Return the token numbers of every document, cut at the length, and the key of its group."""
    stream = open_tokens(
        source,
        tokenizer_for(source, options),
        group=None if options.group == ROWS else options.group,
        vocabulary=options.vocabulary,
        use_cache=options.cache,
    )
    documents: Documents = []
    groups: list[NDArray[np.uint64]] = []
    read = 0
    for batch in stream.batches():
        groups.append(batch.groups)
        for first, last in zip(batch.offsets[:-1], batch.offsets[1:], strict=True):
            documents.append(batch.values[first:last][: options.length])
            read += len(documents[-1])
            if read > MOST:
                raise CorpusError(
                    f"{source.name} has more than {MOST:,} tokens, which lags are counted in at "
                    "once; pass a smaller length, or fewer documents."
                )
    return documents, np.concatenate([np.empty(0, np.uint64), *groups])


def _independent(
    documents: Documents, groups: NDArray[np.uint64], options: CountOptions
) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Return the group of every document, and what was taken for what, in words."""
    rows = np.arange(len(documents))
    many = len(np.unique(groups))
    if options.group == ROWS or many == len(documents):
        return rows, ()
    found = f"{len(documents):,} documents are {many:,} different ones"
    if options.group is None and many < options.folds:
        return rows, (f"{found}, too few to be taken for copies: errors may be too small",)
    if options.group is None and _equal_by_chance(documents) >= CHANCE * (len(documents) - many):
        return rows, ()
    copies = (f"{found}: equal ones are held together, as copies",)
    return groups, copies if options.group is None else ()


def _nearly_alike(documents: Documents, groups: NDArray[Any]) -> tuple[str, ...]:
    """Return that documents of different groups are near-copies, where there are such.

    A few are enough to speak of: what a document has by chance its copies have too, and in other
    folds they make it seem sure. With s the share of the first `LONGEST` places at which two agree,
    and q the mean of it over all pairs, copies have (s - q) / (1 - q) of `IN_PLACE` or more:
    tokens that depend on each other agree no more often than that by chance. `COMPARED` documents,
    drawn at random, are compared.
    """
    first = np.unique(groups, return_index=True)[1]
    chosen = np.random.default_rng(0).permutation(first)[:COMPARED]
    table = np.full((len(chosen), LONGEST), -1, dtype=np.int64)
    for row, place in enumerate(chosen):
        part = documents[place][:LONGEST]
        table[row, : len(part)] = part
    lengths = np.maximum((table >= 0).sum(axis=1), 1)
    shares = np.zeros((len(chosen), len(chosen)), dtype=np.float32)
    for row, own in enumerate(table):
        equal = ((table == own) & (own >= 0)).sum(axis=1)
        shares[row] = equal / np.maximum(lengths, lengths[row])
        shares[row, row] = 0.0
    total = float(shares.sum()) / max(len(chosen) * (len(chosen) - 1), 1)
    alike = int((shares.max(axis=1, initial=0.0) >= total + IN_PLACE * (1.0 - total)).sum())
    if not alike:
        return ()
    said = (
        f"{alike:,} of {len(chosen):,} different documents are near-copies of others, so that "
        "errors are too small and chance may be told as dependence; near-copies can be held "
        "together (--group near-copies)"
    )
    return (said,)


def _equal_by_chance(documents: Documents) -> float:
    """Return how many pairs of documents are equal where all tokens are independent."""
    lengths = np.array([len(document) for document in documents])
    tokens = np.unique(np.concatenate(documents), return_inverse=True)[1]
    odds = np.log(np.bincount(tokens, minlength=1) / max(len(tokens), 1))
    owner = np.repeat(np.arange(len(documents)), lengths)
    likely = np.exp(np.bincount(owner, odds[tokens], len(documents)))
    return float(0.5 * (likely * (np.bincount(lengths)[lengths] - 1)).sum())
