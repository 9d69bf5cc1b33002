"""Generators of one-parameter groups: the matrix X, entry by entry, and its exponential.

    q~ = exp((i - r) X)^T q,   k~ = exp((r - j) X) k,

by the series and the squarings of mpmath [mpmath], never by the closed form of a block; guard
digits pay for the squarings. Skew X need no reference point r.

    jordan      kron(I_m, -a I + w J) + g kron(N, I_2)                          [zhang2026 sec. 3]
    generator   P J P^-1, J blocks kron(I_m, a I + w J) + g kron(N, I)              [puranik2026]
    hyperbolic  [[-a, b], [b, -a]] for every pair, a above every |b|                     [dai2025]
    liere       sum_a i_a (U_a - U_a^T), U_a an upper triangle                [ostmeier2024 sec. 4]
    comrope     <theta_j, i> (P_j - P_j^T) for block j                              [yu2025 sec. 4]
    grape       sum_p w_p (u_p v_p^T - v_p u_p^T), u and v by Gram and Schmidt   [zhang2025 sec. 2]
    circulant   sum_a i_a (C_a - C_a^T), then into the basis of Fourier        [schenck2025 sec. 3]
    cayley      P^T x turned by <W_k, i>, P = (I - S)(I + S)^(-1)              [schenck2025 sec. 3]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gnomon.oracle.definition import Definition, Point, Real, Vector, context, dot, number, softplus
from gnomon.oracle.rotary import Turning, turn

Matrix = list[list[Real]]
"""Rows of exact numbers."""


def zeros(size: int) -> Matrix:
    """Return a square of zeros."""
    return [[context().zero] * size for _ in range(size)]


def exponential(matrix: Matrix, by: Real = 1) -> Matrix:
    """Return exp(by * matrix)."""
    mp = context()
    made = mp.expm(mp.matrix(matrix) * by)
    return [[made[i, j] for j in range(made.cols)] for i in range(made.rows)]


def apply(matrix: Matrix, x: Vector) -> Vector:
    """Return a matrix times a vector."""
    return [dot(row, x) for row in matrix]


def transpose(matrix: Matrix) -> Matrix:
    """Return the transpose."""
    return [list(column) for column in zip(*matrix, strict=True)]


def _by_blocks(matrices: list[Matrix], x: Vector) -> Vector:
    """Return a block-diagonal matrix times a vector."""
    made: Vector = []
    for matrix in matrices:
        part = x[len(made) : len(made) + len(matrix)]
        made += apply(matrix, part)
    return made


def contragredient(blocks_of: Callable[[Any, int], list[Matrix]]) -> Definition:
    """Return the definition of a group from the blocks of its generator."""

    def transform(encoding: Any, x: Vector, at: Point, side: str, head: int) -> Vector:
        away = at[0] - number(encoding.reference)
        blocks = blocks_of(encoding, head)
        if side == "q":
            return _by_blocks([transpose(exponential(block, away)) for block in blocks], x)
        return _by_blocks([exponential(block, -away) for block in blocks], x)

    def between(encoding: Any, k: Vector, i: Point, j: Point, head: int) -> Vector:
        lag = i[0] - j[0]
        return _by_blocks([exponential(block, lag) for block in blocks_of(encoding, head)], k)

    return Definition(transform=transform, between=between)


def entry(values: Any, head: int, heads: int | None, *place: int) -> Real:
    """Return one learned number, exactly; of a head where each has its own."""
    return number(values[place if heads is None else (head, *place)], "learned number")


def _jordan(encoding: Any, head: int) -> list[Matrix]:
    mp, m = context(), encoding.order
    made = []
    for block in range(encoding.dimension // (2 * m)):
        a = number(encoding.least) + softplus(entry(encoding.decays, head, encoding.heads, block))
        y, most = entry(encoding.gains, head, encoding.heads, block), number(encoding.most)
        a, g = a / number(encoding.unit), most * mp.tanh(y / most) / number(encoding.unit)
        w = entry(encoding.frequencies, head, encoding.heads, block, 0)
        matrix = zeros(2 * m)
        for place in range(m):
            i, j = 2 * place, 2 * place + 1
            matrix[i][i] = matrix[j][j] = -a
            matrix[i][j], matrix[j][i] = -w, w
            if place + 1 < m:
                matrix[i][i + 2] = matrix[j][j + 2] = g
        made.append(matrix)
    return made


def _given(encoding: Any, x: Vector, at: Point, side: str, head: int) -> Vector:
    del head
    mp, away = context(), at[0] - number(encoding.reference)
    if encoding.basis is not None:
        basis = mp.matrix(_basis(encoding))
        into = basis.T if side == "q" else mp.inverse(basis)
        x = list(into * mp.matrix(x))
    blocks = _blocks(encoding)
    if side == "q":
        return _by_blocks([transpose(exponential(block, away)) for block in blocks], x)
    return _by_blocks([exponential(block, -away) for block in blocks], x)


def _given_between(encoding: Any, k: Vector, i: Point, j: Point, head: int) -> Vector:
    del head
    mp = context()
    basis = mp.eye(encoding.dimension)
    basis = basis if encoding.basis is None else mp.matrix(_basis(encoding))
    inside = list(mp.inverse(basis) * mp.matrix(k))
    lag = i[0] - j[0]
    moved = _by_blocks([exponential(block, lag) for block in _blocks(encoding)], inside)
    return list(basis * mp.matrix(moved))


def _basis(encoding: Any) -> Matrix:
    return [[number(value) for value in row] for row in encoding.basis]


def _blocks(encoding: Any) -> list[Matrix]:
    """Return kron(I_m, a I + w J) + g kron(N, I), of width 1 where w is 0."""
    made = []
    for block in encoding.blocks:
        a, w, g = (number(v) for v in (block.decay, block.frequency, block.gain))
        width, m = (2 if w else 1), block.order
        matrix = zeros(width * m)
        for place in range(width * m):
            matrix[place][place] = a
            if place + width < width * m:
                matrix[place][place + width] = g
        for place in range(0, width * m, 2) if width == 2 else ():
            matrix[place][place + 1], matrix[place + 1][place] = -w, w
        made.append(matrix)
    return made


def _hyperbolic(encoding: Any, head: int) -> list[Matrix]:
    pairs, heads = encoding.dimension // 2, encoding.heads
    boosts = [entry(encoding.rapidities, head, heads, k) for k in range(pairs)]
    own = encoding.damping == "own"
    fastest = max(abs(b) for b in boosts)
    made = []
    for k, b in enumerate(boosts):
        excess = softplus(entry(encoding.excesses, head, heads, k if own else 0))
        a = (abs(b) if own else fastest) + number(encoding.least) + excess
        made.append([[-a, b], [b, -a]])
    return made


def skew(blocks_at: Callable[[Any, Point, int], list[Matrix]]) -> Definition:
    """Return the definition of turns by exp(S(i)), from the blocks of S at a position."""

    def transform(encoding: Any, x: Vector, at: Point, side: str, head: int) -> Vector:
        del side
        return _by_blocks([exponential(block) for block in blocks_at(encoding, at, head)], x)

    return Definition(transform=transform)


def _liere(encoding: Any, at: Point, head: int) -> list[Matrix]:
    made = []
    for block in range(encoding.dimension // encoding.block):
        matrix = zeros(encoding.block)
        for i in range(encoding.block):
            for j in range(i + 1, encoding.block):
                upper = [
                    entry(encoding.generators, head, encoding.heads, axis, block, i, j)
                    for axis in range(encoding.axes)
                ]
                matrix[i][j] = dot(upper, at)
                matrix[j][i] = -matrix[i][j]
        made.append(matrix)
    return made


def _comrope(encoding: Any, at: Point, head: int) -> list[Matrix]:
    made, size = [], encoding.block
    for block in range(encoding.dimension // size):
        axes = range(encoding.axes)
        if encoding.variant == "axis-partition":
            phase = at[block % encoding.axes]
        else:
            phase = dot([number(encoding.slopes[axis, block]) for axis in axes], at)
        p = [
            [entry(encoding.generators, head, encoding.heads, block, i, j) for j in range(size)]
            for i in range(size)
        ]
        made.append([[phase * (p[i][j] - p[j][i]) for j in range(size)] for i in range(size)])
    return made


def _grape(encoding: Any, at: Point, head: int) -> list[Matrix]:
    mp, heads, d = context(), encoding.heads, encoding.dimension
    planes, made = encoding.directions.shape[-3], zeros(d)
    basis: list[Vector] = []
    for plane in range(planes):
        for side in range(2):
            one = [entry(encoding.directions, head, heads, plane, side, i) for i in range(d)]
            for other in basis:
                share = dot(one, other)
                one = [a - share * b for a, b in zip(one, other, strict=True)]
            length = mp.sqrt(dot(one, one))
            basis.append([a / length for a in one])
        u, v = basis[-2:]
        w = entry(encoding.frequencies, head, heads, plane, 0) * at[0]
        for i in range(d):
            for j in range(d):
                made[i][j] += w * (u[i] * v[j] - v[i] * u[j])
    return [made]


def _fourier(d: int) -> list[Vector]:
    """Return the vectors of the real basis of Fourier, pairs first."""
    mp, made = context(), []
    for k in range(1, (d + 1) // 2):
        angles = [2 * mp.pi * k * n / d for n in range(d)]
        size = mp.sqrt(mp.mpf(2) / d)
        made += [[size * wave(angle) for angle in angles] for wave in (mp.cos, mp.sin)]
    made.append([1 / mp.sqrt(d)] * d)
    if d % 2 == 0:
        made.append([(-1) ** n / mp.sqrt(d) for n in range(d)])
    return made


def _circulant(encoding: Any, x: Vector, at: Point, side: str, head: int) -> Vector:
    del side
    mp, d, heads = context(), encoding.dimension, encoding.heads
    pairs = (d - 1) // 2
    column = []
    for n in range(d):
        waves = [
            dot([entry(encoding.frequencies, head, heads, k, a) for a in range(encoding.axes)], at)
            * mp.sin(2 * mp.pi * (k + 1) * n / d)
            for k in range(pairs)
        ]
        column.append(mp.fsum(waves) / d)
    matrix = [[column[(i - j) % d] - column[(j - i) % d] for j in range(d)] for i in range(d)]
    made = apply(_fourier(d), apply(exponential(matrix), x))
    if encoding.layout == "interleaved":
        return made
    return made[0 : 2 * pairs : 2] + made[1 : 2 * pairs : 2] + made[2 * pairs :]


def _cayley(encoding: Any, x: Vector, at: Point, side: str, head: int) -> Vector:
    del side
    mp, d, heads = context(), encoding.dimension, encoding.heads
    skewed = zeros(d)
    for i in range(d):
        for j in range(i + 1, d):
            skewed[i][j] = entry(encoding.skew, head, heads, i, j)
            skewed[j][i] = -skewed[i][j]
    s, one = mp.matrix(skewed), mp.eye(d)
    p = (one - s) * mp.inverse(one + s)
    basis = [[p[j, i] for j in range(d)] for i in range(d)]
    axes = range(encoding.axes)
    waves = [[entry(encoding.frequencies, head, heads, k, a) for a in axes] for k in range(d // 2)]
    return turn(apply(basis, x), at, Turning(waves=waves), encoding.layout)


DEFINITIONS = {
    "Jordan": contragredient(_jordan),
    "Given": Definition(transform=_given, between=_given_between),
    "Hyperbolic": contragredient(_hyperbolic),
    "Liere": skew(_liere),
    "ComRope": skew(_comrope),
    "Grape": skew(_grape),
    "CirculantString": Definition(transform=_circulant),
    "CayleyString": Definition(transform=_cayley),
}
