"""The options of counting that several verbs take, from the command line to the library."""

from __future__ import annotations

from typing import Any

from gnomon.errors import InputError


def check_engine(engine: str) -> None:
    """Refuse an engine that there is not."""
    if engine != "local":
        raise InputError(
            f"--engine {engine!r} is unknown; this version counts on one machine: local."
        )


def count_options(
    *,
    file_format: str | None,
    bins: str | None,
    memory: float,
    no_cache: bool,
    limit_line: int,
    limit_expansion: float,
    limit_tokenizer: int,
    engine: str,
    **same: Any,
) -> Any:
    """Return the options of counting; `same` are those that have their name in both places."""
    from gnomon.cli.options import number_or_word
    from gnomon.corpus import CountOptions, Limits

    check_engine(engine)
    return CountOptions(
        format=file_format,
        limits=Limits(
            line_bytes=limit_line, expansion=limit_expansion, tokenizer_bytes=limit_tokenizer
        ),
        bins=number_or_word(bins),
        memory=_bytes(memory),
        cache=not no_cache,
        **same,
    )


def _bytes(gigabytes: float) -> int:
    if not 0 < gigabytes < 2**33:  # also NaN
        raise InputError(f"--memory is {gigabytes:g} GB; it must be more than 0, and a size.")
    return max(int(gigabytes * 2**30), 1)
