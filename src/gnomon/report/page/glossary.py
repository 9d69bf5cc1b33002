"""The words of the page, each explained once; every other place leads here."""

from __future__ import annotations

import re

from markupsafe import Markup

WORDS: dict[str, str] = {
    "position": "The place of a token in its document, counted from 0.",
    "encoding": "How a Transformer is told where a token stands: a vector, a rotation or a bias "
    "for each position.",
    "group": "Documents that belong together and may repeat each other. Groups are taken to be "
    "independent, so copies and parts of one text must be in one group (--group).",
    "fold": "A random set of groups. What is seen in one fold and not in the others is noise, and "
    "that is how noise is measured.",
    "chord": "The distance used here: how differently tokens are distributed at two positions "
    "(Hellinger). 0 is the same law, √2 no token in common.",
    "plug-in": "As published: computed straight from the counts, so that sampling noise is part of "
    "it.",
    "debiased": "Noise taken out: estimated from folds that are never compared with themselves, "
    "with 95 % intervals.",
    "filled by frequency class": "Rare tokens are too few to be measured. Their part of the "
    "distances is taken to be like that of other tokens about as common.",
    "null": "The same recipe on the same tokens at random places: what one sees when there is "
    "nothing to see. Dealt: all tokens of the corpus are dealt anew to all places. Shuffled: the "
    "tokens of each document stay in it and change places.",
    "survivorship": "Only long documents reach late positions, and long documents may use other "
    "words: positions then differ although order plays no part.",
    "core": "Positions that are measured well enough. Others are projected (placed with the help "
    "of the core), unestimated (nothing there that two groups of documents share) or masked (too "
    "few tokens).",
    "noise edge": "How strong a direction of pure noise can be. A direction above it is told from "
    "noise.",
    "effective rank": "In how many directions positions differ by more than noise does.",
    "participation ratio": "How many directions carry the differences, when strong ones count for "
    "more than weak ones.",
    "stress": "How badly the distances of an encoding fit those of the corpus. Raw: as published. "
    "Scale-free: at the encoding’s best scale, from 0 to 1, the share that is left unexplained. "
    "Squared: of squared distances, where most pairs of positions are too uncertain.",
    "skill": "1 − stress / stress of equal distances: 0 is what a random encoding reaches, 1 a "
    "perfect fit.",
    "lift": "How an encoding is given distances between positions. Kernel: by its part in the "
    "attention, the same way for all kinds. Probe and slope: rotations and biases as the papers "
    "read them.",
    "mds": "Multidimensional scaling: points whose distances are those of the corpus. It is fitted "
    "to this corpus; with rank r it uses r directions, and the debiased one is fitted after the "
    "noise was taken out.",
    "smacof": "Another way to fit such points, which makes the stress itself small.",
    "sigma": "The spread of the numbers in a random table.",
}


def anchor(word: str) -> str:
    """Return the name of the place where a word is explained.

    >>> anchor("noise edge")
    'word-noise-edge'
    """
    return "word-" + re.sub(r"[^a-z]+", "-", word.lower())


def link(word: str, shown: str | None = None) -> Markup:
    """Return a word that leads to its explanation; a word that has none is a fault of ours."""
    if word not in WORDS:
        raise KeyError(word)
    text = word if shown is None else shown
    return Markup('<a class="word" href="#{}">{}</a>').format(anchor(word), text)
