"""Encodings of the catalogue for a survey: as its rows list them, and those that a user asks for.

All are made for the dimension, the axes and the seed of the survey, the rest of their parameters
being those of the row, or the usual ones (`gnomon.encodings.registry`). A survey measures
what an encoding is by itself, so one whose numbers training decides is refused, as is one whose
coordinates are no positions.
"""

from __future__ import annotations

from typing import Any

from gnomon.encodings import Encoding, Row, encoding, entry_of, usual_parameters
from gnomon.errors import EncodingError


def encoding_for(asked: str | Encoding, *, dimension: int, axes: int, seed: int) -> Encoding:
    """Return what was asked for, by name or ready made, if it can be surveyed."""
    if isinstance(asked, Encoding):
        made = asked
    else:
        row = Row(parameters=entry_of(asked).shown, pairs=asked != "random")
        usual = {key: value for key, value in usual_parameters(asked).items() if key != "dimension"}
        settings = _settings(asked, row, dimension=dimension, axes=axes, seed=seed)
        made = encoding(asked, **(usual | settings))
    if made.learnable:
        vectors = "vectors" in made.kinds  # a trained bias or frequency is no table of positions
        advice = "survey its trained table with --table instead" if vectors else "leave it out"
        raise EncodingError(
            f"The encoding {made.name!r} learns {', '.join(made.learnable)}, so it has no "
            f"distances of its own before training; {advice}."
        )
    if made.span is not None:
        low, high = made.span
        raise EncodingError(
            f"The encoding {made.name!r} takes coordinates from {low:g} to {high:g}, and a survey "
            "has positions 0, 1, 2, ...; leave it out."
        )
    return made


def encoding_of_row(name: str, row: Row, *, dimension: int, axes: int, seed: int) -> Encoding:
    """Return the encoding of a row of the catalogue."""
    return encoding(name, **_settings(name, row, dimension=dimension, axes=axes, seed=seed))


def _settings(name: str, row: Row, *, dimension: int, axes: int, seed: int) -> dict[str, Any]:
    """Return what the survey decides and the encoding takes, then what the row decides."""
    usable = _divisible(dimension, 2 * axes) if row.pairs else dimension
    decided = {"dimension": usable, "axes": axes, "seed": seed}
    known = entry_of(name).parameters
    return {key: value for key, value in decided.items() if key in known} | row.parameters


def _divisible(dimension: int, by: int) -> int:
    """Return the largest usable dimension: whole pairs on every axis.

    >>> _divisible(15, 4), _divisible(3, 4)
    (12, 4)
    """
    return max(dimension - dimension % by, by)
