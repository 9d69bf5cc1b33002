"""`gnomon stress`: one encoding or table against one geometry."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from gnomon.cli import options as o
from gnomon.cli.output import emit
from gnomon.errors import InputError

Name = Annotated[
    str,
    typer.Argument(help="Name of an encoding, or a table (.npy, .npz, .safetensors, FILE:NAME)."),
]
Target = Annotated[
    Path,
    typer.Argument(help="counts.npz, the folder of a survey, or square distances (.npy)."),
]
Lift = Annotated[str, typer.Option("--lift", help="kernel, vectors, probe or slope.")]
Parameter = Annotated[
    list[str] | None,
    typer.Option("--parameter", help="NAME=VALUE of the encoding, as heads=12; may be repeated."),
]
Estimator = Annotated[
    str,
    typer.Option("--estimator", help="plugin (as published) or debiased (noise taken out)."),
]


def stress(
    encoding: Name,
    target: Target,
    *,
    lift: Lift = "kernel",
    dimension: o.Dimension = 128,
    parameter: Parameter = None,
    metric: o.Metric = "chord",
    estimator: Estimator = "plugin",
    minimum_count: o.MinimumCount = 10,
    seed: o.Seed = 0,
    json_file: o.Json = None,
    quiet: o.Quiet = False,
) -> None:
    """Measure how far an encoding's distances are from those of a corpus."""
    from gnomon.diagnostics.stress import stress as measure_stress

    o.check_seed(seed)
    wanted = _target(target, metric, estimator, minimum_count, seed)
    made = _encoding(encoding, dimension, parameter or [], wanted, seed)
    rng = np.random.default_rng([seed, 1])
    report = measure_stress(made, wanted, lift=lift, nonmetric=True, rng=rng)
    value = {
        "encoding": made.name,
        "parameters": made.parameters,
        "estimator": getattr(wanted, "estimator", "given"),
        **report.to_dict(),
    }
    emit(value, _text(value), json_file=json_file, quiet=quiet)


def _target(path: Path, metric: str, estimator: str, minimum_count: int, seed: int) -> Any:
    """Return a geometry from counts, or distances as they are."""
    if path.suffix == ".npy":
        return _distances(path)
    from gnomon.corpus.counts_file import load_counts
    from gnomon.geometry.measure import measure

    counts = load_counts(path / "counts.npz" if path.is_dir() else path)
    rng = np.random.default_rng([seed, 3])
    kept = counts.with_minimum_count(minimum_count)
    return measure(kept, metric, estimator=estimator, rng=rng)


def _distances(path: Path) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        reason = "it holds no plain numbers" if "pickle" in str(error) else str(error)
        raise InputError(f"{path} can not be read as a .npy file ({reason}); check it.") from error


def _encoding(name: str, dimension: int, given: list[str], target: Any, seed: int) -> Any:
    from gnomon.encodings.registry import encoding, takes
    from gnomon.encodings.table_files import names_table

    if names_table(name):
        return encoding("table", path=name)
    known = takes(name)
    values: dict[str, Any] = dict(_pair(text) for text in given)
    axes = getattr(target, "coordinates", np.empty((0, 1))).shape[1]
    defaults = {"dimension": dimension, "axes": axes, "geometry": target, "seed": seed}
    return encoding(name, **{k: v for k, v in defaults.items() if k in known} | values)


def _pair(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"--parameter {text!r} has no '='; write it like heads=12.")
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            continue
    return name, value


def _text(value: dict[str, Any]) -> str:
    from gnomon.report.text import cell

    keys = (
        "raw",
        "scale_free",
        "best_scale",
        "scale_part",
        "kruskal",
        "nonmetric",
        "simplex",
        "skill",
    )
    lift = f"the {value['lift']} lift ({value['note']})"
    lines = [f"{value['encoding']} under {lift}, {value['estimator']} distances"]
    lines += [f"{key.replace('_', '-'):<11} {cell(value[key])}" for key in keys]
    lines += [f"{key}: {reason}" for key, reason in value["reasons"].items()]
    return "\n".join(lines)
