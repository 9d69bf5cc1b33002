"""`gnomon stress`: one encoding or table against one geometry, beside what noise alone gives.

Of counts the noise is taken out: debiased stress has an interval, or a sentence why there is none.
Against plug-in distances, as published (`--estimator plugin`), stands the null *dealt*: the same
encoding against the corpus's tokens dealt at random. A last sentence says what it comes to.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gnomon.cli.options import Parameter, parse_parameters, some, takes
from gnomon.cli.output import Output, TerminalProgress
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
    output.emit(value, _text(value))


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
        raise InputError(f"{path} can not be read as a .npy file ({error}); check it.") from error


def _text(value: dict[str, Any]) -> str:
    """Return the stresses in a line each, what noise has to do with them, and what they come to."""
    from gnomon.pipeline import NUMBERS, rows_in_words

    if value["scale_free"] is None:
        return f"{value['called']} has no debiased stress here, since {value['reason']}."
    keys = [key for key in NUMBERS if not key.endswith("interval")]
    lift = f"the {value['lift']} lift ({value['note']})"
    lines = [f"{value['called']} under {lift}, {value['estimator']} distances"]
    lines += [_line(key, value) for key in keys if key in value]
    lines += [f"{key}: {reason}" for key, reason in value["reasons"].items()]
    lines += [rows_in_words(value), _about_noise(value), value["conclusion"]]
    return "\n".join(line for line in lines if line)


def _line(key: str, value: dict[str, Any]) -> str:
    from gnomon.report import cell

    ends = {"scale_free": "interval", "squared": "squared_interval"}.get(key)
    bounds = value.get(ends) if ends is not None else None
    shown = "" if bounds is None else f" [{cell(bounds[0])}, {cell(bounds[1])}] sampling only"
    return f"{key.replace('_', '-'):<11} {cell(value[key])}{shown}"


def _about_noise(value: dict[str, Any]) -> str:
    from gnomon.report import cell, percent

    null, core = value.get("null"), value.get("core")
    if null is not None:
        found = null["stress"]
        return (
            f"noise: its tokens dealt at random have {percent(null['share'])} of the mean squared "
            f"distance; against one deal of them the same encoding has raw stress "
            f"{cell(found['raw'])}, scale-free {cell(found['scale_free'])}, and equal distances "
            f"have {cell(found['simplex'])}"
        )
    if core is not None:
        mean = value["mean_squared"]
        low, high = mean["interval"]
        return (
            f"noise: taken out on {core} core positions, where the mean squared distance is "
            f"{cell(mean['plugin'])} plug-in and {cell(mean['debiased'])} "
            f"[{cell(low)}, {cell(high)}] debiased; effective rank {value['rank']}"
        )
    return ""
