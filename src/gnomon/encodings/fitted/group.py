"""A relative encoding from what a corpus does with the lag: its periods and half-lives.

Every mode is a block exp(t (a +- ib)) of two coordinates: "jordan" of order 1 has these, stable by
construction and learnable [zhang2026]. A mode without a half-life gets one that is long beside the
lags it was seen at; one without a period does not turn. Where a head has more room than modes, they
repeat, the strongest first.
"""

from __future__ import annotations

import numpy as np

from gnomon.encodings import checks
from gnomon.encodings.base import Encoding
from gnomon.encodings.generators.jordan import Jordan
from gnomon.errors import EncodingError
from gnomon.groups.dependence import Dependence
from gnomon.numeric.bounded import softplus_inverse

LONG = 16.0
"""Half-life of what does not decay, in units of the lags that were looked at."""


def encoding_of(found: Dependence, *, dimension: int) -> Encoding:
    """Return the encoding of heads of a dimension whose pairs have the modes of a corpus."""
    checks.whole("dimension", dimension, least=2, multiple_of=2, why="a mode takes two")
    if not found.modes:
        raise EncodingError(
            "Nothing depends on the lag in these documents, so there is no encoding to fit; use "
            "one of the catalogue, or none."
        )
    pairs = dimension // 2
    modes = [found.modes[place % len(found.modes)] for place in range(pairs)]
    longest = LONG * found.lags
    lives = np.array([min(mode.half_life, longest) for mode in modes])
    decays = np.maximum(np.log(2.0) / lives, 2.0 * Jordan.least)
    frequencies = np.array([2.0 * np.pi / mode.period for mode in modes])
    return Jordan(
        dimension=dimension,
        order=1,
        frequencies=frequencies[:, None],
        decays=np.array([softplus_inverse(float(decay - Jordan.least)) for decay in decays]),
    )
