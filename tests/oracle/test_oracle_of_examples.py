"""Array formulas against the oracle: every example, to position 10^6 and at timestamps.

Stated accuracy of the NumPy formulas, with u = 2^-53 and p the largest phase (or, of decays,
exponent) in radians: a coordinate errs by at most `4 u (1 + p)` times the size of the vector. The
term in p is what rounding of a frequency costs at a position: 4 u p is 8e-7 radians for the
fastest pair at 1.7e9, in seconds since 1970, and 5e-10 at 10^6. Biases err by 4 u of themselves.
"""

from __future__ import annotations

import numpy as np
import pytest

from gnomon import oracle
from gnomon.errors import EncodingError
from support.examples import heads_of, width_of

pytest.importorskip("mpmath")
UNIT = 2.0**-53
WHOLE = [0, 1, 2, 3, 7, 31, 1000, 65_535, 999_999, 1_000_000]
REAL = [0.5, -3.25, 1234.5678, 1e6 + 0.1, 1.7e9 + 0.123456, 1_712_345_678.9]


def usable(made, position, kind):
    """Whether an encoding has something of a kind at a position."""
    at = np.asarray([spread(position, made.axes)])
    q = np.ones((heads_of(made), 1, width_of(made)))
    try:
        made.transform(q, q, at) if kind == "transform" else made.scores(q, q, at)
    except EncodingError:
        return False
    return True


def spread(position, axes):
    """A position on several axes: at different places on each."""
    return position if axes == 1 else tuple(position / 2**axis for axis in range(axes))


def places_of(made, kind="scores"):
    """The positions at which an example is tried, as it wants them; at least four."""
    found = [spread(p, made.axes) for p in [*WHOLE, *REAL] if usable(made, p, kind)]
    assert len(found) >= 4
    return found


def largest_phase(made, at):
    """How far the fastest pair has turned, or the largest exponent has grown; tables have none."""
    names = ("frequencies", "rates", *(("slopes",) if hasattr(made, "clock") else ()))
    moving = [made.numbers[name] for name in names if name in made.numbers]
    if made.name in ("random", "learned", "t5"):
        return 2 * np.pi  # the angle of Box and Muller
    fastest = max((np.abs(values).max() for values in moving), default=0.0)
    # Generators say themselves how fast they decay, or turn, where no number of theirs does.
    fastest = max(fastest, getattr(made, "steepness", 0.0), getattr(made, "fastest", 0.0))
    far = getattr(made, "largest", 0.0)  # positions drawn at random lie below it
    return fastest * (np.abs(np.asarray(at, dtype=float)).sum() + far)


def size_of(values):
    """The largest entry, or 1."""
    return max(1.0, *(abs(float(value)) for value in values))


def close(found, wanted, size, phase):
    """Within the stated accuracy."""
    error = max(abs(float(w - oracle_number(f))) for f, w in zip(found, wanted, strict=True))
    return error <= 4 * UNIT * (1 + phase) * size


def oracle_number(value):
    """An array's number, exactly."""
    from gnomon.oracle.definition import number

    return number(value)


def test_every_example_is_known_to_the_oracle(example):
    known = oracle.definition_of(example)
    rules = {"vectors": "vectors", "transform": "transform", "bias": "bias", "content": "content"}
    offered = {kind for kind, rule in rules.items() if getattr(known, rule)}
    assert offered == set(example.kinds)


@pytest.mark.kind("vectors")
def test_vectors_are_those_of_the_oracle(example):
    for at in places_of(example):
        found = example.vectors(np.asarray([at]))[0]
        [wanted] = oracle.vectors(example, [at])
        size = size_of(wanted)
        assert close(found, wanted, size, largest_phase(example, at)), at


@pytest.mark.kind("transform")
@pytest.mark.parametrize("side", ["q", "k"])
def test_turned_vectors_are_those_of_the_oracle(example, side, rng):
    heads = heads_of(example)
    x = rng.normal(size=(heads, 1, width_of(example)))
    for at in places_of(example, "transform"):
        pair = example.transform(x, x, np.asarray([at]))
        for head in {0, heads - 1}:
            found = pair[0 if side == "q" else 1][head, 0]
            wanted = oracle.transform(example, x[head, 0], at, side=side, head=head)
            size = size_of(wanted)
            assert close(found, wanted, size, largest_phase(example, at)), at


@pytest.mark.kind("bias")
def test_biases_are_those_of_the_oracle(example):
    at = places_of(example)
    found = example.bias(np.asarray(at))
    for head in range(heads_of(example)):
        for i, query in enumerate(at):
            for j, key in enumerate(at):
                wanted = oracle.bias(example, query, key, head=head)
                error = abs(float(wanted - oracle_number(found[head, i, j])))
                size = bias_size(example, found[head], wanted)
                phase = bias_phase(example, query, key)
                assert error <= 4 * UNIT * (1 + phase) * size, (query, key)


def bias_size(made, found, wanted):
    """What a bias is measured by: itself, or the largest where sums cancel (tables, networks).

    Times of a clock are rounded before they are subtracted, so there the phase says it all.
    """
    if hasattr(made, "clock"):
        return 1.0
    if "frequencies" in made.numbers or "weights_out" in made.numbers:
        return np.abs(found).max()
    return np.abs(made.numbers.get("table", float(wanted))).max()


def bias_phase(made, *places):
    """How often a bias is rounded beyond its lag and its product, or how far its phase is.

    A table errs as its angles do; a network rounds once for every term of its sums; a power, and a
    logarithm, in their own last bits.
    """
    if {"table", "frequencies", "paces"} & set(made.numbers):
        return sum(largest_phase(made, at) for at in places)
    if "weights_out" in made.numbers:
        return sum(values.shape[0] for values in made.numbers.values() if values.ndim)
    return 1.0 if made.name.startswith("kerple") else 0.0


def test_scores_are_those_of_the_oracle(example, rng):
    at = places_of(example)
    compare_scores(example, at, rng, pairs=12)


@pytest.mark.wide
def test_scores_at_random_positions_are_those_of_the_oracle(example, rng):
    """Positions up to 10^6, evenly in their logarithm, and seconds within a year of 1.7e9."""
    far = [*np.exp(rng.uniform(0, np.log(1e6), size=60)), *(1.7e9 + rng.uniform(0, 3e7, size=20))]
    tried = [*np.floor(far).tolist(), *far, *range(8)]
    at = [spread(p, example.axes) for p in tried if usable(example, p, "scores")]
    compare_scores(example, at, rng, pairs=300)


def compare_scores(example, at, rng, *, pairs):
    """Compare some pairs of positions and heads; rules on content take tokens as positions rise."""
    at = sorted(set(at)) if "content" in example.kinds else at
    heads = heads_of(example)
    q, k = rng.normal(size=(2, heads, len(at), width_of(example)))
    found = example.scores(q, k, np.asarray(at))
    size = width_of(example) * np.abs(q).max() * np.abs(k).max()
    if "content" in example.kinds:
        compare_rules(example, (q, k, at), found, size)
        return
    for i, j in rng.integers(0, len(at), size=(pairs, 2)):
        head = int(rng.integers(heads))
        wanted = oracle.score(example, q[head, i], k[head, j], at[i], at[j], head=head)
        phase = largest_phase(example, at[i]) + largest_phase(example, at[j])
        phase += abs(float(wanted))  # a bias may be larger than all contents
        if np.isneginf(float(wanted)):
            assert np.isneginf(found[head, i, j])
        else:
            assert close([found[head, i, j]], [wanted], size, phase), (at[i], at[j])


def compare_rules(example, given, found, size):
    """Compare all logits of the first and the last head, which a rule on content makes at once."""
    q, k, at = given
    for head in {0, len(q) - 1}:
        wanted = oracle.scores(example, q[head], k[head], at, head=head, beside=(q, k))
        for i, row in enumerate(wanted):
            phase = largest_phase(example, at[i]) + max(
                largest_phase(example, place) for place in at
            )
            for j, value in enumerate(row):
                if np.isneginf(float(value)):
                    assert np.isneginf(found[head, i, j])
                else:
                    grown = phase + len(at) + abs(float(value))  # sums over tokens
                    assert close([found[head, i, j]], [value], size, grown), (at[i], at[j])
