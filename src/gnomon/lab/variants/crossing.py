"""Cross-attention: a sequence that is written while another is read, and latents that read tokens.

*Sequence to sequence* [vaswani2017]: an encoder over the tokens, and a causal decoder over the
answers before the one that is asked for, which looks at the encoder in every layer. Encodings act
in both self-attentions and, between answer i and token j, in cross-attention.

*Latent queries* [jaegle2021]: a few learned vectors read all tokens by cross-attention, and then
one another. They stand at equal distances over the sequence,

    position of latent a = (a + 1/2) n / m - 1/2,

so that encodings of lags have something to act on; among themselves they need no encoding.

Layers of attention are counted in the order in which they are run.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from gnomon.errors import LabError
from gnomon.lab.coupled import Coupled
from gnomon.lab.model import Block, Scales, Transformer, merged, split


class CrossAttention(nn.Module):  # type: ignore[misc]  # torch is not followed by the checker
    """Attention of queries to the tokens of another sequence."""

    def __init__(self, dimension: int, heads: int, coupled: Coupled, *, layer: int) -> None:
        super().__init__()
        self.heads, self.layer, self.coupled = heads, layer, coupled
        self.ask, self.tell = nn.Linear(dimension, dimension), nn.Linear(dimension, 2 * dimension)
        self.out = nn.Linear(dimension, dimension)

    def forward(self, x: Tensor, scales: Scales, *, memory: Tensor, **given: Any) -> Tensor:
        """Return what x (b, n, dimension) takes from a memory (b, m, dimension)."""
        (q,) = split(self.ask(x), 1, self.heads)
        k, v = split(self.tell(memory), 2, self.heads)
        made = self.coupled(q, k, v, pairs=scales.of_pairs(self.layer), **given)
        return self.out(merged(scales.applied(made, self.layer)))


class SequenceToSequence(Transformer):
    """An encoder of `layers`, and as many layers that write the answer token by token."""

    reads_answers = True
    """Whether the answers before each token are given beside the tokens, as in training."""

    def __init__(self, *, layers: int = 2, dimension: int = 64, **given: Any) -> None:
        if given.get("pooling") != "tokens" or given.get("classes") is None:
            raise LabError(
                "A model from sequence to sequence writes a token for each token, and this task "
                "asks for something else; choose a task with answers of tokens."
            )
        if given.pop("causal", False):
            raise LabError(
                "A model from sequence to sequence reads all tokens before it writes; say causal "
                "= false."
            )
        self._depth = layers
        super().__init__(layers=3 * layers, dimension=dimension, causal=False, **given)
        self.embed_answer = nn.Embedding(int(given["classes"]) + 1, dimension)
        nn.init.normal_(self.embed_answer.weight, std=given.get("rms", 0.5))
        self.norm_memory = nn.LayerNorm(dimension)

    def _coupled(self, layer: int) -> Coupled:
        acting = [part for part in self.parts if part.acts_in(layer)]
        own = layer >= self._depth and (layer - self._depth) % 2 == 0
        return Coupled(acting, heads=self.heads_count, causal=own, number=layer)

    def _attention(self, dimension: int, layer: int) -> nn.Module:
        if layer >= self._depth and (layer - self._depth) % 2:
            coupled = self._coupled(layer)
            return CrossAttention(dimension, self.heads_count, coupled, layer=layer)
        return super()._attention(dimension, layer)

    def forward(  # type: ignore[override]  # it is shown the answers before, too
        self,
        tokens: Tensor,
        *,
        answers: Tensor,
        mask: Tensor | None = None,
        positions: Tensor | None = None,
    ) -> Tensor:
        """Return (b, n, classes), each from all tokens and from the answers before it."""
        places = {"positions_q": positions, "positions_k": positions, "mask": mask}
        x = self.entered(tokens, positions)
        for block in self.blocks[: self._depth]:
            x = block(x, self.scales, **places)
        memory = self.norm_memory(x)
        before = pad(answers[:, :-1] + 1, (1, 0))  # 0 begins; an answer is seen one later
        x = self.embed_answer(before) + self.entered(tokens, positions) - self.embed(tokens)
        for number, block in enumerate(self.blocks[self._depth :]):
            beside = {"memory": memory} if number % 2 else {}
            x = block(x, self.scales, **places, **beside)
        return self.read_out(x, mask)


class LatentQuery(Transformer):
    """`latents` learned vectors that read the tokens once, then one another in further layers."""

    def __init__(self, *, dimension: int = 64, latents: int = 8, **given: Any) -> None:
        if given.get("pooling", "mean") != "mean":
            raise LabError(
                "Latent queries give one answer for a sequence, and this task asks for one for "
                "each token; choose another task or another model."
            )
        if given.pop("causal", False):
            raise LabError("Latent queries read all tokens at once; say causal = false.")
        super().__init__(dimension=dimension, causal=False, **given)
        self.latents = nn.Parameter(given.get("rms", 0.5) * torch.randn(latents, dimension))
        self.norm_tokens = nn.LayerNorm(dimension)

    def _coupled(self, layer: int) -> Coupled:
        acting = [part for part in self.parts if layer == 0 and part.acts_in(0)]
        return Coupled(acting, heads=self.heads_count, causal=False)

    def _attention(self, dimension: int, layer: int) -> nn.Module:
        if layer == 0:
            coupled = self._coupled(0)
            return CrossAttention(dimension, self.heads_count, coupled, layer=0)
        return super()._attention(dimension, layer)

    def forward(
        self, tokens: Tensor, *, mask: Tensor | None = None, positions: Tensor | None = None
    ) -> Tensor:
        """Return (b, classes), or (b,) where a number is asked for."""
        memory = self.norm_tokens(self.entered(tokens, positions))
        places = self._places(tokens, mask, positions)
        x = self.latents.expand(len(tokens), -1, -1)
        first: Block = self.blocks[0]
        x = first(x, self.scales, memory=memory, mask=mask, **places)
        for block in self.blocks[1:]:
            x = block(x, self.scales)
        return self.read_out(x, None)

    def _places(
        self, tokens: Tensor, mask: Tensor | None, positions: Tensor | None
    ) -> dict[str, Tensor]:
        """Return the positions of latents, over those of the tokens of each sequence."""
        n, count = tokens.shape[1], len(self.latents)
        steps = (torch.arange(count, dtype=torch.float64) + 0.5) / count
        if positions is None:
            ends = torch.full((1,), n) if mask is None else mask.sum(dim=1)
            latents = steps * ends[:, None] - 0.5
            latents = latents[0] if mask is None else latents
            return {"positions_q": latents, "positions_k": torch.arange(n, dtype=torch.float64)}
        if positions.ndim > 2:
            raise LabError(
                "Latent queries stand on one axis, and positions of this task have several; "
                "choose another task or another model."
            )
        first, last = _ends(positions, mask)
        latents = first[:, None] + steps * (last - first)[:, None]
        return {"positions_q": latents, "positions_k": positions}


def _ends(positions: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the smallest and the largest position of each sequence."""
    if mask is None:
        return positions.amin(dim=1), positions.amax(dim=1)
    low = positions.masked_fill(~mask, torch.inf).amin(dim=1)
    return low, positions.masked_fill(~mask, -torch.inf).amax(dim=1)
