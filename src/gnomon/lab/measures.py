"""What is measured of a trained model, by name: functions of the model and of held-out rows.

    heads        zero- and mean-ablation of every head, and how the losses concentrate
    redundancy   losses of pairs of heads of the first layer
    pairs        losses of rotary pairs by layer
    hessian      the top eigenvalue of the Hessian of the loss
    logits       Toeplitz share and contraction of logits, by layer and head

The last looks at queries, keys and logits while the model reads:

    L0 = scale q.k         before transforms and biases; vectors are in q and k already
    L  = scale q~.k~ + b   what the softmax is given; of a causal model, keys up to their query

The *Toeplitz share* of L is how much of it is a function of the lag (`gnomon.spectra`). The
*contraction* is |L|_2 / |L0|_2, the ratio of largest singular values: below 1 where rotation damps
what all queries and keys share, 1 where it does not [gu2025 claims the first].
Neither says that a model trains better.

The Hessian is asked for by its products with vectors,

    H v = grad (grad L . v)                                             [pearlmutter1994]

each at the cost of about two gradients and without a matrix. The top eigenvalue comes from Lanczos
iteration on such products (power iteration that keeps its steps, restarted by ARPACK): it finds the
largest eigenvalue also where a negative one is larger in magnitude, as early in training, where
plain power iteration would give that one. The residual |H v - value v| bounds the distance from the
value to an eigenvalue of H [horn2013].

Gradient descent with rate r is stable around a minimum while r < 2 / top. That is a statement on
the loss; conditioning of logits is something else, and neither follows from the other.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gnomon.errors import LabError, nearest
from gnomon.lab.heads import head_report, pair_ablation, pair_importance
from gnomon.lab.scoring import in_use, inputs, loss
from gnomon.lab.tasks.base import Batch
from gnomon.results import Result, plain
from gnomon.spectra import toeplitz_share

HESSIAN_ROWS = 128
"""Rows that the Hessian is taken on: its cost is that of some forty gradients."""
SEQUENCES = 16
Floats = NDArray[np.float64]
Measure = Callable[[Any, Batch], Result]


def check_measures(names: tuple[str, ...]) -> None:
    """Refuse a measure that is not there."""
    for name in names:
        if name not in MEASURES:
            raise LabError(f"There is no measure {name!r}: {nearest(name, MEASURES)}.")


def take_measures(names: tuple[str, ...], model: Any, batch: Batch) -> dict[str, Any]:
    """Return what the named measures say of a model on held-out data, as plain values."""
    made = {}
    for name in names:
        try:
            made[name] = plain(MEASURES[name](model, batch))
        except LabError as error:
            raise LabError(f"The measure {name!r} cannot be taken: {error}") from error
    return made


def _with_heads(name: str, measure: Measure) -> Measure:
    """Return a measure that refuses a model without heads."""

    def take(model: Any, batch: Batch) -> Result:
        if not hasattr(model, "heads"):
            raise LabError(
                f"the measure {name} needs a model with heads, and a {type(model).__name__} has "
                "none; leave the measure out."
            )
        return measure(model, batch)

    return take


def _measure_hessian(model: Any, batch: Batch) -> TopEigenvalue:
    """Return the top eigenvalue of the Hessian of the loss on the first rows of a batch."""
    rows = batch.rows(slice(0, HESSIAN_ROWS))
    return top_eigenvalue(lambda: loss(model, rows), model.parameters())


@dataclass(frozen=True, kw_only=True, eq=False)
class Activations(Result):
    """Queries and keys of one layer before its encodings, and logits after them."""

    q: Floats
    """(sequences, heads, n, d)."""
    k: Floats
    content: Floats
    """L0, (sequences, heads, n, m)."""
    logits: Floats
    """L, unmasked, of the same shape."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LogitsReport(Result):
    """Toeplitz share and contraction of logits by layer and head, means over sequences."""

    toeplitz_share: Floats
    contraction: Floats
    sequences: int


def activations(model: Any, batch: Batch) -> tuple[Activations, ...]:
    """Return what every layer of attention of a model asks and sees on a batch."""
    calls: list[tuple[Any, tuple[Tensor, ...], dict[str, Any]]] = []
    entered, beside = inputs(model, batch)
    with ExitStack() as hooks:
        hooks.enter_context(in_use(model))
        for one in model.layer_encodings():
            hook = one.register_forward_pre_hook(
                lambda module, args, kwargs: calls.append((module, args, kwargs)), with_kwargs=True
            )
            hooks.callback(hook.remove)
        model(entered, **beside)
        return tuple(_activations_of_call(*one) for one in calls)


def logits_report(model: Any, batch: Batch) -> LogitsReport:
    """Return Toeplitz share and contraction of the first sequences, cut to the shortest of them."""
    rows = batch.rows(slice(0, SEQUENCES))
    found = activations(model, rows)
    if not found:
        raise LabError("This model has no attention, and so no logits; leave the measure out.")
    length = int(rows.mask.sum(axis=1).min())
    shares, ratios = [], []
    for layer in found:
        whole = layer.logits[..., :length, :length]
        bare = layer.content[..., :length, :length]
        if whole.shape[-2] != whole.shape[-1]:
            raise LabError(
                "A layer attends from one sequence to another, where there is no Toeplitz share; "
                "leave the measure out."
            )
        share = toeplitz_share(whole, causal=model.causal).share
        shares.append(np.asarray(share).mean(axis=0))
        if model.causal:  # only what a query may see counts
            earlier = np.tri(length, dtype=bool)
            whole, bare = (np.where(earlier, one, 0.0) for one in (whole, bare))
        ratios.append((_largest_singular_value(whole) / _largest_singular_value(bare)).mean(axis=0))
    return LogitsReport(
        toeplitz_share=np.array(shares), contraction=np.array(ratios), sequences=len(rows.tokens)
    )


def _largest_singular_value(logits: Floats) -> Floats:
    return np.asarray(np.linalg.svd(logits, compute_uv=False)[..., 0], dtype=np.float64)


def _activations_of_call(
    module: Any, args: tuple[Tensor, ...], kwargs: dict[str, Any]
) -> Activations:
    q, k = (one.double() for one in args[:2])
    places = {name: kwargs.get(name) for name in ("positions_q", "positions_k")}
    content = q @ k.mT * q.shape[-1] ** -0.5
    logits = module.logits(args[0], args[1], **places)
    return Activations(
        q=q.numpy(), k=k.numpy(), content=content.numpy(), logits=logits.double().numpy()
    )


MEASURES: dict[str, Measure] = {
    "heads": _with_heads("heads", head_report),
    "redundancy": _with_heads("redundancy", lambda *given: pair_ablation(*given, layer=0)),
    "pairs": _with_heads("pairs", pair_importance),
    "hessian": _measure_hessian,
    "logits": logits_report,
}


Product = Callable[[Floats], Floats]


@dataclass(frozen=True, kw_only=True, eq=False)
class TopEigenvalue(Result):
    """The largest eigenvalue of the Hessian, as far as it was iterated."""

    value: float | None
    residual: float | None
    """|H v - value v|: an eigenvalue of H is within it."""
    products: int
    reason: str | None = None
    """Why there is no value."""


def top_eigenvalue(
    loss: Callable[[], Any],
    parameters: Any,
    *,
    tolerance: float = 1e-3,
    most: int = 20,
    seed: int = 0,
) -> TopEigenvalue:
    """Return the top eigenvalue of the Hessian of `loss()` in `parameters`.

    `loss` takes nothing and returns a scalar with a graph; it must give the same value every time
    (a fixed batch, no dropout). `tolerance` is relative, `most` bounds the restarts of about 20
    products each.
    """
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    chosen = [p for p in parameters if p.requires_grad]
    size = sum(p.numel() for p in chosen)
    if size < 3:
        raise LabError(
            f"{size} numbers need a gradient, too few for a Hessian; pass parameters that train."
        )
    product, products = hessian_product(loss, chosen), 0

    def count_product(vector: Floats) -> Floats:
        nonlocal products
        products += 1
        return product(vector)

    operator = LinearOperator((size, size), matvec=count_product, dtype=np.float64)
    start = np.random.default_rng(seed).standard_normal(size)
    try:
        values, vectors = eigsh(operator, k=1, which="LA", v0=start, tol=tolerance, maxiter=most)
    except ArpackNoConvergence:
        reason = f"the iteration did not reach a tolerance of {tolerance} in {products} products"
        return TopEigenvalue(value=None, residual=None, products=products, reason=reason)
    value, vector = float(values[0]), vectors[:, 0]
    residual = float(np.linalg.norm(product(vector) - value * vector))
    return TopEigenvalue(value=value, residual=residual, products=products + 1)


def hessian_product(loss: Callable[[], Any], parameters: list[Any]) -> Product:
    """Return v -> H v, with one graph of first derivatives for all products."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with sdpa_kernel(SDPBackend.MATH):  # fused kernels of attention have no second derivative
        grads = torch.autograd.grad(loss(), parameters, create_graph=True, allow_unused=True)
    # A parameter whose gradient is constant, or that is not used, has no second derivative.
    kept = [i for i, grad in enumerate(grads) if grad is not None and grad.requires_grad]
    sizes = [p.numel() for p in parameters]

    def times(vector: Floats) -> Floats:
        flat = torch.from_numpy(np.array(vector).reshape(-1)).to(parameters[0])
        parts = flat.split(sizes)
        ours = [grads[i] for i in kept]
        along = [parts[i].view_as(grads[i]) for i in kept]
        made = torch.autograd.grad(ours, parameters, along, retain_graph=True, allow_unused=True)
        pairs = zip(made, parameters, strict=True)
        whole = [(torch.zeros_like(p) if g is None else g).reshape(-1) for g, p in pairs]
        answer: Floats = torch.cat(whole).double().numpy()
        return answer

    return times
