"""Every encoding is what its card says: the level that its certificate finds, all promises kept."""

from __future__ import annotations

from gnomon.encodings.certified import certificate


def test_the_certificate_finds_the_level_of_the_card_and_no_broken_promise(subject):
    found = certificate(subject.encoding)
    assert found.level == subject.encoding.card.level
    assert found.broken == ()
