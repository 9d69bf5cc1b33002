"""`gnomon reproduce`: a table, figure or experiment of the documents again, with our verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gnomon.cli.options import Seed, flag, some, takes
from gnomon.cli.output import Output
from gnomon.corpus import CountOptions
from gnomon.options import DIMENSION, SEEDS
from gnomon.reproduce import REPRODUCTIONS

Name = Annotated[
    str | None, typer.Argument(help="What to make again. Default: list what there is.")
]
Corpora = Annotated[
    list[str] | None,
    typer.Argument(
        help="Corpora, as for `gnomon survey`: table4, figure1, figure2, figure4, remark8. For "
        "scaling: a model (GGUF file or folder of transformers), then text files."
    ),
]
Seeds = Annotated[int, flag("seeds", SEEDS)]
Dimension = Annotated[
    int | None,
    flag(
        "dimension",
        DIMENSION,
        text="Dimension d. Default: 768 on corpora, 128 on the synthetic one.",
    ),
]
Length = Annotated[
    int | None,
    typer.Option(
        "--length",
        help="Number of positions n, on corpora. Default: 64; of scaling: factor times the "
        "trained length.",
    ),
]
Factor = Annotated[
    float | None,
    typer.Option("--factor", help="By which the context is scaled, in scaling. Default: 2."),
]
MinimumCount = Annotated[
    int | None,
    typer.Option("--minimum-count", help="Positions with fewer tokens are masked. Default: 10."),
]
Records = Annotated[
    Path | None,
    typer.Option(
        "--records",
        help="Folder of the records of grids, each in a folder of its own; a NAME.toml in it is "
        "run instead of the grid that ships. Default: here.",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option("--workers", help="Processes that train. Default: all cores.", min=1),
]
Data = Annotated[
    Path | None,
    typer.Option("--data", help="Folder of real data, for grids. Default: what GNOMON_DATA names."),
]


@takes(reading=some(CountOptions, "column", "group", "tokenizer", "bins"), output=Output)
def reproduce(
    name: Name = None,
    corpora: Corpora = None,
    *,
    reading: dict[str, Any],
    length: Length = None,
    dimension: Dimension = None,
    minimum_count: MinimumCount = None,
    factor: Factor = None,
    records: Records = None,
    workers: Workers = None,
    data: Data = None,
    seed: Seed = 0,
    seeds: Seeds = 10,
    output: Output,
) -> None:
    """Make a published table again: as published, ours, and whether each claim holds.

    On corpora stress is given against plug-in distances and with the noise taken out.
    """
    if name is None:
        _list(output)
        return
    from gnomon.reproduce import reproduce as make_again
    from gnomon.reproduce import reproduction_text

    with output.progress() as progress:
        found = make_again(
            name,
            corpora or (),
            progress=progress,
            seed=seed,
            seeds=seeds,
            length=length,
            dimension=dimension,
            minimum_count=minimum_count,
            factor=factor,
            records=records,
            workers=workers,
            data=data,
            **reading,
        )
    text, dense = reproduction_text(found), REPRODUCTIONS[name].runs_grids
    output.emit(found.to_dict(), text, dense=dense)


def _list(output: Output) -> None:
    from gnomon.report import table

    rows = [(name, entry.description) for name, entry in REPRODUCTIONS.items()]
    value = {"reproductions": [{"name": name, "description": said} for name, said in rows]}
    output.emit(value, table(["name", "what it is"], rows))
