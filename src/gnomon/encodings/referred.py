"""Groups that grow in one direction: queries and keys as they are seen from a reference r.

    q~ = exp((t - r) X)^T q,   k~ = exp((r - s) X) k,   q~.k~ = q^T exp((t - s) X) k

r cancels in the logit, and keys that stay in a cache need one r for all; but the factors of a key
grow with s - r, and what a type does not hold is refused. Sources: [sun2022 sec. 3.2] for a decay.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from gnomon.encodings import checks
from gnomon.encodings.base import Encoding, Numbers
from gnomon.encodings.border import float_array, key_positions, numbers_in, reconciled
from gnomon.encodings.positions import as_coordinates

if TYPE_CHECKING:
    from gnomon.encodings.positions import Array, Coordinates, Namespace


@dataclass(frozen=True, kw_only=True, eq=False)
class Referred(Encoding):
    """Base of transforms whose factors depend on a reference, the logits of which do not."""

    on_grids: ClassVar[bool] = False
    reference: float = 0.0
    """The position at which nothing acts; it cancels in logits."""

    @property
    @abstractmethod
    def steepness(self) -> float:
        """Return the largest decay per position: it decides how far one reference serves."""

    @property
    def lifts(self) -> tuple[str, ...]:
        """Name kernel alone: a vector carried along a decay has no length of its own."""
        return ("kernel",)

    def transform(
        self,
        q: Array,
        k: Array,
        positions_q: Array,
        positions_k: Array | None = None,
        *,
        reference: float | None = None,
    ) -> tuple[Array, Array]:
        """Return queries and keys as seen from a `reference`; as declared, unless given.

        Refused where a factor would leave the type of q or k: pass a reference near the positions,
        or ask for `scores`.
        """
        xp = reconciled(q, k)
        origin = self.reference if reference is None else reference
        checks.real("reference", origin)
        left, right = float_array(q, "q", xp=xp), float_array(k, "k", xp=xp)
        keys_at = key_positions(left, right, positions_q, positions_k)
        made = []
        for values, positions, side in ((left, positions_q, "q"), (right, keys_at, "k")):
            at = as_coordinates(positions, 1, like=values)
            numbers = numbers_in(self, values, xp=xp)
            self.check_reach(values, at, numbers, origin, xp=xp)
            made.append(self.referred(values, at, numbers, side=side, reference=origin, xp=xp))
        return made[0], made[1]

    def turned(
        self, x: Array, coordinates: Coordinates, numbers: Numbers, *, side: str, xp: Namespace
    ) -> Array:
        """Return queries or keys as seen from the declared reference."""
        self.check_reach(x, coordinates, numbers, self.reference, xp=xp)
        return self.referred(x, coordinates, numbers, side=side, reference=self.reference, xp=xp)

    @abstractmethod
    def referred(
        self,
        x: Array,
        coordinates: Coordinates,
        numbers: Numbers,
        *,
        side: str,
        reference: float,
        xp: Namespace,
    ) -> Array:
        """Return queries or keys as seen from a reference; q.k of one reference is the logit.

        Factors that grow must fit the type of x. Those that vanish are 0, which is right where the
        other side does not grow: for a reference between keys and queries.
        """

    @abstractmethod
    def check_reach(
        self,
        x: Array,
        coordinates: Coordinates,
        numbers: Numbers,
        reference: float,
        *,
        xp: Namespace,
    ) -> None:
        """Refuse positions too far from one reference for all: factors that vanish, too."""
