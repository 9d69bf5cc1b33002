"""A survey made small: for the gallery without its long lists, for the page's scale without more.

What is left out is what grows with the length (positions, eigenvalues past the first few, lists of
encodings' parameters) and what belongs to the machine (the folder that received the files).
"""

from __future__ import annotations

import shlex
from typing import Any

Survey = dict[str, Any]
LONGEST = 16
"""A list of numbers keeps so many; how many there were is kept beside it."""
STRESS = ("scale_free", "interval", "skill", "squared")


def trimmed(contents: Survey, what: str) -> Survey:
    """Return a survey without its long lists, and without a private path."""
    kept = {key: contents[key] for key in ("corpus", "geometry", "encodings", "verdict")}
    statuses = [position["status"] for position in contents["positions"]]
    return {
        "what": what,
        **{key: _short(value) for key, value in kept.items()},
        "encodings": [encoding_of(entry) for entry in contents["encodings"]],
        "positions": {status: statuses.count(status) for status in ("core", "projected", "masked")}
        | {"distinct": sum(bool(position["distinct"]) for position in contents["positions"])},
        "provenance": {
            "gnomon": contents["provenance"]["gnomon"],
            "seed": contents["provenance"]["seed"],
            "command": command_of(contents),
        },
    }


def _short(value: Any) -> Any:
    """Cut lists of numbers to their first few, at any depth."""
    if isinstance(value, dict):
        return {key: _short(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_short(item) for item in value[:LONGEST]]
    return value


def command_of(contents: Survey) -> str:
    """Return the command that makes a survey again, without the folder it wrote to.

    >>> command_of({"provenance": {"command": "gnomon survey a.txt --out b --quiet"}})
    'gnomon survey a.txt'
    """
    words = shlex.split(contents["provenance"]["command"])
    if "--out" in words:
        place = words.index("--out")
        words = words[:place] + words[place + 2 :]
    return shlex.join(word for word in words if word not in ("--quiet", "-q"))


def encoding_of(entry: dict[str, Any]) -> dict[str, Any]:
    """Return one encoding of a survey: raw and scale-free stress, and what is left debiased."""
    plugin, debiased = entry["stress"]["plugin"], entry["stress"]["debiased"]
    return {
        "name": entry["name"],
        "label": entry["label"],
        "lift": entry["lift"],
        "dimension": entry["dimension"],
        "stress": {
            "plugin": {key: plugin[key] for key in ("raw", "scale_free")},
            "debiased": {key: debiased[key] for key in STRESS}
            | ({"reason": debiased["reason"]} if "reason" in debiased else {}),
        },
        "violations": entry["monotonicity"]["violations"],
    }


def reference_of(contents: Survey, name: str, what: str) -> dict[str, Any]:
    """Return what the reference scale of the page holds of one corpus."""
    geometry, squared = contents["geometry"], contents["geometry"]["mean_squared"]
    return {
        "name": name,
        "what": what,
        "positions": sum(one["status"] != "masked" for one in contents["positions"]),
        "tokens": contents["corpus"]["tokens"],
        "digest": contents["corpus"]["digest"],
        "tokenizer": contents["corpus"]["tokenizer"],
        "documents": contents["corpus"]["rows"],
        "groups": contents["corpus"]["groups"],
        "informative": contents["verdict"]["informative"],
        "mean_squared": {
            key: squared[key] for key in ("plugin", "debiased", "interval", "noise_share")
        },
        "rank": geometry["rank"]["effective"],
        "encodings": [_compared(entry) for entry in contents["encodings"]],
    }


def _compared(entry: dict[str, Any]) -> dict[str, Any]:
    debiased = entry["stress"]["debiased"]
    found = {
        "label": entry["label"],
        "lift": entry["lift"],
        "scale_free": _rounded(entry["stress"]["plugin"]["scale_free"]),
        "debiased": _rounded(debiased["scale_free"]),
        "skill": _rounded(debiased["skill"]),
        "squared": _rounded(debiased["squared"]),
    }
    missing = found["debiased"] is None or found["skill"] is None
    return found | ({"reason": debiased["reason"]} if missing else {})


def _rounded(value: float | None) -> float | None:
    """Return four digits after the point, which is more than any interval allows."""
    return None if value is None else round(value, 4)
