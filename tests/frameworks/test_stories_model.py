"""A trained model, stories260K, run through our rotary layer: it tells the story it should.

The model and its tokenizer are files of llama2.c: a Llama with interleaved pairs, four key heads
for eight query heads. The outside truths are a plain forward in NumPy, whose rotation is a
multiplication by complex numbers; the story that llama2.c itself is tested against; and the Llama
of transformers, with weights that our converter brought into the other layout.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

import gnomon
from gnomon.encodings.rotary.rope import convert_weights
from gnomon.torch import Transform, layer

pytestmark = pytest.mark.data

# What `run stories260K.bin -t 0.0 -n 200` prints, by test_all.py of llama2.c (MIT licence).
STORY = (
    "Once upon a time, there was a little girl named Lily. She loved to play outside in the park. "
    "One day, she saw a big, red ball. She wanted to play with it, but it was too high.\n"
    "Lily's mom said, \"Lily, let's go to the park.\" Lily was sad and didn't know what to do. "
    'She said, "I want to play with your ball, but I can\'t find it."\n'
    "Lily was sad and didn't know what to do. She said, \"I'm sorry, Lily. I didn't know what to "
    "do.\"\nLily didn't want to help her mom, so she"
)


class Sizes(NamedTuple):
    """The header of a llama2.c file."""

    dimension: int
    hidden: int
    layers: int
    heads: int
    key_heads: int
    vocabulary: int
    length: int

    @property
    def head(self) -> int:
        return self.dimension // self.heads

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Tensors in the order of the file; the classifier is the embedding."""
        d, n, keys = self.dimension, self.layers, self.key_heads * self.head
        return {
            "embedding": (self.vocabulary, d),
            "norm1": (n, d),
            "q": (n, d, d),
            "k": (n, keys, d),
            "v": (n, keys, d),
            "o": (n, d, d),
            "norm2": (n, d),
            "gate": (n, self.hidden, d),
            "down": (n, d, self.hidden),
            "up": (n, self.hidden, d),
            "norm": (d,),
        }


class Story(NamedTuple):
    sizes: Sizes
    weights: dict[str, np.ndarray[Any, Any]]
    pieces: list[bytes]


@pytest.fixture(scope="module")
def model(data_root: Path) -> Story:
    raw = (data_root / "stories260K" / "stories260K.bin").read_bytes()
    sizes, at, weights = Sizes(*struct.unpack("7i", raw[:28])), 28, {}
    for name, shape in sizes.shapes().items():
        count = int(np.prod(shape))
        weights[name] = np.frombuffer(raw, np.float32, count, at).reshape(shape)
        at += 4 * count
    return Story(sizes, weights, _pieces(data_root / "stories260K" / "tok512.bin", sizes))


def _pieces(file: Path, sizes: Sizes) -> list[bytes]:
    raw, at, pieces = file.read_bytes(), 4, []
    for _ in range(sizes.vocabulary):
        (length,) = struct.unpack_from("i", raw, at + 4)
        pieces.append(raw[at + 8 : at + 8 + length])
        at += 8 + length
    return pieces


def spelled(model: Story, tokens: list[int]) -> str:
    """The text of tokens after the first, which begins the story; tokens 3 to 258 are bytes."""
    text = b""
    for before, token in pairwise(tokens):
        piece = model.pieces[token]
        piece = bytes([token - 3]) if 3 <= token < 259 else piece
        text += piece.removeprefix(b" ") if before == 1 else piece
    return text.decode()


def plain_logits(model: Story, tokens: list[int]) -> np.ndarray[Any, Any]:
    """The whole forward in NumPy float64, pair after pair as complex numbers."""
    sizes, w = model.sizes, {k: v.astype(np.float64) for k, v in model.weights.items()}
    rates = 10000.0 ** (-np.arange(0, sizes.head, 2) / sizes.head)
    spin = np.exp(1j * np.multiply.outer(np.arange(len(tokens)), rates))[:, None]
    later = np.triu(np.full((len(tokens), len(tokens)), -np.inf), 1)
    norm = lambda x, gain: x / np.sqrt(np.mean(x * x, -1, keepdims=True) + 1e-5) * gain
    rotate = lambda x: (x[..., ::2] + 1j * x[..., 1::2]) * spin
    x = w["embedding"][tokens]
    for i in range(sizes.layers):
        inside = norm(x, w["norm1"][i])
        q, k, v = ((inside @ w[n][i].T).reshape(len(tokens), -1, sizes.head) for n in "qkv")
        k, v = (np.repeat(y, sizes.heads // sizes.key_heads, axis=1) for y in (k, v))
        logits = np.einsum("ihk,jhk->hij", rotate(q), rotate(k).conj()).real
        weights = np.exp(logits / np.sqrt(sizes.head) + later)
        weights /= weights.sum(-1, keepdims=True)
        x = x + np.einsum("hij,jhd->ihd", weights, v).reshape(len(tokens), -1) @ w["o"][i].T
        inside = norm(x, w["norm2"][i])
        gate = inside @ w["gate"][i].T
        x = x + (gate / (1 + np.exp(-gate)) * (inside @ w["up"][i].T)) @ w["down"][i].T
    return norm(x, w["norm"]) @ w["embedding"].T


class Llama:
    """The same model in PyTorch, its rotation left to one layer, with a cache of turned keys."""

    def __init__(self, model: Story, rotary: Transform, dtype: torch.dtype) -> None:
        self.sizes, self.rotary = model.sizes, rotary
        self.w = {name: torch.tensor(v).to(dtype) for name, v in model.weights.items()}
        self.forget()

    def forget(self) -> None:
        self.cache: list[tuple[Tensor, Tensor] | None] = [None] * self.sizes.layers

    def __call__(self, tokens: list[int], offset: int = 0) -> Tensor:
        """Logits of tokens that follow `offset` cached ones."""
        x, w = self.w["embedding"][torch.tensor(tokens)], self.w
        positions = torch.arange(offset, offset + len(tokens))
        tables = self.rotary.tables(positions, dtype=x.dtype)
        for i in range(self.sizes.layers):
            inside = functional.rms_norm(x, x.shape[-1:], w["norm1"][i], 1e-5)
            x = x + self._attend(i, inside, tables, offset) @ w["o"][i].T
            inside = functional.rms_norm(x, x.shape[-1:], w["norm2"][i], 1e-5)
            gate = functional.silu(inside @ w["gate"][i].T)
            x = x + (gate * (inside @ w["up"][i].T)) @ w["down"][i].T
        return functional.rms_norm(x, x.shape[-1:], w["norm"], 1e-5) @ w["embedding"].T

    def _attend(self, i: int, inside: Tensor, tables: Any, offset: int) -> Tensor:
        heads = lambda y: y.unflatten(-1, (-1, self.sizes.head)).transpose(0, 1)
        q, k, v = (heads(inside @ self.w[name][i].T) for name in "qkv")
        q, k = self.rotary.turn(q, tables, side="q"), self.rotary.turn(k, tables, side="k")
        if offset and self.cache[i] is not None:
            k, v = (torch.cat(pair, dim=1) for pair in zip(self.cache[i], (k, v), strict=True))
        self.cache[i] = (k, v)
        seen = torch.arange(k.shape[1]) <= offset + torch.arange(len(inside))[:, None]
        group = self.sizes.heads // self.sizes.key_heads
        k, v = k.repeat_interleave(group, 0), v.repeat_interleave(group, 0)
        out = functional.scaled_dot_product_attention(q[None], k[None], v[None], attn_mask=seen)
        return out[0].transpose(0, 1).flatten(1)


def told(step: Callable[[list[int], int], Tensor], count: int) -> list[int]:
    """Tokens of greedy decoding, from the token that begins a story."""
    tokens = [1]
    for place in range(count):
        tokens.append(int(step(tokens, place)[-1].argmax()))
    return tokens


def rotary_layer(model: Story, **options: Any) -> Transform:
    return layer(gnomon.encoding("rope", dimension=model.sizes.head), **options)


@pytest.fixture(scope="module")
def story(model: Story) -> list[int]:
    """What the model tells with a cache, one token at a time."""
    llama = Llama(model, rotary_layer(model), torch.float32)
    return told(lambda tokens, place: llama(tokens[-1:], place), 200)


def test_the_model_tells_the_story_that_llama2c_is_tested_against(
    model: Story, story: list[int]
) -> None:
    assert spelled(model, story) == STORY


@pytest.mark.parametrize(
    ("dtype", "error"), [(torch.float64, 1e-11), (torch.float32, 1e-5)], ids=["float64", "float32"]
)
def test_logits_equal_those_of_a_plain_forward_in_numpy(
    model: Story, story: list[int], dtype: torch.dtype, error: float
) -> None:
    found = Llama(model, rotary_layer(model), dtype)(story)
    wanted = plain_logits(model, story)
    # Relative to the largest logit: float32 has seven digits of it.
    assert np.abs(found.numpy() - wanted).max() < error * np.abs(wanted).max()


def test_a_cache_gives_the_tokens_that_no_cache_gives(model: Story, story: list[int]) -> None:
    llama = Llama(model, rotary_layer(model), torch.float32)
    assert told(lambda tokens, _: llama(tokens), 60) == story[:61]


def test_a_cache_filled_in_two_parts_gives_the_logits_of_one(
    model: Story, story: list[int]
) -> None:
    llama = Llama(model, rotary_layer(model), torch.float64)
    whole = llama(story)
    llama.forget()
    parts = torch.cat([llama(story[:77]), llama(story[77:], 77)])
    assert torch.allclose(parts, whole, rtol=0, atol=1e-11)


def test_logits_do_not_change_when_every_position_is_shifted(
    model: Story, story: list[int]
) -> None:
    """Rotary logits depend on lags alone, far away from where the model was trained, too."""
    llama = Llama(model, rotary_layer(model), torch.float64)
    near = llama(story)
    tables = llama.rotary.tables
    llama.rotary.tables = lambda at, **options: tables(at + 1_000_000, **options)
    assert torch.allclose(llama(story), near, rtol=0, atol=1e-7)


def test_without_its_rotation_the_model_loses_the_story(model: Story, story: list[int]) -> None:
    """The test above could not fail if the rotation had no say."""
    llama = Llama(model, layer(gnomon.encoding("nope"), kind="transform"), torch.float32)
    lost = told(lambda tokens, place: llama(tokens[-1:], place), 40)
    assert lost != story[:41]


def test_converted_weights_in_transformers_llama_give_the_same_logits(
    model: Story, story: list[int]
) -> None:
    """Its layout is half: q and k weights go through our converter, all others as they are."""
    transformers = pytest.importorskip("transformers")
    peer = transformers.LlamaForCausalLM(_config(transformers, model.sizes)).eval()
    missing, unexpected = peer.load_state_dict(_converted(model), strict=False)
    assert (missing, unexpected) == (["lm_head.weight"], [])
    peer.tie_weights()
    with torch.no_grad():
        wanted = peer(torch.tensor([story])).logits[0]
    found = Llama(model, rotary_layer(model), torch.float32)(story)
    assert (found - wanted).abs().max() < 1e-5 * wanted.abs().max()


def _config(transformers: Any, sizes: Sizes) -> Any:
    return transformers.LlamaConfig(
        hidden_size=sizes.dimension,
        intermediate_size=sizes.hidden,
        num_hidden_layers=sizes.layers,
        num_attention_heads=sizes.heads,
        num_key_value_heads=sizes.key_heads,
        vocab_size=sizes.vocabulary,
        rms_norm_eps=1e-5,
        tie_word_embeddings=True,
    )


def _converted(model: Story) -> dict[str, Tensor]:
    w, sizes = {k: torch.tensor(v) for k, v in model.weights.items()}, model.sizes
    state = {"model.embed_tokens.weight": w["embedding"], "model.norm.weight": w["norm"]}
    for i in range(sizes.layers):
        at = f"model.layers.{i}."
        state |= {
            at + "input_layernorm.weight": w["norm1"][i],
            at + "post_attention_layernorm.weight": w["norm2"][i],
            at + "self_attn.v_proj.weight": w["v"][i],
            at + "self_attn.o_proj.weight": w["o"][i],
        }
        for name, heads in (("q", sizes.heads), ("k", sizes.key_heads)):
            moved = convert_weights(w[name][i], heads=heads, to="half")
            state[f"{at}self_attn.{name}_proj.weight"] = moved
        state |= {f"{at}mlp.{name}_proj.weight": w[name][i] for name in ("gate", "up", "down")}
    return state
