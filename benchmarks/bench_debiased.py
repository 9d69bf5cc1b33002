"""Cost of the debiased estimator: sums over folds, a jackknife replicate, memory.

Claims, on real corpora and two cores:
- `debias` with jackknife and 40 sign draws: IMDB at n = 512 under 45 s and 2,560 MiB, the whole
  sentences of SST-2 at n = 64 under 3 s;
- its sums against the same formulas with dense float64 arrays, and against bare products: those
  of all types, which a dense route cannot do without, and those of common types, which ours can
  not do without;
- one fold-jackknife replicate by subtraction at least 4 times faster than counting the corpus
  again without that fold with np.bincount and computing again.

Run `python benchmarks/bench_debiased.py`; it prints a table and writes records/debiased.json.
"""

from __future__ import annotations

import argparse
from types import SimpleNamespace

import numpy as np

from gnomon.corpus.counting import count
from gnomon.distances.drift import measure_drift
from gnomon.distances.energies import balanced_signs, common_classes, frame_of, sums
from gnomon.distances.estimate import DRAWS, debias
from gnomon.distances.folds import fold_counts
from gnomon.distances.pilot import curvature, pilot, remainder
from harness import data_root, figures, interleaved, peak_of_command, ratio, show, write_record

CORPORA = {
    "imdb": {"path": "imdb/train.parquet", "column": "text", "length": 512, "seconds": 45.0},
    "sst2": {"path": "sst2/whole-sentences.tsv", "column": "0", "length": 64, "seconds": 3.0},
}
MEBIBYTES = 2560
FASTER = 4.0


def plain_sums(data, drift, signs, kap):
    """Energies, energies without each fold and under signs: dense, float64, term by term."""
    m, folds, n = data.size, data.folds, data.fold_tokens
    energy, deleted = np.zeros((m, m)), np.zeros((folds, m, m))
    flipped = np.zeros((len(signs), m, m))
    for block in data.blocks():
        at = pilot(data, block, drift, kap)
        y = (block.counts - n[:, :, None] * (at.root**2)[:, None, :]) / at.root[:, None, :]
        weighted = np.moveaxis(at.weight[:, None] * y, 1, 0).copy()
        owns = [z @ z.T for z in weighted]
        own = sum(owns)
        bent = remainder(data, block.types, block.counts.sum(axis=1), at)
        common = 0.0 if bent is None else bent
        energy += plain_energy(at, y, n, own) + common
        for g in range(folds):
            rest = np.delete(y, g, axis=1), np.delete(n, g, axis=1)
            deleted[g] += plain_energy(at, *rest, own - owns[g]) + common
        for k, draw in enumerate(signs):
            square, product = plain_products(at, y * draw[:, None], n, own)
            flipped[k] += 0.25 * (square + square.T - 2.0 * product)
    return energy, deleted, flipped


def plain_products(at, y, n, own):
    """The U products: sum_v s_i s_j (ybar_i^2)_U and sum_v s_i s_j (ybar_i ybar_j)_U."""
    pairs = np.outer(n.sum(axis=1), n.sum(axis=1)) - n @ n.T
    total = y.sum(axis=1)
    square = (total**2 - np.einsum("igv,igv->iv", y, y)) / np.diag(pairs)[:, None]
    weighted = at.weight * total
    return at.sum_pairs(at.weight * square), (weighted @ weighted.T - own) / pairs


def plain_energy(at, y, n, own):
    """The energy of every pair in a block, from the folds given."""
    mean = y.sum(axis=1) / n.sum(axis=1)[:, None]
    square, product = plain_products(at, y, n, own)
    alone = at.sum_pairs(at.weight * (at.root**2 + at.root * mean)) + 0.25 * square
    root = at.weight * at.root
    cross = root @ (at.weight * mean).T
    return alone + alone.T - 2.0 * root @ root.T - cross - cross.T - 0.5 * product


def bare_products(data, types, draws):
    """What BLAS must multiply for so many dense types: two products a fold, one a draw."""
    width = min(types, 2048)
    double, other = np.random.default_rng(0).normal(size=(2, data.size, width))
    single = double.astype(np.float32)

    def run():
        for _ in range(max(1, round(types / width))):
            for _ in range(2 * data.folds):
                double @ other.T
            for _ in range(draws):
                single @ single.T

    return run


def gaps_between(ours, plain):
    """How far both routes are apart; a fast wrong answer is not timed."""
    energy, deleted, flipped = plain
    gap = max(np.abs(ours.energy.sum(axis=0) - energy).max(), np.abs(ours.deleted - deleted).max())
    null = np.abs(ours.flipped - flipped).max() / np.sqrt(np.mean(flipped**2))
    if gap > 1e-9 or null > 1e-3:
        raise SystemExit(f"energies differ by {gap}, nulls by {null} of their size")
    return {"energies": float(gap), "nulls_relative": float(null)}


def bench_debias(name, counts, repeats):
    data = fold_counts(counts)
    drift = measure_drift(data)
    kap = curvature(data, drift)
    signs = balanced_signs(data.folds, DRAWS, np.random.default_rng(0))
    # The first call compiles or loads the kernels, once per machine.
    sums(data, drift, frame_of(data, signs[:1]), kap)
    plain = []
    dense = {"dense float64 sums": lambda: plain.extend(plain_sums(data, drift, signs, kap))}
    seconds = interleaved(dense, 1)
    gaps = gaps_between(sums(data, drift, frame_of(data, signs), kap), plain)
    common = int(data.class_bounds[common_classes(data)])
    variants = {
        "debias": lambda: debias(counts),
        "sums": lambda: sums(data, drift, frame_of(data, signs), kap),
        "sums, no draws": lambda: sums(data, drift, frame_of(data, signs[:0]), kap),
        "drift": lambda: measure_drift(data),
        "curvature": lambda: curvature(data, drift),
        "bare products, all types": bare_products(data, len(data.type_tokens), DRAWS),
        "bare products, common types": bare_products(data, common, DRAWS),
    }
    seconds |= interleaved(variants, repeats)
    peak = peak_of_command([__file__, "--measure", name])
    bar = CORPORA[name]["seconds"]
    return {
        "positions": data.size,
        "folds": data.folds,
        "draws": DRAWS,
        "types": len(data.type_tokens),
        "common_types": common,
        "density": round(data.columns.nnz / (data.columns.shape[0] * data.columns.shape[1]), 4),
        "seconds": seconds,
        "faster_than_dense_float64": ratio(seconds, "dense float64 sums", "sums"),
        "faster_than_bare_products_of_all_types": ratio(
            seconds, "bare products, all types", "sums"
        ),
        "share_of_bare_products_of_common_types": ratio(
            seconds, "bare products, common types", "sums"
        ),
        "largest_gap": gaps,
        "peak_mebibytes": peak,
        "bar": f"under {bar} s and {MEBIBYTES} MiB",
        "holds": seconds["debias"]["median"] < bar and peak < MEBIBYTES,
    }


def corpus_of(counts):
    """Token ids, positions and folds of a corpus with these counts, in the order of documents."""
    entries = counts.blocks.tocoo()
    cell = np.repeat(entries.coords[0], entries.data)
    token = np.repeat(entries.coords[1], entries.data)
    order = np.random.default_rng(0).permutation(len(cell))
    order = order[np.argsort(cell[order], kind="stable")]  # the tokens of a cell in random order
    cell, token = cell[order], token[order]
    starts = np.searchsorted(cell, np.arange(counts.blocks.shape[0]))
    document = np.arange(len(cell)) - starts[cell]  # its t-th token belongs to the t-th document
    position, fold = np.divmod(cell, counts.folds)
    order = np.lexsort((position, document, fold))
    return token[order], position[order], fold[order]


def without(data, fold):
    """The same counts with one fold left out, as if they had been counted so."""
    rows = np.arange(data.columns.shape[0]) % data.folds != fold
    others = np.arange(data.folds) != fold
    fields = {name: getattr(data, name) for name in data.__dataclass_fields__}
    fields |= {
        "columns": data.columns.tocsr()[rows].tocsc(),
        "folds": data.folds - 1,
        "fold_tokens": data.fold_tokens[:, others],
    }
    return type(data)(**fields)


def bench_replicate(counts, repeats):
    data = fold_counts(counts)
    drift, none = measure_drift(data), np.zeros((0, data.folds))
    kap = curvature(data, drift)
    token, position, fold = corpus_of(counts)
    vocabulary = counts.blocks.shape[1]
    rest = without(data, 0)

    def recount():
        kept = fold != 0
        keys = position[kept] * vocabulary + token[kept]
        return np.bincount(keys, minlength=counts.length * vocabulary)

    variants = {
        "np.bincount without a fold": recount,
        "computing again": lambda: sums(rest, drift, frame_of(rest, none[:, 1:]), kap),
        "all replicates": lambda: sums(data, drift, frame_of(data, none), kap),
    }
    recounted = recount().reshape(counts.length, vocabulary)[data.positions][:, data.type_indices]
    if (recounted != rest.seen(slice(0, None))).any():
        raise SystemExit("the counts without a fold differ: a fast wrong answer is none")
    seconds = interleaved(variants, repeats)
    one = seconds["all replicates"]["median"] / data.folds
    peer = sum(seconds[name]["median"] for name in list(variants)[:2])
    return {
        "tokens": len(token),
        "seconds": seconds,
        "seconds_of_one_replicate": round(one, 4),
        "faster_than_counting_and_computing_again": round(peer / one, 2),
        "faster_than_np_bincount_alone": round(
            seconds["np.bincount without a fold"]["median"] / one, 2
        ),
        "bar": f"at least {FASTER} times faster than counting and computing again",
        "holds": peer / one >= FASTER,
    }


def counted(name, root):
    """Counts of a corpus, with what the estimator needs of them."""
    corpus = CORPORA[name]
    found = count(
        root / corpus["path"],
        column=corpus["column"],
        tokenizer=root / "bert-base-uncased" / "tokenizer.json",
        length=corpus["length"],
    )
    kept = np.asarray(found.kept)
    blocks = found.blocks.tocsr()
    return SimpleNamespace(
        blocks=blocks, folds=found.folds, kept=kept, length=blocks.shape[0] // found.folds
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--measure", help="count and debias this corpus only: its peak memory")
    options = parser.parse_args()
    root = data_root()
    if root is None:
        print("skipped: the real corpora are not here; set GNOMON_DATA to their folder")
        return
    if options.measure:
        debias(counted(options.measure, root))
        return
    record = {}
    for name in ("sst2", "imdb"):
        counts = counted(name, root)
        record[f"debias_{name}"] = bench_debias(name, counts, options.repeats)
        record[f"replicate_{name}"] = bench_replicate(counts, options.repeats)
        for part in ("debias", "replicate"):
            found = record[f"{part}_{name}"]
            show(f"{part}, {name}", found["seconds"], figures(found))
    write_record("debiased", record)


if __name__ == "__main__":
    main()
