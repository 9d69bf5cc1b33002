"""The catalogue: encodings by name: made, chosen by their cards, shown with usual parameters.

Encodings declare themselves beside their formulas (`gnomon.encodings.card.catalogued`). Which
module declares a name is read off the sources of the families, so that asking for an encoding loads
its module and no other; where there are no sources, as in a frozen program, the families are
loaded.

Cards are chosen by family, level, kind and framework; a level may be written short (L0), as a
number (0), or with its words (L0 strict group).

For a card a parameter that has no default and is not given is what the entry names for its picture,
then 64 for a dimension, then that of the first example.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnomon.encodings.card import DECLARED, FRAMEWORKS, LEVELS, Entry, in_words
from gnomon.errors import EncodingError, nearest
from gnomon.groups import Generator
from gnomon.results import plain
from gnomon.sources import cite

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

    from gnomon.encodings.base import Encoding
    from gnomon.encodings.card import Card

_FAMILIES = (
    "additive",
    "rotary.rope",
    "frequencies",
    "rotary",
    "generators",
    "biases",
    "relative",
    "content",
    "nope",
    "wrappers",
    "tables",
    "fitted",
)
"""Modules in which encodings are declared, in the order of the catalogue; a package means all of
its modules that are not named before."""
_DECLARATION = re.compile(r'^@\w+\(\s*Card\(\s*name="([^"]+)"', re.MULTILINE)
_KINDS = ("vectors", "transform", "bias", "content")
_DIMENSION = 64
"""A common size of one attention head."""


class _Entries(Mapping[str, Entry]):
    """Every encoding by its name, family by family; an entry loads the module that declares it."""

    def __getitem__(self, name: str) -> Entry:
        home = _home_of(name)
        if home is None:
            raise KeyError(name)
        importlib.import_module(home)
        return DECLARED[name]

    def __contains__(self, name: object) -> bool:
        return _home_of(name) is not None

    def __iter__(self) -> Iterator[str]:
        return (name for module in _modules() for name in _names_in(module))

    def __len__(self) -> int:
        return sum(1 for _ in self)


ENTRIES: Mapping[str, Entry] = _Entries()


def _home_of(name: object) -> str | None:
    """Return the module that declares an encoding, or None."""
    return next((module for module in _modules() if name in _names_in(module)), None)


@cache
def _modules() -> tuple[str, ...]:
    """Return the modules of the families in order, those of a package by their names."""
    found: dict[str, None] = {}
    for family in _FAMILIES:
        whole = f"{__package__}.{family}"
        places = _spec_of(whole).submodule_search_locations
        inside = [one.name for one in pkgutil.iter_modules(places, f"{whole}.")] if places else []
        found |= dict.fromkeys(inside or [whole])
    return tuple(found)


@cache
def _names_in(module: str) -> tuple[str, ...]:
    """Return the names of the encodings that a module declares."""
    source = Path(_spec_of(module).origin or "")
    if source.suffix == ".py" and source.is_file():
        return tuple(_DECLARATION.findall(source.read_text(encoding="utf-8")))
    importlib.import_module(module)
    return tuple(name for name, entry in DECLARED.items() if entry.home == module)


def _spec_of(module: str) -> ModuleSpec:
    spec = importlib.util.find_spec(module)
    if spec is None:
        raise ModuleNotFoundError(f"There is no module {module}; install gnomon again.")
    return spec


def catalogue(
    *,
    family: str | None = None,
    level: str | None = None,
    kind: str | None = None,
    framework: str | None = None,
) -> list[Card]:
    """Return the card of every encoding there is, or of those that are what is asked for.

    >>> [card.name for card in catalogue()][:2]
    ['sinusoidal', 'ctlpe']
    >>> [card.name for card in catalogue(level="L1", kind="bias")]
    ['sandwich', 'alibi', 'decay-time']
    """
    cards = [entry.card for entry in ENTRIES.values()]
    return _choose_cards(cards, family=family, level=level, kind=kind, framework=framework)


def encoding(name: str | PathLike[str] | Generator, **parameters: Any) -> Encoding:
    """Return the encoding of that name with these hyper-parameters, or the one in a file.

    A file is what `Encoding.save`, `gnomon fit` or a survey wrote, or a table of numbers; a
    generator becomes the encoding "generator".

    >>> encoding("rope", dimension=64).card.level
    'L0 strict group'
    """
    if isinstance(name, Generator):
        return encoding("generator", blocks=name.blocks, basis=name.basis, **parameters)
    name = fspath(name) if isinstance(name, PathLike) else name
    if not isinstance(name, str):
        raise EncodingError(
            f"An encoding is asked for by its name, not by {type(name).__name__}; pass one of the "
            "catalogue, or the path of a file."
        )
    if name in DECLARED:  # its module is loaded
        entry = DECLARED[name]
    elif name not in ENTRIES and _names_table(name):
        return encoding("table", path=name, **parameters)
    else:
        entry = entry_of(name)
    _check_names(entry, parameters)
    return entry.maker(**parameters)


def as_encoding(given: Any) -> Encoding:
    """Return an encoding, read from its file where a path was given."""
    from gnomon.encodings.base import Encoding

    if isinstance(given, Encoding):
        return given
    if isinstance(given, str | PathLike):
        if _names_table(fspath(given)):
            return encoding(given)
        raise EncodingError(
            f"{fspath(given)!r} names no file of an encoding; pass the path of a .safetensors "
            "file, or what gnomon.encoding(...) returns."
        )
    raise EncodingError(
        f"A layer is made of an encoding, and this is {type(given).__name__}; pass what "
        "gnomon.encoding(...) returns, or the path of its file."
    )


def _names_table(name: str) -> bool:
    """Whether a name that is no encoding's is that of a file; readers are loaded only then."""
    from gnomon.encodings.tables import Table

    return Table.is_named(name)


def entry_of(name: str) -> Entry:
    """Return the entry of a name, or say which was probably meant."""
    if name not in ENTRIES:
        raise EncodingError(f"There is no encoding {name!r}: {nearest(name, ENTRIES)}.")
    return ENTRIES[name]


def takes(name: str) -> tuple[str, ...]:
    """Return the names of the parameters an encoding takes."""
    return tuple(entry_of(name).parameters)


def _check_names(entry: Entry, given: dict[str, Any]) -> None:
    name, known = entry.card.name, entry.parameters
    for parameter in given:
        if parameter not in known:
            raise EncodingError(
                f"The encoding {name!r} has no parameter {parameter!r}: "
                f"{nearest(parameter, known)}."
            )
    for parameter, declared in known.items():
        if declared.default is inspect.Parameter.empty and parameter not in given:
            raise EncodingError(f"The encoding {name!r} needs {parameter}; pass {parameter}=... .")


def _choose_cards(
    cards: Sequence[Card],
    *,
    family: str | None = None,
    level: str | None = None,
    kind: str | None = None,
    framework: str | None = None,
) -> list[Card]:
    """Return the cards that are all that is asked for; nothing asked for is every card."""
    families = tuple(dict.fromkeys(card.family for card in cards))
    wanted = {
        "family": _known("family", family, families),
        "level": _known_level(level),
        "kind": _known("kind", kind, _KINDS),
        "framework": _known("framework", framework, FRAMEWORKS),
    }
    return [
        card
        for card in cards
        if wanted["family"] in (None, card.family)
        and wanted["level"] in (None, _short(card.level))
        and (wanted["kind"] is None or wanted["kind"] in card.kind)
        and (wanted["framework"] is None or wanted["framework"] in card.frameworks)
    ]


def _known(what: str, word: str | None, known: tuple[str, ...]) -> str | None:
    if word is not None and word not in known:
        raise EncodingError(f"There is no {what} {word!r}: {nearest(word, known)}.")
    return word


def _known_level(level: str | None) -> str | None:
    short = _short(level)
    if level is not None and short not in LEVELS:
        listing = "; ".join(in_words(known) for known in LEVELS)
        raise EncodingError(f"There is no level {level!r}: known: {listing}.")
    return short


def _short(level: str | None) -> str | None:
    """Return a level without its words.

    >>> _short("L0 strict group"), _short("l6"), _short("5")
    ('L0', 'L6', 'L5')
    """
    if level is None:
        return None
    first, _, words = level.strip().partition(" ")
    short = first.upper() if first[:1] in ("L", "l") else f"L{first}"
    return level if words and words != LEVELS.get(short) else short


def shown(name: str, **given: Any) -> Encoding:
    """Return the encoding of that name, or in that file, with usual parameters for the rest.

    >>> shown("rope", base=500.0).parameters["dimension"]
    64
    """
    if _names_table(name):
        return encoding(name, **given)
    return encoding(name, **(usual_parameters(name) | given))


def usual_parameters(name: str) -> dict[str, Any]:
    """Return values for the parameters that have no default.

    >>> usual_parameters("rope"), usual_parameters("alibi"), usual_parameters("mds")
    ({'dimension': 64}, {}, {})
    """
    entry = entry_of(name)
    example = entry.examples[0] if entry.examples else {}
    usual = example | ({"dimension": _DIMENSION} if "dimension" in example else {}) | entry.shown
    return {
        key: value for key, value in usual.items() if key in entry.shown or _is_needed(name, key)
    }


def _parameters_of(name: str) -> dict[str, Any]:
    """Return the parameters of an encoding with their defaults; None where one must be given."""
    empty = inspect.Parameter.empty
    known = entry_of(name).parameters.items()
    return {key: None if value.default is empty else value.default for key, value in known}


def _is_needed(name: str, parameter: str) -> bool:
    declared = entry_of(name).parameters.get(parameter)
    return declared is not None and declared.default is inspect.Parameter.empty


def described(
    name: str, given: Mapping[str, Any] | None = None, *, make: bool = False
) -> tuple[dict[str, Any], Any]:
    """Return what a card says as plain values, and the encoding itself where one was made.

    One is made where parameters are given, where `make` asks for it, or out of a file.
    """
    made = shown(name, **(given or {})) if make or given or _names_table(name) else None
    card = entry_of(name).card if made is None else made.card
    known = name if made is None or not _names_table(name) else _entry_of_file(made)
    declared = _parameters_of(known)
    contents = {
        **card.to_dict(),
        "citation": cite(card.source),
        "parameters": {key: _as_plain(value) for key, value in declared.items()},
        "needs": [key for key in declared if _is_needed(known, key)],
        "made_with": None if made is None else made.parameters,
    }
    layer = _layer_of(name) if _names_table(name) else None
    if layer is not None:
        contents["layer"] = layer
    return contents, made


def _layer_of(name: str) -> dict[str, Any] | None:
    """Return how near the kernel of a group in a file is to the corpus it was read from."""
    from gnomon.encodings.files import format_of, origin_of

    file = Path(name)
    if format_of(file) is None:
        return None
    origin = origin_of(file)
    layer = origin.get("layer")
    known = isinstance(layer, dict) and isinstance(layer.get("explained"), float)
    return {"source": str(origin.get("source", "")), **layer} if known and layer else None


def _entry_of_file(made: Encoding) -> str:
    """Return the entry of what a file holds; a fitted table is a table there."""
    from gnomon.encodings.files import entry_name
    from gnomon.encodings.fitted import Fitted

    return "table" if isinstance(made, Fitted) else entry_name(made)


def _as_plain(value: Any) -> Any:
    """Return a default as plain values; a scaling has parameters of its own."""
    return plain(getattr(value, "parameters", value))
