"""Positional geometry with the manners of scikit-learn: `PositionalMDS`."""

from __future__ import annotations

from gnomon.errors import MissingExtraError

try:
    import sklearn as _sklearn  # noqa: F401 - asked for first, so that its absence is said in words
except ImportError as error:
    raise MissingExtraError(
        "gnomon.sklearn needs scikit-learn, which is not installed; "
        "run `pip install gnomon[sklearn]`."
    ) from error

from gnomon.sklearn.positional_mds import PositionalMDS

__all__ = ["PositionalMDS"]
