"""NumPy = PyTorch = JAX for every example of every entry, within stated ulps.

The truth is NumPy's float64, which the tests of the oracle tie to arbitrary precision. An error is
counted in ulps of the type at the largest entry of a vector (of a row of biases or scores), because
a turned coordinate may be small by cancellation while its error is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gnomon.encodings.base import Encoding
from gnomon.numeric.arrays import namespace_of

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp = jax.numpy
torch_layer = pytest.importorskip("gnomon.torch").layer
jax_layer = pytest.importorskip("gnomon.jax").layer

ULPS = {"torch": 3.0, "jax": 8.0}
"""In float32: phases of PyTorch are float64, those of JAX are limbs, 3e-7 radians or 5 ulps off."""
WIDE_ULPS = 32.0
"""In float64 at positions below 16: phases, below 2^5 radians, may differ by their last bit."""
SLOPES = 2e-5
"""Of the largest slope: float32 against float64."""


def ulps(made: Any, wanted: Any, kind: type, least: Any = 0.0) -> float:
    """The largest error in ulps at the largest entry along the last axis, or at `least`."""
    made, wanted = (np.asarray(part, np.float64) for part in (made, wanted))
    assert made.shape == wanted.shape
    finite = np.isfinite(wanted)
    assert np.array_equal(made[~finite], wanted[~finite])
    known = np.where(finite, wanted, 0.0)
    scale = np.abs(known).max(axis=-1, keepdims=True, initial=np.finfo(kind).tiny)
    step = np.spacing(np.maximum(scale, least).astype(kind)).astype(np.float64)
    return float((np.where(finite, np.abs(made - known), 0.0) / step).max(initial=0.0))


def far_places(subject: Any, rng: np.random.Generator, count: int) -> Any:
    """Positions to 10^6; where the encoding ends before, or decays, those that it can take."""
    encoding = subject.encoding
    axes = () if encoding.axes == 1 else (encoding.axes,)
    if encoding.span is not None:
        return rng.uniform(*encoding.span, size=(count, *axes)).astype(np.float32)
    if subject.reach < 4096 or hasattr(encoding, "steepness"):
        return subject.places(rng, count, most=32)
    return rng.integers(0, 10**6, size=(count, *axes))


def rounded(encoding: Encoding) -> Encoding:
    """The encoding with learnable numbers that float32 holds, as layers hold them."""
    numbers = {name: encoding.numbers[name].astype(np.float32) for name in encoding.learnable}
    return encoding.with_numbers(**numbers) if numbers else encoding


def inside(library: str, *arrays: Any) -> list[Any]:
    """Arrays of a library."""
    if library == "numpy":
        return [np.asarray(array, np.float64) for array in arrays]
    return [(torch if library == "torch" else jnp).asarray(array) for array in arrays]


def results(encoding: Encoding, route: str, q: Any, k: Any, at: Any) -> Iterator[tuple[str, Any]]:
    """What one route gives for every kind of the encoding: a name and a NumPy array each."""
    library, _, way = route.partition(" ")
    q, k, at = inside(library, q, k, at)
    for kind in encoding.kinds:
        if kind == "content":
            continue  # there are scores and nothing before them: tests of scores compare those
        call = getattr(encoding, kind)
        if route == "torch layer":
            call = torch_layer(encoding, kind=kind, dtype=q.dtype)
        elif way in ("layer", "compiled"):
            call = getattr(jax_layer(encoding), kind)
        call = jax.jit(call) if way == "compiled" else call
        made = call(q, k, at) if kind == "transform" else (call(at),)
        for side, part in zip("qk", made, strict=False):
            yield f"{kind} {side}", as_numpy(part)


def as_numpy(made: Any) -> Any:
    return made.detach().numpy() if isinstance(made, torch.Tensor) else np.asarray(made)


def check(subject: Any, route: str, rng: np.random.Generator) -> None:
    """Compare one route in float32 with NumPy in float64, at positions to 10^6."""
    encoding, at = rounded(subject.encoding), far_places(subject, rng, 6)
    q, k = (part.astype(np.float32) for part in subject.content(rng, 6))
    truth = dict(results(encoding, "numpy border", q, k, at))
    library = route.partition(" ")[0]
    for what, made in results(encoding, route, q, k, at):
        assert ulps(made, truth[what], np.float32) <= ULPS[library], what


def check_wide(subject: Any, route: str, rng: np.random.Generator) -> None:
    """Compare one route in float64 with NumPy, at positions below 16."""
    encoding, at = rounded(subject.encoding), subject.places(rng, 6, most=16)
    q, k = subject.content(rng, 6)
    truth = dict(results(encoding, "numpy border", q, k, at))
    for what, made in results(encoding, route, q, k, at):
        assert made.dtype == np.float64
        assert ulps(made, truth[what], np.float64) <= WIDE_ULPS, what


@pytest.mark.parametrize("route", ["torch border", "torch layer"])
def test_pytorch_gives_the_numbers_of_numpy(
    subject: Any, route: str, rng: np.random.Generator
) -> None:
    check(subject, route, rng)
    check_wide(subject, route, rng)


@pytest.mark.compiles
def test_compiled_jax_gives_the_numbers_of_numpy(subject: Any, rng: np.random.Generator) -> None:
    check(subject, "jax compiled", rng)


@pytest.mark.compiles("rope", "alibi", "t5")
@pytest.mark.parametrize("route", ["jax border", "jax layer"])
def test_jax_gives_the_numbers_of_numpy(subject: Any, route: str, rng: np.random.Generator) -> None:
    check(subject, route, rng)


@pytest.mark.compiles("rope", "alibi", "t5")
def test_jax_in_float64_gives_the_numbers_of_numpy(subject: Any, rng: np.random.Generator) -> None:
    with jax.enable_x64(True):
        check_wide(subject, "jax compiled", rng)


@pytest.mark.compiles(library="jax")
@pytest.mark.parametrize("library", ["torch", "jax"])
def test_frameworks_give_the_scores_of_numpy(
    subject: Any, library: str, rng: np.random.Generator
) -> None:
    """In float32, at positions of two sequences each; in ulps of |q| |k|, which bounds q.k."""
    encoding = rounded(subject.encoding)
    at = np.stack([far_places(subject, rng, 6) for _ in range(2)])
    q, k = (part.astype(np.float32) for part in subject.content(rng, 2, 6))
    truth = encoding.scores(*inside("numpy", q, k), at)
    calls = [encoding.scores, torch_layer(encoding, dtype=torch.float32).scores]
    calls = calls if library == "torch" else [jax.jit(jax_layer(encoding).scores)]
    longest = np.linalg.norm(k, axis=-1).max(axis=-1)[..., None, None]
    least = np.linalg.norm(q, axis=-1)[..., None] * longest
    for call in calls:
        made = as_numpy(call(*inside(library, q, k, at)))
        assert ulps(made, truth, np.float32, least) <= ULPS[library]


@pytest.mark.compiles(library="jax")
@pytest.mark.subjects(where=lambda subject: subject.encoding.learnable)
@pytest.mark.parametrize("library", ["torch", "jax"])
def test_a_layer_that_has_learned_is_its_encoding_of_numpy(
    subject: Any, library: str, rng: np.random.Generator
) -> None:
    """Other numbers in the layer, the same ones in the definition it gives back."""
    at = subject.places(rng, 6, most=32)
    q, k = (part.astype(np.float32) for part in subject.content(rng, 6))
    for kind in subject.encoding.kinds:
        moved, call = moved_layer(subject.encoding, library, kind)
        # Where an exponent, or the phase of a learned matrix, is float32, p of it errs by p ulps.
        speeds = [getattr(moved, name, 0.0) for name in ("steepness", "fastest")]
        # Turns in learned planes are float32 sums, in an order that the processor chooses.
        summed = 1.0 if subject.encoding.name == "grape" else 0.0
        slack = 32.0 * max(speeds) * moved.axes if library == "jax" else summed
        theirs = inside(library, q, k, at)
        reads = kind in ("transform", "content")
        found = call(*theirs) if reads else call(theirs[-1])
        wide = inside("numpy", q, k) if reads else []
        wanted, before = (asked(e, kind)(*wide, at) for e in (moved, subject.encoding))
        for side, part in enumerate(found if kind == "transform" else (found,)):
            truth = wanted[side] if kind == "transform" else wanted
            # Logits of a rule on content are sums, which cancel: they are counted as scores are.
            least = np.abs(q).max() * np.abs(k).sum(axis=-1).max() if kind == "content" else 0.0
            assert ulps(as_numpy(part), truth, np.float32, least) <= ULPS[library] + slack
        assert not np.allclose(wanted, before)


def asked(held: Any, kind: str) -> Any:
    """What answers for a kind: its method, or the scores of a rule on content."""
    return held.scores if kind == "content" else getattr(held, kind)


def moved_layer(encoding: Encoding, library: str, kind: str) -> tuple[Encoding, Any]:
    """The definition that a layer gives back after a step, and the layer's call."""
    if library == "torch":
        made = torch_layer(encoding, kind=kind)
        with torch.no_grad():
            for parameter in made.parameters():
                parameter.add_(0.5)
        return made.encoding, made
    held = jax.tree.map(lambda number: number + 0.5, jax_layer(encoding))
    return held.encoding, jax.jit(asked(held, kind))


@pytest.mark.compiles("rope-mixed", "learned", "t5")
def test_slopes_of_queries_and_learned_numbers_agree(
    subject: Any, rng: np.random.Generator
) -> None:
    """PyTorch in float64 and JAX in float32."""
    encoding, at = rounded(subject.encoding), subject.places(rng, 4, most=16)
    q, k = (part.astype(np.float32).astype(np.float64) for part in subject.content(rng, 4))
    weights = rng.normal(size=encoding.scores(q, k, at).shape)

    def weighed(held: Any, query: Any) -> Any:
        scores = held.scores(query, jnp.asarray(k, jnp.float32), jnp.asarray(at))
        return (jnp.where(jnp.isfinite(scores), scores, 0.0) * weights.astype(np.float32)).sum()

    learned, of_query = jax.jit(jax.grad(weighed, argnums=(0, 1)))(
        jax_layer(encoding), jnp.asarray(q, jnp.float32)
    )
    theirs = torch_slopes(encoding, q, k, at, weights)
    slopes = {**learned.numbers, "q": of_query}
    for name, slope in ((n, s) for n, s in slopes.items() if n not in encoding.on_values):
        assert np.abs(slope - theirs[name]).max() <= SLOPES * np.abs(theirs[name]).max(), name


def torch_slopes(encoding: Encoding, q: Any, k: Any, at: Any, weights: Any) -> dict[str, Any]:
    """Slopes of weighed scores in q and in every learnable number, by PyTorch in float64."""
    query = torch.asarray(q).requires_grad_()
    numbers = encoding.numbers_in(query, xp=namespace_of(query))
    for name in encoding.learnable:
        numbers[name] = numbers[name].clone().requires_grad_()
    given = {"numbers": numbers} if encoding.learnable else {}
    scores = encoding.scores(query, torch.asarray(k), torch.asarray(at), **given)
    (torch.where(scores.isfinite(), scores, 0.0) * torch.asarray(weights)).sum().backward()
    acting = [name for name in encoding.learnable if name not in encoding.on_values]
    return {"q": query.grad.numpy(), **{n: numbers[n].grad.numpy() for n in acting}}
