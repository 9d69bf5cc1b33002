r"""Laws of what lies between: do other tokens decide a logit, does their order, and is it a path?

With the tokens of a line given, f(q_i, k_j) of query i and key j:

* context  f does not change with tokens other than i and j: so it is for encodings of positions;
* order    f does not change when tokens well between both are exchanged: group elements commute, so
           that only a *clock*, the sum of what they add, counts (level L3); a clock may also read
           up to `MARGIN` neighbours of each token;
* path     T(i, r) = T(i, s) T(s, r), T the matrix of f, biases summed: a product along the path
           (L4 where the order matters) [yang2025path];
* content  the rank of f(q_a, k_b) at one pair of positions over many vectors: finite where fixed
           features of q and k are multiplied (L2), full where content decides otherwise (L7).
"""

from __future__ import annotations

import numpy as np

from gnomon.groups.blocks import Floats
from gnomon.groups.laws import residual
from gnomon.groups.subject import Subject

TOKENS, MARGIN = 13, 4


def _line(subject: Subject, rng: np.random.Generator) -> tuple[Floats, Floats, Floats | None]:
    """Return positions and keys of a line of tokens, and what is read of them."""
    reach = subject.reach if subject.lags < TOKENS else subject.lags
    at = np.unique(subject.places(np.linspace(0.0, 1.0, TOKENS), reach=reach), axis=0)
    k = rng.normal(size=(len(at), subject.dimension))
    read = None if subject.width is None else rng.normal(size=(len(at), subject.width))
    return at, k, read


def context(subject: Subject, rng: np.random.Generator) -> float:
    """Return how much the logits of the last query depend on the token before it.

    That token stands between the query and all other keys, near or far.
    """
    at, k, read = _line(subject, rng)
    q = rng.normal(size=(1, subject.dimension))
    before = subject(q, k, at[-1:], at, read)
    changed = len(at) - 2
    for held in (k, read):
        if held is not None:
            held[changed] = rng.normal(size=held.shape[-1])
    after = subject(q, k, at[-1:], at, read)
    others = np.arange(len(at)) != changed
    return residual(after[..., others], before[..., others])


def order(subject: Subject, rng: np.random.Generator) -> float:
    """Return how much the logit of the last query and the first key depends on an exchange."""
    at, k, read = _line(subject, rng)
    q = rng.normal(size=(1, subject.dimension))
    before = subject(q, k, at[-1:], at, read)
    inside = np.arange(1 + MARGIN, len(at) - MARGIN)
    for held in (k, read):
        if held is not None:
            held[inside] = held[inside[::-1]]
    after = subject(q, k, at[-1:], at, read)
    return residual(after[..., :1], before[..., :1])


def path(subject: Subject, rng: np.random.Generator) -> float:
    """Return how far T(i, r) is from T(i, s) T(s, r), and a bias from a sum along the path."""
    at, _, read = _line(subject, rng)
    last, middle = len(at) - 1, len(at) // 2
    parts = {}
    for name, i, j in (("whole", last, 0), ("late", last, middle), ("early", middle, 0)):
        some = None if read is None else read[: i + 1]
        parts[name] = _matrix(subject, at[: i + 1], j, some)
    matrices = {name: part[0] for name, part in parts.items()}
    biases = {name: part[1] for name, part in parts.items()}
    product = matrices["late"] @ matrices["early"]
    summed = biases["late"] + biases["early"]
    return max(residual(matrices["whole"], product), residual(biases["whole"], summed))


def _matrix(subject: Subject, at: Floats, key: int, read: Floats | None) -> tuple[Floats, Floats]:
    """Return T (..., d, d) of the last token's query and one key, and the bias between them."""
    d, m = subject.dimension, len(at)
    eye = np.eye(d)

    def logit(q: Floats, k: Floats) -> Floats:
        keys = np.zeros((m, d))
        keys[key] = k
        return subject(q[None], keys, at[-1:], at, read)[..., 0, key]

    zero = np.zeros(d)
    bias = logit(zero, zero)
    rows = [np.stack([logit(q, k) - bias for k in eye], axis=-1) for q in eye]
    return np.stack(rows, axis=-2), bias


def content_rank(subject: Subject, rng: np.random.Generator) -> tuple[int, int]:
    """Return the rank of f over many queries and keys at one pair of positions, and how many."""
    count = 4 * (subject.dimension + 2)
    q, k = rng.normal(size=(2, count, subject.dimension))
    late, early = (np.repeat(subject.places(np.array([x])), count, axis=0) for x in (0.02, 0.01))
    found = subject(q, k, late, early)
    found = found.reshape(-1, *found.shape[-2:])
    sizes = np.linalg.svd(found, compute_uv=False)
    return int(max((s > 1e-10 * s[0]).sum() for s in sizes)), count
