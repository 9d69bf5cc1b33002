"""What can be reproduced, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any

from gnomon.errors import InputError, nearest

if TYPE_CHECKING:
    from gnomon.corpus import Progress
    from gnomon.reproduce.claims import Reproduction
    from gnomon.reproduce.subjects import Options


@dataclass(frozen=True)
class Entry:
    """A reproduction: what it is in one line, where it is made, and what it can be given."""

    description: str
    home: str
    """The module that makes it, by a function `make`."""
    reads_corpora: bool = False
    draws: bool = True
    """Whether it draws the three-regime corpus where no corpus is given."""
    has_dimension: bool = False
    reads_models: bool = False
    """Whether it runs a model, given before its texts, instead of counting corpora."""
    runs_grids: bool = False
    """Whether it trains models, by grids of the laboratory."""

    @property
    def run(self) -> Callable[[Options, Progress], Reproduction]:
        """Load the function that makes it."""
        found: Callable[[Options, Progress], Reproduction]
        found = import_module(f"gnomon.reproduce.{self.home}").make
        return found


OF_GRIDS = ("records", "workers", "data")
"""Options of reproductions that train."""
REPRODUCTIONS: dict[str, Entry] = {
    "table2": Entry("rank, stress and parameters of the MDS encoding, n = 32, d = 128", "table2"),
    "table3": Entry(
        "stress of MDS, sinusoidal and random encodings on the three-regime corpus",
        "table3",
    ),
    "table4": Entry(
        "five encodings on real corpora: pass SST-2, IMDB or your own",
        "table4",
        reads_corpora=True,
        draws=False,
        has_dimension=True,
    ),
    "figure1": Entry(
        "the Hellinger matrix and its eigenvalues, against chance; on corpora, too",
        "figure1",
        reads_corpora=True,
    ),
    "figure2": Entry(
        "the map of positions and bars of stress; on corpora, too",
        "figure2",
        reads_corpora=True,
        has_dimension=True,
    ),
    "figure4": Entry(
        "stress against dimension: MDS, sinusoid and RoPE; on corpora, too",
        "figure4",
        reads_corpora=True,
    ),
    "remark8": Entry(
        "rank, parameters and variance: how few numbers do; on corpora, too",
        "remark8",
        reads_corpora=True,
        has_dimension=True,
    ),
    "stress-vs-dimension": Entry("stress of the sinusoid against its dimension", "dimension"),
    "scaling": Entry(
        "perplexity by position of a model under each scaling: pass the model, then long texts",
        "scaling",
        draws=False,
        reads_models=True,
    ),
    "deposit": Entry(
        "which encodings learn position, and whether one head does it: a grid of trained models",
        "deposit",
        draws=False,
        runs_grids=True,
    ),
    "jordan": Entry(
        "non-semisimple groups against RoPE and ALiBi: a grid of trained models",
        "jordan",
        draws=False,
        runs_grids=True,
    ),
    "extrapolation": Entry(
        "trained on short sequences, tested on long ones: a grid of trained models",
        "extrapolation",
        draws=False,
        runs_grids=True,
    ),
    "fitted": Entry(
        "encodings fitted to a corpus against the usual ones: a grid of trained models",
        "fitted",
        draws=False,
        runs_grids=True,
    ),
    "necessity": Entry(
        "which models need an encoding to tell order: a grid of trained models",
        "necessity",
        draws=False,
        runs_grids=True,
    ),
    "stress-accuracy": Entry(
        "whether lower stress goes with higher accuracy: a grid of trained models",
        "stress_accuracy",
        draws=False,
        runs_grids=True,
    ),
}


def reproduce(
    name: str,
    corpora: str | PathLike[str] | Sequence[Any] = (),
    *,
    progress: Progress | None = None,
    **options: Any,
) -> Reproduction:
    """Make one table or figure again: `options` are seed, seeds, dimension and those of counting.

    For `scaling` they are length and factor, and `corpora` a model and then texts; for grids they
    are records, workers and data.

    >>> [verdict.holds for verdict in reproduce("stress-vs-dimension", seeds=1).verdicts]
    ['does not hold', 'does not hold']
    """
    from gnomon.corpus import Silence
    from gnomon.reproduce.subjects import Options

    entry = _entry_of(name)
    corpora = (corpora,) if isinstance(corpora, (str, PathLike)) else corpora
    if entry.reads_models:
        return entry.run(_for_models(name, tuple(corpora), options), progress or Silence())
    if entry.runs_grids:
        return entry.run(_for_grids(name, tuple(corpora), options), progress or Silence())
    _refuse_for_others(name, options)
    own = {k: options.pop(k) for k in ("seed", "seeds", "dimension") if k in options}
    _refuse_idle(name, entry, corpora, {k: v for k, v in (own | options).items() if v is not None})
    counting = _count_options(options, int(own.get("seed", 0))) if entry.reads_corpora else None
    settings = Options(corpora=tuple(corpora), counting=counting, **own)
    return entry.run(settings, progress or Silence())


def _entry_of(name: str) -> Entry:
    if name not in REPRODUCTIONS:
        raise InputError(f"{name!r} cannot be reproduced; {nearest(name, REPRODUCTIONS)}.")
    return REPRODUCTIONS[name]


def _refuse_idle(name: str, entry: Entry, corpora: Sequence[Any], given: dict[str, Any]) -> None:
    """Refuse what would change nothing: a reproduction that draws its own corpus counts none."""
    if corpora and not entry.reads_corpora:
        raise InputError(
            f"{name} draws its own three-regime corpus and was given {str(corpora[0])!r}; "
            "leave the corpus out, or reproduce table4."
        )
    used = {"seed", "seeds"} | ({"dimension"} if entry.has_dimension else set())
    idle = sorted(set(given) - used)
    if idle and entry.draws and not corpora:
        other = "pass a corpus" if entry.reads_corpora else "reproduce table4"
        raise InputError(
            f"{_option_name(idle[0])} changes nothing in {name}, which draws its own corpus; leave "
            f"it out, or {other}."
        )
    if "dimension" in idle:
        raise InputError(
            f"--dimension changes nothing in {name}, which has dimensions of its own; leave it "
            "out, or reproduce figure2."
        )


def _for_models(name: str, corpora: tuple[Any, ...], options: dict[str, Any]) -> Options:
    """Return the options of a reproduction that runs a model; one that is None was not given."""
    from gnomon.reproduce.subjects import Options

    given = {key: value for key, value in options.items() if value is not None}
    taken = {"seed", "seeds", "length", "factor"}  # every command has a seed; nothing is drawn here
    idle = sorted(set(given) - taken)
    if idle:
        raise InputError(
            f"{_option_name(idle[0])} changes nothing in {name}, which runs a model; leave it out."
        )
    return Options(corpora=corpora, **given)


def _for_grids(name: str, corpora: tuple[Any, ...], options: dict[str, Any]) -> Options:
    """Return the options of a reproduction that trains; the seeds are those of its grids."""
    from gnomon.reproduce.subjects import Options

    if corpora:
        raise InputError(
            f"{name} trains on its own tasks and was given {str(corpora[0])!r}; leave it out, and "
            "name the folder of real data with --data."
        )
    given = {key: value for key, value in options.items() if value is not None}
    idle = sorted(set(given) - {"seed", "seeds", *OF_GRIDS})
    if idle:
        raise InputError(
            f"{_option_name(idle[0])} changes nothing in {name}, which trains by a grid; leave it "
            "out."
        )
    return Options(**{key: given[key] for key in OF_GRIDS if key in given})


def _refuse_for_others(name: str, options: dict[str, Any]) -> None:
    """Take out the options of other reproductions, and refuse those that were given."""
    others = {"factor": "scaling", **dict.fromkeys(OF_GRIDS, "deposit")}
    for option, other in others.items():
        if options.pop(option, None) is not None:
            raise InputError(
                f"{_option_name(option)} changes nothing in {name}; leave it out, or reproduce "
                f"{other}."
            )


def _option_name(name: str) -> str:
    return "--" + name.replace("_", "-")


def _count_options(options: dict[str, Any], seed: int) -> Any:
    """Return the options of counting; an option that is None was not given."""
    from gnomon.corpus import CountOptions

    known = {field.name for field in fields(CountOptions)}
    for option in options:
        if option not in known:
            raise InputError(f"{option!r} is no option of counting; {nearest(option, known)}.")
    given = {key: value for key, value in options.items() if value is not None}
    return CountOptions(**({"seed": seed} | given))
