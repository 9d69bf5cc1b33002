r"""Top eigenvalue of the Hessian of the loss.

    H v = grad (grad L . v)                                             [pearlmutter1994]

costs about two gradients and forms no matrix. The top eigenvalue comes from Lanczos iteration on
such products (power iteration that keeps its steps, restarted by ARPACK): it finds the largest
eigenvalue also where a negative one is larger in magnitude, as early in training, where plain power
iteration would give that one.

Gradient descent with rate r is stable around a minimum while r < 2 / top. That is a statement on
the loss; conditioning of logits is something else, and neither follows from the other.

The residual |H v - value v| bounds the distance from the value to an eigenvalue of H [horn2013].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import LabError
from gnomon.results import Result

Floats = NDArray[np.float64]
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
    product, products = _product(loss, chosen), 0

    def counted(vector: Floats) -> Floats:
        nonlocal products
        products += 1
        return product(vector)

    operator = LinearOperator((size, size), matvec=counted, dtype=np.float64)
    start = np.random.default_rng(seed).standard_normal(size)
    try:
        values, vectors = eigsh(operator, k=1, which="LA", v0=start, tol=tolerance, maxiter=most)
    except ArpackNoConvergence:
        reason = f"the iteration did not reach a tolerance of {tolerance} in {products} products"
        return TopEigenvalue(value=None, residual=None, products=products, reason=reason)
    value, vector = float(values[0]), vectors[:, 0]
    residual = float(np.linalg.norm(product(vector) - value * vector))
    return TopEigenvalue(value=value, residual=residual, products=products + 1)


def _product(loss: Callable[[], Any], parameters: list[Any]) -> Product:
    """Return v -> H v, with one graph of first derivatives for all products."""
    import torch
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
