"""FoX: every token says how much of what came before it is forgotten.

    logit(i, j) = scale q_i.k_j + c_i - c_j,   c_l = sum of ln f over tokens up to l,
    f_l = sigmoid(<w_h, x_l> + b_h)

so that a key has lost f_(j+1) ... f_i on its way to its query [lin2025 sec. 3]. It is ALiBi on a
clock that content drives: a constant gate gives the slope -ln f for each token.

Gates start from N(0, sigma^2) with bias 0, as the authors train them; x-transformers, under the
name of data-dependent ALiBi, starts from bias 5, where nearly nothing is forgotten (`start`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.encodings.base import Numbers
from gnomon.encodings.card import ORACLE, Card, in_words, proved
from gnomon.encodings.content.base import TokenRule, last, read, summing_type
from gnomon.encodings.scoring import scaled
from gnomon.encodings.starting import drawn
from gnomon.numeric import checks
from gnomon.numeric.activations import log_sigmoid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.arrays import Array, Coordinates, Namespace

CARD = Card(
    name="fox",
    family="content",
    kind=("content",),
    formula="scale q.k + sum_(l=j+1..i) ln sigmoid(<w_h, x_l> + b_h)",
    source="lin2025",
    level=in_words("L3"),
    relative=True,
    learnable=True,
    causal_only=True,
    extrapolation="the authors claim better length extrapolation than that of the Transformer",
    reading="the gate alone: the authors' rotary encoding, norms and output gate are no part of "
    "it. The bias of gates starts from 0, as in their code; x-transformers starts from 5",
    proofs=proved(
        ORACLE,
        (
            "x-transformers, data-dependent ALiBi",
            "agreement/test_content_peers.py",
            "test_forgetting_equals_the_data_dependent_alibi_of_x_transformers",
        ),
        (
            "ALiBi, where gates are constant",
            "encodings/test_encoding_fox.py",
            "test_constant_gates_are_alibi",
        ),
    ),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Fox(TokenRule):
    """Forget gates of `heads` heads; `gate_weights` (heads, width) and `gate_bias` are learned."""

    sigma: float = 0.02
    start: float = 0.0
    gate_weights: Any = field(default=None, repr=False)
    gate_bias: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.real("sigma", self.sigma, least=0.0)
        checks.real("start", self.start)
        self.keep_learned()

    @property
    def card(self) -> Card:
        """Return the card of FoX."""
        return CARD

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of weights and bias of the gates."""
        return {"gate_weights": (self.heads, self.read_width), "gate_bias": (self.heads,)}

    def started(self, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Return normal weights times sigma, and the bias `start`."""
        if name == "gate_bias":
            return np.full(shape, float(self.start))
        return self.sigma * drawn(0, shape, self.seed)

    def content_scores(
        self,
        q: Array,
        k: Array,
        queries: Coordinates,
        keys: Coordinates,
        numbers: Numbers,
        *,
        scale: float,
        tokens: Array,
        xp: Namespace,
    ) -> Array:
        """Return scale q.k + c_i - c_j; c and its differences are float64 where there is."""
        del queries
        self.check_content(q, tokens, self.read_width)
        dtype = summing_type(keys, xp=xp)
        bias = xp.astype(numbers["gate_bias"], dtype)[:, None]
        gates = log_sigmoid(read(tokens, numbers["gate_weights"], dtype=dtype, xp=xp) + bias, xp=xp)
        clock = xp.cumulative_sum(gates, axis=-1)
        passed = last(clock, q.shape[-2], axis=-1)[..., :, None] - clock[..., None, :]
        logits = scaled(xp.matmul(q, xp.matrix_transpose(k)), scale)
        return logits + xp.astype(passed, logits.dtype)
