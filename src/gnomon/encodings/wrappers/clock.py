"""A learned clock: any relative encoding in a time tau that rises with the position.

    logit = f(tau_t - tau_s),   tau straight between knots k_0 < ... < k_m,   tau(k_0) = 0,
    slope after knot i:  c + (1 - c) (1 + p_i / 2)^2,   c = 2^-12,

f the inner encoding; tau goes on straight before the first knot and after the last. The *paces* p_i
are learned. Whatever they are tau rises, and where they are 0, as they are at the start, tau is
x - k_0 and the encoding is the inner one: the origin does not matter to what is relative. Rising
splines of degree one are the simplest of [ramsay1988]; the slope is a polynomial in p, so that it
can be computed exactly where there is no float64 (`gnomon.numeric.learned_limbs`).

A group acts in tau, A(tau_t - tau_s), so it is one modulo its clock (level L3), as gates of
attention are that learn how far to advance time [puranik2026]. In x itself no lag decides.

The first knot is subtracted first, so that seconds since 1970 stay exact.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.base import Numbers
from gnomon.encodings.border import float_array, key_positions, numbers_in, reconciled
from gnomon.encodings.card import ORACLE, Card, in_words, proved
from gnomon.encodings.positions import as_coordinates
from gnomon.encodings.starting import given, learned
from gnomon.encodings.wrappers.inner import inner_encoding, inner_parameters
from gnomon.encodings.wrappers.moving import Moving
from gnomon.errors import EncodingError
from gnomon.numeric import checks
from gnomon.numeric.checks import reals
from gnomon.numeric.learned_limbs import broken_line, excess, warped
from gnomon.numeric.limbs import Limbs

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from gnomon.encodings.positions import Array, Coordinates, Namespace

TESTS = "encodings/test_encoding_clock.py"
CARD = Card(
    name="clock",
    family="wrapper",
    kind=("transform",),
    formula="f(tau_t - tau_s), f the inner encoding, tau rising and straight between knots",
    source="puranik2026",
    level=in_words("L3"),
    relative=False,
    learnable=True,
    reading=(
        "the post lets gates advance the time of a group; here the clock is a function of the "
        "position, a rising spline of degree one whose slopes are learned, starting as the identity"
    ),
    proofs=proved(
        ORACLE,
        ("the inner encoding", TESTS, "test_without_paces_it_is_the_inner_encoding"),
        ("NumPy's interpolation", TESTS, "test_the_clock_is_the_interpolation_of_its_knots"),
        ("60 digits at timestamps, in all libraries", TESTS, "test_timestamps_keep_their_digits"),
        ("a planted warp", TESTS, "test_training_finds_a_planted_clock"),
    ),
)
_GROUPS = ("L0", "L1")


@dataclass(frozen=True, kw_only=True, eq=False)
class Clock(Moving):
    """The relative encoding `inner` in a time with `knots`, whose slopes are learned as `paces`.

    >>> made = Clock(inner={"name": "alibi", "slopes": (1.0,)}, knots=(0, 2, 4), paces=(0, 2))
    >>> made.clock([1.0, 2.0, 3.0]).round(2)
    array([1., 2., 6.])
    """

    on_grids: ClassVar[bool] = False
    inner: Any
    knots: tuple[float, ...]
    paces: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        checks.one_axis("clock", self.axes)
        object.__setattr__(self, "inner", inner_encoding(self.inner))
        self._check_inner()
        object.__setattr__(self, "knots", _rising(self.knots))
        shape = (len(self.knots) - 1,)
        object.__setattr__(self, "paces", learned("paces", self.paces, 0.0, shape))
        for name in ("kinds", "mixes_heads", "on_values", "reads_tokens"):
            object.__setattr__(self, name, getattr(self.inner, name))

    def _check_inner(self) -> None:
        """Refuse an encoding that does not see a difference of times."""
        inner = self.inner
        checks.one_axis(inner.name, inner.axes)
        wrong = ""
        if not inner.card.relative or inner.name == "nope":
            wrong = "does not depend on lags"
        elif inner.in_order:
            wrong = "counts tokens in their order and sees no times"
        elif inner.whole_only:
            wrong = "knows whole positions only"
        elif "paces" in inner.numbers:
            wrong = "has paces of its own"
        if wrong:
            raise EncodingError(
                f"inner is {inner.name!r}, which {wrong}; pass a relative encoding of real "
                "positions, such as rope or alibi."
            )

    @property
    def card(self) -> Card:
        """Return the card, with what the inner encoding is."""
        inner = self.inner.card
        level = "L3" if inner.level.partition(" ")[0] in _GROUPS else "L6"
        return dataclasses.replace(
            CARD,
            kind=inner.kind,
            formula=f"{inner.formula}; in tau, which rises and is straight between knots",
            level=in_words(level),
            causal_only=inner.causal_only,
            cacheable=inner.cacheable,
            frameworks=inner.frameworks,
            onnx=inner.onnx,
        )

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the hyper-parameters as plain values, those of the inner encoding by its name."""
        return {**super().parameters, "inner": inner_parameters(self.inner)}

    @property
    def dimension(self) -> int:
        """Return the dimension of the inner encoding."""
        return int(self.inner.dimension)

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the numbers of the inner encoding, and the paces."""
        return {**self.inner.numbers, "paces": np.asarray(self.paces)}

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name what the inner encoding learns, and the paces."""
        return (*self.inner.learnable, "paces")

    def with_numbers(self, **numbers: Any) -> Self:
        """Return the same knots with other paces, and other learned numbers inside."""
        paces = numbers.pop("paces", self.paces)
        inner = self.inner.with_numbers(**numbers) if numbers else self.inner
        return dataclasses.replace(self, inner=inner, paces=paces)

    def clock(self, positions: ArrayLike) -> NDArray[np.float64]:
        """Return the time that the clock shows at positions, in float64."""
        at = reals(positions, "positions")
        return np.asarray(warped(at, self.knots, np.asarray(self.paces), xp=np))

    @property
    def slopes(self) -> NDArray[np.float64]:
        """Return how fast the clock runs between knots."""
        return 1.0 + excess(np.asarray(self.paces))

    def inverse(self, times: ArrayLike) -> NDArray[np.float64]:
        """Return the positions at which the clock shows these times, in float64.

        >>> made = Clock(inner={"name": "alibi", "heads": 2}, knots=(1.7e9, 1.8e9), paces=(1.0,))
        >>> made.inverse(made.clock([1.75e9]))
        array([1.75e+09])
        """
        shown = tuple(self.clock(self.knots).tolist())
        at = reals(times, "times")
        return np.asarray(broken_line(at, shown, 1.0 / self.slopes - 1.0, xp=np)) + self.knots[0]

    def shown(self, coordinates: Coordinates, paces: Array, *, xp: Namespace) -> Coordinates:
        """Return the time at coordinates (..., 1), in limbs where these are."""
        dtype = xp.float32 if isinstance(coordinates, Limbs) else coordinates.dtype
        return warped(coordinates, self.knots, xp.astype(paces, dtype), xp=xp)

    def moved(self, coordinates: Coordinates, numbers: Numbers, *, xp: Namespace) -> Coordinates:
        """Return the time at coordinates (..., 1)."""
        return self.shown(coordinates, numbers["paces"], xp=xp)

    @property
    def softmax_scale(self) -> float | None:
        """Return the scale of the inner encoding."""
        own: float | None = self.inner.softmax_scale
        return own

    def scores(
        self,
        q: Array,
        k: Array,
        positions_q: Array,
        positions_k: Array | None = None,
        *,
        scale: float = 1.0,
        tokens: Array | None = None,
        numbers: Numbers | None = None,
    ) -> Array:
        """Return the logits of the inner encoding in the time of the clock."""
        xp = reconciled(q, k)
        left, right = float_array(q, "q", xp=xp), float_array(k, "k", xp=xp)
        keys_at = key_positions(left, right, positions_q, positions_k)
        held = numbers_in(self, left, xp=xp) if numbers is None else numbers
        times = []
        for positions, like in ((positions_q, left), (keys_at, right)):
            at = self.shown(as_coordinates(positions, 1, like=like), held["paces"], xp=xp)
            times.append(at if isinstance(at, Limbs) else at[..., 0])
        asked: dict[str, Any] = {"scale": scale, "tokens": tokens, "numbers": held}
        made: Array = self.inner.scores(left, right, *times, **asked)
        return made


def _rising(knots: Any) -> tuple[float, ...]:
    """Return knots as numbers that rise, or say why they are none."""
    values = given("knots", knots, np.shape(knots))
    if values.ndim != 1 or values.size < 2 or not (np.diff(values) > 0.0).all():
        raise EncodingError(
            f"knots are {values.tolist()}; pass two positions or more, each above the one before."
        )
    return tuple(values.tolist())
