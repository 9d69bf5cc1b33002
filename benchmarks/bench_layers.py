"""Cost of fitted layers against the embedding layers they stand in for, and against the memory.

Claims, each a ratio of medians from one run with interleaved repeats, at 512 positions, dimension
768 and a batch of 8 x 512, one thread:
- a frozen layer in PyTorch, its look at every position included, takes at most 1.25 of the time of
  nn.Embedding; compiled, where it cannot look, as well;
- a compiled `embed` in JAX takes at most 1.25 of the time of a compiled nnx.Embed;
- opening the file and making a layer of it takes less than 50 ms.
A batch of one position shows what a call costs beside the numbers: tens of microseconds.

Run `python benchmarks/bench_layers.py`; it prints a table and writes records/layers.json.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import torch
from flax import nnx
from scipy.spatial.distance import cdist
from torch import nn

import gnomon
import gnomon.jax
import gnomon.torch
from harness import figures, interleaved, ratio, show, write_record

POSITIONS, DIMENSION, RANK = 512, 768, 6


def fitted():
    """An encoding of points in six dimensions, as a corpus of that effective rank gives it."""
    points = np.random.default_rng(0).normal(size=(POSITIONS, RANK))
    return gnomon.fit(cdist(points, points), dimension=DIMENSION)


def holed(made):
    """The same, with one position that was masked and is refused."""
    left, status = made.left.copy(), made.status.copy()
    left[-1], status[-1] = np.nan, 0
    return replace(made, left=left, status=status, masked_rule="refuse")


def bench_torch(made, batch, length, repeats):
    at = torch.arange(length) % (POSITIONS - 1)  # the last one is masked in one of the layers
    positions = at.expand(batch, length).contiguous()
    stock = nn.Embedding.from_pretrained(torch.from_numpy(made.table()))
    frozen = gnomon.torch.load(made)
    if not torch.equal(frozen(positions), stock(positions)):
        raise SystemExit("the layers differ: a fast wrong answer is none")
    layers = {
        "nn.Embedding": stock,
        "frozen": frozen,
        "clamping": gnomon.torch.load(replace(made, beyond="clamp")),
        "refusing masked ones": gnomon.torch.load(holed(made)),
        "factored": gnomon.torch.load(made, trainable=True),
        "nn.Embedding, compiled": torch.compile(stock),
        "frozen, compiled": torch.compile(frozen),
    }
    size = (batch, length, DIMENSION)
    with torch.no_grad():
        variants = {name: lambda layer=layer: layer(positions) for name, layer in layers.items()}
        variants["bare write of the result"] = lambda: torch.full(size, 1.0)
        interleaved(variants, 3)  # compiles
        seconds = interleaved(variants, repeats)
    return compared(seconds, "nn.Embedding", "frozen") | {
        "clamping_by_stock": ratio(seconds, "clamping", "nn.Embedding"),
        "refusing_by_stock": ratio(seconds, "refusing masked ones", "nn.Embedding"),
        "factored_by_stock": ratio(seconds, "factored", "nn.Embedding"),
        "compiled_by_compiled_stock": ratio(seconds, "frozen, compiled", "nn.Embedding, compiled"),
        "shape": [batch, length, DIMENSION],
    }


def bench_jax(made, batch, length, repeats):
    positions = jnp.broadcast_to(jnp.arange(length), (batch, length))
    stock = nnx.Embed(POSITIONS, DIMENSION, rngs=nnx.Rngs(0))
    stock.embedding[...] = jnp.asarray(made.table())
    parts, state = nnx.split(stock)
    own = gnomon.jax.load(made)
    compiled = jax.jit(gnomon.jax.embed)
    peer = jax.jit(lambda state, at: nnx.merge(parts, state)(at))
    write = jax.jit(lambda value: jnp.full((batch, length, DIMENSION), value))
    if not np.array_equal(compiled(own, positions), peer(state, positions)):
        raise SystemExit("the layers differ: a fast wrong answer is none")
    variants = {
        "nnx.Embed, compiled": lambda: peer(state, positions),
        "embed, compiled": lambda: compiled(own, positions),
        "nnx.Embed": lambda: stock(positions),
        "embed": lambda: gnomon.jax.embed(own, positions),
        "bare write of the result": lambda: write(1.0),
    }
    done = {name: lambda run=run: jax.block_until_ready(run()) for name, run in variants.items()}
    interleaved(done, 3)  # compiles
    seconds = interleaved(done, repeats)
    return compared(seconds, "nnx.Embed, compiled", "embed, compiled") | {
        "seeing_by_stock": ratio(seconds, "embed", "nnx.Embed"),
        "shape": [batch, length, DIMENSION],
    }


def bench_opening(made, repeats):
    """Files of both forms, opened and made a layer of, against a bare read of the same bytes."""
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder) / f"{name}.safetensors" for name in ("factors", "table")}
        made.save(files["factors"])
        replace(made, factored=False).save(files["table"])
        variants = {name: lambda at=at: gnomon.torch.load(at) for name, at in files.items()}
        variants["bare read of the table"] = files["table"].read_bytes
        interleaved(variants, 3)
        seconds = interleaved(variants, repeats)
    return {
        "seconds": seconds,
        "milliseconds": {n: round(1e3 * s["median"], 2) for n, s in seconds.items()},
    }


def compared(seconds, stock, own):
    return {
        "seconds": seconds,
        "by_stock": ratio(seconds, own, stock),
        "by_bare_write": ratio(seconds, own, "bare write of the result"),
        "microseconds_more": round(1e6 * (seconds[own]["median"] - seconds[stock]["median"]), 1),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=100)
    options = parser.parse_args()
    torch.set_num_threads(1)
    made, record = fitted(), {"threads": 1}
    for batch, length in ((8, 512), (1, 1)):
        for name, bench in (("torch", bench_torch), ("jax", bench_jax)):
            found = bench(made, batch, length, options.repeats)
            show(f"{name}, batch {batch} x {length}", found["seconds"], figures(found))
            record[f"{name}_{batch}x{length}"] = found
    record["opening"] = bench_opening(made, options.repeats)
    show("opening a file as a layer", record["opening"]["seconds"], figures(record["opening"]))
    write_record("layers", record)


if __name__ == "__main__":
    main()
