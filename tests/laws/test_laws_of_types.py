"""Laws of types: dtype, device and library follow the input, and gradients are right."""

from __future__ import annotations

import array_api_compat
import numpy as np
import pytest

from gnomon.errors import EncodingError

torch = pytest.importorskip("torch")
TORCH_TYPES = [torch.float64, torch.float32, torch.bfloat16, torch.float16]


def outputs(subject, q, k, at):
    """What an encoding makes of queries and keys."""
    made = subject.encoding
    found = [made.scores(q, k, at)]
    return [*found, *made.transform(q, k, at)] if "transform" in made.kinds else found


def test_the_type_of_numpy_queries_is_kept(subject, rng):
    for kind in (np.float64, np.float32, np.float16):
        q, k = (x.astype(kind) for x in subject.content(rng, 4))
        for made in outputs(subject, q, k, subject.line(4)):
            assert isinstance(made, np.ndarray)
            assert made.dtype == kind


def test_the_type_and_library_of_torch_queries_are_kept(subject, rng):
    for kind in TORCH_TYPES:
        q, k = (torch.asarray(x, dtype=kind) for x in subject.content(rng, 4))
        for made in outputs(subject, q, k, torch.asarray(subject.line(4))):
            assert isinstance(made, torch.Tensor)
            assert made.dtype == kind


def test_outputs_are_made_on_the_device_of_the_queries(subject, rng):
    """The device that holds no numbers shows where tensors are made without a second machine."""
    q, k = (torch.asarray(x, device="meta") for x in subject.content(rng, 4))
    at = torch.asarray(subject.line(4))
    for places in (at, at.to("meta")):
        for made in outputs(subject, q, k, places):
            assert made.device.type == "meta"


def test_positions_of_numpy_serve_queries_of_torch(subject, rng):
    q, k = subject.content(rng, 4)
    at = subject.places(rng, 4)
    wanted = subject.encoding.scores(q, k, at)
    found = subject.encoding.scores(torch.asarray(q), torch.asarray(k), at)
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-11, atol=1e-11)


def test_queries_and_keys_of_two_libraries_are_refused(subject, rng):
    q, k = subject.content(rng, 3)
    ask = [subject.encoding.scores]
    ask += [subject.encoding.transform] if "transform" in subject.encoding.kinds else []
    for call in ask:
        with pytest.raises(EncodingError, match=r"come from numpy and torch; pass both from one"):
            call(torch.asarray(q), k, subject.line(3))


@pytest.mark.subjects(where=lambda subject: "bias" in subject.encoding.kinds)
def test_positions_of_two_libraries_are_refused(subject):
    at = subject.line(3)
    with pytest.raises(EncodingError, match=r"come from numpy and torch; pass both from one"):
        subject.encoding.bias(torch.asarray(at), at)


def test_gradients_of_scores_are_those_of_finite_differences(subject, rng):
    q, k = (torch.asarray(x, dtype=torch.float64) for x in subject.content(rng, 3))
    q.requires_grad_()
    k.requires_grad_()
    at = subject.line(3, start=1)

    def visible(left, right):
        """Scores without the masked ones: infinity has no gradient."""
        found = subject.encoding.scores(left, right, at)
        return found[torch.isfinite(found)]

    assert torch.autograd.gradcheck(visible, (q, k), fast_mode=True)


@pytest.mark.subjects(where=lambda subject: subject.encoding.learnable)
def test_gradients_reach_every_learnable_number(subject, rng):
    """Through the formulas with numbers in torch, as a module holds them."""
    made = subject.encoding
    given = {n: torch.asarray(np.array(v)) for n, v in made.numbers.items()}
    learned = [given[name].clone().requires_grad_() for name in made.learnable]
    formula = formula_of(subject, given, rng)

    assert torch.autograd.gradcheck(formula, tuple(learned), fast_mode=True)
    formula(*learned).pow(2).sum().backward()
    for name, tensor in zip(made.learnable, learned, strict=True):
        if name in made.on_values:
            continue  # tests of attention reach these
        assert tensor.grad is not None
        assert tensor.grad.abs().max() > 0, name


def formula_of(subject, given, rng):
    """The encoding's formula as a function of its learnable numbers alone."""
    made = subject.encoding
    xp = array_api_compat.array_namespace(torch.zeros(()))
    q, k = (torch.asarray(x) for x in subject.content(rng, 4))
    at = torch.asarray(subject.line(4, start=1), dtype=torch.float64)
    at = at[:, None] if made.axes == 1 else at

    def formula(*learned):
        numbers = {**given, **dict(zip(made.learnable, learned, strict=True))}
        if "vectors" in made.kinds:
            return made.vectors_at(at, numbers, xp=xp)
        if "transform" in made.kinds:
            sides = zip((q, k), ("q", "k"), strict=True)
            return torch.cat([made.apply(x, at, numbers, side=side, xp=xp) for x, side in sides])
        if "content" in made.kinds:
            found = made.scores(q, k, at[..., 0], numbers=numbers)
            return found[torch.isfinite(found)]
        return made.bias_between(at, at, numbers, xp=xp)

    return formula


def test_learned_numbers_can_be_put_back(subject, rng):
    """What training found becomes the encoding: `with_numbers` is the way back."""
    made = subject.encoding
    for name in made.learnable:
        before = made.numbers[name]  # a number that must stay above 0 keeps its sign
        step = 0.25 * np.where(before == 0.0, 1.0, np.abs(before))
        moved = before + step * rng.uniform(-1.0, 1.0, size=before.shape)
        again = made.with_numbers(**{name: moved})
        np.testing.assert_array_equal(again.numbers[name], moved)
        q, k = subject.content(rng, 4)
        at = subject.line(4, start=1)
        changed = not np.array_equal(again.scores(q, k, at), made.scores(q, k, at))
        assert changed != (name in made.on_values)


def test_what_can_not_be_learned_is_refused_in_words(subject):
    with pytest.raises(EncodingError, match=r"cannot learn 'wishes'; it learns: "):
        subject.encoding.with_numbers(wishes=np.ones(3))


def test_the_card_says_whether_anything_is_learned(subject):
    assert subject.encoding.card.learnable == bool(subject.encoding.learnable)
