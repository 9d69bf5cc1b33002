"""The verdict for somebody who never read the papers: one headline, then answers to questions.

Nothing is decided here: each sentence only says in plain words what stands in survey.json.
"""

from __future__ import annotations

import shlex
from typing import Any

from gnomon.report.phrases import encoding_name, order_in_words, p_in_words, ranges, rows_used
from gnomon.report.text import RESERVATIONS
from gnomon.report.verdict_sentences import blocks_in_words, either_way, skipped

MOST_RANGES = 8
LEVEL = 0.05
_DEBIASED = "mds, debiased"
_FITTED = ("mds", "mds-low-rank", "smacof")
PLAIN = (
    "column ",
    "counts given as an array",
    "no positions were merged",
    "packed window",
    "positions merged",
    "the number of groups is estimated",
    "the tokens were not kept",
    "tokens permuted",
    "tokens taken from",
)
"""How notes begin that say what was done and warn of nothing."""
_DOUBTFUL = "looks like a document"


def headline(contents: dict[str, Any]) -> str:
    """Return the answer to the first question in one line."""
    informative = contents["verdict"]["informative"]
    if informative is None:
        return "Whether position matters in this corpus cannot be decided."
    if not informative:
        if contents.get("geometry", {}).get("mean_distance") == 0:
            return (
                "No sign of position: every position has the same tokens, and every distance is 0."
            )
        return "No sign of position: what the distances show does not stand out from noise."
    if caution(contents):
        return "Position seems to matter, but these rows may depend on each other."
    if contents["verdict"]["recommended"] == "none":
        return "Position matters in this corpus, but too weakly to prefer an encoding."
    return "Position matters in this corpus, and its geometry can be measured."


def caution(contents: dict[str, Any]) -> str | None:
    """Return what to do before the verdict is believed; files of older surveys say nothing."""
    found: str | None = contents["verdict"].get("caution")
    return found


def state(contents: dict[str, Any]) -> str:
    """Return how sure the verdict is: yes, no or unsure."""
    informative = contents["verdict"]["informative"]
    if informative and not caution(contents):
        return "yes"
    return "no" if informative is False else "unsure"


def in_short(contents: dict[str, Any]) -> str:
    """Return the verdict for a cell of a table."""
    if contents["verdict"]["informative"] and caution(contents):
        return "seems so"
    return {True: "yes", False: "not seen", None: "not known"}[contents["verdict"]["informative"]]


def kind_of_order(contents: dict[str, Any]) -> str:
    """Return what the test of the verdict was about."""
    corpus = contents["corpus"]
    found = order_in_words(len(corpus["axes"]), corpus["tokenizer"])
    return f"the {found}" if found.startswith("order") else found


def shuffle_unit(contents: dict[str, Any]) -> str:
    """Return what a shuffle puts in another order: words, letters, tokens or places."""
    return kind_of_order(contents).removeprefix("the order of ").replace("word order", "words")


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
    if not contents["verdict"]["informative"] and not _survives(found):
        return None
    if not contents["verdict"]["informative"] or found is None or found["geometry_reason"]:
        return distinct(contents)
    pattern = found["pattern"]
    listed = _ranges_in_words(contents, pattern["positions"])
    one = len(pattern["positions"]) == 1 and contents["corpus"]["bins"] is None
    unlike = f"position {listed} is" if one else f"positions {listed} are"
    core = _core(contents)
    gap = "" if is_grid(contents) else skipped(pattern["positions"], core).replace("-", "–")
    unsure = either_way(_extents(contents, pattern.get("unsure", []))).replace("-", "–")
    touching = (
        f"{100 * pattern['share']:.0f} % of the difference is in pairs that touch "
        f"{'it' if one else 'them'}{gap}{unsure}"
    )
    from_end = str(contents["corpus"]["window"]).startswith("end")
    ends = ("start", "end") if not from_end else ("end", "start")
    return {
        "start": f"At the {ends[0]}: {unlike} unlike the rest ({touching}).",
        "end": f"At the {ends[1]}: {unlike} unlike the rest ({touching}).",
        "some": f"Here and there: {unlike} unlike the rest ({touching}).",
        "periodic": f"It repeats every {pattern['period']} positions.",
        "blocks": _blocks(pattern["positions"], core),
        "drift": "Everywhere, as a slow drift: the further apart two positions are, the more "
        "they differ.",
    }.get(
        pattern["kind"],
        f"All over the {'grid' if is_grid(contents) else unit(contents)}, in no simple pattern.",
    )


def _survives(found: dict[str, Any] | None) -> bool:
    """Say whether positions differ though order does not: long documents differ from short ones."""
    return bool(found and found["order"] and found["signal"]["p_value"] <= LEVEL)


def uneven(contents: dict[str, Any]) -> bool:
    """Say whether fewer documents reach some well-counted positions than others."""
    tokens = {p["tokens"] for p in contents["positions"] if p.get("status") == "core"}
    return len(tokens) > 1


def _blocks(begins: list[int], core: list[tuple[int, int]]) -> str:
    if not begins or not core:
        return "In blocks."
    found = blocks_in_words(begins, core[-1][1]).replace("-", "–")
    alike = "blocks" if found.startswith("in ") else "stretches"
    return f"{found[0].upper()}{found[1:]}; inside the {alike} positions are alike."


def _core(contents: dict[str, Any]) -> list[tuple[int, int]]:
    """Return first and last position of everything in the core."""
    return [
        (p.get("first", p["index"]), p.get("last", p["index"]))
        for p in contents["positions"]
        if p.get("status") == "core"
    ]


def distinct(contents: dict[str, Any]) -> str | None:
    """Name the positions whose token distribution differs from the rest; None without any."""
    found = [p["index"] for p in contents["positions"] if p["distinct"]]
    if not found:
        return None
    listed = _ranges_in_words(contents, found)
    if len(found) == 1 and listed.isdigit():
        return f"Position {listed} differs from the rest."
    return f"Positions {listed} differ from the rest."


def _extents(contents: dict[str, Any], indices: list[int]) -> list[tuple[int, int]]:
    """Return first and last position of each: bins have several."""
    extents = [
        (p.get("first", p["index"]), p.get("last", p["index"])) for p in contents["positions"]
    ]
    spans = {first: (first, last) for first, last in extents}
    return [spans.get(index, (index, index)) for index in indices]


def _ranges_in_words(contents: dict[str, Any], indices: list[int]) -> str:
    """Return positions as ranges, bins by their first and last position, and not too many."""
    parts = ranges(_extents(contents, indices)).split(", ")
    more = len(parts) - MOST_RANGES
    shown = ", ".join(parts[:MOST_RANGES]).replace("-", "–")
    return shown + (f" and {more} more ranges" if more > 0 else "")


def recommends_fit(contents: dict[str, Any]) -> bool:
    """Say whether the closest encoding is the one fitted to this corpus."""
    return contents["verdict"]["recommended"] in _FITTED


def nearest(contents: dict[str, Any]) -> dict[str, Any] | None:
    """Return the nearest known encoding as the verdict found it; None where it names none."""
    found: dict[str, Any] | None = contents["verdict"].get("nearest")
    return found


def stress_used(contents: dict[str, Any]) -> str:
    """Return where the stress stands that the verdict compares."""
    return "stress.debiased." + (nearest(contents) or {"measure": "scale_free"})["measure"]


def what_is_unexplained(contents: dict[str, Any]) -> str:
    """Return what an encoding leaves unexplained."""
    squared = stress_used(contents).endswith("squared")
    return "the squared distances" if squared else "the distances"


def floor(found: dict[str, Any]) -> str:
    """Say that a p-value is the smallest that its draws or folds can show, where it is.

    >>> floor({"p_value": 0.02, "draws": 99}), floor({"p_value": 0.04, "draws": 99})
    (', the least 99 draws can show', '')
    """
    said = p_in_words(found["p_value"], found["draws"], found.get("folds"))
    return "".join(said.partition(",")[1:])


def place_of_fitted(contents: dict[str, Any]) -> int | None:
    """Return the place of the encoding fitted to the debiased geometry."""
    labels = [str(entry["label"]) for entry in contents["encodings"]]
    return next((i for i, label in enumerate(labels) if label.startswith(_DEBIASED)), None)


def closest(contents: dict[str, Any]) -> int | None:
    """Return the place of the encoding that the verdict names; None where it names none."""
    if contents["verdict"]["recommended"] == "none":
        return None
    if recommends_fit(contents):
        return place_of_fitted(contents)
    known = nearest(contents)
    place = None if known is None else int(known["index"])
    return place if place is not None and place < len(contents["encodings"]) else None


def closest_name(contents: dict[str, Any]) -> str:
    """Return the encoding that the verdict names, as its row in the table is called."""
    place = closest(contents)
    if place is None:
        return str(contents["verdict"]["recommended"])
    return encoding_name(contents["encodings"][place])


def nearest_in_short(contents: dict[str, Any]) -> str:
    """Return the nearest known encoding for a cell of a table."""
    found = nearest(contents)
    if found is None:
        return "–"
    lift = "" if found["lift"] == "kernel" else f" ({found['lift']})"
    return f"{found['label']}{lift}" if found["closer"] else "none"


def reasons(contents: dict[str, Any]) -> list[str]:
    """Return why numbers of the table of encodings are missing, each reason once."""
    found: dict[str, None] = {}
    for entry in contents["encodings"]:
        for place in (entry, entry["stress"]["debiased"], entry["stress"]["plugin"]):
            if place.get("reason"):
                found[place["reason"]] = None
    return list(found)


def warnings(contents: dict[str, Any]) -> list[str]:
    """Return what speaks against the numbers: of the debiasing, and of the counting."""
    debiased = contents["geometry"].get("debiased") or {}
    tables = [entry["rows"]["warning"] for entry in contents["encodings"] if "rows" in entry]
    found = [note for note in contents["corpus"]["notes"] if not _is_plain(note)]
    doubts = [
        f"The debiased mean squared distance is uncertain: {RESERVATIONS[one]}."
        for one in debiased.get("reservations", [])
    ]
    return [*doubts, *debiased.get("warnings", []), *filter(None, tables), *found]


def tables(contents: dict[str, Any]) -> list[str]:
    """Say which rows of each table were compared."""
    return [rows_used(entry["rows"]) for entry in contents["encodings"] if "rows" in entry]


def notes(contents: dict[str, Any]) -> list[str]:
    """Return what was done and needs no care."""
    return [note for note in contents["corpus"]["notes"] if _is_plain(note)]


def _is_plain(note: str) -> bool:
    return note.startswith(PLAIN) and _DOUBTFUL not in note


def sentence(note: str) -> str:
    """Return a note as a sentence.

    >>> sentence("column 1 of 2")
    'Column 1 of 2.'
    """
    return note[:1].upper() + note[1:] + ("" if note.endswith((".", "!", "?")) else ".")


def command(contents: dict[str, Any]) -> str | None:
    """Return the command of a survey with the names of files, without the folders they are in.

    >>> command({"provenance": {"command": "gnomon survey /data/me/a.csv --out=/b/c hf:x/y"}})
    'gnomon survey a.csv --out=c hf:x/y'
    """
    given = contents["provenance"]["command"]
    if given is None:
        return None
    try:
        parts = shlex.split(given)
    except ValueError:  # a stranger's file need not hold a command
        parts = given.split()
    return shlex.join(_without_folder(part) for part in parts)


def _without_folder(word: str) -> str:
    option, equals, value = word.partition("=") if word.startswith("--") else ("", "", word)
    if "://" in value or value.startswith("hf:"):
        return word
    return option + equals + value.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]


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
