"""Attention at the edges of what a caller may ask: no tokens, odd types, and graphs of any kind.

Each case was found by one who did not know the code; each is tested with the others of its kind.
"""

from __future__ import annotations

import numpy as np
import pytest

import gnomon
from gnomon.encodings.registry import ENTRIES
from gnomon.errors import EncodingError

torch = pytest.importorskip("torch")

from gnomon.torch import attention, attention_plan, layer, prepare_attention  # noqa: E402

HEADS, N, D = 2, 6, 8
KINDS = {
    "alibi": {"heads": HEADS},
    "dape": {"inner": {"name": "alibi", "heads": HEADS}},
    "deberta": {"heads": HEADS, "dimension": D},
    "fire": {"heads": HEADS},
    "fox": {"heads": HEADS, "dimension": D},
    "jordan": {"dimension": D},
    "kerple-log": {"heads": HEADS},
    "learned": {"rows": 40, "dimension": D},
    "liere": {"dimension": D},
    "nope": {},
    "retnet": {"heads": HEADS, "dimension": D},
    "rope": {"dimension": D},
    "rope-hyperbolic": {"dimension": D},
    "shaw": {"dimension": D},
    "t5": {"heads": HEADS},
    "xpos": {"dimension": D},
}
ROUTES = ("auto", "plain", "bias", "toeplitz", "tiles", "augmented", "blocks", "dense", "flex")
LEARNED = ("t5", "kerple-log", "fire", "mlp-bias")
SLOW = pytest.mark.filterwarnings("ignore:There is a performance drop")
"""PyTorch's kernel on a processor is called once for each entry that vmap has."""
every_kind = pytest.mark.parametrize("name", KINDS)


def encoded(name):
    return gnomon.encoding(name, **KINDS.get(name, {"heads": HEADS}))


def vectors(n=N, m=N, batch=(1,), seed=0):
    rng = np.random.default_rng(seed)
    return [
        torch.from_numpy(rng.normal(size=(*batch, HEADS, count, D))).float() for count in (n, m, m)
    ]


def routed(call, *routes):
    """Results by the routes that serve a call."""
    made = {}
    for route in routes:
        try:
            made[route] = call(route)
        except EncodingError as error:
            assert "cannot serve this call" in str(error)  # noqa: PT017 - others are no refusals
    return made


# No tokens


@every_kind
@pytest.mark.parametrize(("n", "m"), [(0, N), (N, 0), (0, 0)])
@pytest.mark.parametrize("batch", [(), (1,), (2, 3)])
def test_no_queries_give_nothing_and_no_keys_give_zeros_on_every_route(name, n, m, batch):
    made = layer(encoded(name))
    q, k, v = vectors(n, m, batch)
    found = routed(lambda route: attention(q, k, v, made, route=route), *ROUTES)
    assert {"auto", "dense"} <= set(found)
    for out in found.values():
        assert out.shape == q.shape
        assert out.dtype == q.dtype
        assert not out.any()
    assert attention_plan(q, k, v, made).route in ROUTES
    assert torch.equal(prepare_attention(q, k, v, made)(q, k, v), found["auto"])


def test_no_keys_have_gradients_of_zero():
    q, k, v = (x.requires_grad_() for x in vectors(N, 0))
    attention(q, k, v, encoded("rope")).sum().backward()
    assert not q.grad.any()
    assert v.grad.shape == v.shape


@pytest.mark.compiles
@every_kind
@pytest.mark.parametrize(("n", "m"), [(0, N), (N, 0)])
def test_no_queries_and_no_keys_serve_jax_as_well(name, n, m):
    pytest.importorskip("jax")
    from gnomon.jax import attention as attend

    for batch in ((), (1,), (2, 3), (0,)):
        q, k, v = (x.numpy() for x in vectors(n, m, batch))
        call = lambda route: attend(q, k, v, encoded(name), route=route)  # noqa: B023
        for out in routed(call, "auto", "plain", "bias", "blocks", "dense").values():
            assert out.shape == q.shape
            assert not np.asarray(out).any()


@pytest.mark.parametrize("route", ["auto", "blocks", "dense"])
def test_a_batch_of_nothing_gives_nothing_in_jax(route):
    pytest.importorskip("jax")
    from gnomon.jax import attention as attend

    q, k, v = (x.numpy() for x in vectors(batch=(0,)))
    assert attend(q, k, v, encoded("rope"), route=route).shape == q.shape


def test_vectors_without_coordinates_are_refused():
    x = torch.zeros(1, HEADS, N, 0)
    with pytest.raises(EncodingError, match="pass vectors of one coordinate or more"):
        attention(x, x, x, encoded("nope"))


# Types of eight bits


@pytest.mark.parametrize("name", ["rope", "alibi", "fox", "xpos", "liere"])
@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_floats_of_eight_bits_are_refused_in_words(name, dtype):
    x, made = vectors()[0].to(getattr(torch, dtype)), encoded(name)
    words = rf"q holds torch.{dtype}; pass real numbers \(floats\) of 16, 32 or 64 bits"
    calls = [
        lambda: attention(x, x, x, made),
        lambda: layer(made).scores(x, x, np.arange(N)),
        lambda: made.scores(x, x, np.arange(N)),
    ]
    if name != "alibi":
        calls.append(lambda: layer(made)(x, x, torch.arange(N)))
    for call in calls:
        with pytest.raises(EncodingError, match=words):
            call()
    mask = torch.linspace(-2, 2, N).expand(N, N).to(x.dtype)  # a mask is stored, and added as it is
    found = attention(*vectors(), made, mask=mask)
    assert torch.equal(found, attention(*vectors(), made, mask=mask.float()))


def test_floats_of_eight_bits_are_refused_in_jax():
    jnp = pytest.importorskip("jax.numpy")
    from gnomon.jax import attention as attend

    x = jnp.asarray(vectors()[0].numpy()).astype(jnp.float8_e4m3fn)
    for call in (
        lambda: attend(x, x, x, encoded("rope")),
        lambda: encoded("rope").scores(x, x, np.arange(N)),
    ):
        with pytest.raises(EncodingError, match=r"q holds float8_e4m3fn; pass real numbers"):
            call()


# Transforms of torch.func


@SLOW
@pytest.mark.parametrize("name", ["liere", "comrope", "dape", "t5", "fire", "mlp-bias"])
def test_attention_is_vectorised_as_it_is_computed_one_by_one(name):
    given = {"comrope": {"dimension": D, "axes": 1, "block": 2}}.get(name)
    made = layer(encoded(name) if given is None else gnomon.encoding(name, **given))
    _, k, v = vectors()
    many = torch.stack([vectors(seed=seed)[0] for seed in range(3)])
    found = torch.func.vmap(lambda q: attention(q, k, v, made))(many)
    for q, out in zip(many, found, strict=True):
        assert torch.allclose(attention(q, k, v, made), out, atol=1e-6)


@SLOW
@pytest.mark.parametrize("name", [*LEARNED, "rope", "xpos", "retnet", "fox"])
def test_functional_gradients_are_those_of_autograd_on_every_route(name):
    made, (q, k, v) = layer(encoded(name)), vectors()

    def check(route):
        def loss(x):
            return (attention(x, k, v, made, causal=True, route=route) ** 2).sum()

        leaf = q.clone().requires_grad_()
        want = torch.autograd.grad(loss(leaf), leaf)[0]
        assert torch.allclose(torch.func.grad(loss)(q), want, atol=1e-5)
        assert torch.allclose(torch.func.jacrev(loss)(q), want, atol=1e-5)
        each = torch.func.vmap(torch.func.grad(loss))(torch.stack([q, 2 * q]))
        assert torch.allclose(each[0], want, atol=1e-5)

    routes = [route for route in ROUTES if route != "flex"]
    routed(check, *routes)


def test_a_learned_bias_is_vectorised_over_masks_and_grouped_heads():
    made, (q, k, v) = layer(encoded("t5")), vectors()
    k, v = k[:, :1], v[:, :1]
    masks = torch.tril(torch.ones(N, N, dtype=torch.bool)).repeat(2, 1, 1)
    masks[1, 0] = False  # a query that sees nothing
    found = torch.func.vmap(lambda mask: attention(q, k, v, made, mask=mask))(masks)
    for mask, out in zip(masks, found, strict=True):
        assert torch.allclose(attention(q, k, v, made, mask=mask), out, atol=1e-6)


def test_functional_gradients_of_a_learned_bias_compile():
    made, (q, k, v) = layer(encoded("t5")), vectors()
    slope = torch.func.grad(lambda x: (attention(x, k, v, made) ** 2).sum())
    torch._dynamo.reset()
    compiled = torch.compile(slope, backend="eager")
    assert torch.allclose(compiled(q), slope(q), atol=1e-6)


# Traces


class Attending(torch.nn.Module):
    """Attention as a module, at counted positions or given ones."""

    def __init__(self, name, *, placed):
        super().__init__()
        self.layer, self.place = layer(encoded(name)), placed

    def forward(self, q, k, v, at):
        given = {"positions_q": at, "positions_k": at} if self.place else {}
        return attention(q, k, v, self.layer, causal=True, **given)


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore::DeprecationWarning")
@pytest.mark.compiles
@pytest.mark.parametrize("placed", [False, True])
@pytest.mark.parametrize(
    ("name", "first", "other"),
    # a table has rows for 40 positions
    [(name, *n) for name in KINDS for n in ((6, 9), (300, 6)) if name != "learned" or max(n) < 40],
)
def test_a_trace_serves_other_positions_and_lengths(name, placed, first, other):
    module = Attending(name, placed=placed).eval()
    with torch.no_grad():
        at = torch.arange(first, dtype=torch.float64)
        made = torch.jit.trace(module, (*vectors(first, first), at), check_trace=False)
        far = 1 if name == "learned" else 2  # it has rows for so many positions
        for n, step in ((first, 1), (first, far), (other, far)):
            arrays = (*vectors(n, n, seed=1), step * torch.arange(n, dtype=torch.float64))
            assert torch.allclose(made(*arrays), module(*arrays), atol=1e-5)


def test_only_layers_with_frequencies_list_them():
    assert "inv_freq" in dir(layer(encoded("rope")))
    assert "inv_freq" not in dir(layer(encoded("nope")))
    with pytest.raises(EncodingError, match="has no frequencies to read"):
        _ = layer(encoded("nope")).inv_freq


# Words and plans


@pytest.mark.parametrize(
    "name", ["softcap", "soft_cap", "softcapping", "attn_logit_softcapping", "logits_soft_cap"]
)
@pytest.mark.parametrize("library", ["torch", "jax"])
def test_capped_logits_are_refused_without_another_argument_in_their_place(name, library):
    room = pytest.importorskip(f"gnomon.{library}")
    pytest.importorskip(library)
    x = vectors()[0] if library == "torch" else vectors()[0].numpy()
    for call in (room.attention, room.attention_plan):
        with pytest.raises(EncodingError, match=f"{name}.: logits are not capped here") as caught:
            call(x, x, x, encoded("rope"), **{name: 3.0})
        assert "scale" not in str(caught.value)


@pytest.mark.parametrize(("name", "route"), [("rope", "plain"), ("t5", "bias")])
def test_float64_is_refused_on_routes_of_jax_whose_softmax_is_float32(name, route):
    jax = pytest.importorskip("jax")
    from gnomon.jax import attention as attend
    from gnomon.jax import attention_plan as plan

    narrow = [x.numpy() for x in vectors()]
    assert attend(*narrow, encoded(name), route=route).shape == narrow[0].shape
    with jax.enable_x64(True):
        wide = [x.astype(np.float64) for x in narrow]
        with pytest.raises(EncodingError, match="computes the softmax of float64 in float32"):
            attend(*wide, encoded(name), route=route)
        assert "float32" in plan(*wide, encoded(name)).alternatives[route]


@pytest.mark.compiles("fox", "rope", "clock")
@pytest.mark.parametrize("name", ["fox", "path", "liere", "shaw", "wavelet", "rope", "clock"])
@pytest.mark.parametrize("placed", [False, True])
def test_no_device_is_named_to_jax(name, placed):
    jnp = pytest.importorskip("jax.numpy")
    from gnomon.jax import attention as attend

    made = encoded(name) if name in KINDS else gnomon.encoding(name, **ENTRIES[name].examples[0])
    width = getattr(made, "dimension", D)
    q, k, v = (jnp.asarray(x.numpy()[..., :width]) for x in vectors())
    given = {"positions_q": np.arange(N)} if placed else {}
    assert not q.committed
    assert not attend(q, k, v, made, **given).committed
    assert not made.scores(q, k, np.arange(N)).committed
