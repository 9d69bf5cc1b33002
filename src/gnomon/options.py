"""Options, declared once: from a field of a dataclass to a keyword, a flag and a line of help.

    @dataclass(frozen=True, kw_only=True)
    class CountOptions:
        folds: int = option(16, "Random sets of groups, a power of two.", least=1)

A field says what the option does, its range and, where the command line spells it another way, how.
Everything else is made from that: keywords of functions with their signature and `help()`
(`takes_options`), refusals of unknown names, wrong types and values out of range
(`make_options`, `check_options`), tables of the docs (`rows`), and the flags of the command line
(`gnomon.cli.options`).
"""

from __future__ import annotations

import difflib
import functools
import inspect
import numbers
import textwrap
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from dataclasses import replace as _replace
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from gnomon.errors import InputError, other_name

F = TypeVar("F", bound=Callable[..., Any])
_ABOUT = "gnomon"
_MOST_SEED = 2**128 - 1
"""Generators of random numbers take seeds from 0 on, and more than 128 bits tell nothing apart."""
_MOST_DIMENSION = 2**20
_MOST_REPETITIONS = 10_000
"""Far above any use: a slip of the hand should neither fill the memory nor run for a year."""


@dataclass(frozen=True, kw_only=True)
class Flag:
    """How the command line spells an option, where that is not `--` and the keyword."""

    name: str | None = None
    help: str | None = None
    kind: Any = None
    """The type that the command line reads, where the keyword takes more."""
    default: Any = ...
    """The default on the command line; `...`: that of the keyword."""
    parse: Callable[[Any], Any] | None = None
    """From what the command line read to the value of the keyword."""


@dataclass(frozen=True, kw_only=True)
class About:
    """What is known of an option beside its type and default."""

    help: str
    least: int | None = None
    most: int | None = None
    flag: Flag = Flag()

    def check(self, name: str, value: Any) -> None:
        """Refuse a number outside the range; None was not given.

        >>> SHUFFLES.check("shuffles", 99999999)
        Traceback (most recent call last):
        gnomon.errors.InputError: --shuffles is 99999999; it must be 10000 or less.
        """
        given = self.flag.name or spelling(name)
        given_numbers = value if isinstance(value, (tuple, list)) else (value,)
        for one in filter(_is_number, given_numbers):
            if self.least is not None and not one >= self.least:  # also NaN
                raise InputError(f"{given} is {one}; it must be {self.least} or more.")
            if self.most is not None and one > self.most:
                most = "below 2^128" if self.most == _MOST_SEED else f"{self.most} or less"
                raise InputError(f"{given} is {one}; it must be {most}.")


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real)


DIMENSION = About(help="Dimension d of the encodings.", least=1, most=_MOST_DIMENSION)
RANK = About(help="Rank of the low-rank and SMACOF encodings.", least=1, most=_MOST_DIMENSION)
METRIC = About(
    help="chord (Hellinger, |sqrt p - sqrt q|) or angle (arccos of the affinity).",
)
SEED = About(help="Seed of everything random.", least=0, most=_MOST_SEED)
SEEDS = About(help="Number of repetitions.", least=1, most=_MOST_REPETITIONS)
SHUFFLES = About(
    help="Passes over the corpus with every window shuffled, to tell the order of tokens from "
    "which documents reach a position; 0 for none.",
    least=0,
    most=_MOST_REPETITIONS,
)
DRAWS = About(
    help="Random draws of the tests: no p-value is below 2 / (draws + 1). Default: 99, beyond "
    "128 positions 59.",
    least=19,
    most=100 * _MOST_REPETITIONS - 1,
)


def option(
    default: Any,
    about: About | str,
    *,
    least: int | None = None,
    most: int | None = None,
    flag: Flag | None = None,
    made: Callable[[], Any] | None = None,
) -> Any:
    """Return the field of an option; `made` makes a default that is an object."""
    known = About(help=about) if isinstance(about, str) else about
    given: dict[str, Any] = {"least": least, "most": most, "flag": flag}
    known = _replace(known, **{key: value for key, value in given.items() if value is not None})
    metadata = {_ABOUT: known}
    if made is not None:
        return field(default_factory=made, metadata=metadata)
    return field(default=default, metadata=metadata)


def about(item: Field[Any]) -> About | None:
    """Return what a field says of its option; None where it declares none."""
    found: About | None = item.metadata.get(_ABOUT)
    return found


def spelling(name: str) -> str:
    """Return the flag of a keyword.

    >>> spelling("minimum_count")
    '--minimum-count'
    """
    return f"--{name.replace('_', '-')}"


@functools.cache
def hints(kind: Any) -> dict[str, Any]:
    """Return the types of the fields of a dataclass."""
    return get_type_hints(kind)


def number_or_word(text: str | None) -> int | str | None:
    """Return an integer as one; any other word stays, for its option to judge.

    >>> number_or_word("8"), number_or_word("auto")
    (8, 'auto')
    """
    try:
        return None if text is None else int(text)
    except ValueError:
        return text


def make_options(function: str, given: Mapping[str, Any], *kinds: type) -> tuple[Any, ...]:
    """Return an object of every kind from keywords; a keyword goes to all that have it.

    >>> from gnomon.corpus import CountOptions
    >>> make_options("count", {"colunm": "text"}, CountOptions)
    Traceback (most recent call last):
    gnomon.errors.InputError: count() has no option 'colunm'; did you mean 'column'?
    """
    names = [{item.name for item in fields(kind)} for kind in kinds]
    known = set().union(*names)
    for name in given:
        if name not in known:
            raise InputError(f"{function}() has no option {name!r}; {_suggest(name, known)}")
    return tuple(
        kind(**{name: value for name, value in given.items() if name in own})
        for kind, own in zip(kinds, names, strict=True)
    )


def check_options(options: Any) -> None:
    """Refuse a value of another type than its option has, and a number out of its range."""
    kind: Any = type(options)
    types_of = hints(kind)
    for item in fields(options):
        known = about(item)
        if known is None:
            continue
        value = getattr(options, item.name)
        if not _fits(value, types_of[item.name]):
            raise InputError(
                f"{item.name} is {_shorten(repr(value))}, of type {type(value).__name__}; pass "
                f"{_in_words(types_of[item.name])}."
            )
        known.check(item.name, value)


def takes_options(*kinds: type) -> Callable[[F], F]:
    """Give a function with `**options` the signature and the help that the options of kinds make.

    The command line's flags are the same names with `--` and hyphens.
    """

    def describe(function: F) -> F:
        own = inspect.signature(function)
        plain = [one for one in own.parameters.values() if one.kind is not one.VAR_KEYWORD]
        items = list(_each_once(kinds))
        keywords = [_keyword(item) for item, _ in items]
        function.__signature__ = own.replace(parameters=[*plain, *keywords])  # type: ignore[attr-defined]
        lines = [_entry(item.name, known.help) for item, known in items]
        said = inspect.cleandoc(function.__doc__ or "")
        function.__doc__ = "\n".join([said, "", "Options:", *lines])
        return function

    return describe


def rows(kind: type) -> list[tuple[str, str, str]]:
    """Return name, default and help of every option of a kind, for a table."""
    return [(item.name, _in_table(item), known.help) for item, known in _each_once((kind,))]


def _in_table(item: Field[Any]) -> str:
    made: Any = item.default_factory
    return repr(item.default) if made is MISSING else f"{made.__name__}()"


def _each_once(kinds: tuple[type, ...]) -> Iterator[tuple[Field[Any], About]]:
    """Give every option of several kinds once; they share seeds."""
    seen: set[str] = set()
    for kind in kinds:
        for item in fields(kind):
            known = about(item)
            if known is not None and item.name not in seen:
                seen.add(item.name)
                yield item, known


def _keyword(item: Field[Any]) -> inspect.Parameter:
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(item.name, keyword, default=_default(item), annotation=item.type)


def _entry(name: str, text: str) -> str:
    return textwrap.fill(f"{name}: {text}", 96, initial_indent="    ", subsequent_indent="        ")


def _default(item: Field[Any]) -> Any:
    return item.default if item.default_factory is MISSING else item.default_factory()


def _suggest(name: str, known: set[str]) -> str:
    """Say which option was probably meant; where none is near, name them all."""
    elsewhere = other_name(name, known)
    if elsewhere is not None:
        return f"{elsewhere}."
    close = difflib.get_close_matches(name.lower(), sorted(known), n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(sorted(known))}."


def _fits(value: Any, hint: Any) -> bool:
    """Say whether a value has a type; what is not checked here fits."""
    origin, parts = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, types.UnionType):
        return any(_fits(value, one) for one in parts)
    if origin is Literal:
        return isinstance(value, str)  # which word it may be has a sentence of its own
    if origin is tuple:
        listed = not isinstance(value, (str, bytes)) and hasattr(value, "__iter__")
        return listed and all(_fits(one, parts[0]) for one in value)
    if hint in _NUMBERS:
        return isinstance(value, _NUMBERS[hint]) and not isinstance(value, bool)
    return isinstance(value, origin or hint)


_NUMBERS: dict[Any, Any] = {int: numbers.Integral, float: numbers.Real}
_WORDS = {int: "an integer", float: "a number", str: "a string", bool: "True or False"}


def _in_words(hint: Any) -> str:
    """Return the types that an option takes, in words.

    >>> _in_words(int | str | None)
    'an integer, a string or None'
    """
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        words = [_in_words(one) for one in parts]
        return f"{', '.join(words[:-1])} or {words[-1]}"
    if origin is Literal:
        return " or ".join(repr(one) for one in parts)
    if origin is tuple:
        return f"a list ({_in_words(parts[0])} each)"
    if hint is type(None):
        return "None"
    return _WORDS.get(hint, f"an object of {getattr(origin or hint, '__name__', hint)}")


def _shorten(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:200]} ..."
