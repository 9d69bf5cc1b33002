"""Are periods and half-lives right: planted corpora of sixty kinds, each with fresh seeds.

    false     periods that are named and that nothing planted has, as a share of corpora
    octaves   a whole multiple or part of a planted period, named in its stead, as a share of them
    exact     of planted periods, those that are found within 0.5 %
    silent    corpora without order in which a mode is named
    falling   corpora of periods that last in which one has a half-life
    lives     half-lives of what falls as one exponential, within 15 %
    laws      tails of a known law that are called by the name of the other one
    negative  corpora said to depend most where they depend less than by chance

Kinds and their truth are in `planted_lags`. A period beside what may be named (a bar's beat, the
product of two periods, the mean length of ragged lines) counts as neither right nor wrong. Results
are added to the record corpus by corpus, so that a run can be stopped and resumed; a record of
other code is begun anew.
"""

from __future__ import annotations

import argparse
import json
import zlib
from pathlib import Path

import numpy as np

import gnomon
import planted_lags
from harness import RECORDS, code_digest
from planted_lags import KINDS, LASTING

RECORD = RECORDS / "lags.json"
SEEDS = 20
EXACT, PARTS = 0.005, (1, 2, 3, 4)
BARS = {
    "false": (0.02, False),
    "octaves": (0.02, False),
    "exact": (0.95, True),
    "silent": (0.02, False),
    "falling": (0.02, False),
    "lives": (0.90, True),
    "laws": (0.02, False),
    "negative": (0.0, False),
}


def judge(kind, seed):
    """Measure one planted corpus and compare what is named with the truth."""
    rng = np.random.default_rng([zlib.crc32(kind.encode()), seed])
    made = KINDS[kind](rng)
    found = gnomon.dependence(made.documents, seed=seed, cache=False)
    named = [*found.found.periods, *found.positions.periods]
    others = [one for one in named if not expected(one, made)]
    octaves = [one for one in others if octave(one, made.periods)]
    bits = found.information
    return {
        "false": len(others) - len(octaves),
        "octaves": len(octaves),
        "exact": [any(close(one, true) for one in named) for true in made.periods],
        "periods": named,
        "modes": len(found.found.modes) + len(found.positions.modes),
        "half_lives": [one.half_life for one in found.found.modes if one.half_life < 1e6],
        "falling": any(has_half_life(mode) for mode in found.found.modes),
        "law": found.law.law,
        "negative": bool(bits.reach and bits.values[bits.strongest] <= 0.0),
        "chi2_per_dof": None if found.found.fit is None else found.found.fit.chi2_per_dof,
    }


def has_half_life(mode):
    """Say whether a half-life is named, from an interval that has two ends."""
    return bool(np.isfinite(mode.half_life) and np.isfinite((mode.half_life_interval or [0])[-1]))


def close(one, other):
    return abs(one / other - 1.0) <= EXACT


def expected(period, made):
    """Say whether a period is planted, or may be named."""
    inside = made.near is not None and made.near[0] <= period <= made.near[1]
    return inside or any(close(period, true) for true in (*made.periods, *made.allowed))


def octave(period, planted):
    """Say whether a period is a multiple or a part of one that is planted."""
    ratios = [period * a / (true * b) for true in planted for a in PARTS for b in PARTS]
    return any(abs(ratio - 1.0) < 2.0 * EXACT for ratio in ratios)


def measured(rows):
    """Return every figure of the benchmark from the rows of all kinds, with how many it is of."""
    figures = {key: [] for key in BARS}
    for kind, (made, found) in rows.items():
        figures["false"] += [row["false"] > 0 for row in found]
        figures["negative"] += [row["negative"] for row in found]
        if made.periods:
            figures["octaves"] += [row["octaves"] > 0 for row in found]
        if made.periods and not made.weak:
            figures["exact"] += [hit for row in found for hit in row["exact"]]
        if not made.order and "aligned" not in kind:
            figures["silent"] += [row["modes"] > 0 for row in found]
        if kind.startswith(LASTING):
            figures["falling"] += [row["falling"] for row in found]
        if made.half_life:
            figures["lives"] += [
                any(abs(life / made.half_life - 1.0) <= 0.15 for life in row["half_lives"])
                for row in found
            ]
        if made.law:
            wrong = {"power law": "exponential", "exponential": "power law"}[made.law]
            figures["laws"] += [row["law"] == wrong for row in found]
    return {key: (float(np.mean(v)) if v else None, len(v)) for key, v in figures.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=SEEDS, help="corpora of each kind")
    parser.add_argument("--first", type=int, default=1000, help="the first seed")
    parser.add_argument("--kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--record", type=Path, default=RECORD)
    options = parser.parse_args()
    stored = json.loads(options.record.read_text()) if options.record.exists() else {}
    if stored.get("code") != digest():
        stored = {"code": digest(), "kinds": {}}
    for kind in options.kinds:
        done = stored["kinds"].setdefault(kind, {})
        for seed in range(options.first, options.first + options.seeds):
            if str(seed) not in done:
                done[str(seed)] = judge(kind, seed)
                options.record.write_text(json.dumps(stored, indent=1) + "\n")
        show_kind(kind, done)
    show(stored["kinds"])


def digest():
    """Digest of what lags are measured with, and of the corpora: what the numbers depend on."""
    package = Path(gnomon.__file__).parent
    files = [*sorted((package / "lags").glob("*.py")), package / "pipeline" / "lags.py"]
    return code_digest([*files, Path(planted_lags.__file__), Path(__file__)])


def show_kind(kind, done):
    """Print what was named in the corpora of a kind."""
    rows = list(done.values())
    counts = {key: sum(row[key] > 0 for row in rows) for key in ("false", "octaves", "modes")}
    laws = {name: sum(row["law"] == name for row in rows) for name in {row["law"] for row in rows}}
    some = ", ".join(f"{one:.5g}" for one in rows[0]["periods"][:6]) or "none"
    told = " ".join(f"{key} {value}" for key, value in counts.items())
    exact = sum(all(row["exact"]) for row in rows)
    print(f"{kind:32}{len(rows):4}  {told} exact {exact}  {laws}  first: {some}", flush=True)


def show(kinds):
    """Print every figure with its bar."""
    truth = {kind: KINDS[kind](np.random.default_rng(0)) for kind in kinds if kind in KINDS}
    rows = {kind: (made, list(kinds[kind].values())) for kind, made in truth.items()}
    for key, (value, count) in measured(rows).items():
        bar, least = BARS[key]
        if value is None:
            continue
        passed = value >= bar if least else value <= bar
        sign, mark = ">=" if least else "<=", "PASS" if passed else "FAIL"
        print(f"{key:10}{count:6}{value:9.4f}  {sign} {bar:5.3f}  {mark}")


if __name__ == "__main__":
    main()
