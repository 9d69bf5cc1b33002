"""The words of the page and how to read each figure, for somebody who sees them the first time.

Each word is explained once, and every other place leads there. A word in square brackets in an
explanation is such a link: [lift], or [lift: how it was lifted].
"""

from __future__ import annotations

import re

from markupsafe import Markup, escape

WORDS: dict[str, str] = {
    "position": "The place of a token in its document, counted from 0.",
    "encoding": "How a Transformer learns where a token stands: a vector, a rotation or a bias for "
    "each position.",
    "group": "Documents that belong together and may repeat each other. Groups are taken to be "
    "independent, so copies and parts of one text must be in one group (--group).",
    "fold": "A random set of groups. What is seen in one fold and not in the others is noise, and "
    "that is how noise is measured.",
    "chord": "The distance used here: how differently tokens are distributed at two positions "
    "(Hellinger). 0 is the same distribution, √2 no token in common.",
    "plug-in": "As published: computed straight from the counts, so that sampling noise is part of "
    "it.",
    "debiased": "Noise taken out: estimated from folds that are never compared with themselves, "
    "with 95 % intervals.",
    "filled by frequency class": "Rare tokens are too few to be measured. Their part of the "
    "distances is taken to be like that of other tokens about as common.",
    "null": "What chance alone gives: the same recipe on the same tokens at random places, where "
    "there is nothing to see. Dealt: all tokens of the corpus are dealt anew to all places. "
    "Shuffled: the tokens of each document stay in it and change places.",
    "survivorship": "Only long documents reach late positions, and long documents may use other "
    "words: positions then differ although order plays no part.",
    "core": "Positions that are counted well enough to have their noise taken out. Others are "
    "projected (placed with the help of the core), unestimated (nothing there that two groups of "
    "documents share) or masked (too few tokens).",
    "noise edge": "How strong a direction of pure noise can be. A direction above it is "
    "significant.",
    "effective rank": "In how many directions positions differ by more than noise does.",
    "participation ratio": "How many directions of equal strength would carry the differences: "
    "strong directions count for more than weak ones. (Σλ)² / Σλ² of their strengths λ.",
    "stress": "How badly the distances of an encoding fit those of the corpus. Raw: as published. "
    "Scale-free: at the encoding’s best scale, from 0 to 1, the share that is left unexplained. "
    "Squared: of squared distances, where most pairs of positions are too uncertain.",
    "skill": "1 − stress / stress of equal distances: 0 is what a random encoding reaches, 1 a "
    "perfect fit.",
    "lift": "How an encoding is given distances between positions. Kernel: by its part in the "
    "attention logit, the same way for all kinds. Probe: by what it does to one fixed query. "
    "Slope: ALiBi’s bias read as a distance. The last two are the readings of the papers.",
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


EXPLANATIONS: dict[str, str] = {
    "counts": """
Each bar is a position; its height is the number of tokens that were counted there. Documents end at
different lengths, so late positions usually have fewer.

Most positions are measured well enough to have their noise taken out ([core]). Projected ones are
too uncertain for that, and are placed with the help of the core: they have few tokens, or their
tokens come from few independent documents, or are spread over very many different words. Masked
ones have too few tokens to say anything, and take no part.""",
    "distances": """
Each square compares two positions: dark means that the same tokens stand there equally often,
bright that they differ ([chord] distance). All panels share one colour scale.

Noise taken out ([debiased]): what is left when sampling noise is removed. As published ([plug-in]):
straight from the counts, noise included. Chance alone: what the same recipe shows when there is
nothing to see, since the tokens were put in random places ([null]). Where "as published" looks like
"chance alone", it shows noise.""",
    "eigenvalues": """
Each point is one direction in which positions differ, the strongest first. The band is what
directions of pure noise reach.

Directions inside the band may be noise alone, however smooth their picture looks. The
[effective rank] is the number of directions that stand above the [noise edge] on the right; the
edge falls as directions are found, and each is judged by its own step.""",
    "map2d": """
Each point is a position, drawn so that distances on paper are as close as possible to the distances
measured (classical multidimensional scaling, [mds]). The colour runs from the first position to the
last; the first, the last and the most distant positions carry their numbers. Where only one
direction stands above the noise, the position itself is the other axis.

A line or an arc means that neighbours are alike and change is gradual; clumps mean blocks of
positions that are alike; a cloud without order means that neighbours have no more in common than
others.""",
    "map3d": """
The same map with one more axis: a third direction or, where only two stand above the noise, the
position itself; the name of the axis says which. Drag to turn it, or focus it and use the arrow
keys.""",
    "stress": """
[stress: Stress] says how badly an encoding's distances between positions fit those of the corpus: 0
is a perfect fit. The fitted encodings ([mds], [smacof]) were made from these distances; the others
know nothing of this corpus, and random tables ([sigma] is their spread) have nothing to tell.

Raw stress, as published, mostly measures scale: an encoding ten times too long scores about eighty.
Scale-free stress lets every encoding have its best scale and lies between 0 and 1. The last panel
compares with the corpus after its noise was taken out; whiskers are 95 % intervals. Its line is
what equal distances between all positions leave: an encoding beyond it has nothing of the corpus.

The [lift] is how an encoding is given distances at all: the kernel lift treats all alike; slope and
probe are the readings of the papers. Stress compares geometries. It does not say which encoding
trains to a better model.""",
    "dimensions": """
How much stress is left when classical scaling ([mds]) may use only so many directions. Where the
curve becomes flat, further directions buy nothing. Beside it stands what such an encoding has to
store.""",
    "shepard": """
Each point is a pair of positions: across, its distance in the corpus; up, its distance in an
encoding at its best scale. On the diagonal both agree; a cloud beside it is what stress measures.

Press a name in the legend to show or hide an encoding. The CSV file holds the drawn pairs of all
encodings.""",
    "violations": """
Take three positions, of which two are nearer to each other along the text than the first is to the
third: a violation is where the distances say the opposite. An encoding that only grows with the lag
has none. The corpus has some of its own, and an exact copy of its geometry would have just those,
so neither few nor many are good in themselves.""",
    "grid": """
The same results as pictures of the grid: each square is one place, where it lies in the
documents.""",
}


_WORD = re.compile(r"\[([^]:]+)(?:: ([^]]+))?\]")


def explanation(key: str) -> list[Markup]:
    """Return the paragraphs for a figure; figures of a kind share their first word."""
    text = EXPLANATIONS.get(key, EXPLANATIONS.get(key.partition("-")[0], ""))
    return [_link_words(" ".join(part.split())) for part in text.split("\n\n") if part.strip()]


def _link_words(text: str) -> Markup:
    """Return text in which words in brackets lead to their explanation."""
    found, at = Markup(), 0
    for match in _WORD.finditer(text):
        shown = match[2] or match[1]
        found += escape(text[at : match.start()]) + link(match[1].lower(), shown)
        at = match.end()
    return found + escape(text[at:])
