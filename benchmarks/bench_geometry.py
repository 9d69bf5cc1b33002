"""Cost of the geometry room against what a user would write or import instead.

Claims, each a ratio of medians from one run with interleaved repeats:
- counts to chord distances at n = 2048, V = 30,522: at least 1.5 times faster than the obvious
  NumPy from dense counts, and at least 0.6 of the speed of the bare product S S^T;
- top-16 classical MDS at n = 2048: at least 3 times faster than scikit-learn's ClassicalMDS.

Run `python benchmarks/bench_geometry.py`; it prints a table and writes records/geometry.json.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import threading
import time
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from gnomon.geometry import chord_distances, classical_mds
from gnomon.geometry.measure import measure
from gnomon.geometry.parallel import cores

RECORD = Path(__file__).parent / "records" / "geometry.json"
VOCABULARY = 30_522
MEBIBYTE = 2**20


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


def interleaved(variants, repeats):
    """Seconds of each variant, median and range, the variants taking turns."""
    seconds = {name: [] for name in variants}
    for _ in range(repeats):
        for name, run in variants.items():
            begin = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - begin)
    return {
        name: {"median": statistics.median(s), "least": min(s), "most": max(s)}
        for name, s in seconds.items()
    }


def peak_mebibytes(run):
    """Largest growth of resident memory while `run` runs, sampled every two milliseconds."""
    import psutil

    process, done, peak = psutil.Process(), threading.Event(), [0]
    before = process.memory_info().rss

    def watch():
        while not done.wait(0.002):
            peak[0] = max(peak[0], process.memory_info().rss - before)

    watcher = threading.Thread(target=watch)
    watcher.start()
    run()
    done.set()
    watcher.join()
    return round(peak[0] / MEBIBYTE)


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
    ours = seconds["gnomon"]["median"]
    variants.clear()  # lets go of the roots, so that memory is measured without them
    return {
        "positions": positions,
        "tokens_per_position": tokens,
        "density": round(sparse.nnz / dense.size, 4),
        "seconds": seconds,
        "faster_than_obvious": round(seconds["obvious NumPy"]["median"] / ours, 2),
        "share_of_bare_product": round(seconds["bare product"]["median"] / ours, 2),
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
        "faster_than_peer": round(
            seconds["ClassicalMDS"]["median"] / seconds["gnomon"]["median"], 2
        ),
        "peak_mebibytes": {"gnomon": peak_mebibytes(ours), "ClassicalMDS": peak_mebibytes(peer)},
    }


def show(title, result):
    print(f"\n{title}")
    for name, s in result["seconds"].items():
        memory = result["peak_mebibytes"].get(name, "")
        print(f"  {name:15} {s['median']:8.3f} s  ({s['least']:.3f} .. {s['most']:.3f})  {memory}")
    for key in ("faster_than_obvious", "share_of_bare_product", "faster_than_peer"):
        if key in result:
            print(f"  {key.replace('_', ' ')}: {result[key]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--positions", type=int, default=2048)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, default=RECORD)
    options = parser.parse_args()
    record = {"cores": cores(), "numpy": np.__version__, "load_before": os.getloadavg()[0]}
    for tokens in (20_000, 200_000):
        found = bench_distances(options.positions, tokens, options.repeats)
        show(f"counts to distances, {tokens} tokens a position, density {found['density']}", found)
        record[f"distances_{tokens}"] = found
    record["scaling"] = bench_scaling(options.positions, options.repeats)
    show("top-16 classical MDS (last column: peak MiB)", record["scaling"])
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
