"""Cost of Toeplitz spectra: products, extreme eigenvalues, and all of them.

The kernel is that of rotary encoding, dimension 64 (32 frequencies), unless it says otherwise. All
variants of a comparison are checked to give the same numbers.
Bars, each a ratio of medians from one run with interleaved repeats:
- a product with the transform kept at least 3 times faster than scipy.linalg.matmul_toeplitz, at
  4,096, 16,384 and 65,536 positions;
- the 8 largest eigenvalues at 4,096 positions at least 50 times faster than scipy.linalg.eigvalsh
  of the dense matrix: by Lanczos, which takes any kernel, and in closed form;
- the same at 65,536 positions, where a dense matrix has 32 GiB, in under 2 s by Lanczos;
- all eigenvalues of e^(-t/50) at 2,048 and 4,096 positions from two halves at least 2 times faster
  than scipy.linalg.eigvalsh.
Everything runs on one thread.

Run `python benchmarks/bench_spectra.py`; it prints tables and writes records/spectra.json.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse

import numpy as np
from scipy.linalg import eigvalsh, matmul_toeplitz, toeplitz

from gnomon.encodings.registry import encoding
from gnomon.spectra.kernel import kernel_of
from gnomon.spectra.modes import cosine_eigenvalues
from gnomon.spectra.toeplitz import Toeplitz, all_eigenvalues, extreme_eigenvalues
from harness import figures, interleaved, ratio, show, write_record

LENGTHS = (4096, 16384, 65536)
COUNT = 8
DENSE, PEER = "scipy eigvalsh, dense", "scipy matmul_toeplitz"


def same(found, wanted, name, tolerance=1e-9):
    """A fast wrong answer is none."""
    error = float(np.abs(found - wanted).max() / np.abs(wanted).max())
    if error > tolerance:
        raise SystemExit(f"{name} gives other numbers, {error:.2g} away")
    return error


def rotary():
    return kernel_of(encoding("rope", dimension=64))


def bench_products(repeats):
    found = {}
    for length in LENGTHS:
        column = rotary().column(length)
        x, matrix = np.random.default_rng(0).standard_normal(length), Toeplitz(column)
        variants = {
            PEER: lambda column=column, x=x: matmul_toeplitz(column, x),
            "transform kept": lambda matrix=matrix, x=x: matrix @ x,
        }
        same(matrix @ x, matmul_toeplitz(column, x), "the product")
        seconds = interleaved(variants, 5 * repeats)
        found[str(length)] = {"seconds": seconds, "ratio": ratio(seconds, PEER, "transform kept")}
    return found


def bench_largest(repeats):
    kernel, length = rotary(), LENGTHS[0]
    column, (places, masses) = kernel.column(length), kernel.modes.masses()
    variants = {
        DENSE: lambda: eigvalsh(toeplitz(column))[::-1][:COUNT],
        "Lanczos": lambda: extreme_eigenvalues(column, COUNT).values,
        "closed form": lambda: cosine_eigenvalues(places, masses, length)[:COUNT],
    }
    wanted = variants[DENSE]()
    for name, run in variants.items():
        same(run(), wanted, name)
    seconds = interleaved(variants, repeats)
    far = kernel.column(LENGTHS[-1])
    longest = {
        "Lanczos": lambda: extreme_eigenvalues(far, COUNT).values,
        "closed form": lambda: cosine_eigenvalues(places, masses, LENGTHS[-1])[:COUNT],
    }
    same(longest["Lanczos"](), longest["closed form"](), "Lanczos at 65,536")
    return {
        "seconds": seconds,
        "lanczos_ratio": ratio(seconds, DENSE, "Lanczos"),
        "closed_ratio": ratio(seconds, DENSE, "closed form"),
        "seconds_at_65536": interleaved(longest, repeats),
    }


def bench_all(repeats):
    found = {}
    for length in (2048, 4096):
        column = np.exp(-np.arange(length) / 50.0)
        variants = {
            DENSE: lambda column=column: eigvalsh(toeplitz(column))[::-1],
            "two halves": lambda column=column: all_eigenvalues(column),
        }
        same(variants["two halves"](), variants[DENSE](), "two halves")
        seconds = interleaved(variants, repeats)
        found[str(length)] = {"seconds": seconds, "ratio": ratio(seconds, DENSE, "two halves")}
    return found


def judged(record):
    """Every bar with what was found and whether it is met."""
    found = {}
    for length, one in record["products"].items():
        found[f"product, n = {length}"] = {"found": one["ratio"], "least": 3.0}
    largest = record["largest"]
    found["8 largest, n = 4096, Lanczos"] = {"found": largest["lanczos_ratio"], "least": 50.0}
    found["8 largest, n = 4096, closed form"] = {"found": largest["closed_ratio"], "least": 50.0}
    for length, one in record["all"].items():
        found[f"all, n = {length}"] = {"found": one["ratio"], "least": 2.0}
    for bar in found.values():
        bar["met"] = bar["found"] >= bar["least"]
    taken = largest["seconds_at_65536"]["Lanczos"]["median"]
    found["8 largest, n = 65536, seconds"] = {"found": taken, "most": 2.0, "met": taken < 2.0}
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    record = {
        "products": bench_products(repeats),
        "largest": bench_largest(repeats),
        "all": bench_all(repeats),
    }
    for length, one in record["products"].items():
        show(f"products, n = {length}", one["seconds"], figures(one))
    show("8 largest, n = 4096", record["largest"]["seconds"])
    show("8 largest, n = 65536", record["largest"]["seconds_at_65536"])
    for length, one in record["all"].items():
        show(f"all, n = {length}", one["seconds"], figures(one))
    record["bars"] = judged(record)
    print("\nbars")
    for name, bar in record["bars"].items():
        print(f"  {'met' if bar['met'] else 'NOT MET':8} {name}: {bar['found']}")
    write_record("spectra", record)


if __name__ == "__main__":
    main()
