"""Which coordinates encodings turn in pairs: by their published layouts, and by hand."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import gnomon  # noqa: E402 - after the check that there is a framework
from gnomon.lab.encode import (  # noqa: E402
    LayerEncodings,
    Placement,
    rotary_pairs_of,
)
from gnomon.lab.measures import MEASURES  # noqa: E402
from gnomon.lab.model import Transformer  # noqa: E402
from gnomon.lab.tasks import task  # noqa: E402
from gnomon.lab.variants import LatentTransformer  # noqa: E402

BESIDE = ((0, 1), (2, 3), (4, 5), (6, 7))
CASES = [
    ("rope", {"layout": "interleaved"}, BESIDE),
    ("rope", {"layout": "half"}, ((0, 4), (1, 5), (2, 6), (3, 7))),
    ("rope", {"layout": "half", "fraction": 0.5}, ((0, 2), (1, 3))),
    ("rope", {"layout": "interleaved", "fraction": 0.5}, ((0, 1), (2, 3))),
    ("rope-proportional", {"fraction": 0.5}, ((0, 1), (2, 3))),
    ("mla", {"content_dimension": 4}, ((4, 5), (6, 7))),
    ("mla", {"content_dimension": 4, "layout": "half"}, ((4, 6), (5, 7))),
    ("xpos", {}, BESIDE),
    ("rope-patches", {"layout": "half"}, ((0, 4), (1, 5), (2, 6), (3, 7))),
    ("rope-pixel", {}, BESIDE),
    ("jordan", {"order": 1}, BESIDE),
    ("jordan", {"order": 2}, ()),
    ("rope-hyperbolic", {}, ()),
    ("pope", {"heads": 2}, ()),
]


def turned(*encodings, heads=2):
    return LayerEncodings([Placement(encoding=one) for one in encodings], heads=heads, causal=True)


@pytest.mark.parametrize(("name", "given", "pairs"), CASES)
def test_pairs_are_those_of_the_layout(name, given, pairs):
    encoding = gnomon.encoding(name, dimension=8, **given)
    found = turned(encoding).rotary_pairs(8)
    assert found.coordinates == pairs
    assert found.heads.all()


def test_vectors_biases_and_nothing_turn_no_pairs():
    assert turned().rotary_pairs(8).coordinates == ()
    assert turned(gnomon.encoding("alibi", heads=2)).rotary_pairs(8).coordinates == ()
    assert turned(gnomon.encoding("nope")).rotary_pairs(8).coordinates == ()


def test_a_random_rotation_of_three_coordinates_has_no_pair_and_one_of_two_has(rng):
    whole = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    made = np.eye(5)
    made[:3, :3] = whole
    assert rotary_pairs_of(made[None]) == []
    cos, sin = np.cos(0.3), np.sin(0.3)
    made[3:, 3:] = [[2 * cos, 2 * sin], [-2 * sin, 2 * cos]]
    assert rotary_pairs_of(made[None]) == [(3, 4)]
    made[3:, 3:] = [[cos, sin], [sin, -cos]]  # a reflection turns nothing
    assert rotary_pairs_of(made[None]) == []


def model_of(encoding, kind=Transformer, **given):
    torch.manual_seed(2)
    shape = {"vocabulary": 9, "classes": 4, "dimension": 16, "heads": 2, "length": 10}
    return kind(**shape, encoding=encoding, layers=1, **given).double().eval()


def tokens_of():
    return torch.randint(9, (5, 10), generator=torch.Generator().manual_seed(0))


@torch.no_grad()
@pytest.mark.parametrize(
    ("given", "rows"),
    [
        ({"fraction": 0.5, "layout": "half"}, [1, 3]),
        ({"fraction": 0.5}, [2, 3]),
        ({"layout": "half"}, [1, 5]),
    ],
)
def test_taking_a_pair_out_is_a_query_without_its_true_coordinates(given, rows):
    """The second pair of the second head: rows 8 + ... of the projection of queries."""
    encoding = gnomon.encoding("rope", dimension=8, **given)
    model, cut = model_of(encoding), model_of(encoding)
    factors = np.ones((1, 2, len(model.rotary_pairs()[0].coordinates)))
    factors[0, 1, 1] = 0.0
    with model.scale_pairs(factors):
        scaled = model(tokens_of())
    for weights in (cut.blocks[0].attention.project.weight, cut.blocks[0].attention.project.bias):
        weights[[8 + row for row in rows]] = 0.0
    torch.testing.assert_close(scaled, cut(tokens_of()), rtol=0, atol=1e-12)
    assert not torch.allclose(scaled, model(tokens_of()), rtol=0, atol=1e-9)


@torch.no_grad()
def test_content_of_latent_attention_is_no_rotary_pair():
    encoding = gnomon.encoding("mla", dimension=16, content_dimension=8)
    model, cut = (model_of(encoding, kind=LatentTransformer) for _ in range(2))
    factors = np.ones((1, 2, 4))
    factors[0, 0, 3] = 0.0
    with model.scale_pairs(factors):
        scaled = model(tokens_of())
    for weights in (cut.blocks[0].attention.up_q.weight, cut.blocks[0].attention.up_q.bias):
        weights[[16 + 6, 16 + 7]] = 0.0  # turned queries come after those of content
    torch.testing.assert_close(scaled, cut(tokens_of()), rtol=0, atol=1e-12)


@torch.no_grad()
def test_heads_that_do_not_turn_keep_their_content():
    encoding = Placement(encoding=gnomon.encoding("rope", dimension=8), heads=1)
    model = model_of(encoding)
    assert model.rotary_pairs()[0].heads.tolist() == [[True] * 4, [False] * 4]
    factors = np.ones((1, 2, 4))
    factors[0, 1] = 0.0
    with model.scale_pairs(factors):
        scaled = model(tokens_of())
    torch.testing.assert_close(scaled, model(tokens_of()), rtol=0, atol=0)


def test_only_what_is_turned_has_an_importance():
    made = task("lag", length=10, lag=2, symbols=8)
    batch = made.batch(np.random.default_rng(0), 20)
    shape = {"vocabulary": 9, "classes": 8, "dimension": 16, "heads": 2, "pooling": "tokens"}
    sinusoid = Transformer(**shape, encoding=gnomon.encoding("sinusoidal", dimension=16))
    none = MEASURES["pairs"](sinusoid, batch)
    assert none.reason == "nothing in the model turns pairs of coordinates"
    assert none.drops.size == 0
    first = Placement(encoding=gnomon.encoding("rope", dimension=8, fraction=0.5), layers=(0,))
    some = MEASURES["pairs"](Transformer(**shape, encoding=first), batch)
    assert some.coordinates == (((0, 1), (2, 3)), ())
    assert np.isfinite(some.drops[0]).all()
    assert np.isnan(some.drops[1]).all()
    assert some.to_dict()["drops"][1] == [None, None]
