"""`gnomon stress`: one encoding or table against one geometry, beside what noise alone gives.

Of counts the noise is taken out: debiased stress has an interval, or a sentence why there is none.
Against plug-in distances, as published (`--estimator plugin`), stands the null *dealt*: the same
encoding against the corpus's tokens dealt at random. A last sentence says what it comes to.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gnomon.cli.options import some, takes
from gnomon.cli.output import Output
from gnomon.cli.parameters import Parameter, parse_parameters
from gnomon.corpus import CountOptions
from gnomon.pipeline import SurveyOptions

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
    from gnomon.pipeline import EncodingChoice, stress_place
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
        value = stress_place(
            choice,
            target,
            metric=comparing["metric"],
            estimator=estimator,
            minimum_count=counting["minimum_count"],
            progress=progress,
        )
    output.emit(value, stress_text(value))
