"""Cost of the geometry room against what a user would write or import instead.

Claims, each a ratio of medians from one run with interleaved repeats:
- counts to chord distances at n = 2048, V = 30,522: at least 1.5 times faster than the obvious
  NumPy from dense counts, and at least 0.6 of the speed of the bare product S S^T;
- top-16 classical MDS at n = 2048: at least 3 times faster than scikit-learn's ClassicalMDS.

Run `python benchmarks/bench_geometry.py`; it prints a table and writes records/geometry.json.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.sparse import csr_array

from gnomon.distances import chord_distances, classical_mds
from gnomon.distances.geometry import measure
from harness import figures, interleaved, peak_mebibytes, ratio, show, write_record

VOCABULARY = 30_522


def zipf_counts(positions, tokens, rng):
    """Counts of `tokens` draws per position from Zipf's law: dense int32 and sparse int64."""
    shares = 1.0 / np.arange(1, VOCABULARY + 1)
    shares /= shares.sum()
    dense = np.empty((positions, VOCABULARY), dtype=np.int32)
    for row in dense:
        row[:] = rng.multinomial(tokens, shares)
    sparse = csr_array(dense)
    return dense, csr_array((sparse.data.astype(np.int64), sparse.indices, sparse.indptr))


def obvious_distances(counts):
    """What one writes first: shares, roots, product, distances."""
    shares = counts / counts.sum(axis=1, keepdims=True)
    roots = np.sqrt(shares)
    return np.sqrt(np.maximum(2.0 - 2.0 * (roots @ roots.T), 0.0))


def bench_distances(positions, tokens, repeats):
    dense, sparse = zipf_counts(positions, tokens, np.random.default_rng(0))
    roots = np.sqrt(dense / dense.sum(axis=1, keepdims=True))
    chord_distances(sparse[:128])  # compiles or loads the kernels, once per machine
    variants = {
        "bare product": lambda: roots @ roots.T,
        "obvious NumPy": lambda: obvious_distances(dense),
        "gnomon": lambda: chord_distances(sparse),
        "csr to dense": sparse.toarray,
    }
    gap = np.abs(chord_distances(sparse) - obvious_distances(dense)).max()
    if gap > 1e-6:
        raise SystemExit(f"distances differ by {gap}: a fast wrong answer is none")
    seconds = interleaved(variants, repeats)
    variants.clear()  # lets go of the roots, so that memory is measured without them
    return {
        "positions": positions,
        "tokens_per_position": tokens,
        "density": round(sparse.nnz / dense.size, 4),
        "seconds": seconds,
        "faster_than_obvious": ratio(seconds, "obvious NumPy", "gnomon"),
        "share_of_bare_product": ratio(seconds, "bare product", "gnomon"),
        "peak_mebibytes": {
            "gnomon": peak_mebibytes(lambda: chord_distances(sparse)),
            "obvious NumPy": peak_mebibytes(lambda: obvious_distances(dense)),
        },
    }


def bench_scaling(positions, repeats, dimension=16):
    from sklearn.manifold import ClassicalMDS

    rng = np.random.default_rng(1)
    counts = rng.multinomial(5000, rng.dirichlet(np.full(3000, 0.1)), size=positions)
    geometry = measure(counts)

    def peer():
        peer_scaling = ClassicalMDS(n_components=dimension, metric="precomputed")
        return peer_scaling.fit_transform(geometry.distances)

    def ours():
        return classical_mds(geometry.gram, dimension).vectors

    gap = np.abs(np.abs(peer()) - np.abs(ours())).max()
    if gap > 1e-6:
        raise SystemExit(f"coordinates differ by {gap}: a fast wrong answer is none")
    seconds = interleaved({"ClassicalMDS": peer, "gnomon": ours}, repeats)
    return {
        "positions": positions,
        "dimension": dimension,
        "seconds": seconds,
        "faster_than_peer": ratio(seconds, "ClassicalMDS", "gnomon"),
        "peak_mebibytes": {"gnomon": peak_mebibytes(ours), "ClassicalMDS": peak_mebibytes(peer)},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--positions", type=int, default=2048)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    record = {}
    for tokens in (20_000, 200_000):
        found = bench_distances(options.positions, tokens, options.repeats)
        title = f"counts to distances, {tokens} tokens a position, density {found['density']}"
        show(title, found["seconds"], figures(found))
        record[f"distances_{tokens}"] = found
    record["scaling"] = bench_scaling(options.positions, options.repeats)
    show("top-16 classical MDS", record["scaling"]["seconds"], figures(record["scaling"]))
    write_record("geometry", record)


if __name__ == "__main__":
    main()
