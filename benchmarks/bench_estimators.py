"""Accuracy of estimators of squared distances on corpora whose truth is known.

For each family: root mean squared error over pairs with at least 500 tokens at both positions
(plug-in, null subtraction, split halves, U, low rank, and the answer zero), slope of the low-rank
estimate on the truth, coverage of nominal 95 % intervals over pairs of core positions, and the
effective rank beside what is detectable (eigenvalues of the true whitened matrix above sqrt m, the
limit for very many positions; "visible" counts those that a test on m positions can see).
The head is the same estimate on the 500 commonest types and all others as one, against the truth of
those merged laws. The mean squared distance over all positions, with its interval, is held against
the truth too, also on the sparse families, in which few types drift. Results are added to the
record corpus by corpus, so that a run can be stopped and resumed; a record of other code is begun
anew. The bars of `estimator_bars` are judged at the end, and stored too.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from scipy.stats import t as student

import gnomon.distances
from estimator_bars import judged, show
from families import NAMES, corpus
from gnomon.distances.estimate import debias, whiten
from gnomon.distances.estimators import ESTIMATORS
from gnomon.distances.intervals import mean_squared
from harness import RECORDS, code_digest

RECORD = RECORDS / "estimators.json"
ENOUGH = 500
HEAD = 500
VISIBLE = 1.25
"""A spike theta is seen at theta + m / theta, which exceeds the edge 2.05 sqrt m from here on."""
PARTS = ("drift", "energies", "estimate", "estimators", "folds", "intervals", "pilot", "totals")
"""The modules that the numbers depend on."""
PEERS = ("plugin", "null-subtracted", "split-half")


def judge(name, seed):
    """Estimate one corpus and compare it with its truth."""
    made = corpus(name, seed)
    begin = time.perf_counter()
    found = debias(made.counts, rng=np.random.default_rng([seed, 99]))
    seconds = time.perf_counter() - begin
    truth = made.truth[np.ix_(found.positions, found.positions)]
    core = found.core
    among = np.ix_(core, core)
    large = core[found.tokens[core] >= ENOUGH]
    low = np.zeros_like(truth)
    low[among] = found.low_rank.squares
    actual, estimated = _pairs(truth, large), _pairs(low, large)
    true_values = _true_values(truth[among], found)
    return {
        "true_mean": float(actual.mean()) if actual.size else None,
        "rmse_zero": _rmse(0.0, actual),
        **_peers(made.counts, found.positions[large], actual, seed),
        "rmse_u": _rmse(_pairs(found.squares, large), actual),
        "rmse_low_rank": _rmse(estimated, actual),
        "slope": float(np.polyfit(actual, estimated, 1)[0])
        if actual.size and actual.std() > 0
        else None,
        "coverage": _coverage(found, truth, made.counts.folds),
        **_mean_figures(found, truth),
        **_head(made.head(HEAD), seed),
        "rank": found.rank,
        "detectable": int((true_values > np.sqrt(len(core))).sum()),
        "visible": int((true_values > VISIBLE * np.sqrt(len(core))).sum()),
        "participation": _participation(found.low_rank.squares),
        "true_participation": _participation(truth[among]),
        "core": len(core),
        "seconds": seconds,
    }


def _true_values(truth, found):
    """Eigenvalues of the true whitened matrix on the core; none where no position is core."""
    if not len(found.core):
        return np.zeros(0)
    sigma, tokens = found.sigma[found.core], found.tokens[found.core]
    return np.linalg.eigvalsh(whiten(truth, sigma, tokens))


def _mean_figures(found, truth):
    """The mean squared distance over all positions beside its truth, with its interval."""
    every = np.arange(len(found.positions))
    figure = mean_squared(found, every)
    actual = float(_pairs(truth, every).mean())
    return {
        "mean_true": actual,
        "mean_found": figure.value,
        "mean_covered": bool(figure.interval[0] <= actual <= figure.interval[1]),
        "mean_half_width": figure.interval[1] - figure.value,
    }


def _peers(counts, positions, actual, seed):
    """Errors of the other estimators over the same pairs; all positions take part in each."""
    errors = {}
    for name in PEERS:
        estimate = ESTIMATORS[name](counts, counts.kept, np.random.default_rng([seed, 98]))
        rows = np.searchsorted(estimate.positions, positions)
        errors[f"rmse_{name.replace('-', '_')}"] = _rmse(_pairs(estimate.squares, rows), actual)
    return errors


def _head(made, seed):
    """Coverage and error of the estimate on the common types and OTHER."""
    found = debias(made.counts, rng=np.random.default_rng([seed, 97]))
    truth = made.truth[np.ix_(found.positions, found.positions)]
    large = found.core[found.tokens[found.core] >= ENOUGH]
    actual = _pairs(truth, large)
    return {
        "head_true_mean": float(actual.mean()) if actual.size else None,
        "head_rmse": _rmse(_pairs(found.squares, large), actual),
        "head_coverage": _coverage(found, truth, made.counts.folds),
    }


def _coverage(found, truth, folds):
    """Share of core pairs whose 95 % interval holds the truth."""
    gap = np.abs(_pairs(found.squares - truth, found.core))
    width = student.ppf(0.975, folds - 1) * _pairs(found.standard_error, found.core)
    return float(np.mean(gap <= width)) if gap.size else None


def _pairs(matrix, rows):
    return matrix[np.ix_(rows, rows)][np.triu_indices(len(rows), 1)]


def _rmse(estimate, truth):
    return float(np.sqrt(np.mean((estimate - truth) ** 2))) if truth.size else None


def _participation(squares):
    if not squares.size:
        return None
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    values = np.maximum(np.linalg.eigvalsh(-0.5 * centred), 0.0)
    nothing = values.max(initial=0.0) <= 1e-12
    return None if nothing else float(values.sum() ** 2 / (values**2).sum())


def digest():
    """Digest of the estimators, the families and this file: what the numbers depend on."""
    room = Path(gnomon.distances.__file__).parent
    files = [room / f"{name}.py" for name in PARTS]
    return code_digest([*files, Path(__file__), Path(__file__).with_name("families.py")])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpora", type=int, default=3, help="corpora per family")
    parser.add_argument("--first", type=int, default=0, help="seed of the first corpus")
    parser.add_argument("--families", nargs="*", default=list(NAMES))
    parser.add_argument("--record", type=Path, default=RECORD, help="where results are kept")
    options = parser.parse_args()
    stored = json.loads(options.record.read_text()) if options.record.exists() else {}
    if stored.get("code") != digest():
        stored = {"code": digest(), "families": {}}
    for seed in range(options.first, options.first + options.corpora):
        for name in options.families:
            done = stored["families"].setdefault(name, {})
            if str(seed) not in done:
                done[str(seed)] = judge(name, seed)
                options.record.write_text(json.dumps(stored, indent=1) + "\n")
    stored["bars"] = judged(stored["families"])
    options.record.write_text(json.dumps(stored, indent=1) + "\n")
    show(stored["families"], stored["bars"])


if __name__ == "__main__":
    main()
