"""Every encoding of the catalogue goes through a file unchanged, what it has learned included."""

from __future__ import annotations

import numpy as np

from gnomon.encodings.registry import encoding


def test_saved_and_opened_it_computes_the_same_bits(subject, rng, tmp_path):
    own, file = subject.encoding, tmp_path / "e.safetensors"
    own.save(file)
    back = encoding(file)
    assert type(back) is type(own)
    assert back.parameters == own.parameters
    assert back.card.to_dict() == own.card.to_dict()
    q, k = subject.content(rng, 5)
    at = subject.places(rng, 5)
    np.testing.assert_array_equal(back.scores(q, k, at), own.scores(q, k, at))


def test_learned_numbers_come_back_bit_for_bit(subject, tmp_path):
    """All of them moved by a share that no rounding to float32 would keep."""
    own, file = subject.encoding, tmp_path / "e.safetensors"
    moved = {name: own.numbers[name] * (1.0 + 2.0**-40) for name in own.learnable}
    trained = own.with_numbers(**moved)
    trained.save(file)
    back = encoding(file)
    for name in own.learnable:
        np.testing.assert_array_equal(back.numbers[name], trained.numbers[name])
        changed = np.asarray(back.numbers[name]) != np.asarray(own.numbers[name])
        assert changed.any() == np.asarray(own.numbers[name]).any()
