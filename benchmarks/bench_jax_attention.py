"""Attention in JAX by its routes against jax.nn.dot_product_attention, compiled, forward.

No bar was set for JAX. What is measured decides `_BLOCKS_FROM` of `gnomon.jax.sdpa.call`, the
length from which on blocks are taken on a processor:
- ALiBi, causal, against JAX's function with a bias that is ready in memory;
- rotary encoding, causal, against JAX's function on vectors that were turned before;
- a decay (xPos) against rotary encoding by the same blocks.
Everything is compiled first, and ready vectors and biases are given for nothing. Memory is what the
process grows by in the first call after compiling.

Run `python benchmarks/bench_jax_attention.py`; it writes records/jax-attention.json.
"""

from __future__ import annotations

import argparse

import jax
import jax.numpy as jnp
import numpy as np

import gnomon
from gnomon.jax import attention, attention_plan
from harness import figures, interleaved, peak_mebibytes, ratio, show, write_record

LENGTHS = {256: 40, 512: 25, 1024: 15, 2048: 9, 4096: 5}
HEADS, DIMENSION = 8, 64
PEER = "JAX's own"
LIMIT = 1e-4


def vectors(n):
    rng = np.random.default_rng(0)
    return [jnp.asarray(rng.normal(size=(1, HEADS, n, DIMENSION)), jnp.float32) for _ in range(3)]


def ready(encoding, q, k, n):
    """What JAX's function is given: turned vectors and a bias, made beforehand."""
    at = np.arange(n)
    if "bias" in encoding.kinds:
        lags = at[:, None] - at
        slopes = np.asarray(encoding.slopes)[:, None, None]
        bias = np.where(lags < 0, -np.inf, -slopes * lags)[None].astype(np.float32)
        return q, k, jnp.asarray(bias)
    return *encoding.transform(q, k, jnp.arange(n)), None


def own(q, k, v, bias):
    """JAX's function, heads after positions as it takes them."""
    q, k, v = (jnp.swapaxes(x, 1, 2) for x in (q, k, v))
    causal = bias is None
    return jnp.swapaxes(jax.nn.dot_product_attention(q, k, v, bias, is_causal=causal), 1, 2)


def compiled(call, *arrays):
    """The call as a variant without arguments, compiled and waited for."""
    made = jax.jit(call)
    made(*arrays).block_until_ready()
    return lambda: made(*arrays).block_until_ready()


def bench(name, encoding, n, repeats):
    q, k, v = vectors(n)
    turned = ready(encoding, q, k, n)
    plan = attention_plan(q, k, v, encoding, causal=True)
    calls = {PEER: compiled(own, turned[0], turned[1], v, turned[2])}
    for route in ("bias" if "bias" in encoding.kinds else "plain", "blocks"):

        def call(q, k, v, route=route):
            return attention(q, k, v, encoding, causal=True, route=route)

        calls[route] = compiled(call, q, k, v)
    wanted = np.asarray(calls[PEER]())
    for route, call in calls.items():
        if np.abs(np.asarray(call()) - wanted).max() > LIMIT:
            raise SystemExit(f"{route} of {name} differs: a fast wrong answer is none")
    memory = {route: peak_mebibytes(call) for route, call in calls.items()}
    seconds = interleaved(calls, repeats)
    faster = {route: ratio(seconds, PEER, route) for route in calls if route != PEER}
    return {
        "seconds": seconds,
        "route": plan.route,
        "times_faster": faster,
        "taken": faster[plan.route],
        "peak_mebibytes": memory,
    }


def bench_decay(n, repeats):
    q, k, v = vectors(n)
    calls = {}
    for name in ("rope", "xpos"):
        encoding = gnomon.encoding(name, dimension=DIMENSION)

        def call(q, k, v, encoding=encoding):
            return attention(q, k, v, encoding, causal=True, route="blocks")

        calls[name] = compiled(call, q, k, v)
    seconds = interleaved(calls, repeats)
    return {"seconds": seconds, "xpos_by_rope": ratio(seconds, "xpos", "rope")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a third of the repeats")
    part = 3 if parser.parse_args().quick else 1
    encodings = {
        "alibi": gnomon.encoding("alibi", heads=HEADS),
        "rope": gnomon.encoding("rope", dimension=DIMENSION),
    }
    record = {"jax": jax.__version__, "heads": HEADS, "dimension": DIMENSION}
    for n, repeats in LENGTHS.items():
        for name, encoding in encodings.items():
            found = bench(name, encoding, n, max(3, repeats // part))
            show(f"{name}, {n:,} positions", found["seconds"], figures(found))
            record[f"{name}_{n}"] = found
    record["decay_2048"] = bench_decay(2048, max(3, 9 // part))
    show("a decay, 2,048 positions", record["decay_2048"]["seconds"], figures(record["decay_2048"]))
    write_record("jax-attention", record)


if __name__ == "__main__":
    main()
