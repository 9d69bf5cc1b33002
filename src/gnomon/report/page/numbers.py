"""Numbers of survey.json on a page, each in an element that names where it comes from.

`<span data-survey="0" data-key="geometry.mean_squared.plugin">0.4984</span>`: a reader of the page,
or a test, can hold the text against the file. What is null is a dash with its reason.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from markupsafe import Markup

from gnomon.pipeline import percent
from gnomon.report.text import cell

_NONE = "–"


def lookup(contents: Any, path: str) -> Any:
    """Return what stands at a path of keys and indices; None where the path ends early.

    >>> lookup({"a": [{"b": 7}]}, "a.0.b"), lookup({"a": None}, "a.0.b")
    (7, None)
    """
    found = contents
    for step in path.split("."):
        if isinstance(found, list):
            found = found[int(step)] if int(step) < len(found) else None
        else:
            found = found.get(step) if isinstance(found, dict) else None
    return found


def shown(value: Any, style: str = "decimal") -> str:
    """Return a number as text in one of the styles: decimal, stress, percent, count, p, plain.

    >>> shown(0.0479), shown(0.38, "percent"), shown(64000, "count"), shown(None)
    ('0.0479', '38 %', '64,000', '–')
    """
    if value is None or isinstance(value, bool):
        return {None: _NONE, True: "yes", False: "no"}[value]
    if not isinstance(value, (int, float)):
        return str(value)
    return _STYLES[style](value)


def stress(value: float) -> str:
    """Return stress or skill with three decimals, or four digits where it is large.

    >>> stress(0.18069), stress(240.6), stress(2e-5), stress(1e-16), stress(-0.0171)
    ('0.181', '240.6', '<0.001', '0', '−0.017')
    """
    if abs(value) < 1e-12:
        return "0"
    if 0 < value < 0.0005:
        return "<0.001"
    text = f"{value:.3f}" if abs(value) < 10 else f"{value:.4g}"
    return "\u2212" + text[1:] if text.startswith("-") else text


def decimal(value: float) -> str:
    """Return a number with four digits, its sign the printed one.

    >>> decimal(-0.0179), decimal(3e-17)
    ('−0.0179', '0')
    """
    text = "0" if abs(value) < 1e-12 else cell(value)
    return "\u2212" + text[1:] if text.startswith("-") else text


_STYLES: dict[str, Callable[[Any], str]] = {
    "decimal": decimal,
    "stress": stress,
    "percent": percent,
    "count": lambda value: f"{value:,.0f}",
    "p": lambda value: f"{value:.2g}",
    "plain": str,
}


def number(contents: Any, path: str, style: str = "decimal", *, survey: int = 0) -> Markup:
    """Return the element that shows the number at a path of survey.json."""
    value = lookup(contents, path)
    if value is None:
        reason = lookup(contents, ".".join([*path.split(".")[:-1], "reason"])) or "not defined here"
        return Markup(
            '<span class="none" data-survey="{}" data-key="{}" title="{}">{}</span>'
        ).format(survey, path, reason, _NONE)
    kind = Markup(' class="text"') if style == "plain" else ""
    return Markup('<span{} data-survey="{}" data-key="{}">{}</span>').format(
        kind, survey, path, shown(value, style)
    )


def interval(contents: Any, path: str, style: str = "decimal", *, survey: int = 0) -> Markup:
    """Return both ends of an interval, [low, high]; nothing where there is none."""
    if lookup(contents, path) is None:
        return Markup("")
    ends = [number(contents, f"{path}.{end}", style, survey=survey) for end in (0, 1)]
    return Markup('<span class="interval">[{}, {}]</span>').format(*ends)
