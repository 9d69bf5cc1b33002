"""Every encoding in arbitrary precision, from its definition and its parameters alone.

The oracle shares no formula with the arrays: it reads the hyper-parameters of an encoding and
evaluates the published definition in mpmath, one position at a time, to 60 digits. It is slow and
it is right; tests of the array formulas in every framework rest on it.
"""

from __future__ import annotations

from gnomon.oracle.definition import DIGITS
from gnomon.oracle.evaluate import bias, definition_of, score, scores, transform, vectors

__all__ = ["DIGITS", "bias", "definition_of", "score", "scores", "transform", "vectors"]
