"""Attention prepared for many calls: the same numbers as attention, other sizes refused."""

from __future__ import annotations

import pytest
import torch

import gnomon
from gnomon.errors import EncodingError
from gnomon.torch import attention, attention_plan, layer, prepare_attention

CASES = {
    "toeplitz, written": ("alibi", {"heads": 4}, 32, {}),
    "toeplitz, masked": ("alibi", {"heads": 4}, 32, {"mask": torch.rand(32, 32) < 0.8}),
    "tiles": ("alibi", {"heads": 4}, 600, {}),
    "bias": ("fire", {"heads": 4}, 32, {}),
    "plain": ("rope", {"dimension": 16}, 32, {"causal": True}),
    "blocks": ("xpos", {"dimension": 16}, 64, {}),
    "dense": ("fox", {"heads": 4, "dimension": 16}, 32, {}),
    "segments": ("t5", {"heads": 4}, 32, {"segments_q": torch.arange(32) // 8}),
}


def vectors(n, seed, batch=(2,)):
    generator = torch.Generator().manual_seed(seed)
    return list(torch.randn((3, *batch, 4, n, 16), generator=generator))


@pytest.mark.parametrize("case", CASES)
def test_prepared_attention_has_the_bits_of_attention(case):
    name, parameters, n, given = CASES[case]
    encoding = gnomon.encoding(name, **parameters)
    attend = prepare_attention(*vectors(n, 0), encoding, **given)
    assert attend.plan.route == attention_plan(*vectors(n, 0), encoding, **given).route
    for seed in (1, 2):
        qkv = vectors(n, seed)
        assert torch.equal(attend(*qkv), attention(*qkv, encoding, **given))


@pytest.mark.parametrize("batch", [(), (2, 3)])
def test_any_number_of_leading_axes_is_kept(batch):
    encoding = gnomon.encoding("alibi", heads=4)
    qkv = vectors(8, 0, batch)
    attend = prepare_attention(*qkv, encoding)
    assert torch.equal(attend(*qkv), attention(*qkv, encoding))


def test_learned_numbers_are_read_anew_in_every_call():
    module = layer(gnomon.encoding("t5", heads=4))
    qkv = vectors(16, 0)
    attend = prepare_attention(*qkv, module)
    before = attend(*qkv)
    before.sum().backward()
    assert module.table.grad.abs().max() > 0
    with torch.no_grad():
        module.table.add_(torch.randn(module.table.shape))
    after = attend(*qkv)
    assert torch.equal(after, attention(*qkv, module))
    assert not torch.allclose(after, before)


@pytest.mark.parametrize("at", [None, [0, 1, 4, 9, 10, 11]])
def test_a_mask_that_learns_is_read_anew_in_every_call(at):
    """Beside a bias that does not learn, at even and at uneven positions."""
    encoding = gnomon.encoding("alibi", heads=4)
    qkv = vectors(6, 0)
    mask = torch.zeros(6, 6, requires_grad=True)
    given = {"mask": mask, "positions_q": at}
    attend = prepare_attention(*qkv, encoding, **given)
    for _ in range(2):
        attend(*qkv).square().sum().backward()
        with torch.no_grad():
            mask.sub_(mask.grad)
    assert torch.equal(attend(*qkv), attention(*qkv, encoding, **given))


def test_the_vectors_of_the_preparation_are_not_kept():
    qkv = vectors(64, 0)
    attend = prepare_attention(*qkv, gnomon.encoding("alibi", heads=4))
    assert attend._call.q.untyped_storage().nbytes() == qkv[0].element_size()
    assert repr(attend) == "Prepared('alibi', route='toeplitz')"


def test_other_sizes_types_and_arguments_are_refused_in_words():
    encoding = gnomon.encoding("alibi", heads=4)
    q, k, v = vectors(8, 0)
    attend = prepare_attention(q, k, v, encoding)
    sentence = r"k has shape \(2, 4, 7, 16\) .* prepared for \(2, 4, 8, 16\) .*; prepare another"
    with pytest.raises(EncodingError, match=sentence):
        attend(q, k[..., :7, :], v)
    with pytest.raises(EncodingError, match=r"q has shape .* torch.float64 .*; prepare another"):
        attend(q.double(), k, v)
    with pytest.raises(EncodingError, match=r"prepare_attention has no argument 'masks'"):
        prepare_attention(q, k, v, encoding, masks=None)
