"""Stress of a translation-invariant encoding, and violations of monotonicity.

Claims:
- stress of a sinusoid at n = 2048, d = 768 against ready distances: at least 40 times faster than
  building the vectors' distances with SciPy's cdist and summing;
- violations at n = 512: at least 25 times faster than vectorised O(n^3); n = 8192 in seconds.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.spatial.distance import cdist

from gnomon.diagnostics.monotonicity import violations
from gnomon.diagnostics.stress_report import stress
from gnomon.encodings.registry import encoding
from harness import figures, interleaved, ratio, show, write_record


def made_distances(n, rng):
    """Symmetric positive distances that grow with the lag, with noise."""
    points = np.cumsum(rng.normal(size=(n, 6)), axis=0)
    return cdist(points, points) / np.sqrt(n)


def bench_stress(n, d, repeats):
    target = made_distances(n, np.random.default_rng(0))
    made = encoding("sinusoidal", dimension=d)
    vectors = np.asarray(made.vectors(np.arange(n)))

    def obvious():
        gaps = cdist(vectors, vectors)
        upper = np.triu_indices(n, 1)
        return ((gaps - target)[upper] ** 2).sum() / (target[upper] ** 2).sum()

    def ours():
        return stress(made, target).raw

    if abs(obvious() - ours()) > 1e-9 * abs(obvious()):
        raise SystemExit("the two stresses differ: a fast wrong answer is none")
    seconds = interleaved({"cdist and sums": obvious, "gnomon": ours}, repeats)
    found = {"n": n, "d": d, "seconds": seconds}
    found["faster_than_cdist"] = ratio(seconds, "cdist and sums", "gnomon")
    show(f"stress of a sinusoid, n = {n}, d = {d}", seconds, figures(found))
    return found


def cubed(distances):
    """All triples at once for each i: the vectorised O(n^3)."""
    n = len(distances)
    places = np.arange(n)
    count = total = 0
    for i in range(n):
        lag = np.abs(places - i)
        nearer = (lag[:, None] < lag[None, :]) & (lag[:, None] > 0)
        count += int((nearer & (distances[i][:, None] > distances[i][None, :])).sum())
        total += int(nearer.sum())
    return count / total


def bench_violations(n, repeats, large):
    distances = made_distances(n, np.random.default_rng(0))
    if abs(cubed(distances) - violations(distances).violations) > 1e-15:
        raise SystemExit("the two rates differ: a fast wrong answer is none")
    seconds = interleaved(
        {"vectorised n^3": lambda: cubed(distances), "gnomon": lambda: violations(distances)},
        repeats,
    )
    big = made_distances(large, np.random.default_rng(1))
    once = interleaved({f"gnomon, n = {large}": lambda: violations(big)}, 1)
    found = {"n": n, "seconds": seconds | once}
    found["faster_than_cubed"] = ratio(seconds, "vectorised n^3", "gnomon")
    show(f"violations, n = {n}", seconds | once, figures(found))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    record = {
        "stress": bench_stress(2048, 768, options.repeats),
        "violations": bench_violations(512, options.repeats, 8192),
    }
    write_record("diagnostics", record)


if __name__ == "__main__":
    main()
