"""Flags of the command line, made from options that are declared once (`gnomon.options`).

    @takes(counting=CountOptions, output=Output)
    def verb(corpus: Corpus, *, counting: CountOptions, output: Output) -> None: ...

`takes` gives a verb a flag for every option of a group, with its help and default, and hands the
verb the group as one object. Parameters that belong to one verb stay in its own signature.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import typer

from gnomon.errors import InputError
from gnomon.files import check_place
from gnomon.options import SEED, About, about, hints, spelling

V = TypeVar("V", bound=Callable[..., None])


@dataclass(frozen=True)
class Some:
    """Some options of a group, which a verb takes as a dictionary."""

    kind: type
    names: tuple[str, ...]


def some(kind: type, *names: str) -> Some:
    """Return a group of these options alone."""
    return Some(kind, names)


def takes(**groups: type | Some) -> Callable[[V], V]:
    """Give a verb the flags of groups; several groups share a flag of one name."""

    def build(verb: V) -> V:
        typed = get_type_hints(verb, include_extras=True)
        parameters: dict[str, inspect.Parameter] = {}
        for one in inspect.signature(verb).parameters.values():
            if one.name in groups:
                made = dict(_flags(groups[one.name]))
                parameters |= {name: made[name] for name in made if name not in parameters}
            else:
                parameters[one.name] = one.replace(annotation=typed[one.name])

        @functools.wraps(verb)
        def run(**given: Any) -> None:
            values = {name: _make(group, given) for name, group in groups.items()}
            own = {name: given[name] for name in given if name in typed}
            verb(**(own | values))

        del run.__wrapped__  # its signature is not this one's
        listed = list(parameters.values())
        run.__signature__ = inspect.Signature(listed)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in listed}
        return run  # type: ignore[return-value]

    return build


def flag(name: str, known: About, *, text: str | None = None) -> Any:
    """Return the flag of an option that one verb takes by itself, with its range."""

    def check(value: Any) -> Any:
        known.check(name, value)
        return value

    return typer.Option(spelling(name), help=text or known.help, callback=check)


Seed = Annotated[int, flag("seed", SEED)]
Verbose = Annotated[
    bool, typer.Option("-v", "--verbose", help="Say more: notes, eigenvalues, masked positions.")
]


def _items(group: type | Some) -> Iterator[tuple[Field[Any], About]]:
    kind = group.kind if isinstance(group, Some) else group
    for item in fields(kind):
        known = about(item)
        wanted = not isinstance(group, Some) or item.name in group.names
        if known is not None and wanted:
            yield item, known


def _flags(group: type | Some) -> Iterator[tuple[str, inspect.Parameter]]:
    """Give a parameter for every option; one that is a group itself gives those of its own."""
    types_of = hints(group.kind if isinstance(group, Some) else group)
    for item, known in _items(group):
        hint = types_of[item.name]
        if is_dataclass(hint):
            yield from _flags(hint)  # type: ignore[arg-type]
            continue
        spelt = known.flag
        kind = _command_type(spelt.kind or hint)
        names = (spelt.name or spelling(item.name)).split()
        default = _shown_default(item) if spelt.default is ... else spelt.default
        optional = kind if default is not None else kind | None
        yield (
            item.name,
            inspect.Parameter(
                item.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=default,
                annotation=Annotated[optional, typer.Option(*names, help=spelt.help or known.help)],
            ),
        )


def _shown_default(item: Field[Any]) -> Any:
    """Return a default as the command line has it: an empty list is one that was not given."""
    return None if item.default in (MISSING, ()) else item.default


def _command_type(hint: Any) -> Any:
    """Return what the command line reads for a type: of several that the keyword takes, text."""
    if get_origin(hint) is Literal:
        return str
    if get_origin(hint) in (Union, types.UnionType):
        parts = [one for one in get_args(hint) if one is not type(None)]
        return parts[0] if len(parts) == 1 else str
    return hint


def _make(group: type | Some, given: dict[str, Any]) -> Any:
    """Return the object of a group; what was not given has the default of its class."""
    types_of = hints(group.kind if isinstance(group, Some) else group)
    values: dict[str, Any] = {}
    for item, known in _items(group):
        hint = types_of[item.name]
        if is_dataclass(hint):
            values[item.name] = _make(hint, given)  # type: ignore[arg-type]
            continue
        value = given[item.name]
        if known.flag.parse is not None:
            value = known.flag.parse(value)
        if value is not None:
            values[item.name] = tuple(value) if isinstance(value, list) else value
    if not isinstance(group, Some):
        return group(**values)
    for item, known in _items(group):
        known.check(item.name, values.get(item.name))
    return {name: values.get(name) for name in group.names}


def check_page(page: Path | None, option: str, example: str, *, saves: bool = False) -> None:
    """Refuse a place that no page can be written to, before the work is done for it."""
    if page is None:
        return
    if page.is_dir():
        raise InputError(f"{page} is a folder; name a file with {option}, such as {example}.")
    if page.suffix.lower() not in {".html", ".htm"}:
        more = " (the page saves each of its figures as SVG)" if saves else ""
        raise InputError(
            f"{option} {page} is no HTML file; give it a name that ends in .html{more}."
        )
    check_place(page)
