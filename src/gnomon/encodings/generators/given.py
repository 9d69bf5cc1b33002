r"""Any generator as an encoding: blocks that were classified, realised, fitted, or thought of.

    q~ = exp((t - r) J)^T P^T q,   k~ = exp((r - s) J) P^-1 k,   q~.k~ = q^T exp((t - s) X) k,

X = P J P^-1 in real Jordan blocks [horn2013 thm. 3.4.1.5]: by [puranik2026] every continuous linear
encoding whose logits depend on the lag alone is one of these, up to maps that W_q and W_k absorb.
Vectors stay in the coordinates of blocks: the outer P cancels in every logit. A generator that
grows with the lag is refused, its eigenvalue named. Where nothing but turns is left keys may come
after their query; where a block decays, or shears, they are masked.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.encodings.base import Encoding, LagDistances, Numbers
from gnomon.encodings.card import ORACLE, Card, catalogued, in_words, proofs_of
from gnomon.encodings.frequencies import decay_distances
from gnomon.encodings.generators.fading import Carrying
from gnomon.encodings.rotary.rope import tables
from gnomon.encodings.starting import given
from gnomon.errors import EncodingError, GroupError
from gnomon.groups import Block, Generator, block_logits, jordan_weights, rotate_run, shear_run
from gnomon.numeric import checks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.numeric.arrays import Array, Coordinates, Namespace


@dataclass(frozen=True)
class Run:
    """Blocks of one order and width that stand side by side."""

    block: int
    """The first of its blocks, and below the first of its coordinates and of its turns."""
    place: int
    turn: int
    count: int
    order: int
    width: int

    @property
    def blocks(self) -> slice:
        """Return which blocks they are."""
        return slice(self.block, self.block + self.count)

    @property
    def coordinates(self) -> slice:
        """Return which coordinates they act on."""
        return slice(self.place, self.place + self.count * self.order * self.width)

    @property
    def turns(self) -> slice:
        """Return which frequencies are theirs, of blocks that turn."""
        return slice(self.turn, self.turn + self.count * (self.width - 1))


@catalogued(
    Card(
        name="generator",
        family="generator",
        kind=("transform",),
        formula="q~ = exp(iX)^T q, k~ = exp(-jX) k, X = P J P^-1, J any blocks that do not grow",
        source="puranik2026",
        level=in_words("L0"),
        relative=True,
        causal_only=True,
        extrapolation="no claim",
        reading="Vectors stay in the coordinates of blocks, where the basis cancels in logits.",
        proofs=proofs_of(
            ORACLE,
            (
                "scipy.linalg.expm of the whole generator",
                "encodings/test_encoding_given.py",
                "test_logits_are_those_of_the_exponential_of_the_generator",
            ),
        ),
    ),
    examples=(
        {
            "blocks": [
                {"decay": -0.05, "order": 3, "gain": 0.5},
                {"decay": -0.1, "frequency": 0.3},
                {"decay": -0.02, "frequency": 0.7, "order": 2, "gain": -0.2},
                {"decay": -0.08},
            ],
        },
        {
            "blocks": [{"frequency": 0.5}, {"frequency": 0.01}],
            "basis": [[1, 2, 0, 0], [0, 1, 0, 1], [0, 0, 2, 1], [1, 0, 0, 1]],
        },
    ),
)
@dataclass(frozen=True, kw_only=True, eq=False)
class Given(Carrying):
    """The encoding of `blocks`, each a `Block` or its numbers, in a `basis` (its columns) or none.

    >>> made = Given(blocks=[{"decay": -0.1, "order": 3}, {"frequency": 0.5}])
    >>> made.dimension, made.card.causal_only
    (5, True)
    """

    dimension: int = field(default=0, init=False)
    heads: int | None = field(default=None, init=False, repr=False)
    blocks: Any
    basis: Any = None
    _runs: Any = field(default=(), init=False, repr=False)

    def __post_init__(self) -> None:
        blocks = _check_blocks(self.blocks)
        object.__setattr__(self, "blocks", blocks)
        object.__setattr__(self, "dimension", sum(block.dimension for block in blocks))
        if self.basis is not None:
            shape = (self.dimension, self.dimension)
            object.__setattr__(self, "basis", given("basis", self.basis, shape))
        object.__setattr__(self, "_runs", _runs(blocks))
        super().__post_init__()
        try:
            made = Generator(blocks, self.basis)
            if any(block.decay > 0.0 for block in blocks):
                made.causal()
        except GroupError as error:
            raise EncodingError(str(error)) from None

    @classmethod
    def of(cls, generator: Generator, *, reference: float = 0.0) -> Given:
        """Return the encoding of a generator."""
        return cls(blocks=generator.blocks, basis=generator.basis, reference=reference)

    @property
    def card(self) -> Card:
        """Return the card; groups of turns need no mask."""
        return dataclasses.replace(self.own_card, causal_only=not self.turns_only)

    @property
    def turns_only(self) -> bool:
        """Whether nothing decays or shears, so that keys may come after their query."""
        return all(block.decay == 0.0 and block.order == 1 for block in self.blocks)

    @property
    def parameters(self) -> dict[str, Any]:
        """Return blocks and basis as plain values."""
        basis = None if self.basis is None else np.asarray(self.basis).tolist()
        blocks = [vars(block) for block in self.blocks]
        return {"blocks": blocks, "basis": basis, "reference": self.reference}

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return rates, gains, frequencies of what turns, and what takes vectors into blocks."""
        made = {
            "rates": np.array([block.decay for block in self.blocks]),
            "gains": np.array([block.gain for block in self.blocks]),
        }
        turns = [[block.frequency] for block in self.blocks if block.frequency > 0.0]
        if turns:
            made["frequencies"] = np.array(turns)
        if self.basis is not None:
            made["into_q"] = np.array(self.basis)
            made["into_k"] = np.linalg.inv(self.basis).T
        return made

    @property
    def steepness(self) -> float:
        """Return the largest decay per position."""
        return max(-block.decay for block in self.blocks)

    @property
    def scales(self) -> bool:
        """Whether all blocks have order 1, so that nothing can cancel."""
        return all(block.order == 1 for block in self.blocks)

    def isometric(
        self, x: Array, coordinates: Coordinates, numbers: Numbers, *, side: str, xp: Namespace
    ) -> Array:
        """Return vectors taken into blocks, their pairs turned by -w t."""
        if self.basis is not None:
            x = xp.matmul(x, xp.astype(numbers[f"into_{side}"], x.dtype))
        if "frequencies" not in numbers:
            return x
        cosine, sine = tables(coordinates, numbers["frequencies"], xp=xp)
        parts = []
        for run in self._runs:
            part = x[..., run.coordinates]
            if run.width == 2:
                turned = (cosine[..., run.turns], sine[..., run.turns])
                part = rotate_run(part, *turned, order=run.order, back=True, xp=xp)
            parts.append(part)
        return _join(parts, xp=xp)

    def carry(self, x: Array, steps: Array, numbers: Numbers, *, side: str, xp: Namespace) -> Array:
        """Return the parts of every block, mixed by powers of the step and faded."""
        signed, parts = (steps if side == "q" else -steps), []
        for run in self._runs:
            rates, gains = (
                xp.astype(numbers[name][run.blocks], steps.dtype) for name in ("rates", "gains")
            )
            weights = jordan_weights(signed, rates, gains, run.order, xp=xp)
            part = x[..., run.coordinates]
            parts.append(shear_run(part, weights, width=run.width, transposed=side == "q", xp=xp))
        return _join(parts, xp=xp)

    def weigh(self, q: Array, k: Array, ages: Array, numbers: Numbers, *, xp: Namespace) -> Array:
        """Return the sum over blocks and powers of a weight times the products it belongs to."""
        total: Any = 0.0
        first = 0
        for place, block in enumerate(self.blocks):
            part = slice(first, first + block.dimension)
            rate, gain = (
                xp.astype(numbers[name][place], ages.dtype) for name in ("rates", "gains")
            )
            weights = jordan_weights(ages, rate, gain, block.order, xp=xp)
            width = _shape(block)[1]
            total = total + block_logits(q[..., part], k[..., part], weights, width=width, xp=xp)
            first += block.dimension
        return total

    def exponent(self, furthest: float, numbers: Numbers) -> float:
        """Return the largest |a| t + (m - 1) ln(1 + |g| t)."""
        del numbers
        return max(
            -b.decay * furthest + (b.order - 1) * float(np.log1p(abs(b.gain) * furthest))
            for b in self.blocks
        )

    def logits(
        self,
        q: Array,
        k: Array,
        positions_q: Array,
        positions_k: Array,
        numbers: Numbers,
        *,
        scale: float,
        xp: Namespace,
    ) -> Array:
        """Return the logits: those of turns in both directions, others masked."""
        way = Encoding.logits if self.turns_only else Carrying.logits
        return way(self, q, k, positions_q, positions_k, numbers, scale=scale, xp=xp)

    def generator(self, head: int = 0) -> Generator:
        """Return the generator."""
        del head
        return Generator(self.blocks, self.basis)

    def lag_distances(
        self, lift: str, probe: NDArray[np.float64] | None = None
    ) -> LagDistances | None:
        """Return the distances of half the trace of exp(tX), which no basis changes."""
        del lift, probe
        numbers = [(b.decay, b.frequency, 0.5 * b.dimension) for b in self.blocks]
        rates, turns, weights = np.array(numbers).T
        return decay_distances(rates, turns, weights)


def _runs(blocks: tuple[Block, ...]) -> tuple[Run, ...]:
    """Return stretches of equal blocks, in their order."""
    made, block, place, turn = [], 0, 0, 0
    for (order, width), same in groupby(blocks, key=_shape):
        count = len(list(same))
        run = Run(block=block, place=place, turn=turn, count=count, order=order, width=width)
        made.append(run)
        block, place, turn = run.blocks.stop, run.coordinates.stop, run.turns.stop
    return tuple(made)


def _shape(block: Block) -> tuple[int, int]:
    """Return order and width."""
    return block.order, block.dimension // block.order


def _join(parts: list[Array], *, xp: Namespace) -> Array:
    return parts[0] if len(parts) == 1 else xp.concat(parts, axis=-1)


def _check_blocks(blocks: Any) -> tuple[Block, ...]:
    """Return blocks as they are, or made of their numbers."""
    if isinstance(blocks, (str, Mapping)) or not hasattr(blocks, "__iter__"):
        raise EncodingError(
            f"blocks is {type(blocks).__name__}; pass a list of blocks, such as "
            '[{"decay": -0.1, "order": 3}, {"frequency": 0.5}].'
        )
    names = [one.name for one in dataclasses.fields(Block)]
    made = []
    for block in blocks:
        numbers = vars(block) if isinstance(block, Block) else block
        if not isinstance(numbers, Mapping) or not set(numbers) <= set(names):
            raise EncodingError(
                f"blocks holds {block!r}; pass its numbers by name, of {', '.join(names)}."
            )
        try:
            made.append(Block(**numbers))
        except GroupError as error:
            raise EncodingError(str(error)) from None
    if not made:
        raise EncodingError("blocks is empty, so nothing is encoded; pass at least one block.")
    checks.whole("dimension", sum(block.dimension for block in made), least=1)
    return tuple(made)
