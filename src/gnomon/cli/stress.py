"""`gnomon stress`: one encoding or table against one geometry, beside what noise alone gives.

Of counts the noise is taken out: debiased stress has an interval, or a sentence why there is none.
Against plug-in distances, as published (`--estimator plugin`), stands the null *dealt*: the same
encoding against the corpus's tokens dealt at random. A last sentence says what it comes to.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gnomon.cli.options import some, takes
from gnomon.cli.output import Output, TerminalProgress
from gnomon.cli.parameters import Parameter, parse_parameters
from gnomon.corpus import CountOptions
from gnomon.errors import InputError
from gnomon.pipeline import SurveyOptions
from gnomon.reading import UnreadableError, load_array

Name = Annotated[
    str,
    typer.Argument(help="Name of an encoding, or a table (.npy, .npz, .safetensors, FILE:NAME)."),
]
Target = Annotated[
    str,
    typer.Argument(
        help="counts.npz, the folder of a survey, square distances (.npy), or a built-in corpus."
    ),
]
Lift = Annotated[str, typer.Option("--lift", help="kernel, vectors, probe or slope.")]
FirstRow = Annotated[
    int,
    typer.Option(
        "--first-row",
        min=0,
        help="Row of a table that stands for position 0: 1 where row 0 is that of [CLS], as in "
        "BERT, 2 for RoBERTa and OPT.",
    ),
]
Estimator = Annotated[
    str | None,
    typer.Option(
        "--estimator",
        help="debiased (noise taken out, with an interval; the default for counts), plugin (as "
        "published, with what dealt tokens give), u, null-subtracted or split-half.",
    ),
]


@takes(
    comparing=some(SurveyOptions, "dimension", "metric", "seed"),
    counting=some(CountOptions, "minimum_count"),
    output=Output,
)
def stress(
    encoding: Name,
    target: Target,
    *,
    lift: Lift = "kernel",
    parameter: Parameter = None,
    estimator: Estimator = None,
    first_row: FirstRow = 0,
    comparing: dict[str, Any],
    counting: dict[str, Any],
    output: Output,
) -> None:
    """Measure how far an encoding's distances are from those of a corpus, and from noise."""
    from gnomon.pipeline import (
        DEBIASED,
        EncodingChoice,
        against_counts,
        against_distances,
    )
    from gnomon.report import stress_text

    output.check()
    choice = EncodingChoice(
        name=encoding,
        lift=lift,
        dimension=comparing["dimension"],
        given=parse_parameters(parameter),
        seed=comparing["seed"],
        first_row=first_row,
    )
    with output.progress() as progress:
        if Path(target).suffix == ".npy":
            _check_given(estimator, target)
            value = against_distances(choice, _distances(Path(target)))
        else:
            counts = _counts(target, choice.seed, progress)
            value = against_counts(
                choice,
                counts.with_minimum_count(counting["minimum_count"]),
                metric=comparing["metric"],
                estimator=estimator or DEBIASED,
                progress=progress,
            )
    output.emit(value, stress_text(value))


def _counts(target: str, seed: int, progress: TerminalProgress) -> Any:
    """Count a built-in corpus as a survey does, or read what was counted before."""
    from gnomon.corpus import BUILTIN, load_counts
    from gnomon.pipeline import count_groups

    path = Path(target)
    if target in BUILTIN:  # as everywhere: write ./digits for a folder of that name
        progress.stage("counting")
        return count_groups(target, CountOptions(seed=seed), progress)[0]
    if not path.exists():
        raise InputError(
            f"there is no file {target}; pass counts.npz, the folder of a survey, square distances "
            f"(.npy), or a built-in corpus ({', '.join(sorted(BUILTIN))})."
        )
    return load_counts(path / "counts.npz" if path.is_dir() else path)


def _check_given(estimator: str | None, target: str) -> None:
    if estimator is not None:
        raise InputError(
            f"--estimator {estimator} needs counts, and {target} holds distances as they are; pass "
            "counts.npz or the folder of a survey, or leave the estimator out."
        )


def _distances(path: Path) -> Any:
    try:
        return load_array(path)
    except (OSError, UnreadableError) as error:
        raise InputError(f"{path} cannot be read as a .npy file ({error}); check it.") from error
