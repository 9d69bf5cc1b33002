"""Accuracy of estimators of squared distances on corpora whose truth is known.

For each family: root mean squared error over pairs with at least 500 tokens at both positions
(plug-in, U, low rank), slope of the low-rank estimate on the truth, coverage of nominal 95 %
intervals over pairs of core positions, and the effective rank beside what is detectable
(eigenvalues of the true whitened matrix above sqrt m). Results are added to the record corpus by
corpus, so that a run can be stopped and resumed; a record of other code is begun anew.
"""

from __future__ import annotations

import argparse
import json
import time
from hashlib import blake2b
from pathlib import Path

import numpy as np
from scipy.stats import t as student

from families import NAMES, corpus
from gnomon.geometry import debiased
from gnomon.geometry.debiased.estimate import debias
from gnomon.geometry.debiased.lowrank import whitened
from gnomon.geometry.measure import measure
from harness import RECORDS

RECORD = RECORDS / "estimators.json"
ENOUGH = 500


def judge(name, seed):
    """Estimate one corpus and compare it with its truth."""
    made = corpus(name, seed)
    begin = time.perf_counter()
    found = debias(made.counts, rng=np.random.default_rng([seed, 99]))
    seconds = time.perf_counter() - begin
    truth = made.truth[np.ix_(found.positions, found.positions)]
    plug = measure(made.counts, keep=np.isin(np.arange(len(made.truth)), found.positions))
    core = found.core
    among = np.ix_(core, core)
    large = np.flatnonzero(found.tokens >= ENOUGH)
    both = np.intersect1d(large, core)
    upper = np.triu_indices(len(both), 1)

    def pairs(matrix):
        return matrix[np.ix_(both, both)][upper]

    low = np.zeros_like(truth)
    low[among] = found.low_rank.squares
    inner = np.triu_indices(len(core), 1)
    gap = np.abs(found.squares - truth)[among][inner]
    width = student.ppf(0.975, made.counts.folds - 1) * found.standard_error[among][inner]
    true_values = np.linalg.eigvalsh(whitened(truth[among], found.sigma[core], found.tokens[core]))
    actual, estimated = pairs(truth), pairs(low)
    return {
        "true_mean": float(actual.mean()),
        "rmse_plugin": _rmse(pairs(plug.distances**2), actual),
        "rmse_u": _rmse(pairs(found.squares), actual),
        "rmse_low_rank": _rmse(estimated, actual),
        "slope": float(np.polyfit(actual, estimated, 1)[0]) if actual.std() > 0 else None,
        "coverage": float(np.mean(gap <= width)),
        "rank": found.rank,
        "detectable": int((true_values > np.sqrt(len(core))).sum()),
        "participation": _participation(found.low_rank.squares),
        "true_participation": _participation(truth[among]),
        "core": len(core),
        "seconds": seconds,
    }


def _rmse(estimate, truth):
    return float(np.sqrt(np.mean((estimate - truth) ** 2)))


def _participation(squares):
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    values = np.maximum(np.linalg.eigvalsh(-0.5 * centred), 0.0)
    return float(values.sum() ** 2 / (values**2).sum()) if values.any() else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpora", type=int, default=3, help="corpora per family")
    parser.add_argument("--families", nargs="*", default=list(NAMES))
    options = parser.parse_args()
    stored = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    if stored.get("code") != code_digest():
        stored = {"code": code_digest(), "families": {}}
    for seed in range(options.corpora):
        for name in options.families:
            done = stored["families"].setdefault(name, {})
            if str(seed) not in done:
                done[str(seed)] = judge(name, seed)
                RECORD.write_text(json.dumps(stored, indent=1) + "\n")
    show(stored["families"])


def code_digest():
    """Digest of the estimator and the families: what the numbers depend on."""
    families = Path(__file__).with_name("families.py")
    files = [*sorted(Path(debiased.__file__).parent.glob("*.py")), families]
    return blake2b(b"".join(file.read_bytes() for file in files), digest_size=8).hexdigest()


def show(record):
    """Print means over corpora."""
    keys = ("true_mean", "rmse_plugin", "rmse_u", "rmse_low_rank", "slope", "coverage", "rank",
            "detectable", "participation", "true_participation", "seconds")  # fmt: skip
    print("family".ljust(11) + "".join(key[:13].rjust(14) for key in keys))
    for name in (n for n in NAMES if n in record):
        rows = list(record[name].values())
        cells = []
        for key in keys:
            values = [row[key] for row in rows if row[key] is not None]
            cells.append(f"{np.mean(values):14.4f}" if values else "-".rjust(14))
        print(name.ljust(11) + "".join(cells))


if __name__ == "__main__":
    main()
