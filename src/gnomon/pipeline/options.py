"""The options of a survey and of a fit, each declared once (`gnomon.options`)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnomon.errors import EncodingError, InputError
from gnomon.numeric import checks
from gnomon.options import (
    DIMENSION,
    DRAWS,
    METRIC,
    RANK,
    SEED,
    SHUFFLES,
    Flag,
    check_options,
    number_or_word,
    option,
)

if TYPE_CHECKING:
    from gnomon.encodings import Finish

DEFAULT_SHUFFLES = 2
"""How often windows are shuffled, unless asked otherwise."""
RANKS = ("effective", "full")


@dataclass(frozen=True, kw_only=True)
class SurveyOptions:
    """What a survey needs beside the options of counting."""

    dimension: int = option(128, DIMENSION)
    rank: int = option(3, RANK)
    metric: str = option("chord", METRIC)
    seed: int = option(0, SEED)
    shuffles: int = option(DEFAULT_SHUFFLES, SHUFFLES)
    draws: int | None = option(None, DRAWS)
    tables: tuple[str | Path, ...] = option(
        (),
        "Tables to compare (.npy, .npz, .safetensors; FILE:NAME where a file holds several).",
        flag=Flag(
            name="--table",
            help="A table to compare (.npy, .npz, .safetensors; FILE:NAME where a file holds "
            "several); may be repeated.",
            kind=list[Path],
        ),
    )
    first_rows: tuple[int, ...] = option(
        (),
        "Row of a table that stands for position 0: 1 where row 0 is that of [CLS], as in BERT, 2 "
        "for RoBERTa and OPT. One for all tables, or one for each. Default: 0.",
        flag=Flag(
            name="--first-row",
            help="Row of a --table that stands for position 0: 1 where row 0 is that of [CLS], as "
            "in BERT, 2 for RoBERTa and OPT. Once for all tables, or once for each. Default: 0.",
            kind=list[int],
        ),
        least=0,
    )
    encodings: tuple[Any, ...] = option(
        (),
        "Further encodings of `gnomon catalogue` to compare: names, or encodings that were made.",
        flag=Flag(
            name="--encoding",
            help="A further encoding of `gnomon catalogue` to compare, as xpos; may be repeated.",
            kind=list[str],
        ),
    )
    show_tokens: bool = option(
        False,
        "Name typical tokens of the positions that differ, in survey.json and on the page; "
        "otherwise no text of the corpus is shown.",
    )

    def __post_init__(self) -> None:
        """Refuse what no survey could use."""
        from gnomon.distances import check_metric

        check_options(self)
        check_metric(self.metric)
        if len(self.first_rows) not in (0, 1, len(self.tables)) or (
            self.first_rows and not self.tables
        ):
            raise InputError(
                f"--first-row is given {len(self.first_rows)} times for {len(self.tables)} tables; "
                "give it once for all of them, or once for each --table in turn."
            )


def open_match(text: str | None) -> Any:
    """Return what the scale is to match: the number, or the table of a file, that a text names."""
    from gnomon.encodings import Table, encoding

    if text is None:
        return None
    if Table.is_named(text):
        return _rows_of(encoding("table", path=text), text)
    try:
        return float(text)
    except ValueError as error:
        raise InputError(
            f"--match {text!r} is neither a number nor a file of numbers (.npy, .npz, "
            ".safetensors); pass a token embedding, or the root mean square of its entries."
        ) from error


def _rows_of(opened: Any, text: str) -> Any:
    from gnomon.encodings import Fitted, Table

    if isinstance(opened, Fitted):
        return opened.table()
    if isinstance(opened, Table):
        return opened.values
    raise InputError(
        f"--match {text} holds the encoding {opened.name!r}, which is no table; pass a token "
        "embedding, or the root mean square of its entries."
    )


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """How an encoding is fitted, with the names of the command line's options."""

    dimension: int = option(128, "Dimension d of the vectors.")
    rank: int | str = option(
        "effective",
        "effective (as many directions as exceed the noise), full (all there are), or a number.",
        flag=Flag(kind=str, parse=number_or_word),
    )
    method: str = option("classical", "classical (least strain) or smacof (least stress).")
    estimator: str | None = option(
        None,
        "debiased (noise taken out), plugin (as published), u, null-subtracted or split-half. "
        "Default: debiased; of a geometry, its own.",
        flag=Flag(
            help="debiased (noise taken out), plugin (as published), u, null-subtracted or "
            "split-half.",
            default="debiased",
        ),
    )
    metric: str | None = option(
        None,
        "chord or angle. Default: chord, or that of the survey or geometry.",
        flag=Flag(help="chord or angle. Default: chord, or that of the survey."),
    )
    scale: str | None = option(
        None,
        "corpus (its own distances), match (the root mean square of a token embedding), or "
        "learned (a trainable factor). Default: corpus, or match with --match.",
    )
    match: Any = option(
        None,
        "What to match: a token embedding, or the root mean square of its entries.",
        flag=Flag(
            help="What to match: a token embedding (.npy, .npz, .safetensors, FILE:TENSOR), or "
            "the root mean square of its entries, as 0.02.",
            kind=str,
            parse=open_match,
        ),
    )
    masked: str = option(
        "continue",
        "Positions with too few tokens: continue (as the last one counted well enough; on a grid "
        "the nearest), "
        "interpolate, or refuse.",
    )
    beyond: str = option(
        "refuse",
        "Positions past the end: refuse, clamp, or interpolate (stretched to --reach rows).",
    )
    reach: int | None = option(None, "Rows after stretching, with --beyond interpolate.")
    rotation: int | None = option(
        0,
        "Seed of the rotation into the dimension; None: fitted directions first, then zeros.",
        flag=Flag(help="Seed of the rotation into the dimension."),
    )
    seed: int = option(0, SEED)

    def __post_init__(self) -> None:
        """Refuse what nothing could be fitted with, before anything is counted."""
        from gnomon.distances import ESTIMATORS, METHODS, check_metric
        from gnomon.encodings import Finish

        checks.one_of("method", self.method, METHODS)
        checks.whole("seed", self.seed, least=0)
        if self.estimator is not None:
            checks.one_of("estimator", self.estimator, tuple(sorted(ESTIMATORS)))
        if self.metric is not None:
            check_metric(self.metric)
        if isinstance(self.rank, str):
            if self.rank not in RANKS:
                raise EncodingError(
                    f"rank is {self.rank!r}; pass effective, full, or a whole number from 1 on."
                )
        else:
            checks.whole("rank", self.rank, least=1)
        self.finish  # noqa: B018 - it checks its own part
        if isinstance(self.rank, int):
            Finish.check_rank(self.rank, dimension=self.dimension, most=self.rank, what="")

    @property
    def finish(self) -> Finish:
        """Return how the points become an encoding."""
        from gnomon.encodings import Finish

        return Finish(**{field.name: getattr(self, field.name) for field in fields(Finish)})
