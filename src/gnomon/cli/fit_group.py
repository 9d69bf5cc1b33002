"""`gnomon fit --family group`: what a corpus does with the lag, as a relative encoding.

Periods and half-lives become the turns and decays of `jordan` blocks, or their half-lives the
slopes of `alibi`. Periods of the law of positions, of documents that begin in phase, are written
too, and said to be that. A corpus in which nothing depends on the lag is a result, too: it is said,
and no file is written.
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import gnomon
from gnomon.cli.output import emit
from gnomon.cli.progress import TerminalProgress
from gnomon.errors import InputError, nearest
from gnomon.files import check_place, write_with

FAMILIES = ("mds", "group", "alibi")
SOME = 0.25
"""Of what varies with the lag, what a layer explains, at least, or that is said to be little."""
HEAD = 64
"""Dimension of a head, where none is asked for."""
ONLY_GROUP = ("lags", "heads", "page")
"""Parameters of `fit` that a table has no use for."""
NOT_GROUP = (
    *("rank", "method", "estimator", "metric", "scale", "match", "masked", "beyond", "reach"),
    *("rotation", "no_rotation", "window", "stride", "minimum_count", "top_k", "bins"),
    *("shuffles", "memory", "threads"),
)
"""Parameters that lags have no use for: no position is measured, and no vector placed."""

Family = Annotated[
    str,
    typer.Option(
        "--family",
        help="mds (vectors with the distances of the corpus), group (turns and decays with its "
        "periods and half-lives), or alibi (slopes with its half-lives).",
    ),
]
Lags = Annotated[int, typer.Option("--lags", help="group, alibi: lags to look at, from 1 on.")]
Heads = Annotated[
    int | None,
    typer.Option("--heads", help="group, alibi: heads, each with its own share of what is found."),
]
Page = Annotated[
    Path | None,
    typer.Option("--report", help="group, alibi: the page (.html) that says what was found."),
]


def check_family(context: typer.Context, family: str) -> None:
    """Refuse a family that there is not, and options that it has no use for."""
    if family not in FAMILIES:
        raise InputError(f"--family {family!r} is unknown: {nearest(family, FAMILIES)}.")
    unused = set(ONLY_GROUP if family == "mds" else NOT_GROUP)
    unused |= {"dimension"} if family == "alibi" else set()
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        if parameter.name in unused and source is not None and source.name == "COMMANDLINE":
            raise InputError(
                f"{parameter.opts[0]} does nothing with --family {family}; leave it out."
            )


def fit_lags(
    source: str, counting: Any, given: dict[str, Any], place: Path, progress: TerminalProgress
) -> None:
    """Measure the lags of a corpus; write the encoding, and the page where one is asked for."""
    from gnomon.pipeline import dependence

    _check_source(source)
    _check_sizes(given)
    _check_page(given["page"])
    options = {field.name: getattr(counting, field.name) for field in fields(counting)}
    progress.stage("lags")
    try:
        found = dependence(source, lags=given["lags"], **options)
    finally:
        progress.close()
    made, reason = _encoding(found, given)
    value = _value(found, made, reason, place, given["heads"])
    text = found.text(heads=given["heads"])
    lines = [text, ""]
    if value["layer"] is not None:
        lines.append(_layer(value["layer"]))
    if made is None:
        lines.append(f"no file is written: {reason}")
    else:
        _write(made, place, value)
        lines += [*_about(found, made, given["family"]), f"written to {place}"]
    lines += _page(value, text, given["page"])
    emit(value, "\n".join(lines), json_file=given["json_file"], quiet=given["quiet"])


def _encoding(found: Any, given: dict[str, Any]) -> tuple[Any, str | None]:
    """Return the encoding that has what was found, or None and the reason."""
    from gnomon.encodings import usable

    family, size = given["family"], _dimension(given)
    if found.slopes if family == "alibi" else usable(found.both.modes):
        return found.encoding(size, heads=given["heads"], family=family), None
    if family != "alibi" and found.both.modes:
        return None, "what was found is below 0 at near lags, and pairs add up with one sign"
    if not found.both.modes and not found.slopes:
        none = "nothing depends on the lag here"
        if found.found.fit is not None:
            none = "tokens depend on the lag, but as no period and no half-life does"
        return None, f"{none}, so there is nothing to encode"
    if family == "alibi":
        return (
            None,
            "nothing falls with the lag here, so there are no slopes; --family group may do",
        )
    return None, "no period and no half-life was found here; --family alibi has slopes"


def _about(found: Any, made: Any, family: str) -> list[str]:
    """Return what the file holds that the lines above do not say."""
    from gnomon.encodings import LONG, longest_life

    if family == "alibi":
        return []
    lines = []
    if found.positions.modes and found.found.modes:
        lines.append("the file also has the periods of the law of positions")
    elif found.positions.modes:
        lines.append("all that the file has comes from the law of positions")
    longest = longest_life(found.found)
    held = float(np.log(2.0) / np.abs(made.rates).min())  # the mode may be too weak for a pair
    if held > 0.99 * longest and any(mode.half_life > longest for mode in found.both.modes):
        lines.append(
            f"half-lives in the file are {longest:,.0f} tokens at most, {LONG:.0f} times the lags: "
            "what lasts longer, or does not decay, has that"
        )
    return lines


def _dimension(given: dict[str, Any]) -> int | None:
    """Return the dimension of a head; slopes have none."""
    if given["family"] == "alibi":
        return None
    return HEAD if given["dimension"] is None else int(given["dimension"])


def _check_sizes(given: dict[str, Any]) -> None:
    """Refuse sizes that no encoding has before the corpus is read."""
    from gnomon.numeric import checks

    checks.whole("lags", given["lags"], least=1)
    if given["heads"] is not None:
        checks.whole("heads", given["heads"], least=1)
    size = _dimension(given)
    if size is not None:
        checks.whole("dimension", size, least=2, multiple_of=2, why="a mode takes two")


def _value(found: Any, made: Any, reason: str | None, place: Path, heads: Any) -> dict[str, Any]:
    value: dict[str, Any] = found.to_dict()
    if heads is not None:
        value["slopes"] = list(found.slopes_for(heads))
    value["encoding"] = None if made is None else _numbers(made)
    grouped = made is not None and made.name != "alibi"
    value["layer"] = found.layer_fit(made).to_dict() if grouped else None
    value["file"] = None if made is None else str(place)
    return value if reason is None else value | {"reason": reason}


def _layer(layer: dict[str, Any]) -> str:
    """Return how near the kernel of the layer is to the measured one, in words."""
    said = (
        f"the layer's kernel explains {layer['explained']:.0%} of how the measured one varies with "
        f"the lag; it is off by {layer['largest_error']:.2g} at most, at lag {layer['largest_at']}"
    )
    if layer["explained"] >= SOME:
        return said
    return f"{said}: it has little of what was measured, and a starting point is all that it is"


def _numbers(made: Any) -> dict[str, Any]:
    """Return what the file holds: slopes, or the turns and decays a token of each pair."""
    if made.name == "alibi":
        return {"name": made.name, "heads": len(made.slopes), "slopes": list(made.slopes)}
    turns = made.frequencies[..., 0]
    return {
        "name": made.name,
        "dimension": made.dimension,
        "heads": made.heads,
        "frequencies": turns.tolist(),
        "decays": (-made.rates).tolist(),
    }


def _write(made: Any, place: Path, value: dict[str, Any]) -> None:
    """Write the encoding; its origin is what was found, without the curves."""
    from gnomon.encodings import write_encoding

    kept = ("source", "documents", "tokens", "found", "positions", "law", "slopes", "layer")
    origin = {key: value[key] for key in kept}
    write_encoding(made, place, origin=origin | {"gnomon": gnomon.__version__})


def _page(value: dict[str, Any], text: str, page: Path | None) -> list[str]:
    if page is None:
        return []
    from gnomon.report import lags_page

    stored = lags_page(value, text, version=gnomon.__version__)
    write_with(page, lambda handle: handle.write(stored))
    return [f"page: {page}"]


def _check_source(source: str) -> None:
    """Refuse what a table is fitted to and lags are not: counts have forgotten the order."""
    place = Path(source)
    counted = place.suffix == ".npz" or (place / "survey.json").is_file()
    if counted:
        raise InputError(
            f"{source} holds counts, which have forgotten what follows what; pass the corpus that "
            "they were made of."
        )


def _check_page(page: Path | None) -> None:
    if page is None:
        return
    if page.is_dir() or page.suffix.lower() not in {".html", ".htm"}:
        raise InputError(f"--report {page} is no HTML file; give it a name that ends in .html.")
    check_place(page)
