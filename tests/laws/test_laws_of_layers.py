"""Laws of layers: what holds of an encoding holds of its module in PyTorch and its pytree in JAX.

Packing, padding and a cache change nothing, and results are made where the input is. A layer is
asked for what it gives (vectors, turned queries and keys, biases), of which logits are made.
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gnomon.encodings.positions import packed_positions, padded_positions, real
from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError
from support.examples import FIRST

torch = pytest.importorskip("torch")
layer = pytest.importorskip("gnomon.torch").layer

Given = Callable[[Any, Any, Any], dict[str, Any]]
"""From queries, keys and positions to all that the layers of an encoding give, by name."""


def through_torch(subject: Any) -> Given:
    """The modules of an encoding, in float64."""
    modules = {
        kind: layer(subject.encoding, kind=kind, dtype=torch.float64, learn=False)
        for kind in subject.encoding.kinds
    }

    def given(q: Any, k: Any, at: Any) -> dict[str, Any]:
        q, k, at = (torch.asarray(x) for x in (q, k, at))
        return named({kind: called(module, kind, q, k, at) for kind, module in modules.items()})

    return given


def called(module: Any, kind: str, q: Any, k: Any, at: Any) -> Any:
    return module(q, k, at) if kind in ("transform", "content") else module(at)


def through_jax(subject: Any) -> Given:
    """The pytree of an encoding, in float32."""
    jnp = pytest.importorskip("jax.numpy")
    held = pytest.importorskip("gnomon.jax").layer(subject.encoding)

    def given(q: Any, k: Any, at: Any) -> dict[str, Any]:
        q, k = (jnp.asarray(x, jnp.float32) for x in (q, k))
        made = {
            kind: called(answers(held, kind), kind, q, k, jnp.asarray(at))
            for kind in subject.encoding.kinds
        }
        return named(made)

    return given


def answers(held: Any, kind: str) -> Any:
    """What answers for a kind: its method, or the scores of a rule on content."""
    return held.scores if kind == "content" else getattr(held, kind)


def named(made: dict[str, Any]) -> dict[str, Any]:
    """Outputs as NumPy arrays; the two of a transform by their side."""
    turned = made.pop("transform", None)
    both = {} if turned is None else {"q": turned[0], "k": turned[1]}
    return {name: np.asarray(values) for name, values in {**made, **both}.items()}


def part(name: str, values: Any, mine: Any) -> Any:
    """What belongs to some positions: rows, and of a bias or logits rows and columns."""
    rows = values[..., mine, :]
    return rows[..., mine] if name in ("bias", "content") else rows


def same(found: dict[str, Any], wanted: dict[str, Any], mine: Any, exact: float) -> None:
    """Compare all outputs at some positions with those of them alone."""
    for name, alone in wanted.items():
        taken = part(name, found[name], mine)
        np.testing.assert_allclose(taken, alone, rtol=exact, atol=exact, err_msg=name)


def check_packed(subject: Any, given: Given, exact: float, rng: np.random.Generator) -> None:
    lengths, start = [3, 1, 4], 0
    q, k = subject.content(rng, sum(lengths))
    at = subject.line(sum(lengths))
    at[...] = packed_positions(lengths) if at.ndim == 1 else packed_positions(lengths)[:, None]
    packed = given(q, k, at)
    for length in lengths:
        mine = np.arange(start, start + length)
        alone = given(q[:, mine], k[:, mine], subject.line(length))
        same(packed, alone, mine, exact)
        start += length


def check_padded(
    subject: Any, given: Given, exact: float, side: str, rng: np.random.Generator
) -> None:
    lengths, width = [3, 5], 5
    q, k = subject.content(rng, 2, width)
    at, places = subject.line(2, width), padded_positions(lengths, width=width, side=side)
    at[...] = places if at.ndim == 2 else places[..., None]
    padded, kept = given(q, k, at), real(lengths, width=width, side=side)
    for row, length in enumerate(lengths):
        mine = np.flatnonzero(kept[row])
        alone = given(q[row][:, mine], k[row][:, mine], subject.line(length))
        same({name: values[row] for name, values in padded.items()}, alone, mine, exact)


def test_a_module_packs_documents_as_separate_ones(subject: Any, rng: Any) -> None:
    check_packed(subject, through_torch(subject), 1e-12, rng)


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_module_pads_documents_as_separate_ones(subject: Any, side: str, rng: Any) -> None:
    check_padded(subject, through_torch(subject), 1e-12, side, rng)


@pytest.mark.compiles("rope", "alibi")
def test_a_pytree_packs_and_pads_documents_as_separate_ones(subject: Any, rng: Any) -> None:
    given = through_jax(subject)
    check_packed(subject, given, 2e-6, rng)
    check_padded(subject, given, 2e-6, "left", rng)


def turns_counted_positions(subject: Any) -> bool:
    return "transform" in subject.encoding.kinds and subject.encoding.axes == 1


@pytest.mark.subjects(where=turns_counted_positions)
def test_a_module_counts_on_after_a_cache(subject: Any, rng: Any) -> None:
    """With `offset`, in three steps, queries and keys are those of one pass."""
    made = subject.encoding
    turn = layer(made, kind="transform", dtype=torch.float64)
    q, k = (torch.asarray(x) for x in subject.content(rng, 2, 6))
    whole = turn(q, k, torch.arange(6))
    for start, stop in ((0, 3), (3, 4), (4, 6)):
        for offset in (start, torch.tensor([start, start])):
            found = turn(q[..., start:stop, :], k[..., start:stop, :], offset=offset)
            for one, all_of_them in zip(found, whole, strict=True):
                wanted = all_of_them[..., start:stop, :]
                torch.testing.assert_close(one, wanted, rtol=1e-12, atol=1e-12)


def test_a_module_makes_its_results_where_the_input_is(subject: Any, rng: Any) -> None:
    """The device that holds no numbers shows where tensors are made without a second machine."""
    q, k = (torch.asarray(x, device="meta") for x in subject.content(rng, 4))
    at = torch.asarray(subject.line(4))
    for kind in subject.encoding.kinds:
        module = layer(subject.encoding, kind=kind).to("meta")
        reads = kind in ("transform", "content")
        for places in (at, at.to("meta")) if reads else (at.to("meta"),):
            made = called(module, kind, q, k, places)
            for tensor in made if kind == "transform" else (made,):
                assert tensor.device.type == "meta"


def takes_timestamps(subject: Any) -> bool:
    """Real positions; a matrix learned entry by entry turns by no better than its entries."""
    return not subject.whole and not hasattr(subject.encoding, "fastest")


def timestamps(subject: Any, rng: np.random.Generator) -> tuple[Any, Any, Any, Any]:
    """Seconds of a year with their fractions, contents in float32, and NumPy's logits in float64.

    Learned numbers are rounded to float32 first, as layers hold them.
    """
    made = subject.encoding
    if hasattr(made, "at_length"):  # a scaling that follows the length needs one out there
        made = made.at_length(2**31 - 1)
    seconds = 1.7e9 + np.sort(rng.uniform(0.0, 3e7, size=6))
    at = seconds if made.axes == 1 else np.stack([seconds] * made.axes, axis=-1)
    q, k = (part.astype(np.float32) for part in subject.content(rng, 6))
    held = {name: made.numbers[name].astype(np.float32) for name in made.learnable}
    made = made.with_numbers(**held) if held else made
    return made, at, (q, k), made.scores(q.astype(float), k.astype(float), at)


def error(found: Any, wanted: Any) -> float:
    """The largest difference in units of the largest logit that can be seen, or of 1."""
    found, seen = np.asarray(found, np.float64), np.isfinite(wanted)
    assert np.array_equal(np.isfinite(found), seen)
    return float(np.abs(found[seen] - wanted[seen]).max() / max(1.0, np.abs(wanted[seen]).max()))


@pytest.mark.subjects(where=takes_timestamps)
def test_a_module_is_right_at_timestamps(subject: Any, rng: Any) -> None:
    made, at, (q, k), wanted = timestamps(subject, rng)
    module = layer(made, kind=made.kinds[0], learn=False)
    found = module.scores(torch.asarray(q), torch.asarray(k), torch.asarray(at))
    assert error(found, wanted) < 1e-6


@pytest.mark.compiles("rope", "alibi")
@pytest.mark.subjects(where=takes_timestamps)
def test_a_pytree_is_right_at_timestamps_that_were_split(subject: Any, rng: Any) -> None:
    """Without float64. Frequencies of pictures are many turns per unit: 4e-6 is for them."""
    jax, room = pytest.importorskip("jax"), pytest.importorskip("gnomon.jax")
    made, at, (q, k), wanted = timestamps(subject, rng)
    found = jax.jit(room.layer(made).scores)(q, k, room.split(at, axes=made.axes))
    assert error(found, wanted) < 4e-6


@pytest.mark.filterwarnings("error")
def test_positions_that_can_not_be_written_to_are_taken_as_they_are(subject: Any) -> None:
    at = subject.line(4)
    at.flags.writeable = False
    for kind in subject.encoding.kinds:
        q = torch.ones(subject.heads, 4, subject.width)
        made = called(layer(subject.encoding, kind=kind), kind, q, q, at)
        assert (made[0] if kind == "transform" else made).device.type == "cpu"


def test_a_module_refuses_queries_of_another_library(subject: Any, rng: Any) -> None:
    """A module is there to be trained through, which an array of NumPy would end silently."""
    q, k = subject.content(rng, 4)
    tensor, at = torch.asarray(q), torch.asarray(subject.line(4))
    for kind in subject.encoding.kinds:
        module, reads = layer(subject.encoding, kind=kind), kind in ("transform", "content")
        for call in (module.scores, module) if reads else (module.scores,):
            with pytest.raises(EncodingError, match=r"q comes from numpy; pass a tensor of PyTorc"):
                call(q, tensor, at)
            with pytest.raises(EncodingError, match=r"k comes from numpy; pass a tensor of PyTorc"):
                call(tensor, k, at)


def test_a_pytree_refuses_queries_of_torch() -> None:
    jnp = pytest.importorskip("jax.numpy")
    held = pytest.importorskip("gnomon.jax").layer(encoding("rope", dimension=8))
    q = torch.ones(4, 8)
    for call in (held.transform, held.scores):
        with pytest.raises(EncodingError, match=r"q comes from torch; pass an array of JAX or Num"):
            call(q, q, jnp.arange(4))


ELSEWHERE = """
import sys
import jax, numpy as np
from gnomon.encodings.registry import ENTRIES, encoding
from gnomon.jax import layer

there = jax.devices()[1]
for name in sys.argv[1:]:
    made = encoding(name, **ENTRIES[name].examples[0])
    heads = getattr(made, "heads", None) or 1
    q = jax.device_put(np.ones((heads, 4, getattr(made, "dimension", 8)), np.float32), there)
    steps = np.arange(4)
    at = steps if made.axes == 1 else np.stack([steps] * made.axes, axis=-1)
    held = jax.device_put(layer(made), there)
    for places in (at, jax.device_put(at, there)):
        for call in (made.scores, held.scores, held.transform):
            if call == held.transform and "transform" not in made.kinds:
                continue
            for leaf in jax.tree.leaves(call(q, q, places)):
                assert leaf.devices() == {there}, (name, call)
"""


def test_a_pytree_makes_its_results_where_the_input_is() -> None:
    """The processor stands for two devices, which JAX does only when it is started so."""
    pytest.importorskip("jax")
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    names = ["rope", "rope-mixed", "alibi", "learned"]
    command = [sys.executable, "-c", ELSEWHERE, *names]
    environment = {**os.environ, **flags, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr


@pytest.mark.wide
@pytest.mark.subjects(among=FIRST, where=lambda subject: subject.encoding.card.onnx)
def test_every_module_leaves_as_onnx_and_gives_the_same_there(subject: Any, rng: Any) -> None:
    pytest.importorskip("onnxscript")
    runtime = pytest.importorskip("onnxruntime")
    q, k = (torch.asarray(x, dtype=torch.float32) for x in subject.content(rng, 2, 4))
    at = torch.asarray(subject.line(4, start=1))
    for kind in subject.encoding.kinds:
        module = layer(subject.encoding, kind=kind).eval()
        inputs = (q, k, at) if kind in ("transform", "content") else (at,)
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            made = torch.onnx.export(module, inputs, dynamo=True, verbose=False).model_proto
        session = runtime.InferenceSession(made.SerializeToString())
        asked = dict(zip((x.name for x in made.graph.input), inputs, strict=True))
        kept = {x.name: asked[x.name].numpy() for x in session.get_inputs()}
        wanted = module(*inputs)
        for found, tensor in zip(
            session.run(None, kept), wanted if kind == "transform" else (wanted,), strict=True
        ):
            np.testing.assert_allclose(found, tensor.detach().numpy(), rtol=1e-6, atol=1e-6)
