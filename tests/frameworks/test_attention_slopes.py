"""Gradients of everything that an encoding learns, on every route, against differences in float64.

Some keys are masked, and one query may attend to nothing: its gradient is zero, not a NaN.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

import gnomon
from gnomon.encodings.registry import ENTRIES
from gnomon.torch import attention, attention_plan, layer

FIRST = ("jordan", "rope-hyperbolic", "liere", "fire", "shaw", "fox", "path", "cope")
LEARNED = [
    pytest.param(
        name, given, id=f"{name}-{number}", marks=() if name in FIRST else (pytest.mark.wide,)
    )
    for name, entry in ENTRIES.items()
    for number, given in enumerate(entry.examples[:2])
    if gnomon.encoding(name, **given).learnable
]
STEP = 1e-6


def called(encoding, generator):
    """Queries, keys, values and arguments; decays have two blocks of queries."""
    heads, dimension = getattr(encoding, "heads", None) or 2, getattr(encoding, "dimension", 8)
    n, m = (70, 75) if hasattr(encoding, "referred") else (6, 9)
    given = {"generator": generator, "dtype": torch.float64}
    vectors = [torch.randn(1, heads, count, dimension or 8, **given) for count in (n, m, m)]
    at = np.arange(m)
    if encoding.axes > 1:
        at = np.stack([at // 3**axis % 3 for axis in range(encoding.axes)], axis=-1)
    mask = torch.rand(n, m, generator=generator) > 0.2
    mask[2] = False
    asked = {"positions_q": at[m - n :], "positions_k": at, "causal": True, "mask": mask}
    width = getattr(encoding, "token_width", None)
    return vectors, asked | ({"tokens": torch.randn(1, m, width, **given)} if width else {})


@pytest.mark.parametrize(("name", "given"), LEARNED)
def test_all_that_is_learned_has_the_gradient_of_differences_on_every_route(name, given):
    encoding = gnomon.encoding(name, **given)
    module = layer(encoding, dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    vectors, asked = called(encoding, generator)
    weight = torch.randn(vectors[0].shape, generator=generator, dtype=torch.float64)
    plan = attention_plan(*vectors, module, **asked)
    others = {at for at, why in plan.alternatives.items() if why.startswith("it would serve")}
    numbers = list(module.parameters())
    assert numbers
    for route in {plan.route} | (others - {"flex"}):

        def loss(route=route):
            return (attention(*vectors, module, route=route, **asked) * weight).sum()

        slopes = torch.autograd.grad(loss(), numbers)
        for number, slope in zip(numbers, slopes, strict=True):
            way = torch.randn(number.shape, generator=generator, dtype=torch.float64)
            with torch.no_grad():
                number.add_(STEP * way)
                high = loss()
                number.sub_(2 * STEP * way)
                low = loss()
                number.add_(STEP * way)
            wanted = (high - low) / (2 * STEP)
            assert abs((slope * way).sum() - wanted) < 1e-5 * max(1.0, abs(wanted)), route
