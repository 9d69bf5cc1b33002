"""The nearest known encoding as the verdict names it, for the sentences of figures.

Which encoding that is, and by which measure of stress, is decided once, in the survey; figures
repeat it, so that a page gives one answer.
"""

from __future__ import annotations

from typing import Any

from gnomon.pipeline import percent


def nearest(contents: dict[str, Any]) -> dict[str, Any] | None:
    """Return what the verdict says of the nearest known encoding; None where it names none."""
    found: dict[str, Any] | None = contents["verdict"].get("nearest")
    return found


def measure_of(contents: dict[str, Any]) -> str:
    """Return the debiased stress that the verdict compares: scale_free, or squared."""
    found = nearest(contents)
    return "scale_free" if found is None else str(found["measure"])


def interval_key(measure: str) -> str:
    """Return what survey.json calls the interval of a measure."""
    return "squared_interval" if measure == "squared" else "interval"


def called(found: dict[str, Any]) -> str:
    """Return its name in a sentence, with its lift where that is not the kernel."""
    lift = "" if found["lift"] == "kernel" else f" under the {found['lift']} lift"
    return f"{found['label']}{lift}"


def leaves(found: dict[str, Any]) -> str:
    """Say what it leaves unexplained, and of what."""
    what = "squared distances" if found["measure"] == "squared" else "distances"
    return f"{percent(found['value'])} of the {what}"
