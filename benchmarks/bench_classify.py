"""Share of random structures that are classified right, by noise and tolerance; and what is silent.

Structures to dimension 16: zero, decay, growth, turns, damped turns and Jordan blocks (order 2 to
4, of a pair 2 to 3); a quarter of the blocks repeat an eigenvalue that is there already, others are
at least 0.02 apart. X = P J P^-1 with singular values of P from 1 down to 1 / condition, the
condition log-uniform from 1 to 1,000, and noise E with |E|_2 = level |X|_2. Right means: the same
kinds, orders and counts, and every eigenvalue within 0.01 or the error that is stated. Tolerances:
the default, and 10 times the noise (1e-12 where there is none). "Told" counts what is right, and
what comes with a warning that speaks of another tolerance.
"Reading" is what the eigenvalues alone say, by numpy.linalg.eigvals with the same tolerance as
zero.

A second study draws chains: orders up to 4 of real eigenvalues and of slow and fast turns, at least
0.02 apart, with noise from 1e-12 to 1e-6. It counts answers that are wrong without a word: by
default, at ten times the noise, and at the tolerance that the warnings of the default advise.

Run `python benchmarks/bench_classify.py`; it prints tables and writes records/classify.json.
"""

from __future__ import annotations

import argparse
import re
import time

import numpy as np
from scipy.linalg import block_diag

from gnomon.groups.classification import TOLERANCE, classify
from gnomon.groups.generator import Block
from harness import write_record

LARGEST, APART, CLOSE = 16, 0.02, 0.01
NOISE = (0.0, 1e-12, 1e-10, 1e-8)
LEVELS = (1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)
KINDS = ("zero", "decay", "growth", "rotation", "damped", "real jordan", "turning jordan")


def drawn(rng):
    """Return the blocks of a random structure."""
    size, blocks = int(rng.integers(2, LARGEST + 1)), []
    while (room := size - sum(block.dimension for block in blocks)) > 0:
        block = repeated(rng, blocks) if blocks and rng.random() < 0.25 else fresh(rng)
        known = {complex(one.decay, one.frequency) for one in blocks}
        value = complex(block.decay, block.frequency)
        clear = all(value == other or abs(value - other) >= APART for other in known)
        if block.dimension <= room and clear and (value.imag == 0 or value.imag >= APART):
            blocks.append(block)
    return blocks


def fresh(rng):
    """Return a block with an eigenvalue of its own."""
    kind = KINDS[rng.integers(len(KINDS))]
    decay = {"decay": -1.0, "growth": 1.0, "damped": -1.0}.get(kind, 0.0)
    if "jordan" in kind:
        decay = float(rng.choice([0.0, -1.0]))
    turning = kind in ("rotation", "damped", "turning jordan")
    order = {"real jordan": int(rng.integers(2, 5)), "turning jordan": int(rng.integers(2, 4))}
    return Block(
        decay=decay * rng.uniform(0.05, 1.0),
        frequency=rng.uniform(0.05, np.pi) if turning else 0.0,
        order=order.get(kind, 1),
    )


def repeated(rng, blocks):
    """Return a block with an eigenvalue that is there already."""
    one = blocks[rng.integers(len(blocks))]
    return Block(decay=one.decay, frequency=one.frequency, order=int(rng.integers(1, 3)))


def dense(blocks, level, rng):
    """Return X in a random basis with noise, and the condition of the basis."""
    form = block_diag(*[block.matrix() for block in blocks])
    size = len(form)
    turns = [np.linalg.qr(rng.standard_normal((size, size)))[0] for _ in range(2)]
    condition = 10.0 ** rng.uniform(0.0, 3.0)
    basis = turns[0] @ np.diag(np.geomspace(1.0, 1.0 / condition, size)) @ turns[1]
    x = basis @ form @ np.linalg.inv(basis)
    noise = rng.standard_normal((size, size))
    return x + level * np.linalg.norm(x, 2) * noise / np.linalg.norm(noise, 2), condition


def is_right(blocks, founds):
    """Compare kinds, orders, counts and eigenvalues."""
    found = [(one.block, one.error) for one in founds for _ in range(one.count)]
    if len(found) != len(blocks):
        return False
    for block in blocks:
        fitting = [
            (one, error)
            for one, error in found
            if (one.kind, one.order) == (block.kind, block.order)
            and abs(complex(one.decay - block.decay, one.frequency - block.frequency))
            <= max(CLOSE, error)
        ]
        if not fitting:
            return False
        found.remove(fitting[0])
    return True


def plain_reading(blocks, x, tolerance):
    """Say whether eigenvalues with a test for zero give the blocks."""
    zero = tolerance * np.linalg.norm(x, 2)
    values = np.linalg.eigvals(x)
    values = np.where(abs(values.real) <= zero, 1j * values.imag, values)
    values = np.where(abs(values.imag) <= zero, values.real, values)

    class One:
        def __init__(self, value):
            self.block = Block(decay=value.real, frequency=value.imag)
            self.count, self.error = 1, 0.0

    return is_right(blocks, [One(complex(value)) for value in values if value.imag >= 0.0])


def judged(count, level, tolerance, seed):
    """Classify the same structures, with noise of one level, at one tolerance."""
    right, told, reading, conditions, seconds = [], [], [], [], []
    for k in range(count):
        rng = np.random.default_rng([seed, k])
        blocks = drawn(rng)
        x, condition = dense(blocks, level, rng)
        begin = time.perf_counter()
        found = classify(x, tolerance=tolerance)
        seconds.append(time.perf_counter() - begin)
        right.append(is_right(blocks, found.structure))
        told.append(right[-1] or any("tolerance" in said for said in found.warnings))
        reading.append(plain_reading(blocks, x, found.tolerance))
        conditions.append(condition)
    right, bad = np.array(right), np.array(conditions) > 100.0
    return {
        "noise": level,
        "tolerance": tolerance or TOLERANCE,
        "right": float(right.mean()),
        "right_or_told": float(np.mean(told)),
        "right_condition_to_100": float(right[~bad].mean()),
        "right_condition_above_100": float(right[bad].mean()),
        "reading": float(np.mean(reading)),
        "median_seconds": float(np.median(seconds)),
    }


def chained(rng):
    """Return blocks of which most are chains, many of them of slow turns."""
    size, blocks, tries = int(rng.integers(2, LARGEST + 1)), [], 0
    while (room := size - sum(block.dimension for block in blocks)) > 0 and tries < 200:
        tries += 1
        decay = float(rng.choice([0.0, -1.0])) * 10.0 ** rng.uniform(-2.0, 0.0)
        frequency = 10.0 ** rng.uniform(-2.0, 0.5) if rng.random() < 0.5 else 0.0
        order = int(rng.integers(1, 5)) if rng.random() < 0.7 else 1
        block = Block(decay=decay, frequency=frequency, order=order)
        values = [complex(one.decay, one.frequency) for one in blocks]
        if block.dimension <= room and all(
            abs(complex(decay, frequency) - value) >= APART for value in values
        ):
            blocks.append(block)
    return blocks or [Block()]


def told(blocks, found):
    """Return "right", "told" or "silent"."""
    if is_right(blocks, found.structure):
        return "right"
    return "told" if any("tolerance" in said for said in found.warnings) else "silent"


def advised(found):
    """Return the tolerance that the warnings advise, or None."""
    named = [re.search(r"pass tolerance=([0-9.]+e[-+][0-9]+)", said) for said in found.warnings]
    return next((float(one.group(1)) for one in named if one), None)


def silences(count, seed):
    """Count answers that are right, told and silent, by noise and by the tolerance that is used."""
    rows = {}
    for k in range(count):
        rng = np.random.default_rng([seed, 1, k])
        blocks, level = chained(rng), float(rng.choice(LEVELS))
        x, _ = dense(blocks, level, rng)
        first = classify(x)
        answers = {"default": first, "stated": classify(x, tolerance=max(10.0 * level, 1e-12))}
        if advised(first) is not None:
            answers["advised"] = classify(x, tolerance=advised(first))
        for name, found in answers.items():
            row = rows.setdefault((level, name), {"right": 0, "told": 0, "silent": 0})
            row[told(blocks, found)] += 1
    return [
        {"noise": level, "tolerance_is": name} | rows[level, name] for level, name in sorted(rows)
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--structures", type=int, default=1000)
    parser.add_argument("--chains", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rows = []
    for level in NOISE:
        for name, tolerance in (("default", None), ("stated", max(10.0 * level, 1e-12))):
            row = judged(options.structures, level, tolerance, options.seed)
            rows.append({"tolerance_is": name} | row)
            print(
                f"noise {level:7.0e}  tolerance {name:8} {row['tolerance']:.0e}  "
                f"right {row['right']:6.1%} (condition to 100 {row['right_condition_to_100']:6.1%},"
                f" above {row['right_condition_above_100']:6.1%})  "
                f"right or told {row['right_or_told']:6.1%}  "
                f"eigenvalues alone {row['reading']:6.1%}",
                flush=True,
            )
    chains = silences(options.chains, options.seed)
    for row in chains:
        print(
            f"noise {row['noise']:7.0e}  tolerance {row['tolerance_is']:8} right {row['right']:4} "
            f"told {row['told']:4} silent {row['silent']:4}"
        )
    given = {"structures": options.structures, "chains": options.chains, "seed": options.seed}
    write_record("classify", {**given, "rows": rows, "silences": chains})


if __name__ == "__main__":
    main()
