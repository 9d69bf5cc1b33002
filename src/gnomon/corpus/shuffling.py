"""The null *shuffled*: the tokens of every window in random order, counted like the corpus itself.

Every window keeps its tokens, and so its length, topic and repetition; what is lost is their order.
Distances that survive between positions come from which documents are long enough to reach them
(survivorship) and from sampling. Totals of every position and of every fold stay as they are.

A window is permuted by Durstenfeld's shuffle (1964): for k = L-1 .. 1 swap places k and
floor(u_k (k + 1) / 2^64), with u_k the k-th output of splitmix64 [steele2014] from a key made of
(seed, replicate, document, group, where the window begins). So the result depends neither on the
order nor the partition of reading nor on threads. Equal documents of one group are permuted alike:
they are one observation, here as in the corpus; equal documents of two groups are not.

Two words of caution. Overlapping *sliding* windows are permuted each on its own, so a token may
stand elsewhere in each of them. A *pack* holds several documents: its tokens are mixed across them,
and what the null then takes away is the order inside the pack, document boundaries included.

Counts without documents get folds by dealing every token to one by itself. Row by row the counts
x_v are split by a multinomial with equal chances: given the laws of the positions, the folds of
independent tokens are independent. Where tokens came in documents they are not: copies of one
document's words then stand in several folds and look like signal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from gnomon.corpus.counting import count_with
from gnomon.corpus.counts import PositionCounts, vstack_folds
from gnomon.corpus.documents import IdBatch, Ids, Keys, Offsets, mix
from gnomon.corpus.options import CountOptions
from gnomon.corpus.windows import Windows
from gnomon.errors import CountsError
from gnomon.numeric.parallel import use_numba

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.corpus.counting import Progress

PURPOSE = 0x5A0FF1ED
"""Keeps these streams apart from others that begin with the same seed."""
_WEYL = np.uint64(0x9E3779B97F4A7C15)
_HALF, _LOW, _ONE = np.uint64(32), np.uint64(0xFFFFFFFF), np.uint64(1)


def shuffled_counts(
    corpus: Any,
    options: CountOptions,
    *,
    seed: int | None = None,
    replicate: int = 0,
    progress: Progress | None = None,
) -> PositionCounts:
    """Count a corpus with the tokens of every window permuted; `seed` is by default the options'.

    Tokens come from the token cache where the corpus was counted before.

    >>> options = CountOptions(tokenizer="words", minimum_count=1)
    >>> found = shuffled_counts(["a b c", "a a"], options, seed=1)
    >>> found.totals.tolist(), found.matrix.sum(axis=0).tolist()
    ([2, 2, 1], [3, 1, 1])
    """
    if isinstance(corpus, PositionCounts):
        raise CountsError(why_not_shuffled(corpus) or _GIVE_THE_CORPUS)
    shuffle = shuffler(options.seed if seed is None else seed, replicate)
    counts = count_with(corpus, options, progress=progress, rearrange=shuffle)
    what = "pack, across its documents" if options.window == "packed" else "document's window"
    return replace(counts, notes=(*counts.notes, f"tokens permuted inside each {what}"))


_GIVE_THE_CORPUS = (
    "counts no longer hold the order of tokens; pass the corpus that they were counted from."
)


def why_not_shuffled(counts: PositionCounts) -> str | None:
    """Say why counts have no shuffled null; None where their corpus can be counted again.

    >>> why_not_shuffled(PositionCounts.from_array([[1, 2]]))[:38]
    'counts of array hold no documents, so '
    """
    if counts.rows > 0:
        return None
    return (
        f"counts of {counts.source} hold no documents, so nothing can be permuted inside them; "
        "use the dealt null, or count the corpus itself."
    )


def shuffler(seed: int, replicate: int = 0) -> Callable[[IdBatch, Windows], Windows]:
    """Return what permutes the windows of one batch after the other."""
    stream = np.random.SeedSequence([seed, PURPOSE, replicate])
    salt = np.uint64(stream.generate_state(1, np.uint64)[0])

    def shuffle(batch: IdBatch, windows: Windows) -> Windows:
        return permute(windows, _window_keys(batch, windows, salt))

    return shuffle


def _window_keys(batch: IdBatch, windows: Windows, salt: np.uint64) -> Keys:
    """Return the key of every window: of its seed, document, group and begin."""
    if windows.rows is None:  # a pack is its own group, and its key that of its content
        return mix(mix(windows.keys + salt))
    begins = (windows.starts - batch.offsets[windows.rows]).astype(np.uint64)
    documents = mix(batch.documents[windows.rows] + salt)
    return mix(mix(documents ^ windows.keys) + begins)


def permute(windows: Windows, keys: Keys) -> Windows:
    """Return the windows, each with its tokens in the order that its key says, as a copy."""
    lengths = windows.lengths
    stops = np.cumsum(lengths)
    begins = stops - lengths
    position = np.arange(lengths.sum(), dtype=np.int64) - np.repeat(begins, lengths)
    values = windows.values[np.repeat(windows.starts, lengths) + windows.step * position]
    places = _places(np.repeat(keys, lengths), position)
    (_swap_compiled if use_numba() else _swap)(values, begins, lengths, places)
    return replace(windows, values=values, starts=begins, stops=stops, step=1)


def _places(keys: Keys, position: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return floor(u_k (k + 1) / 2^64) for every token: where the token at k is swapped to.

    In two halves, so that no product leaves 64 bits; off uniform by less than L / 2^64.
    """
    k = position.astype(np.uint64)
    drawn = mix(keys + k * _WEYL)
    size = k + _ONE
    low = ((drawn & _LOW) * size) >> _HALF
    return (((drawn >> _HALF) * size + low) >> _HALF).astype(np.int64)


def _swap_compiled(
    values: Ids, begins: Offsets, lengths: Offsets, places: NDArray[np.int64]
) -> None:
    from gnomon.corpus.kernel_numba import swap_in_windows

    swap_in_windows(values, begins, lengths, places)


def _swap(values: Ids, begins: Offsets, lengths: Offsets, places: NDArray[np.int64]) -> None:
    """Make the swaps of all windows side by side, from their last tokens to their second."""
    order = np.argsort(-lengths, kind="stable")
    begin, length = begins[order], lengths[order]
    for k in range(int(length.max(initial=0)) - 1, 0, -1):
        here = begin[: np.searchsorted(-length, -k)] + k  # the windows longer than k
        there = here - k + places[here]
        values[here], values[there] = values[there], values[here]


NOTE = "folds were made by dealing single tokens, as if tokens were independent of each other"


def deal_folds(counts: PositionCounts, folds: int, rng: np.random.Generator) -> PositionCounts:
    """Return counts of one fold as counts of several, their sum unchanged."""
    whole = counts.matrix
    parts = rng.multinomial(whole.data, np.full(folds, 1.0 / folds))
    blocks = [
        csr_array((part, whole.indices.copy(), whole.indptr.copy()), shape=whole.shape)
        for part in parts.T
    ]
    for block in blocks:
        block.eliminate_zeros()
    return replace(counts, blocks=vstack_folds(blocks), folds=folds, notes=(*counts.notes, NOTE))
