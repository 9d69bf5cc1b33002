"""An encoding fitted to what a corpus does with the lag, or the reason why there is none.

Periods and half-lives become the rotations and decays of `jordan` blocks (family "group"), or the
half-lives the slopes of `alibi`. A corpus in which nothing depends on the lag is a result, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.corpus import CountOptions
from gnomon.encodings import Encoding
from gnomon.errors import InputError
from gnomon.numeric import checks
from gnomon.pipeline.lag_groups import longest_life, usable_modes
from gnomon.pipeline.lags import LagStructure, dependence_with

HEAD = 64
"""Dimension of a head, where none is asked for."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LagFit:
    """What was found, and the encoding that has it."""

    found: LagStructure
    family: str
    heads: int | None
    made: Encoding | None
    reason: str | None
    """Why there is no encoding, where there is none."""

    def to_dict(self) -> dict[str, Any]:
        """Return what was found, with the numbers of the encoding and how near its kernel is."""
        value: dict[str, Any] = self.found.to_dict()
        if self.heads is not None:
            value["slopes"] = list(self.found.slopes_for(self.heads))
        value["encoding"] = None if self.made is None else self._numbers(self.made)
        value["layer"] = None
        if self.made is not None and self.family != "alibi":
            value["layer"] = self.found.layer_fit(self.made).to_dict()
        return value if self.reason is None else value | {"reason": self.reason}

    @property
    def origin(self) -> dict[str, Any]:
        """Return what the file says of the corpus: all but the curves."""
        value = self.to_dict()
        names = ("source", "documents", "tokens", "found", "positions", "law", "slopes", "layer")
        return {name: value[name] for name in names}

    @property
    def life_limit(self) -> float | None:
        """Return the longest half-life that the encoding has, where a longer one was found."""
        if self.made is None or self.family == "alibi":
            return None
        longest = longest_life(self.found.found)
        rates = np.abs(np.asarray(self.made.rates))  # type: ignore[attr-defined]
        has = float(np.log(2.0) / rates.min())  # the mode may be too weak for a pair
        longer = any(mode.half_life > longest for mode in self.found.both.modes)
        return longest if has > 0.99 * longest and longer else None

    def _numbers(self, made: Any) -> dict[str, Any]:
        """Return slopes, or the rotation and decay per token of each pair."""
        if self.family == "alibi":
            return {"name": made.name, "heads": len(made.slopes), "slopes": list(made.slopes)}
        return {
            "name": made.name,
            "dimension": made.dimension,
            "heads": made.heads,
            "frequencies": made.frequencies[..., 0].tolist(),
            "decays": (-made.rates).tolist(),
        }


def fit_lags(
    source: str,
    counting: CountOptions,
    *,
    family: str = "group",
    lags: int = 128,
    dimension: int | None = None,
    heads: int | None = None,
) -> LagFit:
    """Measure how a corpus depends on the lag, and fit an encoding of the family to it."""
    _check_order(source)
    checks.whole("lags", lags, least=1)
    if heads is not None:
        checks.whole("heads", heads, least=1)
    size = None if family == "alibi" else HEAD if dimension is None else dimension
    if size is not None:
        checks.whole("dimension", size, least=2, multiple_of=2, why="a mode takes two")
    found = dependence_with(source, counting, lags=lags)
    reason = _why_nothing(found, family)
    made = None if reason else found.encoding(size, heads=heads, family=family)
    return LagFit(found=found, family=family, heads=heads, made=made, reason=reason)


def _check_order(source: str) -> None:
    """Refuse what a table is fitted to and lags are not: counts have forgotten the order."""
    place = Path(source)
    if place.suffix == ".npz" or (place / "survey.json").is_file():
        raise InputError(
            f"{source} holds counts, which have forgotten what follows what; pass the corpus that "
            "they were made of."
        )


def _why_nothing(found: LagStructure, family: str) -> str | None:
    """Say why there is nothing to encode; None where there is something."""
    if found.slopes if family == "alibi" else usable_modes(found.both.modes):
        return None
    if family != "alibi" and found.both.modes:
        return "what was found is below 0 at near lags, and pairs add up with one sign"
    if not found.both.modes and not found.slopes:
        none = "nothing depends on the lag here"
        if found.found.fit is not None:
            none = "tokens depend on the lag, but as no period and no half-life does"
        return f"{none}, so there is nothing to encode"
    if family == "alibi":
        return "nothing falls with the lag here, so there are no slopes; --family group may do"
    return "no period and no half-life was found here; --family alibi has slopes"
