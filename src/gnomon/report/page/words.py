"""The verdict for somebody who never read the papers: one headline, then answers to questions.

Nothing is decided here: each sentence only says in plain words what stands in survey.json.
"""

from __future__ import annotations

from typing import Any

from gnomon.report.page.numbers import lookup
from gnomon.survey.words import ranges

MOST_RANGES = 8
KNOWN = ("sinusoidal", "rope", "alibi", "table")
LIFTS = ("kernel", "slope")
"""The encodings and lifts among which `gnomon.survey.verdict` chooses, if it fits none."""
_DEBIASED = "mds, debiased"
_FITTED = ("mds", "mds-low-rank", "smacof")


def headline(contents: dict[str, Any]) -> str:
    """Return the answer to the first question in one line."""
    informative = contents["verdict"]["informative"]
    if informative is None:
        return "Whether position matters in this corpus can not be told."
    if not informative:
        return "No sign of position: what the distances show can not be told from noise."
    if contents["verdict"]["recommended"] == "none":
        return "Position matters in this corpus, but too weakly to prefer an encoding."
    return "Position matters in this corpus, and its geometry can be measured."


def kind_of_order(contents: dict[str, Any]) -> str:
    """Return what the test of the verdict was about."""
    return "the order of places" if is_grid(contents) else "word order"


def is_grid(contents: dict[str, Any]) -> bool:
    """Say whether positions lie on a grid of several axes."""
    return len(contents["corpus"]["axes"]) > 1


def unit(contents: dict[str, Any]) -> str:
    """Return what a position is called here."""
    if contents["corpus"]["bins"] is not None:
        return "bins of positions"
    return "places of a grid" if is_grid(contents) else "positions"


def taken(contents: dict[str, Any]) -> str:
    """Say which part of each document was counted."""
    corpus = contents["corpus"]
    shape = " × ".join(f"{size:,}" for size in corpus["axes"])
    if is_grid(contents):
        return f"a grid of {shape} places in each document"
    return {
        "start": f"the first {shape} {unit(contents)} of each document",
        "end": f"the last {shape} {unit(contents)} of each document, position 0 being the last",
        "sliding": f"windows of {shape} {unit(contents)} that slide over each document",
        "packed": f"windows of {shape} {unit(contents)}, documents packed one after the other",
    }.get(str(corpus["window"]).split(" ")[0], f"{shape} {unit(contents)} ({corpus['window']})")


def where(contents: dict[str, Any]) -> str | None:
    """Say in which positions the differences lie; None where nothing was found."""
    found = contents["geometry"].get("debiased")
    if not contents["verdict"]["informative"] or found is None or found["geometry_reason"]:
        return distinct(contents)
    pattern = found["pattern"]
    listed = _listed(contents, pattern["positions"])
    one = len(pattern["positions"]) == 1 and contents["corpus"]["bins"] is None
    unlike = f"position {listed} is" if one else f"positions {listed} are"
    touching = (
        f"{100 * pattern['share']:.0f} % of the difference is in pairs that touch "
        f"{'it' if one else 'them'}"
    )
    blocks = ", ".join(str(first) for first in pattern["positions"])
    from_end = str(contents["corpus"]["window"]).startswith("end")
    ends = ("start", "end") if not from_end else ("end", "start")
    return {
        "start": f"At the {ends[0]}: {unlike} unlike the rest ({touching}).",
        "end": f"At the {ends[1]}: {unlike} unlike the rest ({touching}).",
        "some": f"Here and there: {unlike} unlike the rest ({touching}).",
        "periodic": f"It repeats every {pattern['period']} positions.",
        "blocks": f"In {len(pattern['positions'])} blocks, which begin at positions {blocks}; "
        "inside a block positions are alike.",
        "drift": "Everywhere, as a slow drift: the further apart two positions are, the more "
        "they differ.",
    }.get(
        pattern["kind"],
        f"All over the {'grid' if is_grid(contents) else unit(contents)}, in no simple pattern.",
    )


def distinct(contents: dict[str, Any]) -> str | None:
    """Name the positions whose own law differs from the rest; None where there are none."""
    found = [p["index"] for p in contents["positions"] if p["distinct"]]
    return f"Positions {_listed(contents, found)} differ from the rest." if found else None


def _listed(contents: dict[str, Any], indices: list[int]) -> str:
    """Return positions as ranges, bins by their first and last position, and not too many."""
    extents = [
        (p.get("first", p["index"]), p.get("last", p["index"])) for p in contents["positions"]
    ]
    spans = {first: (first, last) for first, last in extents}
    parts = ranges(spans.get(index, (index, index)) for index in indices).split(", ")
    more = len(parts) - MOST_RANGES
    shown = ", ".join(parts[:MOST_RANGES]).replace("-", "–")
    return shown + (f" and {more} more ranges" if more > 0 else "")


def recommends_fit(contents: dict[str, Any]) -> bool:
    """Say whether the closest encoding is the one fitted to this corpus."""
    return contents["verdict"]["recommended"] in _FITTED


def stress_used(contents: dict[str, Any]) -> str:
    """Return where the stress stands that the verdict compares (as `gnomon.survey.verdict`)."""
    debiased = contents["geometry"]["debiased"] or {"significant_share": 1.0}
    return "stress.debiased." + ("squared" if debiased["significant_share"] < 0.5 else "scale_free")


def stress_name(contents: dict[str, Any]) -> str:
    """Return the name of that stress."""
    squared = stress_used(contents).endswith("squared")
    return "squared scale-free stress" if squared else "scale-free stress"


def nearest_known(contents: dict[str, Any]) -> int | None:
    """Return the place of the encoding with the least stress of those that were not fitted."""
    where = stress_used(contents)
    known = {
        index: lookup(entry, where)
        for index, entry in enumerate(contents["encodings"])
        if entry["name"] in KNOWN and entry["lift"] in LIFTS and lookup(entry, where) is not None
    }
    return min(known, key=lambda index: (round(known[index], 9), index), default=None)


def fitted(contents: dict[str, Any]) -> int | None:
    """Return the place of the encoding fitted to the debiased geometry."""
    labels = [str(entry["label"]) for entry in contents["encodings"]]
    return next((i for i, label in enumerate(labels) if label.startswith(_DEBIASED)), None)


def closest(contents: dict[str, Any]) -> int | None:
    """Return the place of the encoding that the verdict names; None where it names none."""
    if contents["verdict"]["recommended"] == "none":
        return None
    return fitted(contents) if recommends_fit(contents) else nearest_known(contents)


def reasons(contents: dict[str, Any]) -> list[str]:
    """Return why numbers of the table of encodings are missing, each reason once."""
    found: dict[str, None] = {}
    for entry in contents["encodings"]:
        for place in (entry, entry["stress"]["debiased"], entry["stress"]["plugin"]):
            if place.get("reason"):
                found[place["reason"]] = None
    return list(found)


def notes(contents: dict[str, Any]) -> list[str]:
    """Return what a reader should know: warnings of the debiasing, notes of the counting."""
    debiased = contents["geometry"].get("debiased") or {}
    return [*debiased.get("warnings", []), *contents["corpus"]["notes"]]


def visible(token: str) -> str:
    r"""Return a token with its blanks and controls made visible.

    >>> visible(" a\n")
    '␣a\\n'
    """
    shown = token.replace(" ", "␣")
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode("ascii")
        for c in shown
    )


def same_encoding(contents: dict[str, Any], label: str, lift: str) -> int | None:
    """Return the place of an encoding of the reference scale in this survey, or None."""
    for index, entry in enumerate(contents["encodings"]):
        fits = entry["label"] == label or (label == _DEBIASED and entry["label"].startswith(label))
        if fits and entry["lift"] == lift:
            return index
    return None
