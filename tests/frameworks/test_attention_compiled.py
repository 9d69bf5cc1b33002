"""Attention in graphs whose length is left open, and on several devices: one encoding per kind."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import gnomon
import gnomon.torch
from gnomon.encodings.registry import ENTRIES

torch = pytest.importorskip("torch")

KINDS = {
    "rope": {"dimension": 8},
    "kerple-log": {"heads": 2},
    "t5": {"heads": 2},
    "fox": {"heads": 2, "dimension": 8},
    "xpos": {"dimension": 8},
}
HEADED = {"dimension": 8, "heads": 2}
OTHERWISE = ("rope-mixed", "rope-pixel", "rope-patches", "mla", "alibi", "decay-time")
"""Several axes, other sizes or more parameters than these tests have."""
OPEN = ("path",)
"""Compiles with a length left open, and cannot be exported with one: it walks chunks of tokens,
as many as there are."""
CACHED = pytest.mark.filterwarnings("ignore:Dynamo detected a call to a `functools.lru_cache`")


def others():
    """Return the other encodings that heads of eight coordinates can have."""
    import inspect

    for name, entry in ENTRIES.items():
        taken = entry.parameters
        required = [n for n, p in taken.items() if p.default is inspect.Parameter.empty]
        if name not in (*KINDS, *OTHERWISE, *OPEN) and set(required) <= set(HEADED):
            yield name, {n: HEADED[n] for n in required}


def vectors(n):
    torch.manual_seed(n)
    return [torch.randn(1, 2, n, 8) for _ in range(3)]


class Attending(torch.nn.Module):
    def __init__(self, name, given):
        super().__init__()
        self.layer = gnomon.torch.layer(gnomon.encoding(name, **given))

    def forward(self, q, k, v):
        return gnomon.torch.attention(q, k, v, self.layer, causal=True)


def check_compiled(name, given):
    torch._dynamo.reset()
    module = Attending(name, given)
    made = torch.compile(module, dynamic=True, fullgraph=True, backend="eager")
    for n in (5, 9, 300):
        arrays = vectors(n)
        assert torch.allclose(made(*arrays), module(*arrays), atol=1e-5)


def check_exported(name, given):
    module, open_length = Attending(name, given), torch.export.Dim("n", min=2, max=4096)
    made = torch.export.export(module, tuple(vectors(7)), dynamic_shapes=({2: open_length},) * 3)
    arrays = vectors(300)
    assert torch.allclose(made.module()(*arrays), module(*arrays), atol=1e-5)


@CACHED
@pytest.mark.compiles("rope", "t5", "fox")
@pytest.mark.parametrize("name", KINDS)
def test_lengths_left_open_compile_and_export(name):
    check_compiled(name, KINDS[name])
    check_exported(name, KINDS[name])


@CACHED
@pytest.mark.wide
@pytest.mark.parametrize(("name", "given"), list(others()))
def test_lengths_left_open_compile_and_export_for_all(name, given):
    check_compiled(name, given)
    check_exported(name, given)


BY_HEAD = {
    "rope-mixed": {"dimension": 8, "heads": 4, "axes": 1},
    "rope-pixel": {"dimension": 16},
    "rope-patches": {"dimension": 8},
    "liere": {"dimension": 8, "heads": 4},
    "deberta": {"dimension": 8, "heads": 4},
    "cope": {"dimension": 8, "heads": 4},
    "t5": {"heads": 4},
}
"""Numbers for each head, or positions beside each: what is compared with the size of an axis."""


@CACHED
@pytest.mark.compiles("rope-mixed", "t5", "cope")
@pytest.mark.parametrize("name", BY_HEAD)
def test_a_batch_left_open_compiles_beside_numbers_of_heads(name):
    layer = gnomon.torch.layer(gnomon.encoding(name, **BY_HEAD[name]))
    width, axes = BY_HEAD[name].get("dimension", 8), layer.definition.axes

    def attend(a, at):
        return gnomon.torch.attention(a, a, a, layer, positions_q=at)

    def counted(a, at):
        del at
        return gnomon.torch.attention(a, a, a, layer)

    for call in (attend, counted) if axes == 1 else (attend,):
        torch._dynamo.reset()
        made = torch.compile(call, dynamic=True, fullgraph=True, backend="eager")
        for batch, n in ((3, 6), (5, 9)):
            x, at = torch.randn(batch, 4, n, width), torch.arange(n)
            at = at if axes == 1 else torch.stack([at] * axes, dim=-1)
            assert torch.allclose(made(x, at), call(x, at), atol=1e-5)


class Decoding(torch.nn.Module):
    """One token beside a cache, at counted positions or given ones."""

    def __init__(self, name, given, *, placed):
        super().__init__()
        self.layer, self.place = gnomon.torch.layer(gnomon.encoding(name, **given)), placed

    def forward(self, q, k, v, at):
        given = {"positions_q": at[-1:], "positions_k": at} if self.place else {}
        return gnomon.torch.attention(q, k, v, self.layer, **given)


CACHES = {
    **KINDS,
    "alibi": {"heads": 2},
    "mla": {"dimension": 8, "content_dimension": 4},
    "nope": {},
    "sinusoidal": {"dimension": 8},
}


@CACHED
@pytest.mark.compiles
@pytest.mark.parametrize("placed", [False, True])
@pytest.mark.parametrize("name", CACHES)
def test_a_cache_of_open_length_is_exported_beside_one_token(name, placed):
    module, m = Decoding(name, CACHES[name], placed=placed), torch.export.Dim("m", min=3, max=64)

    def arrays(length):
        q, k, v = vectors(length)
        return q[:, :, -1:], k, v, torch.arange(length)

    shapes = ({}, {2: m}, {2: m}, {0: m})
    made = torch.export.export(module, arrays(6), dynamic_shapes=shapes).module()
    for length in (3, 6, 40):
        assert torch.allclose(made(*arrays(length)), module(*arrays(length)), atol=1e-5)


def test_sharded_attention_equals_that_of_one_device():
    pytest.importorskip("jax")
    code = """
        import gnomon, gnomon.jax, jax, numpy as np
        from jax.sharding import Mesh, PartitionSpec
        mesh, b = Mesh(np.array(jax.devices()), ("b",)), PartitionSpec("b")
        x = np.random.default_rng(0).normal(size=(3, 2, 2, 6, 8)).astype("f")
        for name, given in (("rope", {"dimension": 8}), ("xpos", {"dimension": 8}),
                            ("t5", {"heads": 2}), ("fox", {"heads": 2, "dimension": 8})):
            made = gnomon.encoding(name, **given)
            def attend(q, k, v):
                return gnomon.jax.attention(q, k, v, made, causal=True)
            shared = jax.shard_map(attend, mesh=mesh, in_specs=b, out_specs=b)
            want = np.asarray(attend(*x))
            for call in (shared, jax.jit(shared)):
                assert np.allclose(np.asarray(call(*x)), want, atol=1e-5), name
    """
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, **flags},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("name", "given", "vectorial"),
    [
        ("rope", {"dimension": 8}, True),
        ("fox", {"heads": 2, "dimension": 8}, True),
        ("t5", {"heads": 2}, False),
        ("sinusoidal", {"dimension": 8}, False),
    ],
)
def test_layers_of_jax_are_called_as_those_of_torch(name, given, vectorial):
    pytest.importorskip("jax")
    import gnomon.jax

    made = gnomon.encoding(name, **given)
    left, right = gnomon.torch.layer(made), gnomon.jax.layer(made)
    q, k, _ = vectors(6)
    given = (q, k, torch.arange(6)) if vectorial else (torch.arange(6),)
    want, found = left(*given), right(*(x.numpy() for x in given))
    for a, b in zip(want, found, strict=True):
        assert np.allclose(a.detach().numpy(), b, atol=1e-5)
    if name == "rope":
        want, found = left(q, k, offset=4), right(q.numpy(), k.numpy(), offset=4)
        assert all(np.allclose(a, b, atol=1e-5) for a, b in zip(want, found, strict=True))
