"""Windows: which tokens of a document are counted, and what their positions are.

- *start*: the first n tokens; position p is the p-th from the beginning.
- *end*: the last n tokens, read backwards; position 0 is the last token of the document.
- *sliding*: n tokens at every `stride` (by default n, so that every token is used once) until the
  end of the document is reached; the last may be shorter. All belong to the document's group.
- *packed*: documents laid end to end and cut into packs of exactly n tokens, as language models
  are trained. Position is then not document position, a pack is its own group, the packs depend on
  the order of reading, and the last incomplete pack is dropped.

A document without tokens has no window. Nothing here loops over documents in Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from gnomon.corpus.documents import IdBatch, Ids, Keys, Offsets, id_keys
from gnomon.errors import InputError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

Kind = Literal["start", "end", "sliding", "packed"]
_LONGEST = 2**31 - 1


@dataclass(frozen=True)
class Window:
    """How documents are cut: the kind, the length n, and for *sliding* the stride."""

    kind: Kind
    length: int
    stride: int | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be cut."""
        if self.kind not in get_args(Kind):
            raise InputError(
                f"--window {self.kind!r} is unknown ({nearest(self.kind, get_args(Kind))})."
            )
        if self.length < 1:
            raise InputError(f"--length is {self.length}; a window holds at least 1 token.")
        for option, value in (("--length", self.length), ("--stride", self.stride or 1)):
            if value > _LONGEST:
                raise InputError(
                    f"{option} {value} is beyond {_LONGEST:,} tokens; choose a smaller one."
                )
        if self.stride is not None and self.kind != "sliding":
            raise InputError(
                f"--stride belongs to --window sliding, not to {self.kind}; leave one of them out."
            )
        if self.stride is not None and self.stride < 1:
            raise InputError(f"--stride is {self.stride}; windows move on by at least 1 token.")


@dataclass(frozen=True, kw_only=True)
class Windows:
    """Windows as slices of one array of ids.

    Position p of window w holds `values[starts[w] + step * p]` for p in range(lengths[w]), and
    stops[w] = starts[w] + step * lengths[w]. `step` is -1 for *end* and 1 otherwise.
    """

    values: Ids
    starts: Offsets
    stops: Offsets
    step: int
    keys: Keys
    """Group of every window."""
    rows: NDArray[np.int64] | None
    """Document of every window, as its row in the batch; None for packs, which are of several."""

    @property
    def lengths(self) -> Offsets:
        """Number of tokens of every window."""
        return (self.stops - self.starts) * self.step


def cutter(
    window: Window, token_keys: Callable[[], Keys | None] | None = None
) -> Callable[[IdBatch], Windows]:
    """Return what cuts one batch after the other; for *packed* it carries tokens over."""
    if window.kind == "packed":
        return Packer(window.length, token_keys=token_keys).cut
    return lambda batch: cut(batch, window)


def cut(batch: IdBatch, window: Window) -> Windows:
    """Cut one batch; its ids are shared, not copied."""
    rows = np.flatnonzero(np.diff(batch.offsets))
    begins, ends = batch.offsets[:-1][rows], batch.offsets[1:][rows]
    if window.kind == "start":
        stops = np.minimum(begins + window.length, ends)
        return _windows(batch, rows, begins, stops)
    if window.kind == "end":
        starts = ends - 1
        stops = np.maximum(starts - window.length, begins - 1)
        return _windows(batch, rows, starts, stops, step=-1)
    if window.kind == "sliding":
        return _slide(batch, rows, window.length, window.stride or window.length)
    raise InputError("packed windows run across batches; cut them with cutter() or a Packer.")


def _slide(batch: IdBatch, rows: NDArray[np.int64], length: int, stride: int) -> Windows:
    begins, ends = batch.offsets[:-1][rows], batch.offsets[1:][rows]
    sizes = ends - begins
    # Enough steps to reach the end, none that begins behind it (a stride may exceed the length).
    steps = np.minimum(-(-np.maximum(sizes - length, 0) // stride), (sizes - 1) // stride)
    repeats = steps + 1
    ordinal = np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    starts = np.repeat(begins, repeats) + stride * ordinal
    stops = np.minimum(starts + length, np.repeat(ends, repeats))
    return _windows(batch, np.repeat(rows, repeats), starts, stops)


def _windows(
    batch: IdBatch, rows: NDArray[np.int64], starts: Offsets, stops: Offsets, *, step: int = 1
) -> Windows:
    return Windows(
        values=batch.values,
        starts=starts,
        stops=stops,
        step=step,
        keys=batch.groups[rows],
        rows=rows,
    )


class Packer:
    """Lays documents end to end and cuts packs of `length` tokens, across batches.

    `token_keys` gives the keys of tokens whose ids are provisional, so that the key of a pack is
    the key of its content.
    """

    def __init__(self, length: int, *, token_keys: Callable[[], Keys | None] | None = None) -> None:
        Window("packed", length)
        self.length = length
        self._token_keys = token_keys
        self._carried: Ids = np.empty(0, dtype=np.int32)

    @property
    def carried(self) -> int:
        """Tokens waiting for the next batch; at the end of a corpus they are dropped."""
        return len(self._carried)

    def cut(self, batch: IdBatch) -> Windows:
        """Return the packs that this batch completes."""
        used = batch.values[batch.offsets[0] : batch.offsets[-1]]
        values = np.concatenate((self._carried, used)) if self.carried else used
        packs = len(values) // self.length
        bounds = np.arange(packs + 1, dtype=np.int64) * self.length
        self._carried = values[bounds[-1] :].copy()  # a copy, so that the batch can be freed
        keys = self._token_keys() if self._token_keys else None
        return Windows(
            values=values,
            starts=bounds[:-1],
            stops=bounds[1:],
            step=1,
            keys=id_keys(values, bounds, keys),
            rows=None,
        )
