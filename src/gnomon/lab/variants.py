"""Models by their names, and how a configuration becomes one with encodings in their places.

What an encoding needs of the model and the task is filled in where the configuration leaves it out:
the dimension (of a head, or of the model for vectors), heads, the rows of a table, the length it is
scaled to, the axes of positions, and the seed of its starting values.

The models are the Transformer of `gnomon.lab.model` and its relatives, which take the same
arguments and some of their own.

*latent*: queries, keys and values out of small latents, position apart.

    c_q = LN(W_dq x),  c_kv = LN(W_dkv x)
    q = [W_uq c_q ; R_i W_qr c_q],  k = [W_uk c_kv ; R_j W_kr x],  v = W_uv c_kv

The second part of every key is one for all heads, and only it is rotated [deepseek2024 sec. 2.1].
The encoding "mla" does that to queries and keys of twice the width of a head; without an encoding
this is the control that tells latents from positions.

*patches*: a Transformer over patches of pictures. Numbers enter by a matrix instead of a table,

    x = W values + b + p            values of a patch; p: vectors of encodings [dosovitskiy2021]

The matrix starts such that values of root mean square 1 enter at the root mean square that tokens
have elsewhere. Positions have an axis for rows and one for columns.

*seq2seq* [vaswani2017]: an encoder over the tokens, and a causal decoder over the
answers before the one that is asked for, which looks at the encoder in every layer. Encodings act
in both self-attentions and, between answer i and token j, in cross-attention.

*latent-query* [jaegle2021]: a few learned vectors read all tokens by cross-attention, and then
one another. They stand at equal distances over the sequence,

    position of latent a = (a + 1/2) n / m - 1/2,

so that encodings of lags have something to act on; among themselves they need no encoding.

Layers of attention are counted in the order in which they are run.

Attention without an encoding cannot tell orders apart; a recurrence can. Two models have one in the
place of attention, so that what an encoding adds outside attention can be asked.

*gru* [cho2014]: nn.GRU over the tokens, in both directions unless causal, half the width each.

*state-space* [gu2022]: every channel has m states,

    h_t = a h_(t-1) + b x_t,   y_t = Re sum_m c h_t + d x_t,   a = exp(-exp(r) + i w),

so y is the convolution of x with k_t = Re sum_m c b a^t, computed at all t and multiplied by FFT in
O(n log n). Both directions have kernels of their own. Padding enters as 0.
"""

from __future__ import annotations

import hashlib
import inspect
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import pad
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from gnomon.encodings import Encoding, encoding, entry_of
from gnomon.errors import EncodingError, LabError, nearest
from gnomon.lab.encode import LayerEncodings, Placement
from gnomon.lab.grid import ModelConfig, PartConfig
from gnomon.lab.model import Block, Transformer, merge_heads, split_heads
from gnomon.lab.tasks.base import Task
from gnomon.torch import AttentionHeads


def build_model(encoding: Any, model: ModelConfig, on: Task) -> Transformer:
    """Return an untrained model for a task; `encoding` is what a model takes (`Transformer`)."""
    build: Any = _model_of_kind(model.kind)
    _check_widths(encoding, model)
    causal = on.causal if model.causal is None else model.causal
    _check_hidden(on, model.kind, causal=causal, told=build.reads_answers)
    _check_extra(model, build)
    own = {"features": _features(on)} if build.reads_values else {}
    made: Transformer = build(
        vocabulary=on.vocabulary,
        classes=on.classes,
        encoding=encoding,
        dimension=model.dimension,
        layers=model.layers,
        heads=model.heads,
        feedforward=model.feedforward,
        causal=causal,
        pooling="mean" if on.output == "label" else "tokens",
        length=on.length,
        rms=model.rms,
        dropout=model.dropout,
        **own,
        **model.extra,
    )
    return made


def _model_of_kind(kind: str) -> type[Transformer]:
    if kind not in VARIANTS:
        raise LabError(f"There is no model {kind!r}: {nearest(kind, VARIANTS)}.")
    return VARIANTS[kind]


def _check_extra(model: ModelConfig, build: Any) -> None:
    """Refuse parameters that a model of this kind does not have."""
    parameters = inspect.signature(build).parameters.values()
    known = [one.name for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY]
    for name in model.extra:
        if name not in known:
            raise LabError(
                f"A model of kind {model.kind!r} has no {name!r}: {nearest(name, known)}."
            )


def _check_hidden(on: Task, kind: str, *, causal: bool, told: bool) -> None:
    """Refuse a model that is shown the answers of a task."""
    if told and (on.tells_ahead or on.tells_on):
        where = "all tokens, and so what comes next" if on.tells_ahead else "the answer before"
        raise LabError(
            f"A model of kind {kind!r} is shown {where}, which gives the answers of task "
            f"{on.name!r} away; choose another task or another model."
        )
    if on.tells_ahead and not causal:
        raise LabError(
            f"The answers of task {on.name!r} are tokens that come later, and a model with causal "
            "= false sees them; leave causal out."
        )


def _check_widths(given: Any, model: ModelConfig) -> None:
    """Refuse vectors of another dimension than the model's, and another number of heads."""
    for one in given if isinstance(given, Sequence) else (given,):
        known = one.encoding if isinstance(one, Placement) else one
        if not isinstance(known, Encoding):
            continue
        width = getattr(known, "dimension", None)
        if known.kinds[0] == "vectors" and width not in (None, model.dimension):
            raise LabError(
                f"The encoding {known.name!r} has vectors of dimension {width}, and the model "
                f"{model.dimension}; make one as wide as the other."
            )
        heads, asked = (
            (known.head_count or 1),
            (one.heads if isinstance(one, Placement) else None) or model.heads,
        )
        if known.kinds[0] in ("bias", "transform") and heads not in (1, asked):
            raise LabError(
                f"The encoding {known.name!r} is made for {heads} heads, and the model has it on "
                f"{asked}; make it with heads={asked}."
            )


def _features(on: Task) -> int:
    """Return how many numbers a task has in each place."""
    values = on.batch(np.random.default_rng(0), 1).values
    if values is None:
        raise LabError(
            f"The task {on.name!r} has tokens and no numbers, which a model of patches reads; "
            "choose another task or another model."
        )
    return int(values.shape[-1])


def build_placements(
    parts: Sequence[PartConfig], model: ModelConfig, on: Task, *, seed: int
) -> tuple[Placement, ...]:
    """Return encodings by name, with what they need of the model and the task filled in."""
    made = []
    for part in parts:
        _check_contents(part)
        filled = _fill_parameters(part, model, on, seed)
        given = {**filled, **part.parameters}
        given = {
            key: list(value) if isinstance(value, tuple) else value for key, value in given.items()
        }
        made.append(
            Placement(
                encoding=_build_encoding(part.name, given, filled, model),
                layers=part.on_layers,
                heads=part.on_heads,
                multiplier=part.multiplier,
                both_directions=part.both_directions,
                frozen=part.frozen,
            )
        )
    return tuple(made)


def _build_encoding(
    name: str, given: Mapping[str, Any], filled: Mapping[str, Any], model: ModelConfig
) -> Encoding:
    """Return an encoding; a refusal says where a dimension comes from that nobody wrote down."""
    try:
        return encoding(name, **given)
    except EncodingError as error:
        width = given.get("dimension")
        of_head = "dimension" in filled and width == filled["dimension"] != model.dimension
        if not of_head or "dimension" not in str(error):
            raise
        raise LabError(
            f"{str(error).rstrip('.')} (of a head: {model.heads} of them share the dimension "
            f"{model.dimension} of the model)."
        ) from error


def _check_contents(part: PartConfig) -> None:
    """Refuse a file that is no longer the one that the cell was made with."""
    if not part.contents:
        return
    try:
        found = hashlib.sha256(Path(part.name).read_bytes()).hexdigest()
    except OSError as error:
        raise LabError(
            f"The encoding {part.name} cannot be read ({error.strerror}); put the file there."
        ) from error
    if not found.startswith(part.contents):
        raise LabError(
            f"The encoding {part.name} has changed since its cell was made; read the grid again."
        )


def _fill_parameters(part: PartConfig, model: ModelConfig, on: Task, seed: int) -> dict[str, Any]:
    """Return what an encoding takes and needs, from the model and the task."""
    if part.contents:
        return {}  # a file knows what it is
    entry = entry_of(part.name)
    kind = entry.card.kind[0]
    declared = entry.parameters
    needed = {name for name, one in declared.items() if one.default is inspect.Parameter.empty}
    if kind == "bias" and not {"slopes", "half_lives"} & set(part.parameters):
        needed |= {"heads"} & set(declared)
    head = model.dimension // model.heads
    width = _model_of_kind(model.kind).query_width(head)
    found: Mapping[str, Any] = {
        "dimension": model.dimension if kind == "vectors" else width,
        "heads": part.on_heads or model.heads,
        "rows": on.length,
        "length": on.length,
    }
    made = {name: value for name, value in found.items() if name in needed}
    axes = getattr(on, "axes", 1)
    if axes > 1 and "axes" in declared:
        made["axes"] = axes
    if part.name == "mla":  # its defaults are those of a large model
        if width == head:
            raise LabError(
                "The encoding 'mla' turns a part of queries and keys that a model of kind "
                f'{model.kind!r} does not have; add model = {{ kind = "latent" }} to it.'
            )
        made |= {"dimension": width, "content_dimension": head}
    if part.name == "jordan-scaled":
        made["length"] = float(on.length)
    return made | ({"seed": seed} if "seed" in declared else {})


class LatentAttention(nn.Module):  # type: ignore[misc]  # torch is not followed by the checker
    """Attention of one layer through latents of queries, and of keys and values."""

    def __init__(self, dimension: int, heads: int, coupled: LayerEncodings, *, latent: int) -> None:
        super().__init__()
        self.heads, self.coupled = heads, coupled
        head = dimension // heads
        self.down_q, self.down_kv = nn.Linear(dimension, latent), nn.Linear(dimension, latent)
        self.norm_q, self.norm_kv = nn.LayerNorm(latent), nn.LayerNorm(latent)
        self.up_q = nn.Linear(latent, 2 * dimension)
        self.up_kv = nn.Linear(latent, 2 * dimension)
        self.shared = nn.Linear(dimension, head)
        self.out = nn.Linear(dimension, dimension)

    def forward(self, x: Tensor, **given: Any) -> Tensor:
        """Return what tokens x (b, n, dimension) take from one another."""
        content_q, rotary_q = split_heads(self.up_q(self.norm_q(self.down_q(x))), 2, self.heads)
        content_k, v = split_heads(self.up_kv(self.norm_kv(self.down_kv(x))), 2, self.heads)
        shared = self.shared(x)[:, None].expand_as(content_k)
        q, k = torch.cat([content_q, rotary_q], -1), torch.cat([content_k, shared], -1)
        return self.out(merge_heads(self.coupled(q, k, v, **given)))


class LatentTransformer(Transformer):
    """The Transformer with latent attention; `latent` is half the dimension by default."""

    def __init__(self, *, dimension: int = 64, latent: int | None = None, **given: Any) -> None:
        self._latent = dimension // 2 if latent is None else latent
        super().__init__(dimension=dimension, **given)

    @classmethod
    def query_width(cls, head: int) -> int:
        """Return the width of contents and of positions together."""
        return 2 * head

    def _attention(self, dimension: int, layer: int) -> nn.Module:
        coupled = self._encodings_in(layer)
        return LatentAttention(dimension, self.heads_count, coupled, latent=self._latent)


class PatchTransformer(Transformer):
    """The Transformer over patches of `features` numbers each."""

    reads_values = True

    def __init__(self, *, features: int, **given: Any) -> None:
        self._features = features
        super().__init__(**given)

    def _embedding(self, vocabulary: int, dimension: int, rms: float) -> nn.Module:
        del vocabulary
        made = nn.Linear(self._features, dimension)
        nn.init.normal_(made.weight, std=rms / self._features**0.5)
        nn.init.zeros_(made.bias)
        return made


class CrossAttention(nn.Module):  # type: ignore[misc]  # torch is not followed by the checker
    """Attention of queries to the tokens of another sequence."""

    def __init__(self, dimension: int, heads: int, coupled: LayerEncodings) -> None:
        super().__init__()
        self.heads, self.coupled = heads, coupled
        self.ask, self.tell = nn.Linear(dimension, dimension), nn.Linear(dimension, 2 * dimension)
        self.out = nn.Linear(dimension, dimension)

    def forward(self, x: Tensor, *, memory: Tensor, **given: Any) -> Tensor:
        """Return what x (b, n, dimension) takes from a memory (b, m, dimension)."""
        (q,) = split_heads(self.ask(x), 1, self.heads)
        k, v = split_heads(self.tell(memory), 2, self.heads)
        return self.out(merge_heads(self.coupled(q, k, v, **given)))


class SequenceToSequence(Transformer):
    """An encoder of `layers`, and as many layers that write the answer token by token."""

    reads_answers = True

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

    def _encodings_in(self, layer: int) -> LayerEncodings:
        acting = [part for part in self.parts if part.acts_in(layer)]
        own = layer >= self._depth and (layer - self._depth) % 2 == 0
        return LayerEncodings(acting, heads=self.heads_count, causal=own, number=layer)

    def _attention(self, dimension: int, layer: int) -> nn.Module:
        if layer >= self._depth and (layer - self._depth) % 2:
            return CrossAttention(dimension, self.heads_count, self._encodings_in(layer))
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
        x = self.embed_tokens(tokens, positions)
        for block in self.blocks[: self._depth]:
            x = block(x, **places)
        memory = self.norm_memory(x)
        before = pad(answers[:, :-1] + 1, (1, 0))  # 0 begins; an answer is seen one later
        x = self.embed_answer(before) + self.embed_tokens(tokens, positions) - self.embed(tokens)
        for number, block in enumerate(self.blocks[self._depth :]):
            beside = {"memory": memory} if number % 2 else {}
            x = block(x, **places, **beside)
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

    def _encodings_in(self, layer: int) -> LayerEncodings:
        acting = [part for part in self.parts if layer == 0 and part.acts_in(0)]
        return LayerEncodings(acting, heads=self.heads_count, causal=False)

    def _attention(self, dimension: int, layer: int) -> nn.Module:
        if layer == 0:
            return CrossAttention(dimension, self.heads_count, self._encodings_in(0))
        return super()._attention(dimension, layer)

    def forward(
        self, tokens: Tensor, *, mask: Tensor | None = None, positions: Tensor | None = None
    ) -> Tensor:
        """Return (b, classes), or (b,) where a number is asked for."""
        memory = self.norm_tokens(self.embed_tokens(tokens, positions))
        places = self._places(tokens, mask, positions)
        x = self.latents.expand(len(tokens), -1, -1)
        first: Block = self.blocks[0]
        x = first(x, memory=memory, mask=mask, **places)
        for block in self.blocks[1:]:
            x = block(x)
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


class Gru(nn.Module):  # type: ignore[misc]  # torch is not followed by the checker
    """A gated recurrence over tokens."""

    def __init__(self, dimension: int, *, causal: bool) -> None:
        super().__init__()
        width = dimension if causal else dimension // 2
        self.cells = nn.GRU(dimension, width, batch_first=True, bidirectional=not causal)

    def forward(self, x: Tensor, *_: Any, mask: Tensor | None = None, **__: Any) -> Tensor:
        """Return the states at tokens x (b, n, dimension)."""
        if mask is None:
            return self.cells(x)[0]
        lengths = mask.sum(dim=1)
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        states = self.cells(packed)[0]
        return pad_packed_sequence(states, batch_first=True, total_length=x.shape[1])[0]


class StateSpace(nn.Module):  # type: ignore[misc]
    """A diagonal state space over tokens, one kernel for each channel and direction."""

    def __init__(self, dimension: int, *, causal: bool, states: int) -> None:
        super().__init__()
        directions = 1 if causal else 2
        size = (directions, dimension, states)
        # decays spread over one to a hundred positions, frequencies over the circle
        self.decay = nn.Parameter(torch.empty(size).uniform_(math.log(0.01), 0.0))
        self.turn = nn.Parameter(torch.empty(size).uniform_(0.0, math.pi))
        self.read = nn.Parameter(torch.randn(*size, 2) / states**0.5)
        self.through = nn.Parameter(torch.randn(dimension))
        self.mix = nn.Linear(dimension, dimension)

    def kernels(self, n: int) -> Tensor:
        """Return k_t for t = 0 ... n-1, (directions, dimension, n)."""
        exponent = torch.complex(-self.decay.exp(), self.turn)[..., None]
        powers = torch.exp(exponent * torch.arange(n))
        return (torch.view_as_complex(self.read)[..., None] * powers).real.sum(dim=-2)

    def forward(self, x: Tensor, *_: Any, mask: Tensor | None = None, **__: Any) -> Tensor:
        """Return the outputs at tokens x (b, n, dimension)."""
        x = x if mask is None else x * mask[..., None].to(x.dtype)
        n = x.shape[1]
        rows = x.transpose(1, 2)
        ways = (rows, rows.flip(-1))
        found = torch.zeros_like(rows)
        for way, kernel in enumerate(self.kernels(n)):
            made = torch.fft.irfft(
                torch.fft.rfft(ways[way], 2 * n) * torch.fft.rfft(kernel, 2 * n), 2 * n
            )[..., :n]
            found = found + (made.flip(-1) if way else made)
        return self.mix(nn.functional.gelu(found.transpose(1, 2) + self.through * x))


class _Headless(Transformer):
    """A model without attention: it has a place for vectors, and for no encoding at all."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        for part in self.parts:
            if part.kind != "vectors" and not part.encoding.is_one_of("nope"):
                raise LabError(
                    f"The encoding {part.encoding.name!r} acts on attention, and this model has "
                    "none; choose one that gives vectors, or another model."
                )

    def layer_encodings(self) -> list[LayerEncodings]:
        """Return no layers of attention."""
        return []

    def heads(self) -> AttentionHeads:
        """Refuse: there are none."""
        raise LabError("This model has no heads to be scaled; choose one with attention.")


class GruModel(_Headless):
    """The Transformer with a gated recurrence in the place of attention."""

    def _attention(self, dimension: int, layer: int) -> nn.Module:
        del layer
        return Gru(dimension, causal=self.causal)


class StateSpaceModel(_Headless):
    """The Transformer with a diagonal state space in the place of attention."""

    def __init__(self, *, states: int = 16, **given: Any) -> None:
        self._states = states
        super().__init__(**given)

    def _attention(self, dimension: int, layer: int) -> nn.Module:
        del layer
        return StateSpace(dimension, causal=self.causal, states=self._states)


VARIANTS: dict[str, type[Transformer]] = {
    "transformer": Transformer,
    "latent": LatentTransformer,
    "seq2seq": SequenceToSequence,
    "latent-query": LatentQuery,
    "patches": PatchTransformer,
    "gru": GruModel,
    "state-space": StateSpaceModel,
}
