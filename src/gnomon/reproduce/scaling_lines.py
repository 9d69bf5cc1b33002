"""The lines of the experiment on scalings: how one model reads the same tokens several ways.

A model with rotary positions was trained on L0 of them. Each line but one replaces its frequencies
and reads all tokens at once, s L0 of them by default; nothing is fine-tuned:

    unscaled   the model as it is [su2021]
    linear     frequencies divided by s [chen2023]
    ntk        base times s^(r/(r-2)) [bloc972023]
    dynamic    the base that follows from the length read [emozilla2023]
    yarn       by turns within L0, with its attention factor [peng2024]
    llama3     by wavelength, low 1 and high 4 [grattafiori2024]

The line *cut* is what they are held against: the unscaled model never reads more than L0 tokens.
Up to L0 it is the unscaled line; later tokens are read in windows of L0 that advance by L0 / 2, so
that every one of them is predicted from L0 / 2 tokens before it or more.

Left out: LongRoPE, whose factors are found by a search for each model, and none was made for this
one; the proportional kind, which is a way to train and no scaling of a trained model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gnomon.encodings import Encoding, encoding

CUT, UNSCALED = "cut", "unscaled"
SCALED = ("linear", "ntk", "dynamic", "yarn", "llama3")
LINES = (UNSCALED, CUT, *SCALED)
"""In the order in which they are run."""


@dataclass(frozen=True, kw_only=True)
class Trained:
    """What a model was trained with: the length, and the rotary encoding of its heads."""

    length: int
    dimension: int
    base: float


def encoding_of(line: str, trained: Trained, factor: float, length: int) -> Encoding:
    """Return the rotary encoding of a line, for `length` tokens read at once.

    >>> trained = Trained(length=8192, dimension=64, base=1e5)
    >>> encoding_of("linear", trained, 2.0, 16384).frequencies[0]
    array([0.5])
    """
    own: dict[str, Any] = {
        "dimension": trained.dimension,
        "base": trained.base,
        "layout": "half",
    }
    if line in (CUT, UNSCALED):
        return encoding("rope", **own)
    own["factor"] = factor
    if line not in ("linear", "ntk"):
        own["original_length"] = trained.length
    if line == "dynamic":
        own["length"] = length
    if line == "llama3":
        own |= {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
    return encoding(f"rope-{line}", **own)


def windows(line: str, trained: int, length: int) -> list[tuple[int, int, int]]:
    """Return first token, end and the first token that counts, of each window a line reads.

    >>> windows("cut", 8, 16)
    [(4, 12, 8), (8, 16, 12)]
    >>> windows("yarn", 8, 16)
    [(0, 16, 0)]
    """
    if line != CUT:
        return [(0, length, 0)]
    ends = [min(k + trained // 2, length) for k in range(trained, length, trained // 2)]
    starts = range(trained, length, trained // 2)
    return [(end - trained, end, start) for start, end in zip(starts, ends, strict=True)]
