r"""All places of a picture: the kernel by the lag on every axis, and the eigenvalues of its matrix.

    T_xy = c(x - y),   x, y in {0 ... n_1 - 1} x {0 ... n_2 - 1} x ...,

is Toeplitz in blocks of blocks, one level for each axis [chan2007]. As with one axis,

* a sum of cosines, w_k cos <b_k, x - y>, has its eigenvalues in closed form. T is E W E^T with
  columns cos <b_k, x> and sin <b_k, x> at places counted from the middle, which are orthogonal to
  one another (even against odd), so that the Gram matrix of E is two matrices

      (D(b_k - b_l) +- D(b_k + b_l)) / 2,   D(v) = prod_a sin(n_a v_a / 2) / sin(v_a / 2),

  those of one axis (`gnomon.spectra.modes`) with a product of Dirichlet's kernels. m frequencies
  cost O(m^3), however many places there are. So it is with rotary encodings, whose turns are those
  of [su2021] on each axis, in any basis, and with sinusoids;
* c(t) = c(-t) makes eigenvectors even or odd under x -> -x, so that up to `DENSE` places two dense
  matrices of half the size have them all;
* above, both ends come from Lanczos, with products by Fourier's transform on all axes.

`isotropy` is the share of the variance of c over pairs of different places that |x - y| explains:
1 where all directions are alike, as with a bias on the distance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.encodings import Encoding, Rotating
from gnomon.errors import EncodingError, SpectrumError
from gnomon.numeric.checks import reals
from gnomon.results import Result
from gnomon.spectra.checks import check_int
from gnomon.spectra.eigenvalues import (
    COUNT,
    DENSE,
    LONGEST,
    STEPS,
    Conditioning,
    Eigenvalues,
    End,
    all_of,
    both_ends,
    rank_and_condition,
)
from gnomon.spectra.kernel import (
    LEVELS,
    NOTES,
    active_encoding,
    as_encoding,
    check_head,
    kernel_kind,
    rotation_waves,
    values_at,
)
from gnomon.spectra.modes import dirichlet, weighted_eigenvalues
from gnomon.spectra.toeplitz import BlockToeplitz, block_eigenvalues, ends_of, pairs_by_lag

Floats = NDArray[np.float64]

_ROUNDING = 1e-12
"""An odd part below this is none, and distances that differ by less are one."""

_SAME = 1e-12
"""Frequencies that differ by less are one mode."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LatticeSpectrum(Result):
    """Eigenvalues of the positional part of logits between all places of a picture."""

    name: str
    parameters: dict[str, Any]
    shape: tuple[int, ...]
    head: int | None
    note: str
    """What the kernel is."""
    kernel: Floats
    """Its even part at lags -(n-1) ... n-1 of every axis; lag 0 is in the middle."""
    asymmetry: float
    """What is odd in the lag, which eigenvalues leave out; as a part of the kernel's norm."""
    isotropy: float
    """NaN where the kernel is constant beside lag 0."""
    eigenvalues: Eigenvalues
    conditioning: Conditioning | None
    """None where not all eigenvalues are known."""
    circulant: None = None

    @property
    def length(self) -> int:
        """Return the number of places."""
        return math.prod(self.shape)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values under the names that `gnomon spectrum --json` promises."""
        from gnomon.spectra.summary import lattice_to_dict

        return lattice_to_dict(self)

    def text(self, *, verbose: bool = False) -> str:
        """Return the spectrum in a few lines; `verbose` adds the first eigenvalues."""
        from gnomon.spectra.summary import lattice_text

        return lattice_text(self, verbose=verbose)


def lattice_spectrum(
    encoding: Encoding | str,
    shape: Any,
    *,
    head: int | None = None,
    tolerance: float | None = None,
    progress: Callable[[str], None] | None = None,
) -> LatticeSpectrum:
    """Return the spectrum of an encoding of several axes at all places of a picture.

    `head` is one of those it tells apart (default: the mean kernel over heads). Coordinates count
    from 0 in steps of 1; where they lie in a span, as from -1 to 1, they go from end to end of it.

    >>> from gnomon.encodings import Rope
    >>> found = lattice_spectrum(Rope(dimension=8, axes=2), (4, 6))
    >>> found.length, found.eigenvalues.rank_bound, round(float(found.eigenvalues.values.sum()), 9)
    (24, 8, 24.0)
    """
    known = active_encoding(as_encoding(encoding))
    sizes = _check_shape(known, shape)
    check_head(known, head)
    even, asymmetry, values = _measure(known, sizes, head, progress)
    state = None
    if values.complete:
        state = rank_and_condition(values.values, values.length, tolerance=tolerance)
    return LatticeSpectrum(
        name=known.name,
        parameters=known.parameters,
        shape=sizes,
        head=head,
        note=f"{NOTES[kernel_kind(known)]}, at all places of {' x '.join(map(str, sizes))}",
        kernel=even,
        asymmetry=asymmetry,
        isotropy=isotropy(even, _steps_of(known, sizes)),
        eigenvalues=values,
        conditioning=state,
    )


def isotropy(kernel: Any, steps: Any) -> float:
    """Return the share of a kernel's variance over pairs that their distance explains.

    >>> i = np.arange(-3, 4)
    >>> isotropy(np.hypot(i[:, None], i), np.ones(2))
    1.0
    """
    c = reals(kernel, "kernel")
    middle = (np.array(c.shape) - 1) // 2
    lags = (np.indices(c.shape).reshape(c.ndim, -1).T - middle) * np.asarray(steps)
    away, pairs = np.linalg.norm(lags, axis=1), pairs_by_lag(c.shape).ravel()
    kept = away > 0.0
    values, pairs = c.ravel()[kept], pairs[kept]
    _, of_pair = np.unique(np.round(away[kept] / _ROUNDING**0.5), return_inverse=True)
    mean = float(pairs @ values / pairs.sum())
    means = np.bincount(of_pair, pairs * values) / np.bincount(of_pair, pairs)
    whole_sum = float(pairs @ (values - mean) ** 2)
    rest = float(pairs @ (values - means[of_pair]) ** 2)
    varies = whole_sum > _ROUNDING**2 * float(pairs @ values**2)
    return 1.0 - rest / whole_sum if varies else float("nan")


def lattice_modes(encoding: Any, head: int | None) -> tuple[Floats, Floats] | None:
    """Return frequencies (modes, axes) and weights, or None where cosines are not all there is."""
    if encoding.is_one_of("nope"):
        return np.zeros((1, encoding.axes)), np.ones(1)
    if encoding.is_one_of("sinusoidal"):
        waves = np.asarray(encoding.frequencies, dtype=np.float64)
        return waves, np.ones(len(waves))
    turns = isinstance(encoding, Rotating) or encoding.is_one_of("comrope")
    if not turns or encoding.is_one_of("xpos", "retnet", "rope-plus-plus"):
        return None
    return rotation_waves(encoding, head)


def lattice_eigenvalues(frequencies: Any, weights: Any, shape: tuple[int, ...]) -> Floats:
    """Return the eigenvalues that are not zero by the count of modes, the largest first.

    Frequencies (modes, axes) are in radians from place to place; weights are not below 0.

    >>> lattice_eigenvalues([[0.0, 0.0], [0.0, np.pi / 2]], [0.5, 0.5], (2, 4)).round(12)
    array([4., 2., 2.])
    """
    b, w = _merge(reals(frequencies, "frequencies"), reals(weights, "weights"))
    apart, beside = (
        math.prod(dirichlet(one[..., axis], size) for axis, size in enumerate(shape))
        for one in (b[:, None] - b, b[:, None] + b)
    )
    cosines = 0.5 * np.asarray(apart + beside)
    sines = 0.5 * np.asarray(apart - beside)
    turns = b.any(axis=1)  # what stands still has no sine
    values = np.concatenate(
        [
            weighted_eigenvalues(cosines, w),
            weighted_eigenvalues(sines[np.ix_(turns, turns)], w[turns]),
        ]
    )
    return np.asarray(np.sort(values)[::-1][: math.prod(shape)])


def _cosine_kernel(frequencies: Floats, weights: Floats, shape: tuple[int, ...]) -> Floats:
    """Return sum_k w_k cos <b_k, t> at lags -(n-1) ... n-1 of every axis: products of turns.

    >>> _cosine_kernel(np.array([[0.0, np.pi]]), np.ones(1), (2, 2)).round(12)[1]
    array([-1.,  1., -1.])
    """
    made = np.asarray(weights, dtype=np.complex128)[:, None]
    for axis, size in enumerate(shape[:-1]):
        turns = np.exp(1j * frequencies[:, axis, None] * np.arange(1 - size, size))
        made = (made[:, :, None] * turns[:, None]).reshape(len(made), -1)
    last = np.exp(1j * frequencies[:, -1, None] * np.arange(1 - shape[-1], shape[-1]))
    values = (made.T @ last).real
    return np.asarray(values.reshape([2 * size - 1 for size in shape]))


def _steps_of(encoding: Encoding, shape: tuple[int, ...]) -> Floats:
    """Return the step from place to place on every axis."""
    if encoding.span is None:
        return np.ones(len(shape))
    low, high = encoding.span
    return np.array([(high - low) / (size - 1) for size in shape])


def _check_shape(encoding: Encoding, shape: Any) -> tuple[int, ...]:
    """Return the number of places on every axis, or refuse what has no kernel of the lag."""
    what = f"the encoding {encoding.name!r} has {encoding.axes} axes"
    if encoding.axes == 1:
        raise SpectrumError(f"shape is {shape!r}, and {what[:-5]} axis; pass a length instead.")
    try:
        given = tuple(shape)
    except TypeError:
        given = ()
    if len(given) != encoding.axes:
        raise SpectrumError(f"shape is {shape!r}, and {what}; pass a number of places for each.")
    sizes = tuple(check_int("shape", one, least=2, of=" of places on every axis") for one in given)
    if math.prod(sizes) > LONGEST:
        raise SpectrumError(f"shape {sizes} has more than {LONGEST} places; pass fewer.")
    sees_lags = encoding.card.level[:2] in LEVELS or encoding.is_one_of("sinusoidal")
    if not sees_lags or encoding.card.causal_only:
        why = "is causal only" if sees_lags else f"sees more than the lag ({encoding.card.level})"
        raise SpectrumError(
            f"The encoding {encoding.name!r} {why}, so a picture has no kernel; leave shape out "
            "and follow it along a line (direction)."
        )
    return sizes


def _measure(
    encoding: Encoding,
    shape: tuple[int, ...],
    head: int | None,
    told: Callable[[str], None] | None,
) -> tuple[Floats, float, Eigenvalues]:
    """Return the even part of the kernel, the size of the odd one, and eigenvalues."""
    count = math.prod(shape)
    modes = lattice_modes(encoding, head)
    if modes is not None:
        waves, weights = modes[0] * _steps_of(encoding, shape), modes[1]
        values = lattice_eigenvalues(waves, weights, shape)
        found = all_of(values, count, "closed form", len(values))
        return _cosine_kernel(waves, weights, shape), 0.0, found
    even, asymmetry = _ask(encoding, shape, head)
    if count > DENSE:
        return even, asymmetry, _ends(BlockToeplitz(even), told)
    found = all_of(block_eigenvalues(even), count, "even and odd halves", count)
    return even, asymmetry, found


def _ask(encoding: Encoding, shape: tuple[int, ...], head: int | None) -> tuple[Floats, float]:
    """Return the even part at all lags, and how large the odd one is against the whole."""
    full = np.empty([2 * size - 1 for size in shape])
    low = 0.0 if encoding.span is None else encoding.span[0]
    steps = _steps_of(encoding, shape)
    places = np.indices(shape).reshape(len(shape), -1).T
    for corner in np.ndindex(*[2] * len(shape)):  # seen from there, keys have one sign of each lag
        query = np.array(corner) * (np.array(shape) - 1)
        lags = tuple((query - places + np.array(shape) - 1).T)
        try:
            full[lags] = values_at(encoding, low + query[None] * steps, low + places * steps, head)
        except EncodingError as error:
            raise SpectrumError(
                f"The encoding {encoding.name!r} has no kernel of shape {shape} ({error}) Pass a "
                "smaller shape."
            ) from error
    back = full[(slice(None, None, -1),) * full.ndim]
    even, odd = 0.5 * (full + back), 0.5 * (full - back)
    size = float(np.linalg.norm(full))
    share = float(np.linalg.norm(odd)) / size if size > 0.0 else 0.0
    return even, share if share > _ROUNDING else 0.0


def _ends(matrix: BlockToeplitz, told: Callable[[str], None] | None) -> Eigenvalues:
    """Return what Lanczos finds at both ends of a large matrix."""
    top = ends_of(matrix, matrix.bound, COUNT, end="largest", steps=STEPS, told=told).values
    foot = ends_of(matrix, matrix.bound, 1, end="smallest", steps=STEPS, told=told).values
    lost = [name for name, found in (("largest", top), ("smallest", foot)) if not len(found)]
    reason = f"{matrix.size} places are more than {DENSE}, so only both ends were looked for"
    if lost:
        reason += f"; the {' and the '.join(lost)} cannot be told, since eigenvalues crowd there"
    return both_ends(End(top), End(foot), matrix.size, reason)


def _merge(frequencies: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return modes of equal frequency as one; whole places see frequencies modulo 2 pi."""
    turned = np.remainder(frequencies + math.pi, 2.0 * math.pi) - math.pi
    b = np.where(np.abs(frequencies) <= math.pi, frequencies, turned)
    # cos <b, t> is that of -b: the first axis that turns decides the sign
    first = np.take_along_axis(b, np.argmax(b != 0.0, axis=1)[:, None], axis=1)
    b = np.where(first < 0.0, -b, b)
    _, kept, of_mode = np.unique(
        np.round(b / _SAME), axis=0, return_index=True, return_inverse=True
    )
    return b[kept], np.bincount(of_mode.ravel(), weights).astype(np.float64)
